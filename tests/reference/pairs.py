"""Pair statistics of a set of rankings, in exact fractions."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from .rankings import Row, clean_row

Weights: TypeAlias = Sequence[int | float | Fraction] | None
"""One non-negative weight per row; None means that each row counts once."""

Matrix: TypeAlias = list[list[Fraction]]

HALF = Fraction(1, 2)


def exact_weights(weights: Weights, rows: int) -> list[Fraction]:
    """Return the weights as fractions; a float becomes exactly the number it stores."""
    if weights is None:
        return [Fraction(1)] * rows
    if len(weights) != rows:
        raise ValueError(f"{rows} rows but {len(weights)} weights")
    return [Fraction(w) for w in weights]


def zeros(n: int) -> Matrix:
    """Return an n x n matrix of zeros."""
    return [[Fraction(0)] * n for _ in range(n)]


def pair_counts(Y: Sequence[Row], weights: Weights = None) -> tuple[Matrix, Matrix]:
    """Return (before, tied): the weights of the rows with u before v, and with u tied with v.

    Only rows that rank both labels count. Both diagonals are 0.
    """
    n = len(Y[0])
    before, tied = zeros(n), zeros(n)
    for row, weight in zip(Y, exact_weights(weights, len(Y)), strict=True):
        positions = clean_row(row)
        for u in range(n):
            for v in range(n):
                p, q = positions[u], positions[v]
                if u == v or p is None or q is None:
                    continue
                if p < q:
                    before[u][v] += weight
                elif p == q:
                    tied[u][v] += weight
    return before, tied


def times_ranked(Y: Sequence[Row], weights: Weights = None) -> list[Fraction]:
    """Return N(u), the weight of the rows that rank label u."""
    ranked = [Fraction(0)] * len(Y[0])
    for row, weight in zip(Y, exact_weights(weights, len(Y)), strict=True):
        for u, position in enumerate(clean_row(row)):
            if position is not None:
                ranked[u] += weight
    return ranked


def pair_order(Y: Sequence[Row], weights: Weights = None) -> Matrix:
    """Return C(u,v) = (before(u,v) + tied(u,v)/2) / T, with T = before + tied + after.

    A pair that no row ranks, and the diagonal, are 1/2.
    """
    before, tied = pair_counts(Y, weights)
    n = len(before)
    C = [[HALF] * n for _ in range(n)]
    for u in range(n):
        for v in range(n):
            total = before[u][v] + tied[u][v] + before[v][u]
            if total > 0:
                C[u][v] = (before[u][v] + tied[u][v] / 2) / total
    return C
