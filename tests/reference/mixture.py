"""Slow reference of the mixture: weights by expectation maximisation, and the log-linear pool."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

STEPS = 60
PRIOR_EVIDENCE = 10
FLOOR = 0.001
RIDGE = 3
CORRECTIONS = 2

_Array = NDArray[np.float64]


def weights(
    shares: Sequence[Sequence[Sequence[float]]],
    row_weights: Sequence[float],
    start: Sequence[float],
) -> list[float]:
    """Return the weights of the components from their predictions for each observed pair of each row.

    ``shares[row][pair][component]`` is the share that the component predicts for the observed relation; the weight of
    a row is multiplied by the number of its ranked labels minus 1.
    """
    found = list(start)
    rows = [
        (row, weight * comparisons(len(row)))
        for row, weight in zip(shares, row_weights, strict=True)
        if row
    ]
    total = sum(evidence for _, evidence in rows)
    for _ in range(STEPS):
        sums = [PRIOR_EVIDENCE * share for share in start]
        for row, evidence in rows:
            for pair in row:
                mixed = sum(w * p for w, p in zip(found, pair, strict=True))
                for k, p in enumerate(pair):
                    sums[k] += evidence * found[k] * p / mixed / len(row)
        found = [part / (PRIOR_EVIDENCE + total) for part in sums]
    return found


def comparisons(n_pairs: int) -> int:
    """Return the number of labels minus 1 of a row with this many pairs."""
    return next(k - 1 for k in range(1, n_pairs + 2) if k * (k - 1) // 2 == n_pairs)


def log_ratios(shares: _Array) -> _Array:
    """Return the log ratios x and y of ``shares[..., relation]`` along a new last axis."""
    before, tied, after = np.moveaxis(np.log(np.maximum(shares, FLOOR)), -1, 0)
    return np.stack([before - after, tied - (before + after) / 2], axis=-1)


def forest_noise(halves: _Array, voters: _Array, n_trees: int) -> _Array:
    """Return the excess covariance of the forest's log ratios from ``halves[half, pair, relation]``.

    ``voters[half, pair]`` is the number of trees that vote for the row of the pair.
    """
    total = voters.sum(axis=0)
    excess = voters.prod(axis=0) / np.maximum(total, 1) ** 2 * np.maximum(0, 1 - total / n_trees)
    difference = log_ratios(halves[0]) - log_ratios(halves[1])
    noise: _Array = excess[:, None, None] * difference[:, :, None] * difference[:, None, :]
    return noise


def pool_shares(shares: _Array, order: _Array, tie: _Array, offset: float) -> _Array:
    """Return the log-linear pool of ``shares[component, ..., relation]``."""
    ratios = log_ratios(shares)
    x = np.tensordot(order, ratios[..., 0], 1)
    y = np.tensordot(tie, ratios[..., 1], 1) + offset
    logs = np.stack([x / 2, y, -x / 2], axis=-1)
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    pooled: _Array = weights / weights.sum(axis=-1, keepdims=True)
    return pooled


def fit_pool(
    shares: _Array,
    relations: NDArray[np.intp],
    pair_weights: _Array,
    start: _Array,
    noise: _Array,
) -> tuple[_Array, _Array, float]:
    """Return `order`, `tie` and `offset` of the pool that fits the observed relations.

    The pool combines ``shares[component, pair, relation]``; ``noise[pair]`` is the excess covariance of the log ratios
    of the first component.
    """
    prior = np.concatenate([start, start, [0.0]])
    n = len(start)
    tilt = np.zeros_like(prior)

    def objective(point: _Array) -> float:
        pooled = pool_shares(shares, point[:n], point[n:-1], point[-1])
        observed = pooled[np.arange(len(relations)), relations]
        penalty = RIDGE / 2 * ((point - prior) ** 2).sum()
        return float(-pair_weights @ np.log(observed) + penalty - tilt @ point)

    bounds = [(0, None)] * (2 * n) + [(None, None)]
    found = prior
    for correction in range(CORRECTIONS + 1):
        if correction > 0:
            own = [0, n]
            tilt[own] = noise_curvature(shares, pair_weights, noise, found) @ found[own]
        found = minimize(
            objective,
            found,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 1e-15, "gtol": 1e-9},
        ).x
    return found[:n], found[n:-1], float(found[-1])


def noise_curvature(shares: _Array, pair_weights: _Array, noise: _Array, point: _Array) -> _Array:
    """Return the sum over pairs of noise times the second derivatives of the negative log-likelihood."""
    n = len(shares)
    before, tied, after = np.moveaxis(pool_shares(shares, point[:n], point[n:-1], point[-1]), -1, 0)
    net = before - after
    order = (before + after - net**2) / 4
    both = -net * tied / 2
    tie = tied * (1 - tied)
    second = np.array([[order, both], [both, tie]])
    curvature: _Array = np.einsum("p,ijp,pij->ij", pair_weights, second, noise)
    return curvature
