"""Markov chain aggregation: four transition matrices and the exact limit of their powers."""

from collections.abc import Sequence
from fractions import Fraction

from .aggregators import PairOrder, compare
from .pairs import (
    HALF,
    Matrix,
    Weights,
    exact_weights,
    pair_counts,
    pair_order,
    times_ranked,
    zeros,
)
from .rankings import Row, cascade, clean_row

LARGEST_DROP = Fraction(1, 10**10)
"""Neighbours whose stationary probabilities differ by at most this are tied."""


def at_least_as_high(Y: Sequence[Row], weights: Weights) -> Matrix:
    """Return ge(v,u), the weight of rows that rank v before or tied with u; ge(u,u) = N(u)."""
    before, tied = pair_counts(Y, weights)
    ranked = times_ranked(Y, weights)
    n = len(ranked)
    return [
        [ranked[u] if u == v else before[v][u] + tied[v][u] for u in range(n)] for v in range(n)
    ]


def fill_diagonal(P: Matrix) -> None:
    """Set each diagonal entry, so far 0, such that its row sums to 1."""
    for u, row in enumerate(P):
        row[u] = 1 - sum(row, Fraction(0))


def chain_1(Y: Sequence[Row], weights: Weights) -> Matrix:
    """MC1: P(u,v) proportional to ge(v,u)."""
    ge = at_least_as_high(Y, weights)
    n = len(ge)
    P = zeros(n)
    for u in range(n):
        total = sum(ge[v][u] for v in range(n))
        for v in range(n):
            P[u][v] = ge[v][u] / total if total > 0 else Fraction(0)
    return P


def chain_2(Y: Sequence[Row], weights: Weights) -> Matrix:
    """MC2: draw a row that ranks u, then one of its labels before or tied with u.

    P(u,v) = 1/N(u) * sum over rows of weight * [v before or tied with u] / (number of such v).
    """
    n = len(Y[0])
    P = zeros(n)
    for row, weight in zip(Y, exact_weights(weights, len(Y)), strict=True):
        positions = clean_row(row)
        for u, position in enumerate(positions):
            if position is None:
                continue
            high = [v for v, p in enumerate(positions) if p is not None and p <= position]
            for v in high:
                P[u][v] += weight / len(high)
    ranked = times_ranked(Y, weights)
    return [[x / ranked[u] if ranked[u] > 0 else x for x in P[u]] for u in range(n)]


def chain_3(Y: Sequence[Row], weights: Weights) -> Matrix:
    """MC3: P(u,v) = ge(v,u) / (N(u) * n) for v != u, the diagonal is the remainder."""
    ge = at_least_as_high(Y, weights)
    n = len(ge)
    P = zeros(n)
    for u in range(n):
        for v in range(n):
            if u != v and ge[u][u] > 0:
                P[u][v] = ge[v][u] / (ge[u][u] * n)
    fill_diagonal(P)
    return P


def transition_matrix_mc4(C: PairOrder) -> Matrix:
    """MC4: P(u,v) = 1/n for v != u with C(u,v) <= 1/2, else 0; the diagonal is the remainder."""
    n = len(C)
    P = zeros(n)
    for u in range(n):
        for v in range(n):
            if u != v and compare(C[u][v], HALF) <= 0:
                P[u][v] = Fraction(1, n)
    fill_diagonal(P)
    return P


def transition_matrix(Y: Sequence[Row], variant: int, weights: Weights = None) -> Matrix:
    """Return the transition matrix of MC1..MC4; a label never ranked has a uniform row."""
    if variant == 4:
        return transition_matrix_mc4(pair_order(Y, weights))
    P = {1: chain_1, 2: chain_2, 3: chain_3}[variant](Y, weights)
    n = len(P)
    for u, ranked in enumerate(times_ranked(Y, weights)):
        if ranked == 0:
            P[u] = [Fraction(1, n)] * n
    return P


def reachability(P: Sequence[Sequence[Fraction]]) -> list[list[bool]]:
    """Return whether v can be reached from u in zero or more steps."""
    n = len(P)
    reach = [[u == v or P[u][v] > 0 for v in range(n)] for u in range(n)]
    for middle in range(n):
        for u in range(n):
            for v in range(n):
                if reach[u][middle] and reach[middle][v]:
                    reach[u][v] = True
    return reach


def recurrent_classes(P: Sequence[Sequence[Fraction]]) -> list[list[int]]:
    """Return the strongly connected components that no edge leaves."""
    n = len(P)
    reach = reachability(P)
    classes: list[list[int]] = []
    for u in range(n):
        component = [v for v in range(n) if reach[u][v]]
        if all(reach[v][u] for v in component) and component not in classes:
            classes.append(component)
    return classes


def irreducible_stationary(P: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """Return the unique p with p P = p of an irreducible chain (Grassmann, Taksar, Heyman 1985).

    The last state is removed repeatedly, and transitions into it are redirected to its
    successors. Then p is built up in reverse order and normalised.
    """
    Q = [list(row) for row in P]
    n = len(Q)
    for last in range(n - 1, 0, -1):
        leaving = sum(Q[last][:last])
        for u in range(last):
            Q[u][last] /= leaving
            for v in range(last):
                Q[u][v] += Q[u][last] * Q[last][v]
    p = [Fraction(1)]
    for state in range(1, n):
        p.append(sum((p[u] * Q[u][state] for u in range(state)), Fraction(0)))
    total = sum(p)
    return [x / total for x in p]


def solve(M: Sequence[Sequence[Fraction]], b: Sequence[Fraction]) -> list[Fraction]:
    """Return x with M x = b for a regular M, by Gauss-Jordan elimination."""
    n = len(M)
    rows = [[*M[i], b[i]] for i in range(n)]
    for column in range(n):
        pivot = next(i for i in range(column, n) if rows[i][column] != 0)
        rows[column], rows[pivot] = rows[pivot], rows[column]
        divisor = rows[column][column]
        rows[column] = [x / divisor for x in rows[column]]
        for i in range(n):
            factor = rows[i][column]
            if i != column and factor != 0:
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[column], strict=True)]
    return [row[-1] for row in rows]


def absorption(P: Sequence[Sequence[Fraction]], target: Sequence[int]) -> Fraction:
    """Return the probability that a walk from a uniform start ends in a recurrent class.

    With h(u) that probability from u: h = 1 on the class, 0 on other recurrent classes, and
    h(u) = sum of P(u,v) h(v) over v for a transient u.
    """
    n = len(P)
    recurrent = {u for members in recurrent_classes(P) for u in members}
    transient = [u for u in range(n) if u not in recurrent]
    M = [[Fraction(u == v) - P[u][v] for v in transient] for u in transient]
    b = [sum((P[u][v] for v in target), Fraction(0)) for u in transient]
    return (len(target) + sum(solve(M, b), Fraction(0))) / n


def stationary(P: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """Return the limit of power iteration from the uniform start.

    It exists because the chains have self-loops. Each recurrent class has one stationary distribution; the limit is
    their mean, weighted by the probabilities of absorption.
    """
    p = [Fraction(0)] * len(P)
    for members in recurrent_classes(P):
        inside = irreducible_stationary([[P[u][v] for v in members] for u in members])
        share = absorption(P, members)
        for u, x in zip(members, inside, strict=True):
            p[u] = share * x
    return p


def markov_chain(P: Sequence[Sequence[Fraction]]) -> list[int]:
    """Rank by stationary probability; a neighbour joins if the drop is at most 1e-10."""
    return cascade(stationary(P), LARGEST_DROP)
