"""The training rows of a mixture."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank import _core
from bucketrank._validation import Positions, as_weights


class TrainingRows(NamedTuple):
    """Training rows of positive weight."""

    values: NDArray[np.float64]
    positions: Positions
    weights: NDArray[np.float64] | None

    def only(self, chosen: NDArray[Any]) -> TrainingRows:
        """Return the chosen rows: indices or a mask."""
        weights = None if self.weights is None else self.weights[chosen]
        return TrainingRows(self.values[chosen], self.positions[chosen], weights)


def draw_rows(rows: TrainingRows, most: int, draws: np.random.RandomState) -> TrainingRows:
    """Return at most `most` rows, drawn without replacement."""
    if len(rows.values) <= most:
        return rows
    return rows.only(np.sort(draws.permutation(len(rows.values))[:most]))


def rows_with_weight(
    values: NDArray[np.float64], positions: Positions, sample_weight: ArrayLike | None
) -> TrainingRows:
    """Check rankings, features and weights, and leave out rows of weight 0."""
    _core.parse_positions(positions)
    if len(values) != len(positions):
        raise ValueError(
            f"X has {len(values)} rows but y has {len(positions)}; expected one ranking per row of features"
        )
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0].tolist()
        found = "NaN" if np.isnan(values[row, column]) else values[row, column]
        raise ValueError(f"X, row {row}, column {column}: {found}; expected a finite number")
    weights = as_weights(sample_weight)
    if weights is None:
        return TrainingRows(values, positions, None)
    weights = _core.check_weights(weights, len(positions))
    return TrainingRows(values, positions, weights).only(weights > 0)
