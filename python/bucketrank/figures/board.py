"""Figures of leaderboards: scores with intervals and tiers, and outcomes of all pairs.

A tier is a group of labels that are statistically tied with its first label. Labels of different components are never
compared, not even through other labels, so each component has its own tiers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bucketrank.figures.style import name_text, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bucketrank.boards.result import Leaderboard

__all__ = ["plot_pair_outcomes", "plot_score_intervals"]

_BLUE = "#0072B2"
_ORANGE = "#D55E00"
_LONGEST_NAME = 30
_MAX_ANNOTATED_LABELS = 14
"""Largest number of labels for which every cell shows its share."""


def plot_score_intervals(board: Leaderboard, *, ax: Axes | None = None) -> Axes:
    """Draw scores with intervals, best label on top, and tiers as bands, of which every other one is shaded.

    Parameters
    ----------
    board : Leaderboard
        The leaderboard; labels that were never compared are left out.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Hollow markers are labels whose rank interval reaches outside their tier.

    Examples
    --------
    >>> from bucketrank import from_comparisons, leaderboard
    >>> games = from_comparisons(["ada"] * 40, ["bob"] * 40, ["first"] * 34 + ["second"] * 6)
    >>> axes = plot_score_intervals(leaderboard(games, n_resamples=50))
    >>> len(axes.get_yticklabels())
    2
    """
    order = [label for label in board.order().tolist() if board.tier[label] > 0]
    axes = new_axes(ax, (7.5, interval_height(board)), "Leaderboard.plot")
    _shade_tiers(axes, board, order)
    for row, label in enumerate(order):
        crosses = bool(board.crosses_tier[label])
        axes.plot(
            [board.score_low[label], board.score_high[label]],
            [row, row],
            color=_BLUE,
            linewidth=2,
            solid_capstyle="round",
        )
        axes.plot(
            board.scores[label],
            row,
            marker="o",
            markersize=6,
            color=_BLUE,
            # Not transparent: the interval must not show through a hollow marker.
            markerfacecolor="white" if crosses else _BLUE,
            linestyle="none",
        )
    names = [name_text(board.labels[label], _LONGEST_NAME) for label in order]
    axes.set_yticks(range(len(order)), names)
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"score, {100 * board.settings['confidence']:g} % interval of each label")
    axes.grid(axis="x", alpha=0.25, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    if board.crosses_tier.any():
        # Aligned at the right, so that the text can extend to the left, over the space of the label names.
        axes.set_title(
            "hollow: the rank interval reaches outside the tier", fontsize="small", loc="right"
        )
    return axes


def plot_pair_outcomes(board: Leaderboard, *, ax: Axes | None = None) -> Axes:
    """Draw the share of comparisons that each label won against each other label, ties counting half, as a heat map.

    Parameters
    ----------
    board : Leaderboard
        The leaderboard; labels are in its order, and tiers are framed.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        With up to 14 labels, cells show percentages of wins, ties and losses of the row label; pairs that were never
        compared are empty.

    Examples
    --------
    >>> from bucketrank import from_comparisons, leaderboard
    >>> games = from_comparisons(["ada"] * 40, ["bob"] * 40, ["first"] * 34 + ["second"] * 6)
    >>> axes = plot_pair_outcomes(leaderboard(games, n_resamples=50))
    >>> sorted(text.get_text() for text in axes.get_yticklabels())
    ['ada', 'bob']
    """
    order = board.order()
    before, tied = board.counts.before, board.counts.tied
    seen = before + tied + before.T
    divisor = np.where(seen > 0, seen, 1.0)
    shares = [np.where(seen > 0, part / divisor, np.nan) for part in (before, tied, before.T)]
    grid = np.ix_(order, order)
    side = pair_side(len(order))
    axes = new_axes(ax, (side + 1.4, side), "Leaderboard.plot")
    image = axes.imshow((shares[0] + shares[1] / 2)[grid], cmap="cividis", vmin=0, vmax=1)
    names = [name_text(board.labels[label], _LONGEST_NAME) for label in order]
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    if len(order) <= _MAX_ANNOTATED_LABELS:
        _write_shares(axes, [share[grid] for share in shares])
        axes.set_title(
            "in a cell: % won, tied and lost by the row label", fontsize="small", loc="left"
        )
    _frame_tiers(axes, board, order.tolist())
    axes.figure.colorbar(
        image, ax=axes, label="won by the row label, ties counting half", shrink=0.8
    )
    return axes


def interval_height(board: Leaderboard) -> float:
    """Return the height in inches of the figure of score intervals."""
    return 1.2 + 0.27 * max(3, int((board.tier > 0).sum()))


def pair_side(labels: int) -> float:
    """Return the width and height in inches of the heat map of pair outcomes."""
    return min(12.0, 2.8 + (0.62 if labels <= _MAX_ANNOTATED_LABELS else 0.24) * labels)


def _shade_tiers(axes: Axes, board: Leaderboard, order: list[int]) -> None:
    """Shade every other tier, and write the number of each tier at the right."""
    start = 0
    for row in range(1, len(order) + 1):
        is_end = row == len(order) or _component_and_tier(board, order[row]) != _component_and_tier(
            board, order[start]
        )
        if not is_end:
            continue
        component, tier = _component_and_tier(board, order[start])
        if tier % 2 == 1:
            axes.axhspan(start - 0.5, row - 0.5, color="#888888", alpha=0.16, linewidth=0)
        text = f"tier {tier}" if component == 0 else f"component {component}, tier {tier}"
        axes.text(
            1.01, (start + row - 1) / 2, text, transform=axes.get_yaxis_transform(), va="center"
        )
        start = row


def _component_and_tier(board: Leaderboard, label: int) -> tuple[int, int]:
    return int(board.components[label]), int(board.tier[label])


def _frame_tiers(axes: Axes, board: Leaderboard, order: list[int]) -> None:
    from matplotlib.patches import Rectangle

    # Labels without comparisons have the tier 0 and no frame.
    for tier_key in dict.fromkeys(_component_and_tier(board, label) for label in order):
        rows = [
            row for row, label in enumerate(order) if _component_and_tier(board, label) == tier_key
        ]
        if tier_key[1] > 0:
            corner = (rows[0] - 0.5, rows[0] - 0.5)
            size = len(rows)
            axes.add_patch(
                Rectangle(corner, size, size, fill=False, edgecolor=_ORANGE, linewidth=2.5)
            )


def _write_shares(axes: Axes, shares: list[np.ndarray]) -> None:
    for i, j in np.ndindex(shares[0].shape):
        if i == j or np.isnan(shares[0][i, j]):
            continue
        text = "\n".join(f"{100 * share[i, j]:.0f}" for share in shares)
        # Dark text on light cells, light text on dark cells.
        ink = "black" if shares[0][i, j] + shares[1][i, j] / 2 > 0.5 else "white"
        axes.text(
            j, i, text, ha="center", va="center", color=ink, fontsize="x-small", linespacing=1.05
        )
