"""The leximin-fairest maximal lottery, in exact fractions."""

from collections.abc import Sequence
from fractions import Fraction

from .aggregators import TOLERANCE, PairOrder
from .rankings import cascade
from .simplex import Program, maximise


def unit(size: int, index: int, value: int = 1) -> list[Fraction]:
    """Return a vector of zeros with one entry `value`."""
    return [Fraction(value) if i == index else Fraction(0) for i in range(size)]


def lotteries(C: PairOrder, extra: int = 0) -> Program:
    """Return the constraints p >= 0, sum p = 1, p^T A >= 0 with A = C - C^T.

    `extra` further variables follow p and appear in no constraint yet.
    """
    n = len(C)
    program = Program(n + extra)
    padding = [Fraction(0)] * extra
    program.equal.append(([Fraction(1)] * n + padding, Fraction(1)))
    for v in range(n):
        loss = [C[v][u] - C[u][v] for u in range(n)]
        program.at_most.append((loss + padding, Fraction(0)))
    return program


def largest_smallest(C: PairOrder, fixed: dict[int, Fraction]) -> Fraction:
    """Return the largest t such that a lottery with the fixed entries has all others >= t."""
    n = len(C)
    program = lotteries(C, extra=1)
    for u in range(n):
        if u in fixed:
            program.equal.append((unit(n + 1, u), fixed[u]))
        else:
            t_minus_p = [b - a for a, b in zip(unit(n + 1, u), unit(n + 1, n), strict=True)]
            program.at_most.append((t_minus_p, Fraction(0)))
    return maximise(unit(n + 1, n), program)[0]


def stuck(C: PairOrder, fixed: dict[int, Fraction], level: Fraction) -> list[int]:
    """Return the free labels that cannot exceed `level` while the other free labels stay >= level."""
    n = len(C)
    program = lotteries(C)
    free = [u for u in range(n) if u not in fixed]
    for u in free:
        program.at_most.append((unit(n, u, -1), -level))
    for u, value in fixed.items():
        program.equal.append((unit(n, u), value))
    return [u for u in free if maximise(unit(n, u), program)[0] == level]


def maximal_lottery(C: PairOrder) -> list[Fraction]:
    """Return the leximin-fairest maximal lottery.

    Maximise the smallest probability, fix the labels that cannot exceed it, and repeat with the other labels.
    Convexity makes the result unique: if each free label could exceed the level, all of them could, in the average of
    these lotteries.
    """
    fixed: dict[int, Fraction] = {}
    while len(fixed) < len(C):
        level = largest_smallest(C, fixed)
        fixed.update(dict.fromkeys(stuck(C, fixed, level), level))
    return [fixed[u] for u in range(len(C))]


def is_unique(C: PairOrder) -> bool:
    """Whether there is only one maximal lottery: each p_u has equal minimum and maximum."""
    n = len(C)
    program = lotteries(C)
    return all(
        maximise(unit(n, u), program)[0] == -maximise(unit(n, u, -1), program)[0] for u in range(n)
    )


def lottery_ranking(p: Sequence[Fraction]) -> list[int]:
    """Rank by probability; a neighbour joins the bucket if the drop is at most 1e-9."""
    return cascade(p, TOLERANCE)
