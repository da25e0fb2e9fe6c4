"""Shapley values by their definition: over all coalitions of features."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def shapley_values(game: Callable[[frozenset[int]], Array], n_features: int) -> Array:
    """Weighted mean of the change of the game by each feature, over all coalitions of the others."""
    values = []
    for feature in range(n_features):
        others = [j for j in range(n_features) if j != feature]
        value: Any = 0.0
        for size in range(n_features):
            weight = factorial(size) * factorial(n_features - size - 1) / factorial(n_features)
            for coalition in combinations(others, size):
                known = frozenset(coalition)
                value = value + weight * (game(known | {feature}) - game(known))
        values.append(value)
    return np.array(values)


def tree_game(
    nodes: Any, scores: dict[int, Array], row: Array
) -> Callable[[frozenset[int]], Array]:
    """Expected score of a tree when some features are known; other splits are averaged by the training weight."""

    def expected(known: frozenset[int], node: int) -> Array:
        first, count = nodes["first_child"][node], nodes["children"][node]
        if count == 0:
            return scores[node]
        children = range(first, first + count)
        if nodes["feature"][node] in known:
            passed = sum(row[nodes["feature"][node]] > t for t in nodes["thresholds"][node])
            return expected(known, children[passed])
        weights = nodes["weight"][list(children)]
        terms = [w * expected(known, child) for w, child in zip(weights, children, strict=True)]
        total: Array = np.sum(terms, axis=0) / weights.sum()
        return total

    return lambda known: expected(known, 0)
