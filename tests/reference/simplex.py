"""A small linear programming solver over fractions: two-phase simplex with Bland's rule."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

Vector: TypeAlias = Sequence[Fraction]


@dataclass
class Program:
    """Constraints of a linear program over x >= 0: rows `coefficients . x (<= or =) bound`."""

    variables: int
    at_most: list[tuple[Vector, Fraction]] = field(default_factory=list)
    equal: list[tuple[Vector, Fraction]] = field(default_factory=list)


@dataclass
class Tableau:
    """Equations `rows` (last entry: right side, >= 0), each solved for its `basis` column."""

    rows: list[list[Fraction]]
    basis: list[int]

    def pivot(self, at: int, column: int) -> None:
        """Solve equation `at` for `column` and eliminate that column elsewhere."""
        divisor = self.rows[at][column]
        self.rows[at] = [x / divisor for x in self.rows[at]]
        for i, row in enumerate(self.rows):
            if i != at and row[column] != 0:
                factor = row[column]
                self.rows[i] = [x - factor * y for x, y in zip(row, self.rows[at], strict=True)]
        self.basis[at] = column

    def reduced_cost(self, objective: Vector, column: int) -> Fraction:
        """Return the gain of the objective per unit of an entering column."""
        used = sum(
            (objective[b] * row[column] for b, row in zip(self.basis, self.rows, strict=True)),
            Fraction(0),
        )
        return objective[column] - used

    def maximise(self, objective: Vector) -> None:
        """Pivot until no column improves the objective. Bland's rule (lowest index first) cannot cycle."""
        while True:
            gains = (c for c in range(len(objective)) if self.reduced_cost(objective, c) > 0)
            entering = next(gains, None)
            if entering is None:
                return
            ratios = [
                (row[-1] / row[entering], self.basis[i], i)
                for i, row in enumerate(self.rows)
                if row[entering] > 0
            ]
            if not ratios:
                raise ValueError("the linear program is unbounded")
            self.pivot(min(ratios)[2], entering)

    def value(self, column: int) -> Fraction:
        """Return the value of a variable: 0 unless it is in the basis."""
        if column in self.basis:
            return self.rows[self.basis.index(column)][-1]
        return Fraction(0)


def feasible_tableau(program: Program) -> Tableau:
    """Phase one: find a basic solution by driving one artificial variable per row to 0."""
    slacks = len(program.at_most)
    constraints = [*program.at_most, *program.equal]
    real = program.variables + slacks
    rows = []
    for i, (coefficients, bound) in enumerate(constraints):
        slack = [Fraction(i == s) for s in range(slacks)]
        equation = [*coefficients, *slack, bound]
        if bound < 0:
            equation = [-x for x in equation]
        artificial = [Fraction(i == j) for j in range(len(constraints))]
        rows.append([*equation[:-1], *artificial, equation[-1]])
    tableau = Tableau(rows, [real + i for i in range(len(rows))])
    tableau.maximise([Fraction(0)] * real + [Fraction(-1)] * len(rows))
    if any(tableau.value(real + i) != 0 for i in range(len(rows))):
        raise ValueError("the linear program is infeasible")
    return without_artificial(tableau, real)


def without_artificial(tableau: Tableau, real: int) -> Tableau:
    """Pivot artificial variables, all 0, out of the basis and drop their columns: all but the first `real`.

    An equation whose first `real` coefficients are all 0 is redundant and is dropped, too.
    """
    kept = []
    for i in range(len(tableau.rows)):
        if tableau.basis[i] >= real:
            column = next((c for c in range(real) if tableau.rows[i][c] != 0), None)
            if column is None:
                continue
            tableau.pivot(i, column)
        kept.append(i)
    rows = [[*tableau.rows[i][:real], tableau.rows[i][-1]] for i in kept]
    return Tableau(rows, [tableau.basis[i] for i in kept])


def maximise(objective: Vector, program: Program) -> tuple[Fraction, list[Fraction]]:
    """Return the largest value of `objective . x` and an x that reaches it."""
    tableau = feasible_tableau(program)
    slacks = len(program.at_most)
    tableau.maximise([*objective, *[Fraction(0)] * slacks])
    x = [tableau.value(column) for column in range(program.variables)]
    return sum((c * y for c, y in zip(objective, x, strict=True)), Fraction(0)), x
