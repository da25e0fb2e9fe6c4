"""Slow reference of the latent model with ties and its gradient boosting, without random sampling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any, TypeAlias

Scores: TypeAlias = list[float]
"""n utilities, then n tie terms."""

CONSTANT_STEPS = 3
"""Newton steps of the scores shared by all rows, before the first tree."""

CONSTANT_RATE = 0.7
"""Fraction of each of these steps that is taken."""

CLIP = 2.0
"""Largest change of a score in one step."""


def pair_shares(scores: Sequence[float], u: int, v: int) -> tuple[float, float, float]:
    """Return the shares of u before v, tied, and after."""
    n = len(scores) // 2
    logs = (
        (scores[u] - scores[v]) / 2,
        scores[n + u] + scores[n + v],
        (scores[v] - scores[u]) / 2,
    )
    largest = max(logs)
    weights = [math.exp(log - largest) for log in logs]
    return (weights[0] / sum(weights), weights[1] / sum(weights), weights[2] / sum(weights))


def observed(row: Sequence[float]) -> list[tuple[int, int, int]]:
    """Return the pairs u < v that a row ranks, with +1, 0 or -1 for before, tied and after."""
    ranked = [u for u, position in enumerate(row) if not math.isnan(position)]
    return [(u, v, (row[u] < row[v]) - (row[u] > row[v])) for u, v in combinations(ranked, 2)]


def log_likelihood(scores: Sequence[float], row: Sequence[float]) -> float:
    """Return the sum of the log-probabilities of the relations of all pairs that a ranking ranks."""
    return sum(math.log(pair_shares(scores, u, v)[1 - y]) for u, v, y in observed(row))


def derivatives(scores: Sequence[float], row: Sequence[float]) -> tuple[Scores, Scores]:
    """Return the gradient of the log-likelihood, and its negative second derivative per output."""
    n = len(row)
    gradient, curvature = [0.0] * (2 * n), [0.0] * (2 * n)
    for u, v, y in observed(row):
        before, tied, after = pair_shares(scores, u, v)
        net = before - after
        gradient[u] += (y - net) / 2
        gradient[v] -= (y - net) / 2
        for label in (u, v):
            curvature[label] += (before + after - net**2) / 4
            gradient[n + label] += (y == 0) - tied
            curvature[n + label] += tied * (1 - tied)
    return gradient, curvature


def boost(
    X: Sequence[Sequence[float]], Y: Sequence[Sequence[float]], **options: Any
) -> list[Scores]:
    """Return the training scores of a booster that draws all rows and all features."""
    rows = list(range(len(X)))
    scores = [[0.0] * (2 * len(Y[0])) for _ in rows]
    for _ in range(CONSTANT_STEPS):
        derived = [derivatives(s, y) for s, y in zip(scores, Y, strict=True)]
        step = newton_step(derived, rows, CONSTANT_RATE, options["ridge"])
        scores = [[s + d for s, d in zip(row, step, strict=True)] for row in scores]
    for _ in range(options["rounds"]):
        derived = [derivatives(s, y) for s, y in zip(scores, Y, strict=True)]
        for leaf in leaves(X, derived, rows, options["max_depth"], options):
            step = newton_step(derived, leaf, options["learning_rate"], options["ridge"])
            for row in leaf:
                scores[row] = [s + d for s, d in zip(scores[row], step, strict=True)]
    return scores


def sums(derived: list[tuple[Scores, Scores]], rows: list[int]) -> tuple[Scores, Scores]:
    """Return gradients and curvatures added over rows."""
    gradient = [sum(column) for column in zip(*(derived[row][0] for row in rows), strict=True)]
    curvature = [sum(column) for column in zip(*(derived[row][1] for row in rows), strict=True)]
    return gradient, curvature


def newton_step(
    derived: list[tuple[Scores, Scores]], rows: list[int], rate: float, ridge: float
) -> Scores:
    """Return the change of the scores that `rows` share: a Newton step times `rate`, clipped."""
    gradient, curvature = sums(derived, rows)
    steps = [rate * g / (h + ridge) for g, h in zip(gradient, curvature, strict=True)]
    return [max(-CLIP, min(CLIP, step)) for step in steps]


def worth(derived: list[tuple[Scores, Scores]], rows: list[int], ridge: float) -> float:
    """Return the score of a node: the sum over all outputs of G²/(H + ridge), with G and H from `sums`."""
    gradient, curvature = sums(derived, rows)
    return sum(g * g / (h + ridge) for g, h in zip(gradient, curvature, strict=True))


def leaves(
    X: Sequence[Sequence[float]],
    derived: list[tuple[Scores, Scores]],
    rows: list[int],
    depth: int,
    options: dict[str, Any],
) -> list[list[int]]:
    """Return the rows of each leaf of the tree of best splits."""
    ridge, least = options["ridge"], options["min_samples_leaf"]
    best = worth(derived, rows, ridge)
    split = None
    for feature in range(len(X[0])) if depth > 0 else ():
        values = sorted({X[row][feature] for row in rows})
        for lower, upper in pairwise(values):
            threshold = (lower + upper) / 2
            left = [row for row in rows if X[row][feature] <= threshold]
            right = [row for row in rows if X[row][feature] > threshold]
            if min(len(left), len(right)) < least:
                continue
            total = worth(derived, left, ridge) + worth(derived, right, ridge)
            if total > best:
                best, split = total, (left, right)
    if split is None:
        return [rows]
    return [leaf for side in split for leaf in leaves(X, derived, side, depth - 1, options)]
