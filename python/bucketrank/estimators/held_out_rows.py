"""Random draws of rows for `PartialLabelRanker`, a weighted mixture of models.

Draws held-out parts (folds), rows on which the weights are chosen, and training rows of linear models.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bucketrank._validation import Positions

__all__ = ["LEAST_PARTS", "draw_linear_rows", "draw_parts", "draw_selection_rows"]

LEAST_PARTS = 5
_MOST_PARTS = 20
_PARTS_TIMES_COMPARISONS = 2000
"""The number of parts is this number divided by the number of comparisons, from `LEAST_PARTS` to `_MOST_PARTS`.

A row that ranks k labels counts as k - 1 comparisons.
"""

_SELECTION_ROWS = 2000
"""Largest number of rows used to choose weights and boosting rounds; more rows change the choice little."""

_SELECTION_PAIRS = 1 << 22
"""Largest number of pairs of labels in the rows used to choose weights; limits memory, but allows 50 rows."""

_LINEAR_ROWS = 4000
"""Largest number of rows used to fit a linear model: its few coefficients need no more."""


def draw_parts(
    positions: Positions, n_parts: int | None, draws: np.random.RandomState
) -> tuple[NDArray[np.int64], int]:
    """Return the part of each row, and how often a booster and a linear model are fitted: once per part, or once more.

    If `n_parts` is None, the number of parts depends on the number of comparisons. If it is then the largest number
    possible, the data are few: there is one more fit, on all rows, and only the models of this fit predict.
    """
    wanted = _count_parts(positions) if n_parts is None else n_parts
    part_of: NDArray[np.int64] = draws.permutation(len(positions)) % max(
        1, min(wanted, len(positions))
    )
    has_full_fit = n_parts is None and wanted == _MOST_PARTS
    return part_of, int(part_of.max(initial=0)) + 1 + has_full_fit


def _count_parts(positions: Positions) -> int:
    """Return the number of parts by the number of comparisons."""
    ranked = np.count_nonzero(~np.isnan(positions), axis=1)
    comparisons = int(np.maximum(ranked - 1, 0).sum())
    wanted = _PARTS_TIMES_COMPARISONS // max(1, comparisons)
    return max(LEAST_PARTS, min(_MOST_PARTS, wanted))


def draw_selection_rows(
    n_rows: int, n_labels: int, draws: np.random.RandomState
) -> NDArray[np.int64]:
    """Draw the rows on which the weights of the models and the number of boosting rounds are chosen."""
    n_pairs = max(1, n_labels * (n_labels - 1) // 2)
    most = min(_SELECTION_ROWS, max(50, _SELECTION_PAIRS // n_pairs))
    return np.sort(draws.permutation(n_rows)[:most])


def draw_linear_rows(
    part_of: NDArray[np.int64], part: int, draws: np.random.RandomState
) -> NDArray[np.int64]:
    """Draw at most 4000 rows outside a part; if the data have a single row, return that row."""
    rows = np.arange(len(part_of)) if len(part_of) == 1 else np.flatnonzero(part_of != part)
    if len(rows) > _LINEAR_ROWS:
        rows = rows[np.sort(draws.permutation(len(rows))[:_LINEAR_ROWS])]
    return rows
