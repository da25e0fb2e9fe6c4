"""Fit the log-linear pool of a fitted ranker again with other constants, from the same held-out predictions.

The pool is a weighted geometric mean of the pair shares of the ranker's components (forest, boosters, linear models).
In terms of the log ratios of shares, x = ln before - ln after and y = ln tied - (ln before + ln after) / 2, it adds the
x of the components with the weights α, and their y with the weights β, plus a constant γ. One fit of the ranker serves
all values of the constants; the constants of the package reproduce the pool of the ranker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank import PartialLabelRanker, PartialLabelRankingForest, _core

_Array = NDArray[np.float64]

_FLOOR = 0.001
"""Smallest share in a logarithm."""
_CORRECTIONS = 2
"""Number of corrections for the noise of the forest."""
_LARGEST_EVIDENCE = 2000
"""Largest number of evidence rows: training rows whose held-out predictions the pool is fitted to."""


@dataclass(frozen=True)
class Constants:
    """Constants of the fit that are chosen by measurement; the defaults are those of the package."""

    ridge: float = 3.0
    """Penalty of the distance of α and β from the weights of the arithmetic mean, and of γ from 0."""
    share: float = 0.75
    """Weight of the log-linear pool in the mixed shares; the rest is the weighted mean of the components."""


@dataclass(frozen=True)
class PoolEvidence:
    """Log ratios and noise of the observed pairs of the evidence rows."""

    ratios: _Array
    """One row per pair, one column per parameter α, β and γ: x of the components, y of the components, and 1."""
    noise: _Array
    """Covariance of x and y of the forest, by pair, that is due to the smaller number of out-of-bag trees."""
    relations: NDArray[np.intp]
    """Observed relation of each pair: 0 before, 1 tied, 2 after."""
    weights: _Array
    """Weight of each pair."""


def log_ratios(shares: _Array) -> tuple[_Array, _Array]:
    """Return the log ratios x and y of ``shares[..., relation]``, whose relations are before, tied and after."""
    before, tied, after = np.moveaxis(np.log(np.maximum(shares, _FLOOR)), -1, 0)
    return before - after, tied - (before + after) / 2


def component_shares(ranker: PartialLabelRanker, X: _Array) -> _Array:
    """Return the shares of forest, boosters and linear models for new rows: components x rows x pairs x 3."""
    models = ranker._models()[1]
    return np.array([_mean_shares(models_of, X) for _, models_of in models])


def _mean_shares(models: list[Any], X: _Array) -> _Array:
    return _core.mixture_pair_shares([(1.0, models)], None, np.ascontiguousarray(X), 1)[0]


def collect(ranker: PartialLabelRanker, X: _Array, Y: _Array, seed: int) -> PoolEvidence:
    """Return the evidence of a ranker that was fitted with `n_parts`, ``random_state=seed`` and equal weights."""
    n_rows, n_labels = Y.shape
    draws = np.random.RandomState(seed)
    part_of = draws.permutation(n_rows) % min(len(ranker.components_["booster"]), n_rows)
    chosen = np.sort(draws.permutation(n_rows)[:_LARGEST_EVIDENCE])
    u, v = np.triu_indices(n_labels, 1)
    difference = Y[chosen][:, u] - Y[chosen][:, v]
    rows, pairs = np.nonzero(~np.isnan(difference))
    counts = np.bincount(rows, minlength=len(chosen))
    # A row that ranks k labels has k (k - 1) / 2 pairs, which share a weight of k - 1 comparisons.
    ranked = (1 + np.sqrt(1 + 8 * counts)) / 2
    rows, row_weights = chosen[rows], 2 / ranked[rows]
    forest, noise = _forest_evidence(ranker.components_["forest"][0], X, Y)
    _, models = ranker._models()[:2]
    held_out = [forest]
    for _, models_of in models[1:]:
        table = np.empty_like(forest)
        for part, model in enumerate(models_of):
            is_held_out = part_of == part
            table[is_held_out] = _mean_shares([model], X[is_held_out])
        held_out.append(table)
    x, y = log_ratios(np.array([table[rows, pairs] for table in held_out]))
    return PoolEvidence(
        np.vstack([x, y, np.ones(len(rows))]).T,
        noise[rows, pairs],
        1 + np.sign(Y[rows, u[pairs]] - Y[rows, v[pairs]]).astype(int),
        row_weights,
    )


def _forest_evidence(
    forest: PartialLabelRankingForest, X: _Array, Y: _Array
) -> tuple[_Array, _Array]:
    """Return out-of-bag shares and their noise, by row and pair."""
    n_trees, seed = forest.n_estimators, forest.random_state
    half = PartialLabelRankingForest(n_estimators=(n_trees + 1) // 2, random_state=seed).fit(X, Y)
    shares, first = (model.predict_oob_pair_shares(X) for model in (forest, half))
    total, left = (model.forest_.out_of_bag_counts()[:, None] for model in (forest, half))
    right = total - left
    sums = total[..., None] * shares - left[..., None] * first
    second = sums / np.maximum(right, 1)[..., None]
    gaps = np.array(log_ratios(first)) - np.array(log_ratios(second))
    excess = left * right / np.maximum(total, 1) ** 2 * np.maximum(0, 1 - total / n_trees)
    noise = np.moveaxis(excess * gaps[:, None] * gaps[None, :], (0, 1), (2, 3))
    shares[total[:, 0] == 0] = 1 / 3
    return shares, noise


def fit_pool(evidence: PoolEvidence, weights: _Array, ridge: float) -> _Array:
    """Return α, β and γ by Newton steps, corrected for the noise of the forest and shrunk towards `weights`."""
    prior = np.concatenate([weights, weights, [0.0]])
    point, tilt = prior, np.zeros_like(prior)
    # The parameters α and β of the forest, the first component.
    of_forest = np.array([0, len(weights)])
    for correction in range(_CORRECTIONS + 1):
        if correction > 0:
            second = _second_derivatives(evidence, point)
            tilt[of_forest] = np.einsum("ijp,pij->ij", second, evidence.noise) @ point[of_forest]
        point = _minimise(evidence, prior, tilt, point, ridge)
    return point


def _pooled(evidence: PoolEvidence, point: _Array) -> _Array:
    n = (len(point) - 1) // 2
    x = evidence.ratios[:, :n] @ point[:n]
    y = evidence.ratios[:, n:] @ point[n:]
    return _softmax(x, y)


def _softmax(x: _Array, y: _Array) -> _Array:
    logs = np.stack([x / 2, y, -x / 2], axis=-1)
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    shares: _Array = weights / weights.sum(axis=-1, keepdims=True)
    return shares


def _second_derivatives(evidence: PoolEvidence, point: _Array) -> _Array:
    before, tied, after = _pooled(evidence, point).T
    net = before - after
    order, both, tie = (before + after - net**2) / 4, -net * tied / 2, tied * (1 - tied)
    second: _Array = evidence.weights * np.array([[order, both], [both, tie]])
    return second


def _minimise(
    evidence: PoolEvidence, prior: _Array, tilt: _Array, point: _Array, ridge: float
) -> _Array:
    """Minimise the penalised negative log-likelihood minus ``tilt @ point``, with α and β at least 0."""
    n = (len(prior) - 1) // 2
    kind = (np.arange(len(prior)) >= n).astype(int)
    index = np.arange(len(evidence.relations))
    observed = np.eye(3)[evidence.relations]

    def value(point: _Array) -> float:
        shares = _pooled(evidence, point)[index, evidence.relations]
        penalty = ridge / 2 * ((point - prior) ** 2).sum() - tilt @ point
        return float(-evidence.weights @ np.log(np.maximum(shares, 1e-300)) + penalty)

    here = value(point)
    for _ in range(60):
        errors = _pooled(evidence, point) - observed
        first = evidence.weights * np.array([(errors[:, 0] - errors[:, 2]) / 2, errors[:, 1]])
        gradient = (evidence.ratios * first[kind].T).sum(axis=0) + ridge * (point - prior) - tilt
        second = _second_derivatives(evidence, point)[kind][:, kind]
        curvature = np.einsum("pi,ijp,pj->ij", evidence.ratios, second, evidence.ratios)
        curvature += ridge * np.eye(len(prior))
        free = (point > 0) | (gradient < 0)
        free[-1] = True
        step = np.zeros_like(prior)
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], -gradient[free])
        if -gradient @ step < 1e-10 * (1 + abs(here)):
            break
        for _ in range(20):
            moved = point + step
            moved[:-1] = np.maximum(moved[:-1], 0)
            there = value(moved)
            if there < here:
                break
            step /= 2
        else:
            break
        point, here = moved, there
    return point


def mixed_shares(components: _Array, weights: _Array, point: _Array, share: float) -> _Array:
    """Return the mixed shares of new rows from those of the components."""
    n = len(weights)
    x, y = log_ratios(components)
    pooled = _softmax(np.tensordot(point[:n], x, 1), np.tensordot(point[n:-1], y, 1) + point[-1])
    mixed: _Array = share * pooled + (1 - share) * np.tensordot(weights, components, 1)
    return mixed
