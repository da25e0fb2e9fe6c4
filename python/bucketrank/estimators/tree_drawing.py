"""Trees drawn with matplotlib: depth, figure size and font size are chosen from the tree."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bucketrank.estimators.tree_colours import OTHER_LABELS, NodeColours, node_colours
from bucketrank.estimators.tree_export import ShownNode, box_text, shown_names, shown_tree
from bucketrank.tables import escape_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation, Text

    from bucketrank.estimators.tree import PartialLabelRankingTree

__all__ = ["plot_tree"]

_FONT_SIZE = 10.0
_SMALLEST_FONT = 7.5
"""Depth is chosen so that the text is at least this large."""

_WIDEST = 16.0
"""Largest width in inches if the depth is chosen from the tree."""

_LARGEST = (60.0, 40.0)
"""Largest width in inches if the depth is given, and largest height."""

_EM = 0.52 / 72
"""Mean width of a character in inches per point of the font size."""

_LINE = 1.25 / 72
"""Height of a line in inches per point of the font size."""

_HORIZONTAL_GAP = 0.3
_VERTICAL_GAP = 0.6
"""Inches between boxes side by side, and between boxes of adjacent levels."""

_TITLE = 0.3
"""Inches above the tree for the title."""

_CONDITION_WRAP = 14
_WRAP = 24
"""Largest number of characters per line of a condition, and of a bucket order or a label."""

_MOST_LINES = 3
"""Largest number of lines of a condition or a bucket order."""


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

    The colour of a node is that of the first label of its consensus, or a mixture if two or three labels are tied for
    the first place. A node is grey if more than three or all labels are tied, or if its first label is rarely first.
    The paler the colour, the more the rankings of the node differ.

    Parameters
    ----------
    tree : PartialLabelRankingTree
        A fitted tree.
    feature_names, label_names, decimals
        As in :func:`export_text`.
    max_depth : int, optional
        Depth below which nodes are not drawn; by default the largest at which the text stays readable. If the tree is
        deeper, the title says so.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure, whose size is chosen from the tree.
    fontsize : float, optional
        Size of the text, by default 10, reduced until no boxes overlap.

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
    names = (feature_names, label_names)
    widest = _LARGEST[0]
    if max_depth is None:
        widest = _WIDEST
        whole_tree = shown_tree(tree, *names, None, decimals)
        width = _WIDEST if ax is None else _inches(ax)[0]
        max_depth = _readable_depth(whole_tree, width, fontsize or _SMALLEST_FONT)
    root = shown_tree(tree, *names, max_depth, decimals)
    if ax is None:
        size = _figure_size(root, fontsize or _FONT_SIZE, widest)
        # Fixed margins: a layout that is computed later would change the width that the boxes must fit.
        ax = pyplot.figure(figsize=size).add_axes((0.01, 0.02, 0.98, 1 - 0.02 - _TITLE / size[1]))
    nodes = list(root.walk())
    colours = node_colours(tree, np.array([node.index for node in nodes], dtype=np.int64))
    drawing = _Drawing(ax, root, colours, fontsize)
    drawing.draw_boxes()
    drawing.draw_legend(shown_names(tree, *names)[1], _caption(tree, nodes))
    return drawing.boxes


class _Drawing:
    """Drawing of a tree: boxes and lines, placed in fractions of the width and height of the axes."""

    def __init__(
        self, axes: Axes, root: ShownNode, colours: NodeColours, fontsize: float | None
    ) -> None:
        self.axes = axes
        self.root = root
        self.colours = colours
        self.fontsize = fontsize
        self.boxes: list[Annotation] = []
        axes.set_axis_off()

    def draw_boxes(self) -> None:
        """Draw the nodes, and the conditions of their children on the lines between them."""
        centres = _node_centres(self.root, _inches(self.axes)[1])
        texts: list[Text] = []
        for node in self.root.walk():
            self.boxes.append(self._box(node, centres[node.index]))
            texts += [self._condition(node, child, centres) for child in node.children]
        if self.fontsize is None:
            scale = _scale_that_fits(self.boxes)
            for text in (*self.boxes, *texts):
                text.set_fontsize(_FONT_SIZE * scale)

    def draw_legend(self, names: list[Any], caption: str) -> None:
        """Draw the colours of the labels below the tree, and the caption above it."""
        from matplotlib.patches import Patch

        size = min(_FONT_SIZE, float(self.boxes[0].get_fontsize()))
        labels = {**dict(enumerate(names)), OTHER_LABELS: "another, or many tied"}
        patches = [
            Patch(facecolor=colour, edgecolor="black", label=_short(labels[label]))
            for label, colour in self.colours.by_label.items()
        ]
        if patches:
            legend = self.axes.legend(
                handles=patches,
                loc="lower center",
                title="First label of the consensus; paler where rankings differ",
                ncols=len(patches),
                frameon=False,
                fontsize=size,
                title_fontsize=size,
                borderaxespad=0,
            )
            for text in legend.get_texts():
                text.set_parse_math(False)
        if caption:
            self.axes.set_title(caption, fontsize=_FONT_SIZE)

    def _box(self, node: ShownNode, centre: tuple[float, float]) -> Annotation:
        return self.axes.annotate(
            _wrap_box_text(node),
            centre,
            ha="center",
            va="center",
            fontsize=self.fontsize or _FONT_SIZE,
            color="black",
            bbox={
                "boxstyle": "round",
                "facecolor": self.colours.by_node[node.index],
                "edgecolor": "black",
            },
            zorder=2,
            xycoords="axes fraction",
            parse_math=False,
        )

    def _condition(
        self, node: ShownNode, child: ShownNode, centres: dict[int, tuple[float, float]]
    ) -> Text:
        from matplotlib import rcParams

        (x, y), (cx, cy) = centres[node.index], centres[child.index]
        line_colour = rcParams["text.color"]
        self.axes.plot([x, cx], [y, cy], color=line_colour, zorder=1, transform=self.axes.transAxes)
        return self.axes.text(
            (x + cx) / 2,
            (y + cy) / 2,
            _wrap_condition(node, child),
            ha="center",
            va="center",
            fontsize=self.fontsize or _FONT_SIZE,
            transform=self.axes.transAxes,
            bbox={
                "boxstyle": "square,pad=0.1",
                "facecolor": rcParams["figure.facecolor"],
                "edgecolor": "none",
            },
            parse_math=False,
        )


def _caption(tree: PartialLabelRankingTree, nodes: list[ShownNode]) -> str:
    """Return a note on the levels that are not shown; empty if all are shown."""
    if not any(node.leaves_below for node in nodes):
        return ""
    shown = max(node.depth for node in nodes)
    return (
        f"Top {shown} of {tree.get_depth()} levels; the tree has {tree.get_n_leaves():,} leaves "
        "(boxes with ... are split further)"
    )


def _readable_depth(root: ShownNode, width: float, fontsize: float) -> int:
    """Return the largest depth, at least 1, whose boxes fit side by side at this font size."""
    deepest = max(node.depth for node in root.walk())
    depth = 1
    while depth < deepest and _needed_width(root, depth + 1, fontsize) <= width:
        depth += 1
    return depth


def _needed_width(root: ShownNode, depth: int, fontsize: float) -> float:
    """Return the width in inches of the boxes without children in a tree that is cut at `depth`."""
    width = 0.0
    for node in root.walk():
        if node.depth == depth or (node.depth < depth and not node.children):
            width += _box_width(node, fontsize)
    return width


def _box_width(node: ShownNode, fontsize: float) -> float:
    longest = max(map(len, _wrap_box_text(node).split("\n")))
    return longest * _EM * fontsize + _HORIZONTAL_GAP


def _figure_size(root: ShownNode, fontsize: float, widest: float) -> tuple[float, float]:
    """Return width and height in inches of a figure that shows the tree at a font size."""
    levels = max(node.depth for node in root.walk()) + 1
    lines = max(_wrap_box_text(node).count("\n") + 1 for node in root.walk())
    width = _needed_width(root, levels - 1, fontsize)
    conditions = [_wrap_condition(node, child) for node in root.walk() for child in node.children]
    lines += max((text.count("\n") for text in conditions), default=0)
    height = levels * (lines * _LINE * fontsize + _VERTICAL_GAP) + 3 * _LINE * _FONT_SIZE + _TITLE
    return min(max(width, 5.0), widest), min(height, _LARGEST[1])


def _wrap_condition(node: ShownNode, child: ShownNode) -> str:
    """Return the condition of a child on short lines, because siblings are close to each other."""
    text = child.condition.removeprefix(f"{node.feature} ")
    condition = text.removesuffix(" or missing")
    if condition.startswith(("in {", "is ")):
        condition = textwrap.fill(
            condition, _CONDITION_WRAP, max_lines=_MOST_LINES, placeholder=" ..."
        )
    return f"{condition}\nor missing" if text.endswith(" or missing") else condition


def _wrap_box_text(node: ShownNode) -> str:
    """Return the text of a box, with a long bucket order on several lines."""
    text = box_text(node)
    if node.children:
        return text
    order, _, rest = text.partition("\n")
    lines = [""]
    for part in order.replace(" > ", " >\n").replace(" ~ ", " ~\n").split("\n"):
        joined = f"{lines[-1]} {part}".strip()
        if len(joined) <= _WRAP or not lines[-1]:
            lines[-1] = joined
        else:
            lines.append(part)
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1]} ..."]
    return "\n".join([*lines, rest])


def _short(label: Any) -> str:
    """Return a label without control characters, cut to the width of a line."""
    name = escape_text(str(label))
    return name if len(name) <= _WRAP else f"{name[: _WRAP - 3]}..."


def _inches(axes: Axes) -> tuple[float, float]:
    """Return width and height of axes in inches."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    box = axes.get_position()
    width, height = figure.get_size_inches()
    return float(box.width * width), float(box.height * height)


def _scale_that_fits(boxes: list[Annotation]) -> float:
    """Return the factor that shrinks the text until no boxes overlap."""
    extents = [box.get_window_extent() for box in boxes]
    extents.sort(key=lambda box: (round(box.y0 + box.y1), box.x0 + box.x1))
    scale = 1.0
    for first, second in itertools.pairwise(extents):
        vertical = (second.y0 + second.y1 - first.y0 - first.y1) / 2
        if round(vertical) == 0:
            horizontal = (second.x0 + second.x1 - first.x0 - first.x1) / 2
            # Leave room for the frames, which are slightly wider than the text.
            needed = 1.15 * (first.width + second.width) / 2
            scale = min(scale, horizontal / needed)
        else:
            # Leave room for the conditions between the levels.
            scale = min(scale, vertical / (0.85 * (first.height + second.height)))
    return scale


def _node_centres(root: ShownNode, height: float) -> dict[int, tuple[float, float]]:
    """Return the centre of each box in fractions of the axes.

    Boxes without children are side by side, parents are centred above their children. The space below the tree is for
    the legend.
    """
    nodes = list(root.walk())
    across: dict[int, float] = {}
    used = 0.0
    for node in nodes:
        if not node.children:
            width = _box_width(node, _FONT_SIZE)
            across[node.index] = used + width / 2
            used += width
    for node in reversed(nodes):
        if node.children:
            ends = [across[child.index] for child in (node.children[0], node.children[-1])]
            across[node.index] = sum(ends) / 2
    levels = max(node.depth for node in nodes) + 1
    bottom = min(0.25, 3 * _LINE * _FONT_SIZE / height)
    return {
        node.index: (
            across[node.index] / used,
            bottom + (1 - bottom) * (1 - (node.depth + 0.5) / levels),
        )
        for node in nodes
    }
