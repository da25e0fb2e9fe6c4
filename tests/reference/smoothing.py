"""Smoothed pair shares of a tree's leaves and soft routing, straight from the definitions."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from .pairs import Weights, pair_counts
from .rankings import Row

Triple = tuple[float, float, float]
THIRD: Triple = (1 / 3, 1 / 3, 1 / 3)


def node_counts(Y: Sequence[Row], weights: Weights = None) -> list[tuple[Fraction, ...]]:
    """Return the weights of before, tied and after for each pair u < v."""
    before, tied = pair_counts(Y, weights)
    pairs = combinations(range(len(before)), 2)
    return [(before[u][v], tied[u][v], before[v][u]) for u, v in pairs]


def own_shares(path: Sequence[list[tuple[Fraction, ...]]]) -> list[Triple]:
    """Return the shares of the last node alone; zeros where no row ranks both labels."""
    shares = []
    for counts in path[-1]:
        seen = sum(counts)
        shares.append(tuple(float(c / seen) if seen else 0.0 for c in counts))
    return shares  # type: ignore[return-value]


def path_shrinkage(
    path: Sequence[list[tuple[Fraction, ...]]], strength: float, root_weight: Fraction
) -> list[Triple]:
    """Return p = p0 + sum of (p_l - p_(l-1)) / (1 + lambda / N_(l-1)) up to the first node with N_l = 0.

    N_l is the weight of the rows that rank the pair at level l, and lambda = strength * sqrt(N_0 / root_weight).
    """
    result: list[Triple] = []
    for pair in range(len(path[0])):
        counts = [node[pair] for node in path]
        seen = [sum(c) for c in counts]
        if seen[0] == 0:
            result.append(THIRD)
            continue
        strength_here = strength * math.sqrt(seen[0] / root_weight)
        shares = [float(c / seen[0]) for c in counts[0]]
        for level in range(1, len(path)):
            if seen[level] == 0:
                break
            divisor = 1 + strength_here / float(seen[level - 1])
            for k in range(3):
                own, above = counts[level][k] / seen[level], counts[level - 1][k] / seen[level - 1]
                shares[k] += float(own - above) / divisor
        result.append((shares[0], shares[1], shares[2]))
    return result


def m_estimate(path: Sequence[list[tuple[Fraction, ...]]], strength: float) -> list[Triple]:
    """Return p = (counts + m p_parent) / (N + m) at the end of the path; the root has p_parent = 1/3."""
    shares = [THIRD] * len(path[0])
    for node in path:
        shares = [
            tuple(  # type: ignore[misc]
                (float(counts[k]) + strength * above[k]) / (float(sum(counts)) + strength)
                for k in range(3)
            )
            for counts, above in zip(node, shares, strict=True)
        ]
    return shares


def window(left: Sequence[float], right: Sequence[float]) -> tuple[float, float]:
    """Return the interval around a threshold from the values of the left and of the right child."""
    places = math.ceil(min(len(left), len(right)) / 2)
    left, right = sorted(left), sorted(right)
    return left[max(len(left) - 1 - places, 0)], right[min(places, len(right) - 1)]


def share_to_the_left(value: float, threshold: float, interval: tuple[float, float]) -> float:
    """Return 1 at the left end of the interval, 1/2 at the threshold, 0 at the right end, linear between."""
    low, high = interval
    if value <= low:
        return 1.0
    if value >= high:
        return 0.0
    if value <= threshold:
        return 0.5 + 0.5 * (threshold - value) / (threshold - low)
    return 0.5 * (high - value) / (high - threshold)
