"""Random draws of rows for a mixture: held-out parts, rows to choose the weights on, and rows of linear models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bucketrank._validation import Positions

__all__ = [
    "LEAST_PARTS",
    "MOST_PARTS",
    "count_parts",
    "draw_evidence_rows",
    "draw_linear_rows",
    "draw_parts",
]

LEAST_PARTS = 5
MOST_PARTS = 20
_PARTS_TIMES_COMPARISONS = 2000
"""The number of parts is this number divided by the number of comparisons, within the limits above."""

_EVIDENCE_ROWS = 2000
"""Largest number of rows used to choose weights and rounds; more rows change the choice little."""

_EVIDENCE_PAIRS = 1 << 22
"""Largest number of pairs of labels in these rows, which limits their memory; at least 50 rows are used."""

_LINEAR_ROWS = 4000
"""Largest number of rows used to fit a linear model: its few coefficients need no more."""


def count_parts(positions: Positions) -> int:
    """Return the number of parts by the number of comparisons."""
    ranked = np.count_nonzero(~np.isnan(positions), axis=1)
    comparisons = int(np.maximum(ranked - 1, 0).sum())
    wanted = _PARTS_TIMES_COMPARISONS // max(1, comparisons)
    return max(LEAST_PARTS, min(MOST_PARTS, wanted))


def draw_parts(n_rows: int, n_parts: int, draws: np.random.RandomState) -> NDArray[np.int64]:
    """Return the part of each row."""
    part_of: NDArray[np.int64] = draws.permutation(n_rows) % max(1, min(n_parts, n_rows))
    return part_of


def draw_evidence_rows(
    n_rows: int, n_labels: int, draws: np.random.RandomState
) -> NDArray[np.int64]:
    """Draw the rows on which weights and rounds are chosen."""
    n_pairs = max(1, n_labels * (n_labels - 1) // 2)
    most = min(_EVIDENCE_ROWS, max(50, _EVIDENCE_PAIRS // n_pairs))
    return np.sort(draws.permutation(n_rows)[:most])


def draw_linear_rows(
    part_of: NDArray[np.int64], part: int, draws: np.random.RandomState
) -> NDArray[np.int64]:
    """Draw at most 4000 rows outside a part; if the data have a single row, return that row."""
    rows = np.arange(len(part_of)) if len(part_of) == 1 else np.flatnonzero(part_of != part)
    if len(rows) > _LINEAR_ROWS:
        rows = rows[np.sort(draws.permutation(len(rows))[:_LINEAR_ROWS])]
    return rows
