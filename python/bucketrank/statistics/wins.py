"""Counts of wins, ties and losses between methods over datasets."""

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
    """Numbers of wins, ties and losses for each pair of methods.

    Attributes
    ----------
    methods : tuple of str
        Names of rows and columns.
    wins, ties : ndarray of shape (n_methods, n_methods)
        Number of datasets on which the row's method is better than the column's, or equal. The diagonals are 0.
    decimals : int
        Scores that are equal when rounded to this many decimals are ties.

    Examples
    --------
    >>> from bucketrank.statistics import ScoreTable, win_tie_loss
    >>> scores = ScoreTable(
    ...     [[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.7, 0.6, 0.5], [0.6, 0.5, 0.4]],
    ...     datasets=["w", "x", "y", "z"],
    ...     methods=["a", "b", "c"],
    ... )
    >>> win_tie_loss(scores).against("a", "b")
    (4, 0, 0)
    """

    methods: tuple[str, ...]
    wins: NDArray[np.int64]
    ties: NDArray[np.int64]
    decimals: int

    @property
    def losses(self) -> NDArray[np.int64]:
        """Number of datasets on which the row's method is worse than the column's."""
        return self.wins.T

    def against(self, method: str, other: str) -> tuple[int, int, int]:
        """Return the numbers of datasets on which `method` wins, ties and loses against `other`."""
        for name in (method, other):
            if name not in self.methods:
                raise ValueError(f"method {name!r} is unknown; known: {', '.join(self.methods)}")
        i, j = self.methods.index(method), self.methods.index(other)
        return int(self.wins[i, j]), int(self.ties[i, j]), int(self.wins[j, i])

    def to_dict(self) -> dict[str, Any]:
        """Return all counts as plain Python numbers, strings and lists, ready for JSON."""
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
    """Count the datasets on which each method wins, ties and loses against each other method.

    Parameters
    ----------
    scores : ScoreTable, DataFrame, mapping or array-like of shape (n_datasets, n_methods)
        See :meth:`ScoreTable.of`.
    decimals : int, default 3
        Decimals to which scores are rounded before they are compared, from 0 to 17.
    higher_is_better : bool, default True
        False for times and errors. Ignored for a :class:`ScoreTable`, which has this attribute.

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
    rounded = table.rounded(digits).merits
    wins = (rounded[:, :, None] > rounded[:, None, :]).sum(axis=0)
    ties = (rounded[:, :, None] == rounded[:, None, :]).sum(axis=0)
    np.fill_diagonal(ties, 0)
    return WinTieLoss(table.methods, wins, ties, digits)
