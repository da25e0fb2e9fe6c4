"""Critical difference diagram: average ranks, with bars that join methods that do not differ."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bucketrank.figures.style import name_text, new_axes
from bucketrank.statistics import AverageRanks, HolmTest, PairwiseTest, nemenyi

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_critical_difference"]

_BAR_GAP = 0.45
_NAME_GAP = 0.8
"""Vertical distances between rows of bars and between names, in data units; the axis of ranks is at 0."""

_MOST_TICKS = 15


def plot_critical_difference(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw average ranks, with bars that join methods that do not differ significantly.

    Parameters
    ----------
    result : PairwiseTest, HolmTest, or scores
        From :func:`~bucketrank.statistics.nemenyi` or
        :func:`~bucketrank.statistics.wilcoxon`: one bar per maximal group in which *no* two methods differ.
        From :func:`~bucketrank.statistics.holm`: one bar that joins the control and the methods that do not
        differ from it. Scores are compared by Nemenyi's test.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The best method is at the left. A bar has a dot at each of its methods. Its line is dotted where it passes a
        method outside the group, which is possible with Wilcoxon's test.

    References
    ----------
    J. Demšar, "Statistical comparisons of classifiers over multiple data sets", Journal of Machine Learning Research
    7 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from bucketrank.statistics import ScoreTable, nemenyi
    >>> values = np.arange(40.0).reshape(10, 4) / 40
    >>> scores = ScoreTable(values, datasets=list("abcdefghij"), methods=["w", "x", "y", "z"])
    >>> axes = plot_critical_difference(nemenyi(scores))
    >>> sorted({text.get_text()[0] for text in axes.texts} & {"w", "x", "y", "z"})
    ['w', 'x', 'y', 'z']
    """
    if not isinstance(result, (HolmTest, PairwiseTest)):
        result = nemenyi(result)
    if isinstance(result, HolmTest):
        ranks, control = result.friedman.ranks, result.control
        alike = {control, *result.not_different}
        groups = [tuple(name for name in ranks.ordered if name in alike)]
    else:
        ranks, control = result.ranks, None
        groups = list(result.groups)
    groups = [group for group in groups if len(group) > 1]
    rows = _bar_rows(groups, ranks)
    first_name_y = 1.1 + _BAR_GAP * (max(rows, default=-1) + 1)
    half = (len(ranks.methods) + 1) // 2
    bottom = first_name_y + _NAME_GAP * (half - 1) + 0.4
    top = 2.3 if getattr(result, "critical_difference", None) is not None else 1.7
    axes = new_axes(ax, (7.2, 0.5 + 0.32 * (bottom + top)), "plot_critical_difference")
    axes.set_axis_off()
    axes.set_xlim(1, len(ranks.methods))
    axes.set_ylim(bottom, -top)
    _draw_scale(axes, len(ranks.methods))
    _draw_names(axes, ranks, first_name_y, control)
    for group, row in zip(groups, rows, strict=True):
        _draw_bar(axes, group, ranks, 0.6 + _BAR_GAP * row)
    _draw_heading(axes, result, groups)
    return axes


def _bar_rows(groups: list[tuple[str, ...]], ranks: AverageRanks) -> list[int]:
    """Assign each bar to a row such that the bars of a row do not overlap."""
    ends: list[float] = []
    rows = []
    for group in groups:
        first, last = ranks[group[0]], ranks[group[-1]]
        row = next((i for i, end in enumerate(ends) if end + 0.15 < first), len(ends))
        ends[row : row + 1] = [last]
        rows.append(row)
    return rows


def _draw_scale(axes: Axes, k: int) -> None:
    ink = _ink()
    axes.plot([1, k], [0, 0], color=ink, linewidth=1.2, clip_on=False)
    # Label at most _MOST_TICKS ticks, because more labels would overlap.
    step = -(-k // _MOST_TICKS)
    for rank in range(1, k + 1):
        axes.plot([rank, rank], [-0.22, 0], color=ink, linewidth=1.2, clip_on=False)
        if rank % step == 0 or step == 1:
            axes.text(rank, -0.35, str(rank), ha="center", va="bottom")
    axes.text(k + 0.06 * (k - 1), 0, "average rank", ha="left", va="center", style="italic")


def _draw_names(axes: Axes, ranks: AverageRanks, first_name_y: float, control: str | None) -> None:
    ordered = ranks.ordered
    k = len(ordered)
    half = (k + 1) // 2
    margin = 0.03 * (k - 1)
    for index, name in enumerate(ordered):
        left = index < half
        # The outermost method of each side is named in the first row, so that no line crosses a name.
        row = index if left else k - 1 - index
        y = first_name_y + _NAME_GAP * row
        side = 1 - margin if left else k + margin
        axes.plot(
            [ranks[name], ranks[name], side],
            [0, y, y],
            color=_ink(),
            linewidth=0.9,
            clip_on=False,
        )
        text = f"{name_text(name)} ({ranks[name]:.2f})" + (", control" if name == control else "")
        axes.text(
            side - margin / 2 if left else side + margin / 2,
            y,
            text,
            label="_method",
            ha="right" if left else "left",
            va="center",
            fontweight="bold" if name == control else "normal",
        )


def _draw_bar(axes: Axes, group: tuple[str, ...], ranks: AverageRanks, y: float) -> None:
    members = [ranks[name] for name in group]
    others = [ranks[name] for name in ranks.methods if name not in group]
    for start, end in pairwise(members):
        passes = any(start < rank < end for rank in others)
        axes.plot(
            [start, end],
            [y, y],
            color=_ink(),
            linewidth=1.5 if passes else 4,
            linestyle=":" if passes else "-",
            solid_capstyle="round",
            label="_bar",
            clip_on=False,
        )
    axes.plot(members, [y] * len(members), "o", color=_ink(), markersize=5, clip_on=False)


def _draw_heading(
    axes: Axes, result: HolmTest | PairwiseTest, groups: list[tuple[str, ...]]
) -> None:
    difference = None if isinstance(result, HolmTest) else result.critical_difference
    if difference is not None:
        k = len(result.methods)
        width = min(difference, k - 1)
        axes.plot([1, 1 + width], [-1.7, -1.7], color=_ink(), linewidth=1.5, clip_on=False)
        for end in (1, 1 + width):
            axes.plot([end, end], [-1.85, -1.55], color=_ink(), linewidth=1.5, clip_on=False)
        axes.text(1 + width / 2, -1.95, f"critical difference {difference:.2f}", ha="center")
        return
    if isinstance(result, HolmTest):
        outcome = (
            "bar: no difference from the control shown" if groups else "all differ from the control"
        )
        heading = f"Holm at the level {result.alpha:g}; {outcome}"
    else:
        heading = f"{result.name} at the level {result.alpha:g}"
    axes.text(0.5, 1, heading, transform=axes.transAxes, ha="center", va="bottom")


def _ink() -> Any:
    from matplotlib import rcParams

    return rcParams["text.color"]
