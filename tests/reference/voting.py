"""Reciprocal rank fusion, Schulze's method and ranked pairs, in exact fractions."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from .pairs import Weights, pair_order
from .rankings import Row


def dense(scores: Sequence[Fraction]) -> list[int]:
    """Return positions: the largest score is first, equal scores are tied."""
    values = sorted(set(scores), reverse=True)
    return [values.index(score) + 1 for score in scores]


def reciprocal_rank_scores(Y: Sequence[Row], k: int, weights: Weights = None) -> list[Fraction]:
    """Return the sums of 1 / (k + rank); tied labels share the mean over their places."""
    scores = [Fraction(0)] * len(Y[0])
    for row, weight in zip(Y, weights or [1] * len(Y), strict=True):
        ranked = {u: p for u, p in enumerate(row) if p is not None and p == p}
        for u, position in ranked.items():
            first = 1 + sum(other < position for other in ranked.values())
            size = sum(other == position for other in ranked.values())
            places = [Fraction(1, k + place) for place in range(first, first + size)]
            scores[u] += Fraction(weight) * sum(places) / size
    return scores


def _margins(Y: Sequence[Row], weights: Weights) -> list[list[Fraction]]:
    C = pair_order(Y, weights)
    n = len(C)
    return [[C[u][v] - C[v][u] for v in range(n)] for u in range(n)]


def _by_wins(n: int, wins: set[tuple[int, int]]) -> list[int]:
    return dense(
        [
            Fraction(sum(u == pair[0] for pair in wins) - sum(u == pair[1] for pair in wins))
            for u in range(n)
        ]
    )


def schulze(Y: Sequence[Row], weights: Weights = None) -> list[int]:
    """Return the order by wins minus losses, from a search of all simple paths.

    u wins against v if the strongest path from u to v is stronger than any from v to u.
    """
    margins = _margins(Y, weights)
    n = len(margins)

    def strongest(u: int, v: int) -> Fraction:
        best = Fraction(0)

        def walk(path: list[int]) -> None:
            nonlocal best
            if path[-1] == v:
                best = max(best, min(margins[a][b] for a, b in pairwise(path)))
                return
            for node in range(n):
                if node not in path and margins[path[-1]][node] > 0:
                    walk([*path, node])

        walk([u])
        return best

    pairs = [(u, v) for u in range(n) for v in range(n) if u != v]
    strengths = {pair: strongest(*pair) for pair in pairs}
    return _by_wins(n, {(u, v) for u, v in pairs if strengths[u, v] > strengths[v, u]})


def _transitive_closure(n: int, edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    closure = set(edges)
    for middle in range(n):
        for u in range(n):
            for v in range(n):
                if (u, middle) in closure and (middle, v) in closure:
                    closure.add((u, v))
    return closure


def ranked_pairs(Y: Sequence[Row], weights: Weights = None) -> list[int]:
    """Lock majorities from the strongest on; equally strong ones in a cycle are all discarded."""
    margins = _margins(Y, weights)
    n = len(margins)
    locked: set[tuple[int, int]] = set()
    strengths = sorted({m for row in margins for m in row if m > 0}, reverse=True)
    for strength in strengths:
        group = {(u, v) for u in range(n) for v in range(n) if margins[u][v] == strength}
        closure = _transitive_closure(n, locked | group)
        locked |= {(u, v) for u, v in group if (v, u) not in closure}
    return _by_wins(n, _transitive_closure(n, locked))
