"""Kemeny's consensus by brute force, in exact fractions."""

from collections.abc import Sequence
from fractions import Fraction

from .pairs import Weights, pair_counts
from .rankings import Row, all_weak_orders


def total_distance(
    Y: Sequence[Row],
    positions: Sequence[int],
    penalty: Fraction = Fraction(1, 2),
    weights: Weights = None,
    label_weights: Sequence[Fraction] | None = None,
) -> Fraction:
    """Return the sum over rankings of K^(p): 1 per reversed pair, p per pair tied on one side only."""
    before, tied = pair_counts(Y, weights)
    total = Fraction(0)
    n = len(positions)
    for u in range(n):
        for v in range(u + 1, n):
            if positions[u] == positions[v]:
                cost = penalty * (before[u][v] + before[v][u])
            else:
                first, second = (u, v) if positions[u] < positions[v] else (v, u)
                cost = before[second][first] + penalty * tied[u][v]
            weight = 1 if label_weights is None else label_weights[u] * label_weights[v]
            total += cost * weight
    return total


def smallest_distance(
    Y: Sequence[Row],
    penalty: Fraction = Fraction(1, 2),
    weights: Weights = None,
    label_weights: Sequence[Fraction] | None = None,
    buckets: tuple[int, int] | None = None,
) -> Fraction:
    """Return the smallest distance over all bucket orders with a permitted number of buckets."""
    n = len(Y[0])
    least, most = buckets or (1, n)
    orders = (order for order in all_weak_orders(n) if least <= max(order) <= most)
    return min(total_distance(Y, order, penalty, weights, label_weights) for order in orders)
