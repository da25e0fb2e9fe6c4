"""Export of trees as text, as Graphviz source and as matplotlib figures."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from bucketrank._validation import as_names, as_whole
from bucketrank.notation import to_display_text
from bucketrank.tables import escape_mathtext, escape_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

    from bucketrank.estimators.tree import PartialLabelRankingTree

__all__ = ["export_graphviz", "export_text", "plot_tree"]


@dataclass(frozen=True)
class _Node:
    """Displayed node: its condition, its text and its children."""

    index: int
    condition: str
    depth: int
    rows: int
    impurity: float
    feature: str | None
    order: str
    children: list[_Node] = field(default_factory=list)

    def walk(self) -> Iterator[_Node]:
        """Yield this node and its descendants, parents first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


def export_text(
    tree: PartialLabelRankingTree,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[Any] | None = None,
    max_depth: int | None = None,
    decimals: int = 2,
) -> str:
    """Write a tree as indented text; leaves show their bucket order and their number of training rows.

    Parameters
    ----------
    tree : PartialLabelRankingTree
        A fitted tree.
    feature_names : sequence of str, optional
        By default the names that the tree was fitted with, or ``x0``, ``x1``, ...
    label_names : sequence, optional
        By default the names that the tree was fitted with, or 0, 1, ... Names with ``>`` or ``~`` are quoted.
    max_depth : int, optional
        Depth below which nodes are not shown.
    decimals : int, default 2
        Number of decimals of thresholds.

    Returns
    -------
    str

    Examples
    --------
    >>> from bucketrank import PartialLabelRankingTree, from_text
    >>> y, labels = from_text(["a > b ~ c", "a > b ~ c", "c > a ~ b", "c > a ~ b"])
    >>> tree = PartialLabelRankingTree(min_samples_split=2).fit([[0], [1], [2], [3]], y)
    >>> print(export_text(tree, label_names=labels))
    |-- x0 <= 1.50: a > b ~ c (2 rows)
    |-- x0 > 1.50: c > a ~ b (2 rows)
    """
    root = _shown(tree, feature_names, label_names, max_depth, decimals)
    if not root.children:
        return _leaf_text(root)
    lines = []
    for node in list(root.walk())[1:]:
        said = f": {_leaf_text(node)}" if not node.children else ""
        lines.append(f"{'|   ' * (node.depth - 1)}|-- {node.condition}{said}")
    return "\n".join(lines)


def export_graphviz(
    tree: PartialLabelRankingTree,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[Any] | None = None,
    max_depth: int | None = None,
    decimals: int = 2,
) -> str:
    r"""Write a tree as Graphviz source.

    Parameters
    ----------
    tree : PartialLabelRankingTree
        A fitted tree.
    feature_names, label_names, max_depth, decimals
        As in :func:`export_text`.

    Returns
    -------
    str
        Text for the program ``dot``.

    Examples
    --------
    >>> from bucketrank import PartialLabelRankingTree
    >>> tree = PartialLabelRankingTree(min_samples_split=2).fit([[0], [1]], [[1, 2], [2, 1]])
    >>> print(export_graphviz(tree))
    digraph tree {
        node [shape=box, style=rounded, fontname="helvetica"];
        edge [fontname="helvetica"];
        0 [label="x0\nimpurity 1.000\n2 rows"];
        1 [label="0 > 1\nimpurity 0.000\n1 row"];
        2 [label="1 > 0\nimpurity 0.000\n1 row"];
        0 -> 1 [label="<= 0.50"];
        0 -> 2 [label="> 0.50"];
    }
    """
    root = _shown(tree, feature_names, label_names, max_depth, decimals)
    lines = [
        "digraph tree {",
        '    node [shape=box, style=rounded, fontname="helvetica"];',
        '    edge [fontname="helvetica"];',
    ]
    nodes = sorted(root.walk(), key=lambda node: node.index)
    lines += [f"    {node.index} [label={_quoted(_box_text(node))}];" for node in nodes]
    for node in nodes:
        for child in node.children:
            condition = child.condition.removeprefix(f"{node.feature} ")
            lines.append(f"    {node.index} -> {child.index} [label={_quoted(condition)}];")
    return "\n".join([*lines, "}"])


def plot_tree(
    tree: PartialLabelRankingTree,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[Any] | None = None,
    max_depth: int | None = None,
    decimals: int = 2,
    ax: Axes | None = None,
    fontsize: float | None = None,
) -> list[Annotation]:
    """Draw a tree with matplotlib; leaves show their bucket order, such as ``a > b ~ c``.

    Parameters
    ----------
    tree : PartialLabelRankingTree
        A fitted tree.
    feature_names, label_names, max_depth, decimals
        As in :func:`export_text`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default the current axes.
    fontsize : float, optional
        Size of the text, by default that of matplotlib, reduced until no boxes overlap.

    Returns
    -------
    list of matplotlib.text.Annotation
        The boxes of the nodes, parents first.

    Examples
    --------
    >>> from bucketrank import PartialLabelRankingTree, plot_tree
    >>> tree = PartialLabelRankingTree(min_samples_split=2).fit([[0], [1]], [[1, 2], [2, 1]])
    >>> boxes = plot_tree(tree, feature_names=["hour"], label_names=["tea", "coffee"])
    >>> len(boxes)
    3
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plot_tree needs matplotlib, which is not installed; pip install 'bucketrank[plot]', "
            "or use export_text or export_graphviz"
        ) from error
    root = _shown(tree, feature_names, label_names, max_depth, decimals)
    axes = pyplot.gca() if ax is None else ax
    axes.set_axis_off()
    places = _places(root)
    box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "black"}
    boxes: list[Annotation] = []
    conditions = []
    for node in root.walk():
        x, y = places[node.index]
        boxes.append(
            axes.annotate(
                _without_formulas(_box_text(node)),
                (x, y),
                ha="center",
                va="center",
                fontsize=fontsize,
                bbox=box,
                zorder=2,
                xycoords="axes fraction",
            )
        )
        for child in node.children:
            cx, cy = places[child.index]
            axes.plot([x, cx], [y, cy], color="black", zorder=1, transform=axes.transAxes)
            conditions.append(
                axes.text(
                    (x + cx) / 2,
                    (y + cy) / 2,
                    _without_formulas(child.condition.removeprefix(f"{node.feature} ")),
                    ha="center",
                    va="center",
                    fontsize=fontsize,
                    transform=axes.transAxes,
                    backgroundcolor="white",
                )
            )
    if fontsize is None:
        scale = _scale_that_fits(boxes)
        for text in (*boxes, *conditions):
            text.set_fontsize(float(text.get_fontsize()) * scale)
    return boxes


def _scale_that_fits(boxes: list[Annotation]) -> float:
    """Return the factor that shrinks the text until no boxes overlap."""
    extents = [box.get_window_extent() for box in boxes]
    extents.sort(key=lambda box: (round(box.y0 + box.y1), box.x0 + box.x1))
    scale = 1.0
    for first, second in itertools.pairwise(extents):
        if round(first.y0 + first.y1) == round(second.y0 + second.y1):
            apart = (second.x0 + second.x1 - first.x0 - first.x1) / 2
            # Leave room for the frames, which are slightly wider than the text.
            needed = 1.15 * (first.width + second.width) / 2
            scale = min(scale, apart / needed)
    return scale


def _shown(
    tree: PartialLabelRankingTree,
    feature_names: Sequence[str] | None,
    label_names: Sequence[Any] | None,
    max_depth: int | None,
    decimals: int,
) -> _Node:
    """Return the root of the displayed tree, truncated at `max_depth`."""
    check_is_fitted(tree)
    features = _names(feature_names, "feature_names", _feature_names(tree), tree.n_features_in_)
    labels = _names(label_names, "label_names", tree.label_names_in_.tolist(), tree.n_labels_in_)
    limit = None if max_depth is None else as_whole(max_depth, "max_depth")
    digits = as_whole(decimals, "decimals")
    nodes = tree.tree_.nodes()
    leaves = tree.tree_.leaves()
    spec = tree.aggregator_._spec()
    texts = to_display_text(tree.tree_.consensus(spec, leaves, 1, tree._smoothing), labels)
    orders = dict(zip(leaves.tolist(), texts, strict=True))
    shown: dict[int, _Node] = {}
    for index, parent in enumerate(nodes["parent"].tolist()):
        depth = int(nodes["depth"][index])
        if limit is not None and depth > limit:
            continue
        condition = ""
        if index:
            above = shown[parent]
            thresholds = nodes["thresholds"][parent]
            place = index - int(nodes["first_child"][parent])
            condition = f"{above.feature} {_interval(thresholds, place, digits)}"
        cut = limit is not None and depth == limit and index not in orders
        feature = int(nodes["feature"][index])
        node = _Node(
            index=index,
            condition=condition,
            depth=depth,
            rows=int(nodes["rows"][index]),
            impurity=float(nodes["impurity"][index]),
            feature=None if feature < 0 else escape_text(str(features[feature])),
            order="..." if cut else orders.get(index, ""),
        )
        shown[index] = node
        if index:
            shown[parent].children.append(node)
    return shown[0]


def _interval(thresholds: list[float], place: int, digits: int) -> str:
    if place == 0:
        return f"<= {thresholds[0]:.{digits}f}"
    if place == len(thresholds):
        return f"> {thresholds[-1]:.{digits}f}"
    return f"in ({thresholds[place - 1]:.{digits}f}, {thresholds[place]:.{digits}f}]"


def _feature_names(tree: PartialLabelRankingTree) -> list[str]:
    names = getattr(tree, "feature_names_in_", None)
    return [f"x{i}" for i in range(tree.n_features_in_)] if names is None else names.tolist()


def _names(given: Sequence[Any] | None, name: str, default: list[Any], expected: int) -> list[Any]:
    if given is None:
        return default
    names = as_names(given, name)
    if len(names) != expected:
        raise ValueError(f"{name} has {len(names)} names; expected {expected}")
    return names


def _leaf_text(node: _Node) -> str:
    return f"{node.order} ({_count(node.rows)})"


def _box_text(node: _Node) -> str:
    said = node.feature if node.children else node.order
    return f"{said}\nimpurity {node.impurity:.3f}\n{_count(node.rows)}"


def _without_formulas(text: str) -> str:
    """Return text of several lines in which matplotlib finds no formulas."""
    return "\n".join(map(escape_mathtext, text.split("\n")))


def _count(rows: int) -> str:
    return f"{rows} row" if rows == 1 else f"{rows} rows"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _places(root: _Node) -> dict[int, tuple[float, float]]:
    """Return the place of each node in the unit square: leaves side by side, parents centred above their children."""
    nodes = list(root.walk())
    leaves = [node for node in nodes if not node.children]
    across = {node.index: (i + 0.5) / len(leaves) for i, node in enumerate(leaves)}
    for node in reversed(nodes):
        if node.children:
            ends = [across[child.index] for child in (node.children[0], node.children[-1])]
            across[node.index] = sum(ends) / 2
    levels = max(node.depth for node in nodes) + 1
    return {node.index: (across[node.index], 1 - (node.depth + 0.5) / levels) for node in nodes}
