"""Borda, Copeland and bucket pivot: bucket orders from an exact pair order matrix C."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from .pairs import HALF
from .rankings import cascade

PairOrder: TypeAlias = Sequence[Sequence[Fraction]]

TOLERANCE = Fraction(1, 10**9)
"""A value this close to a threshold counts as equal to it, so that rounding errors do not matter."""

QUARTER = Fraction(1, 4)


def exact_beta(beta: float | Fraction) -> Fraction:
    """Return the decimal representation of beta as a fraction: 0.9 is 9/10."""
    return beta if isinstance(beta, Fraction) else Fraction(str(beta))


def compare(value: Fraction, threshold: Fraction) -> int:
    """Return -1, 0 or 1 for value below, equal to (within the tolerance) or above threshold."""
    if abs(value - threshold) <= TOLERANCE:
        return 0
    return 1 if value > threshold else -1


def others(n: int, u: int) -> list[int]:
    """Return the labels other than u."""
    return [v for v in range(n) if v != u]


def borda_scores(C: PairOrder) -> list[Fraction]:
    """Return S(u), the sum of C(u,v) over v != u."""
    n = len(C)
    return [sum((C[u][v] for v in others(n, u)), Fraction(0)) for u in range(n)]


def borda(C: PairOrder, beta: float | Fraction = 0.9) -> list[int]:
    """Rank by Borda score; a neighbour joins the bucket if the drop is at most beta."""
    return cascade(borda_scores(C), exact_beta(beta) + TOLERANCE)


def three_way(value: Fraction, margin: Fraction) -> Fraction:
    """Return 1, 1/2 or 0 for a value above, within (ends included) or below 1/2 +- margin."""
    if compare(value, HALF + margin) > 0:
        return Fraction(1)
    if compare(value, HALF - margin) < 0:
        return Fraction(0)
    return HALF


def copeland_scores(C: PairOrder, beta: float | Fraction = 0.4) -> list[Fraction]:
    """Return S(u), the sum over v != u of 1 (win), 1/2 (draw within 1/2 +- beta) or 0."""
    n, margin = len(C), exact_beta(beta)
    return [sum((three_way(C[u][v], margin) for v in others(n, u)), Fraction(0)) for u in range(n)]


def copeland(C: PairOrder, beta: float | Fraction = 0.4) -> list[int]:
    """Rank by Copeland score; only equal scores are tied."""
    return cascade(copeland_scores(C, beta), Fraction(0))


def indecision(C: PairOrder) -> list[Fraction]:
    """Return the mean over v != u of |C(u,v) - U(u,v)|.

    U(u,v) is 1, 1/2 or 0 for C(u,v) above, within or below [1/4, 3/4], for any beta.
    """
    n = len(C)
    result = []
    for u in range(n):
        gaps = [abs(C[u][v] - three_way(C[u][v], QUARTER)) for v in others(n, u)]
        result.append(sum(gaps, Fraction(0)) / max(len(gaps), 1))
    return result


def least_indecision_pivot(items: Sequence[int], indecisions: Sequence[Fraction]) -> int:
    """Return the first item whose indecision is the smallest, up to the tolerance."""
    least = min(indecisions[u] for u in items)
    return next(u for u in items if compare(indecisions[u], least) == 0)


def partition(
    C: PairOrder, central: list[int], items: Sequence[int], margin: Fraction
) -> tuple[list[int], list[int]]:
    """Put items, in order, left of, into or right of the central bucket; return left and right.

    q is the mean of C(c, item) over the current central bucket: below 1/2 - margin the
    item is left, up to 1/2 + margin it is central (and counts in later means), else right.
    """
    left, right = [], []
    for item in items:
        q = sum((C[c][item] for c in central), Fraction(0)) / len(central)
        if compare(q, HALF - margin) < 0:
            left.append(item)
        elif compare(q, HALF + margin) <= 0:
            central.append(item)
        else:
            right.append(item)
    return left, right


def pivot_buckets(
    C: PairOrder, items: Sequence[int], indecisions: Sequence[Fraction], margin: Fraction
) -> tuple[list[list[int]], list[int]]:
    """Return the buckets of the items, best first, and the pivots in the order chosen."""
    if not items:
        return [], []
    pivot = least_indecision_pivot(items, indecisions)
    central = [pivot]
    left, right = partition(C, central, [u for u in items if u != pivot], margin)
    # The central bucket has grown since the first items were placed, so place them again.
    left, right = partition(C, central, left + right, margin)
    better, left_pivots = pivot_buckets(C, left, indecisions, margin)
    worse, right_pivots = pivot_buckets(C, right, indecisions, margin)
    return [*better, central, *worse], [pivot, *left_pivots, *right_pivots]


def bucket_pivot_trace(C: PairOrder, beta: float | Fraction = 0.25) -> list[int]:
    """Return the pivots in the order chosen: of a list, then of its left part, then of its right part."""
    return pivot_buckets(C, range(len(C)), indecision(C), exact_beta(beta))[1]


def bucket_pivot(C: PairOrder, beta: float | Fraction = 0.25) -> list[int]:
    """Rank by bucket pivot with least indecision, several pivots and two stages."""
    found, _ = pivot_buckets(C, range(len(C)), indecision(C), exact_beta(beta))
    positions = [0] * len(C)
    for position, bucket in enumerate(found, start=1):
        for label in bucket:
            positions[label] = position
    return positions
