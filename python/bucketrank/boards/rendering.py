"""The table of a leaderboard; printed within 80 columns.

The components of a leaderboard are sets of labels that comparisons connect; component 0 is the largest.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bucketrank.tables import Column, Table, escape_text, join_names, percent, pluralize

if TYPE_CHECKING:
    from bucketrank.boards.result import Leaderboard

__all__ = ["board_table", "describe_board", "terminal_table"]

_LINE = 80
"""Width of a terminal in characters."""

_SHORTEST_LABEL = 12
"""Labels are not cut below this width, even if the table then becomes too wide and is broken into blocks of columns."""

_LONGEST_NOTED_LABEL = 40
"""Length of the longest label that a note shows in full."""

_MOST_NOTED_LABELS = 5
"""Largest number of labels that a note names."""


def describe_board(board: Leaderboard) -> str:
    """Return the numbers of labels, comparisons, tiers and components of a leaderboard in one line."""
    total = board.counts.table.sum()
    sizes = np.bincount(board.components)
    parts = [
        pluralize(len(board.labels), "label"),
        pluralize(total, "comparison", spec=",.10g"),
        pluralize(int(board.tier[board.components == 0].max()), "tier"),
    ]
    if (sizes > 1).sum() > 1:
        parts.append(f"{(sizes > 1).sum()} components")
    return ", ".join(parts)


def board_table(board: Leaderboard) -> Table:
    """Return one row per label, best first; a tier is marked if the rank interval of the label reaches outside it."""
    order = board.order()
    digits = _digits(board)

    def score(value: float) -> str:
        return f"{value:.{digits}f}"

    # Labels that were never compared have tier 0.
    compared = [bool(tier > 0) for tier in board.tier[order]]
    intervals = [
        f"{score(low)} to {score(high)}" if is_compared else ""
        for low, high, is_compared in zip(
            board.score_low[order], board.score_high[order], compared, strict=True
        )
    ]
    ranks = [
        _rank_text(board, label) if is_compared else ""
        for label, is_compared in zip(order.tolist(), compared, strict=True)
    ]
    tiers = [tier if tier > 0 else None for tier in board.tier[order].tolist()]
    columns = [
        Column.of("tier", tiers, marked=board.crosses_tier[order]),
        Column.of("label", [escape_text(str(board.labels[label])) for label in order]),
        Column.of("score", board.scores[order], score),
        Column.of("interval", intervals),
        Column.of("rank", ranks),
        *(
            Column.of(name, values[order], "{:.6g}".format)
            for name, values in (
                ("wins", board.wins),
                ("ties", board.ties),
                ("losses", board.losses),
            )
        ),
    ]
    played = board.wins + board.ties + board.losses
    columns.append(Column.of("n", played[order], "{:.6g}".format))
    if board.components.max() > 0:
        columns.insert(0, Column.of("component", board.components[order]))
    has_marks = bool(board.crosses_tier.any())
    return Table(
        _title(board),
        tuple(columns),
        note=_note(board),
        meaning="the rank interval reaches outside the tier" if has_marks else "",
    )


def terminal_table(board: Leaderboard) -> Table:
    """Return the table with labels cut so that all columns fit a terminal."""
    table = board_table(board)
    (index,) = (i for i, column in enumerate(table.columns) if column.name == "label")
    others = [column for i, column in enumerate(table.columns) if i != index]
    # Two spaces between columns, and a star after marked cells.
    taken = sum(2 + any(c.marked) + max(map(len, (c.name, *c.texts)), default=0) for c in others)
    width = max(_LINE - taken, _SHORTEST_LABEL)
    labels = Column.of("label", [_cut(text, width) for text in table.columns[index].texts])
    columns = (*table.columns[:index], labels, *table.columns[index + 1 :])
    return replace(table, columns=columns)


def _title(board: Leaderboard) -> str:
    """Return method and settings in one line; without the parameters of the method if the line would be too long."""
    settings = board.settings
    kind = "simultaneous" if settings["simultaneous"] else "pairwise"
    rest = f"{percent(settings['confidence'])} {kind}, {settings['n_resamples']} resamples"
    full = f"{settings['method']}: {rest}"
    return full if len(full) <= _LINE else f"{settings['method'].partition('(')[0]}: {rest}"


def _rank_text(board: Leaderboard, label: int) -> str:
    low, high = int(board.rank_low[label]), int(board.rank_high[label])
    return str(low) if low == high else f"{low}–{high}"


def _digits(board: Leaderboard) -> int:
    """Return the number of decimals of scores: two significant digits of the typical width of an interval."""
    widths = (board.score_high - board.score_low)[board.tier > 0]
    typical = float(np.median(widths)) if len(widths) else 0.0
    if not typical > 0:
        return 3
    return min(max(1 - math.floor(math.log10(typical)), 0), 6)


def _note(board: Leaderboard) -> str:
    """Return a note about labels that are not comparable; empty if all labels are comparable."""
    sizes = np.bincount(board.components)
    alone = [label for label in board.order().tolist() if sizes[board.components[label]] == 1]
    remarks = []
    if (sizes > 1).sum() > 1:
        remarks.append(
            "No comparisons connect the components: ranks and tiers hold within a component, and labels of different "
            "components are not comparable."
        )
    if alone:
        names = [
            _cut(escape_text(str(board.labels[label])), _LONGEST_NOTED_LABEL)
            for label in alone[:_MOST_NOTED_LABELS]
        ]
        if len(alone) > _MOST_NOTED_LABELS:
            names.append(f"{len(alone) - _MOST_NOTED_LABELS} more")
        remarks.append(f"Never compared, so not ranked: {join_names(names)}.")
    return " ".join(remarks)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def tier_lists(board: Leaderboard, component: int = 0) -> list[list[Any]]:
    """Return the labels of each tier of a component, best first."""
    order = [label for label in board.order() if board.components[label] == component]
    tiers: list[list[Any]] = []
    for label in order:
        if len(tiers) < board.tier[label]:
            tiers.append([])
        tiers[-1].append(board.labels[label])
    return tiers
