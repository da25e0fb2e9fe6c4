"""The page of a leaderboard: a summary in words, the table, figures, and which labels are ahead of which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bucketrank.boards.rendering import board_table, tier_lists
from bucketrank.experiments.report.document import Document, Figure, Section
from bucketrank.tables import Column, Table, join_names, percent, pluralize

if TYPE_CHECKING:
    from bucketrank.boards.result import Leaderboard

__all__ = ["board_document"]

_MOST_LABELS_OF_PAIRS = 60
"""Largest number of labels for which all pairs are listed and drawn."""


def board_document(board: Leaderboard, title: str) -> Document:
    """Return the report of a leaderboard."""
    table = board_table(board)
    sections = [
        Section(
            "Ranking",
            (_how_to_read(board),),
            tables=(Table("Labels", table.columns, table.note, table.meaning),),
            figures=(_intervals(board),),
        )
    ]
    if len(board.labels) <= _MOST_LABELS_OF_PAIRS:
        sections.append(_pairs(board))
    sections.append(Section("Settings", tables=(_settings(board),)))
    return Document(
        title=title,
        subtitle=_subtitle(board),
        warning=table.note,
        summary=_summary(board),
        sections=tuple(sections),
    )


def _subtitle(board: Leaderboard) -> str:
    total = pluralize(board.counts.table.sum(), "comparison", spec=",.10g")
    return f"{pluralize(len(board.labels), 'label')}, {total}, {board.settings['method']}"


def _summary(board: Leaderboard) -> tuple[str, ...]:
    tiers = tier_lists(board)
    first = join_names([str(label) for label in tiers[0]])
    lines = [
        f"{first} {'lead' if len(tiers[0]) > 1 else 'leads'} the board"
        + (": the best of them is not separated from the others." if len(tiers[0]) > 1 else ".")
        + f" There {'is' if len(tiers) == 1 else 'are'} {pluralize(len(tiers), 'tier')}."
    ]
    # The largest set of labels that comparisons connect; pairs in it are separated if one label is ahead.
    inside = board.components == 0
    pairs = int(inside.sum()) * (int(inside.sum()) - 1) // 2
    separated = int(board.ahead[np.ix_(inside, inside)].sum())
    scope = (
        "for all pairs at once" if board.settings["simultaneous"] else "for each pair on its own"
    )
    lines.append(
        f"Separated: {separated} of {pluralize(pairs, 'pair')}, with {percent(board.settings['confidence'])} "
        f"confidence {scope}."
    )
    return tuple(lines)


def _how_to_read(board: Leaderboard) -> str:
    return (
        "The intervals of the scores are percentile intervals, each for one label alone. A label is ahead of another "
        f"when their difference exceeds {board.critical_value:.2f} standard errors of the difference. The rank "
        "interval goes from 1 + the number of labels ahead to the number of comparable labels − the number of labels "
        "behind. The best label opens the first tier. Each further label joins the current tier, unless the label "
        "that opened the tier is ahead of it: then it opens the next one."
    )


def _intervals(board: Leaderboard) -> Figure:
    from bucketrank.figures.board import interval_height, plot_score_intervals

    def draw(axes: Any) -> Any:
        return plot_score_intervals(board, ax=axes)

    return Figure(
        "Scores with intervals; bands are tiers, every other one shaded",
        draw,
        (5.2, interval_height(board)),
        is_narrow=True,
    )


def _pairs(board: Leaderboard) -> Section:
    from bucketrank.figures.board import pair_side, plot_pair_outcomes

    def draw(axes: Any) -> Any:
        return plot_pair_outcomes(board, ax=axes)

    side = pair_side(len(board.labels))
    order = board.order().tolist()
    names = [str(board.labels[label]) for label in order]
    columns = [Column.of("label", names)]
    for j, name in zip(order, names, strict=True):
        shares = board.probability_ahead[order, j]
        marked = board.ahead[order, j]
        cells = [None if i == j else share for i, share in zip(order, shares, strict=True)]
        columns.append(Column.of(name, cells, "{:.2f}".format, marked))
    table = Table(
        "Share of the resamples in which the row label scores higher than the column label",
        tuple(columns),
        meaning="the row label is ahead of the column label",
    )
    return Section(
        "Pairs",
        figures=(Figure("Share of won comparisons, ties counting half", draw, (side + 1.4, side)),),
        more=(table,),
    )


def _settings(board: Leaderboard) -> Table:
    items = [*board.settings.items(), ("critical value", f"{board.critical_value:.4f}")]
    return Table(
        "Settings of the leaderboard",
        (
            Column.of("setting", [name for name, _ in items]),
            Column.of("value", [str(value) for _, value in items]),
        ),
    )
