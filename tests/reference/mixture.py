"""Slow reference of the mixture: weights by expectation maximisation, and the log-linear pool."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

STEPS = 60
PRIOR_ROWS = 20
FLOOR = 0.001
RIDGE = 10

_Array = NDArray[np.float64]


def weights(
    shares: Sequence[Sequence[Sequence[float]]],
    row_weights: Sequence[float],
    start: Sequence[float],
) -> list[float]:
    """Return the weights of the components from their predictions for each observed pair of each row.

    ``shares[row][pair][component]`` is the share that the component predicts for the observed relation.
    """
    found = list(start)
    rows = [(row, weight) for row, weight in zip(shares, row_weights, strict=True) if row]
    total = sum(weight for _, weight in rows)
    for _ in range(STEPS):
        sums = [PRIOR_ROWS * share for share in start]
        for row, weight in rows:
            for pair in row:
                mixed = sum(w * p for w, p in zip(found, pair, strict=True))
                for k, p in enumerate(pair):
                    sums[k] += weight * found[k] * p / mixed / len(row)
        found = [part / (PRIOR_ROWS + total) for part in sums]
    return found


def pool_shares(shares: _Array, order: _Array, tie: _Array, offset: float) -> _Array:
    """Return the log-linear pool of ``shares[component, ..., relation]``."""
    before, tied, after = np.moveaxis(np.log(np.maximum(shares, FLOOR)), -1, 0)
    x = np.tensordot(order, before - after, 1)
    y = np.tensordot(tie, tied - (before + after) / 2, 1) + offset
    logs = np.stack([x / 2, y, -x / 2], axis=-1)
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    pooled: _Array = weights / weights.sum(axis=-1, keepdims=True)
    return pooled


def fit_pool(
    shares: _Array, relations: NDArray[np.intp], pair_weights: _Array, start: _Array
) -> tuple[_Array, _Array, float]:
    """Return the numbers of the pool from ``shares[component, pair, relation]`` and the observed relations."""
    prior = np.concatenate([start, start, [0.0]])
    n = len(start)

    def objective(point: _Array) -> float:
        pooled = pool_shares(shares, point[:n], point[n:-1], point[-1])
        observed = pooled[np.arange(len(relations)), relations]
        return float(-pair_weights @ np.log(observed) + RIDGE / 2 * ((point - prior) ** 2).sum())

    bounds = [(0, None)] * (2 * n) + [(None, None)]
    found = minimize(
        objective, prior, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-9}
    ).x
    return found[:n], found[n:-1], float(found[-1])
