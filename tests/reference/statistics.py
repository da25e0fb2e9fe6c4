"""Average ranks, Friedman, Holm and win/tie/loss, straight from their definitions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

Scores = list[list[float]]


def average_ranks(scores: Scores) -> list[Fraction]:
    """Mean over rows of 1 + (number of better scores) + (number of other equal scores) / 2."""
    totals = [Fraction(0)] * len(scores[0])
    for row in scores:
        for j, value in enumerate(row):
            better = sum(other > value for other in row)
            equal = sum(other == value for other in row) - 1
            totals[j] += 1 + better + Fraction(equal, 2)
    return [total / len(scores) for total in totals]


def friedman_statistic(scores: Scores) -> Fraction:
    ranks = average_ranks(scores)
    n, k = len(scores), len(ranks)
    squares = sum((rank * rank for rank in ranks), Fraction(0))
    return Fraction(12 * n, k * (k + 1)) * (squares - Fraction(k * (k + 1) ** 2, 4))


def holm_p_values(scores: Scores, control: int) -> dict[int, float]:
    """Adjusted p-values of all methods except the control."""
    ranks = average_ranks(scores)
    n, k = len(scores), len(ranks)
    error = math.sqrt(k * (k + 1) / (6 * n))
    raw = {
        j: math.erfc(abs(float(ranks[j] - ranks[control])) / error / math.sqrt(2))
        for j in range(k)
        if j != control
    }
    return adjust(raw)


def adjust(raw: dict[int, float]) -> dict[int, float]:
    adjusted: dict[int, float] = {}
    largest = 0.0
    for step, j in enumerate(sorted(raw, key=raw.__getitem__)):
        largest = max(largest, (len(raw) - step) * raw[j])
        adjusted[j] = min(1.0, largest)
    return adjusted


def win_tie_loss(scores: Scores, i: int, j: int, decimals: int) -> tuple[int, int, int]:
    pairs = [(round(row[i], decimals), round(row[j], decimals)) for row in scores]
    return (
        sum(a > b for a, b in pairs),
        sum(a == b for a, b in pairs),
        sum(a < b for a, b in pairs),
    )


def largest_groups(alike: list[list[bool]]) -> set[frozenset[int]]:
    """All maximal sets of two or more methods that do not differ."""
    k = len(alike)
    groups = [
        frozenset(members)
        for size in range(2, k + 1)
        for members in combinations(range(k), size)
        if all(alike[i][j] for i, j in combinations(members, 2))
    ]
    return {group for group in groups if not any(group < other for other in groups)}
