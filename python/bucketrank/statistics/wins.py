"""Counts of datasets on which one method wins, ties and loses against another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank.statistics.score_table import ScoreTable
from bucketrank.tables import Column, Table, TabularResult
from bucketrank.tables.rounding import as_decimals

__all__ = ["WinTieLoss", "win_tie_loss"]


@dataclass(frozen=True, eq=False)
class WinTieLoss(TabularResult):
    """Counts of datasets, for each pair of methods.

    Attributes
    ----------
    methods : tuple of str
        Names of rows and columns.
    wins, ties : ndarray of shape (n_methods, n_methods)
        On how many datasets the row's method is better than the column's, or equal; losses are the wins of the
        other. The diagonals are 0.
    decimals : int
        Scores that are equal when rounded to so many decimals are ties.
    """

    methods: tuple[str, ...]
    wins: NDArray[np.int64]
    ties: NDArray[np.int64]
    decimals: int

    @property
    def losses(self) -> NDArray[np.int64]:
        """On how many datasets the row's method is worse than the column's."""
        return self.wins.T

    def against(self, method: str, other: str) -> tuple[int, int, int]:
        """Return on how many datasets `method` wins, ties and loses against `other`."""
        for name in (method, other):
            if name not in self.methods:
                raise ValueError(f"method {name!r} is unknown; known: {', '.join(self.methods)}")
        i, j = self.methods.index(method), self.methods.index(other)
        return int(self.wins[i, j]), int(self.ties[i, j]), int(self.wins[j, i])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python numbers, strings and lists, ready for JSON."""
        return {
            "methods": list(self.methods),
            "wins": self.wins.tolist(),
            "ties": self.ties.tolist(),
            "losses": self.losses.tolist(),
            "decimals": self.decimals,
        }

    def table(self) -> Table:
        """Return a table in which each cell is the row's wins/ties/losses against the column."""
        columns = [Column.of("method", self.methods)]
        for j, other in enumerate(self.methods):
            cells = [
                None if i == j else "/".join(map(str, self.against(name, other)))
                for i, name in enumerate(self.methods)
            ]
            columns.append(Column.of(other, cells))
        return Table(f"win/tie/loss at {self.decimals} decimals", tuple(columns))


def win_tie_loss(scores: Any, *, decimals: int = 3, higher_is_better: bool = True) -> WinTieLoss:
    """Count on how many datasets each method wins, ties and loses against each other.

    Parameters
    ----------
    scores : ScoreTable, DataFrame, mapping or array-like of shape (n_datasets, n_methods)
        See :meth:`ScoreTable.of`.
    decimals : int, default 3
        Scores are compared as so many decimals of them are printed, from 0 to 17.
    higher_is_better : bool, default True
        False for times and errors; a :class:`ScoreTable` knows by itself.

    Returns
    -------
    WinTieLoss

    Examples
    --------
    >>> counts = win_tie_loss([[0.9, 0.8], [0.7, 0.7001], [0.6, 0.5]])
    >>> counts.against("method 1", "method 2")
    (2, 1, 0)
    """
    table = ScoreTable.of(scores, higher_is_better=higher_is_better)
    digits = as_decimals(decimals)
    shown = table.rounded(digits).merits
    wins = (shown[:, :, None] > shown[:, None, :]).sum(axis=0)
    ties = (shown[:, :, None] == shown[:, None, :]).sum(axis=0)
    np.fill_diagonal(ties, 0)
    return WinTieLoss(table.methods, wins, ties, digits)
