"""The bucket order with the largest expected rank correlation, in exact fractions."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from .pairs import Weights, pair_counts
from .rankings import Row, all_weak_orders

Shares: TypeAlias = dict[tuple[int, int], tuple[Fraction, Fraction, Fraction]]
"""For every ordered pair of different labels the shares of before, tied and after."""


def pair_shares(Y: Sequence[Row], weights: Weights = None) -> Shares:
    """Return the shares of before, tied and after; zeros where no row ranks both labels."""
    before, tied = pair_counts(Y, weights)
    shares: Shares = {}
    for u in range(len(before)):
        for v in range(len(before)):
            if u != v:
                counts = (before[u][v], tied[u][v], before[v][u])
                seen = sum(counts)
                shares[u, v] = tuple(c / seen if seen else Fraction(0) for c in counts)  # type: ignore[assignment]
    return shares


def expected_tau_x(shares: Shares, positions: Sequence[int]) -> Fraction:
    """Return the mean over pairs of the gain of the order: b - a, t or a - b."""
    n = len(positions)
    total = Fraction(0)
    for u in range(n):
        for v in range(u + 1, n):
            b, t, a = shares[u, v]
            if positions[u] == positions[v]:
                total += t
            else:
                total += b - a if positions[u] < positions[v] else a - b
    return total * 2 / (n * (n - 1))


def net_preferences(shares: Shares, n: int) -> list[Fraction]:
    """Return s(u), the sum over v of P[u before v] - P[v before u]."""
    others = [[v for v in range(n) if v != u] for u in range(n)]
    return [
        sum((shares[u, v][0] - shares[u, v][2] for v in others[u]), Fraction(0)) for u in range(n)
    ]


def best_cut(shares: Shares, order: Sequence[Sequence[int]]) -> list[int]:
    """Cut an order of groups into buckets, with the largest gain, then the most ties, then the shortest last bucket."""
    n = len(order)

    def gain(i: int, j: int) -> tuple[Fraction, int]:
        labels = [label for group in order[i : j + 1] for label in group]
        pairs = [(u, v) for k, u in enumerate(labels) for v in labels[k + 1 :]]
        total = sum((shares[p][1] - (shares[p][0] - shares[p][2]) for p in pairs), Fraction(0))
        return total, len(pairs)

    best, start = [(Fraction(0), 0)], [0]
    for j in range(1, n + 1):
        options = []
        for i in range(1, j + 1):
            value, ties = gain(i - 1, j - 1)
            options.append((best[i - 1][0] + value, best[i - 1][1] + ties, i))
        value, ties, first = max(options)
        best.append((value, ties))
        start.append(first)
    positions = [0] * sum(map(len, order))
    bounds, end = [], n
    while end > 0:
        bounds.append((start[end] - 1, end))
        end = start[end] - 1
    for bucket, (first, last) in enumerate(reversed(bounds), 1):
        for group in order[first:last]:
            for label in group:
                positions[label] = bucket
    return positions


def groups_by(labels: Sequence[int], scores: dict[int, Fraction]) -> list[list[int]]:
    """Divide labels by score, largest first."""
    values = sorted({scores[label] for label in labels}, reverse=True)
    return [[label for label in labels if scores[label] == value] for value in values]


def label_order(shares: Shares, n: int) -> list[list[int]]:
    """Order labels by net preference, then by net preference among equal labels, then by signed squared leads.

    Labels that are equal in all three form a group.
    """
    net = net_preferences(shares, n)
    result = []
    for run in groups_by(range(n), dict(enumerate(net))):
        within = {
            u: sum((shares[u, v][0] - shares[u, v][2] for v in run if v != u), Fraction(0))
            for u in run
        }
        for equal in groups_by(run, within):
            squares = {}
            for u in equal:
                leads = [shares[u, v][0] - shares[u, v][2] for v in range(n) if v != u]
                squares[u] = sum((lead * abs(lead) for lead in leads), Fraction(0))
            result.extend(groups_by(equal, squares))
    return result


def cut(shares: Shares, n: int) -> list[int]:
    """Return the best cut of the order of the labels."""
    return best_cut(shares, label_order(shares, n))


def largest_expected_tau_x(shares: Shares, n: int) -> Fraction:
    """Return the largest expected value over all bucket orders."""
    return max(expected_tau_x(shares, positions) for positions in all_weak_orders(n))
