"""Export of trees as text and as Graphviz source."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bucketrank._validation import as_names, at_least
from bucketrank.estimators.tree_colours import node_colours
from bucketrank.notation import to_display_text
from bucketrank.tables import escape_text, pluralize

if TYPE_CHECKING:
    from bucketrank.estimators.tree import PartialLabelRankingTree

__all__ = ["export_graphviz", "export_text"]

_SHOWN_CATEGORIES = 6
"""Largest number of categories in a set that is shown in full."""


@dataclass(frozen=True)
class ShownNode:
    """A displayed node: the condition under which rows reach it, its content and its children."""

    index: int
    condition: str
    depth: int
    rows: int
    impurity: float
    feature: str | None
    """Name of the feature of the split; None for a leaf."""
    order: str
    """Bucket order of a leaf, such as "a > b ~ c"; "..." for a node whose children are not shown."""
    leaves_below: int = 0
    """Number of leaves below a node whose children are not shown."""
    children: list[ShownNode] = field(default_factory=list)

    def walk(self) -> Iterator[ShownNode]:
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
    root = shown_tree(tree, feature_names, label_names, max_depth, decimals)
    if not root.children:
        return _leaf_text(root)
    lines = []
    for node in list(root.walk())[1:]:
        text = f": {_leaf_text(node)}" if not node.children else ""
        lines.append(f"{'|   ' * (node.depth - 1)}|-- {node.condition}{text}")
    return "\n".join(lines)


def export_graphviz(
    tree: PartialLabelRankingTree,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[Any] | None = None,
    max_depth: int | None = None,
    decimals: int = 2,
) -> str:
    r"""Write a tree as Graphviz source, with the colours of :func:`plot_tree`.

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
        node [shape=box, style="rounded,filled", fontname="helvetica"];
        edge [fontname="helvetica"];
        0 [label="x0\nimpurity 1.000\n2 rows", fillcolor="#EDEDED"];
        1 [label="0 > 1\nimpurity 0.000\n1 row", fillcolor="#4095C5"];
        2 [label="1 > 0\nimpurity 0.000\n1 row", fillcolor="#ECB740"];
        0 -> 1 [label="<= 0.50"];
        0 -> 2 [label="> 0.50"];
    }
    """
    root = shown_tree(tree, feature_names, label_names, max_depth, decimals)
    lines = [
        "digraph tree {",
        '    node [shape=box, style="rounded,filled", fontname="helvetica"];',
        '    edge [fontname="helvetica"];',
    ]
    nodes = sorted(root.walk(), key=lambda node: node.index)
    colours = node_colours(tree, np.array([node.index for node in nodes])).by_node
    for node in nodes:
        fill = colours[node.index]
        lines.append(f'    {node.index} [label={_quote(box_text(node))}, fillcolor="{fill}"];')
    for node in nodes:
        for child in node.children:
            condition = child.condition.removeprefix(f"{node.feature} ")
            lines.append(f"    {node.index} -> {child.index} [label={_quote(condition)}];")
    return "\n".join([*lines, "}"])


def shown_tree(
    tree: PartialLabelRankingTree,
    feature_names: Sequence[str] | None,
    label_names: Sequence[Any] | None,
    max_depth: int | None,
    decimals: int,
) -> ShownNode:
    """Return the root of the displayed tree, truncated at `max_depth`."""
    check_is_fitted(tree)
    if not hasattr(tree, "tree_"):
        raise TypeError(f"tree is {tree!r:.60}; expected a PartialLabelRankingTree")
    features, labels = shown_names(tree, feature_names, label_names)
    limit = None if max_depth is None else at_least(max_depth, "max_depth", 0)
    digits = at_least(decimals, "decimals", 0)
    nodes = tree.tree_.nodes()
    leaves = tree.tree_.leaves()
    spec = tree.aggregator_._spec()
    texts = to_display_text(tree.tree_.consensus(spec, leaves, 1, tree._smoothing), labels)
    orders = dict(zip(leaves.tolist(), texts, strict=True))
    leaf_counts = _leaf_counts(nodes["parent"], leaves)
    shown: dict[int, ShownNode] = {}
    for index, parent in enumerate(nodes["parent"].tolist()):
        depth = int(nodes["depth"][index])
        if limit is not None and depth > limit:
            continue
        condition = ""
        if index:
            thresholds = nodes["thresholds"][parent]
            child = index - int(nodes["first_child"][parent])
            categories = tree.categories_.get(int(nodes["feature"][parent]))
            values = _child_values(thresholds, child, digits, categories)
            condition = f"{shown[parent].feature} {values}"
            # Not shown if missing values go to the heavier child, the default, in all nodes.
            if tree.tree_.learnt_missing and math.isfinite(thresholds[0]):
                missing_child = 0 if nodes["missing_left"][parent] else len(thresholds)
                condition += " or missing" if child == missing_child else ""
        is_cut = limit is not None and depth == limit and index not in orders
        feature = int(nodes["feature"][index])
        node = ShownNode(
            index=index,
            condition=condition,
            depth=depth,
            rows=int(nodes["rows"][index]),
            impurity=float(nodes["impurity"][index]),
            feature=None if feature < 0 else escape_text(str(features[feature])),
            order="..." if is_cut else orders.get(index, ""),
            leaves_below=leaf_counts[index] if is_cut else 0,
        )
        shown[index] = node
        if index:
            shown[parent].children.append(node)
    return shown[0]


def _leaf_counts(parents: NDArray[np.int64], leaves: NDArray[np.int64]) -> list[int]:
    """Return the number of leaves below each node; children have larger indices than their parents."""
    counts: list[int] = np.bincount(leaves, minlength=len(parents)).tolist()
    for node in range(len(parents) - 1, 0, -1):
        counts[parents[node]] += counts[node]
    return counts


def _child_values(
    thresholds: list[float], child: int, digits: int, categories: list[Any] | None
) -> str:
    """Return the values that go to a child, counted from 0: an interval, or a set of categories.

    A single infinite threshold separates missing from known values.
    """
    if math.isinf(thresholds[0]):
        return "is known" if (child == 0) == (thresholds[0] > 0) else "is missing"
    if categories is not None:
        # A threshold divides the indices of the ordered categories.
        first = math.floor(thresholds[child - 1]) + 1 if child else 0
        end = math.floor(thresholds[child]) + 1 if child < len(thresholds) else len(categories)
        return _category_set(categories[first:end])
    if child == 0:
        return f"<= {thresholds[0]:.{digits}f}"
    if child == len(thresholds):
        return f"> {thresholds[-1]:.{digits}f}"
    return f"in ({thresholds[child - 1]:.{digits}f}, {thresholds[child]:.{digits}f}]"


def _category_set(categories: list[Any]) -> str:
    """Return a set of categories as text: all of them, or the first ones and the number of the others."""
    names = [escape_text(str(category)) for category in categories]
    if len(names) == 1:
        return f"is {names[0]}"
    if len(names) > _SHOWN_CATEGORIES:
        others = len(names) - _SHOWN_CATEGORIES + 1
        names[_SHOWN_CATEGORIES - 1 :] = [f"{others} others"]
    return f"in {{{', '.join(names)}}}"


def shown_names(
    tree: PartialLabelRankingTree,
    feature_names: Sequence[str] | None,
    label_names: Sequence[Any] | None,
) -> tuple[list[Any], list[Any]]:
    """Return the displayed names of features and labels."""
    return (
        _names(feature_names, "feature_names", _feature_names(tree), tree.n_features_in_),
        _names(label_names, "label_names", tree.label_names_in_.tolist(), tree.n_labels_in_),
    )


def _feature_names(tree: PartialLabelRankingTree) -> list[str]:
    names = getattr(tree, "feature_names_in_", None)
    return [f"x{i}" for i in range(tree.n_features_in_)] if names is None else names.tolist()


def _names(given: Sequence[Any] | None, name: str, default: list[Any], expected: int) -> list[Any]:
    if given is None:
        return default
    names = as_names(given, name)
    if len(names) != expected:
        raise ValueError(f"{name} has {pluralize(len(names), 'name')}; expected {expected}")
    return names


def _leaf_text(node: ShownNode) -> str:
    return f"{node.order} ({pluralize(node.rows, 'row')})"


def box_text(node: ShownNode) -> str:
    """Return the text of the box of a node: its feature or its bucket order, its impurity and its number of rows."""
    title = node.feature if node.children else node.order
    if node.leaves_below:
        title = f"{node.feature}\n... {node.leaves_below:,} leaves below"
    return f"{title}\nimpurity {node.impurity:.3f}\n{pluralize(node.rows, 'row')}"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
