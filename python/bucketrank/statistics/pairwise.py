"""Comparison of all pairs of methods: Nemenyi's test on ranks, Wilcoxon's test on scores."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bucketrank.statistics.control import holm_adjusted
from bucketrank.statistics.ranks import (
    AverageRanks,
    average_ranks,
    friedman,
    significance_level,
)
from bucketrank.statistics.score_table import ScoreTable
from bucketrank.tables import Column, Table, TabularResult, p_value_text

__all__ = ["PairwiseTest", "nemenyi", "wilcoxon"]


@dataclass(frozen=True, eq=False)
class PairwiseTest(TabularResult):
    """Comparisons of all pairs of methods.

    Attributes
    ----------
    name : str
        Name of the test.
    methods : tuple of str
        Names of rows and columns, smallest average rank first.
    p_values : ndarray of shape (n_methods, n_methods)
        Adjusted for the number of comparisons; symmetric, with 1 on the diagonal.
    ranks : AverageRanks
        Average ranks.
    alpha : float
        Level of significance.
    critical_difference : float or None
        Smallest significant difference of two average ranks; only for Nemenyi's test.

    Examples
    --------
    >>> from bucketrank.statistics import ScoreTable, nemenyi
    >>> scores = ScoreTable(
    ...     [[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.7, 0.6, 0.5], [0.6, 0.5, 0.4]],
    ...     datasets=["w", "x", "y", "z"],
    ...     methods=["a", "b", "c"],
    ... )
    >>> test = nemenyi(scores)
    >>> test.groups, round(test.critical_difference, 4)
    ((('a', 'b'), ('b', 'c')), 1.6572)
    """

    name: str
    methods: tuple[str, ...]
    p_values: NDArray[np.float64]
    ranks: AverageRanks
    alpha: float
    critical_difference: float | None = None

    def p_value(self, first: str, second: str) -> float:
        """Return the adjusted p-value of two methods."""
        for name in (first, second):
            if name not in self.methods:
                raise ValueError(f"method {name!r} is unknown; known: {', '.join(self.methods)}")
        return float(self.p_values[self.methods.index(first), self.methods.index(second)])

    def differ(self, first: str, second: str) -> bool:
        """Whether two methods differ at the level of significance."""
        return self.p_value(first, second) <= self.alpha

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The maximal groups of two or more methods in which no two methods differ.

        Groups may overlap. Within a group the best method is first, and the group with the best method is first.
        """
        k = len(self.methods)
        alike = self.p_values > self.alpha
        found = _maximal_cliques(
            [{j for j in range(k) if j != i and alike[i, j]} for i in range(k)]
        )
        large = sorted(tuple(sorted(group)) for group in found if len(group) > 1)
        return tuple(tuple(self.methods[i] for i in group) for group in large)

    def to_dict(self) -> dict[str, Any]:
        """Return all results as plain Python numbers, strings and lists, ready for JSON."""
        return {
            "test": self.name,
            "alpha": self.alpha,
            "critical_difference": self.critical_difference,
            **self.ranks.to_dict(),
            "methods": list(self.methods),
            "p_values": self.p_values.tolist(),
            "groups": [list(group) for group in self.groups],
        }

    def table(self) -> Table:
        """Return ranks and p-values as a table; pairs that do not differ are marked."""
        columns = [
            Column.of("method", self.methods),
            Column.of("rank", [self.ranks[name] for name in self.methods], "{:.2f}".format),
        ]
        for j, other in enumerate(self.methods):
            cells = [None if i == j else self.p_values[i, j] for i in range(len(self.methods))]
            marked = [i != j and not self.differ(n, other) for i, n in enumerate(self.methods)]
            columns.append(Column.of(other, cells, p_value_text, marked))
        note = ""
        if self.critical_difference is not None:
            note = f"critical difference {self.critical_difference:.3f} at the level {self.alpha:g}"
        return Table(f"{self.name}: p-values", tuple(columns), note, "no difference shown")


def nemenyi(scores: Any, *, alpha: float = 0.05, higher_is_better: bool = True) -> PairwiseTest:
    r"""Compare all pairs of methods by the difference of their average ranks.

    Two methods differ if their average ranks are at least :math:`q_\alpha \sqrt{k (k + 1) / (6 N)}` apart, where q is a
    quantile of the studentized range distribution. This is the critical difference that
    :func:`bucketrank.figures.plot_critical_difference` shows.

    Parameters
    ----------
    scores : ScoreTable, DataFrame, mapping or array-like of shape (n_datasets, n_methods)
        See :meth:`ScoreTable.of`.
    alpha : float, default 0.05
        Level of significance, between 0 and 1.
    higher_is_better : bool, default True
        False for times and errors. Ignored for a :class:`ScoreTable`, which has this attribute.

    Returns
    -------
    PairwiseTest

    References
    ----------
    P. Nemenyi, "Distribution-free multiple comparisons", thesis, Princeton University (1963).

    Examples
    --------
    >>> test = nemenyi([[0.9, 0.8, 0.7], [0.7, 0.6, 0.5], [0.8, 0.6, 0.7], [0.9, 0.7, 0.5]])
    >>> round(test.critical_difference, 3), test.groups
    (1.657, (('method 1', 'method 2'), ('method 2', 'method 3')))
    """
    test = friedman(scores, alpha=alpha, higher_is_better=higher_is_better)
    ranks, names = test.ranks, test.ranks.ordered
    values = np.array([ranks[name] for name in names])
    k = len(names)
    # The factor √2 converts the standard error of a difference to the standard error of a single rank, the unit of the
    # studentized range. Each tail probability is a numerical integral, so it is computed once per unique distance.
    distances = np.round(np.abs(values[:, None] - values[None, :]), 12)
    unique, index = np.unique(distances, return_inverse=True)
    scaled = unique / ranks.standard_error * np.sqrt(2)
    tails = np.clip(stats.studentized_range.sf(scaled, k, np.inf), 0, 1)
    p_values = np.asarray(tails)[index.reshape(k, k)]
    np.fill_diagonal(p_values, 1)
    quantile = float(stats.studentized_range.isf(test.alpha, k, np.inf))
    difference = quantile / np.sqrt(2) * ranks.standard_error
    return PairwiseTest("Nemenyi", names, p_values, ranks, test.alpha, float(difference))


def wilcoxon(scores: Any, *, alpha: float = 0.05, higher_is_better: bool = True) -> PairwiseTest:
    """Compare all pairs of methods by Wilcoxon's signed-rank test, adjusted by Holm's procedure.

    Unlike in tests on average ranks, the result for two methods does not depend on the scores of other methods, apart
    from the adjustment, and the sizes of the differences matter.

    Parameters
    ----------
    scores : ScoreTable, DataFrame, mapping or array-like of shape (n_datasets, n_methods)
        See :meth:`ScoreTable.of`.
    alpha : float, default 0.05
        Level of significance, between 0 and 1.
    higher_is_better : bool, default True
        False for times and errors. Ignored for a :class:`ScoreTable`, which has this attribute.

    Returns
    -------
    PairwiseTest

    Notes
    -----
    Datasets on which two methods have equal scores are left out of their comparison; methods with equal scores on all
    datasets have p = 1. SciPy chooses between the exact and the approximate distribution.

    Examples
    --------
    >>> scores = ScoreTable([[0.9, 0.8], [0.7, 0.6], [0.8, 0.75], [0.9, 0.7], [0.6, 0.5], [0.8, 0.4]])
    >>> wilcoxon(scores).p_value("method 1", "method 2")
    0.03125
    """
    table = ScoreTable.of(scores, higher_is_better=higher_is_better)
    level = significance_level(alpha)
    ranks = average_ranks(table)
    names = ranks.ordered
    pairs = list(combinations(range(len(names)), 2))
    columns = [table.merits[:, table.index(name)] for name in names]
    raw = [_signed_rank_p_value(columns[i], columns[j]) for i, j in pairs]
    p_values = np.ones((len(names), len(names)))
    for (i, j), p_value in zip(pairs, holm_adjusted(raw), strict=True):
        p_values[i, j] = p_values[j, i] = p_value
    return PairwiseTest("Wilcoxon, Holm", names, p_values, ranks, level)


def _signed_rank_p_value(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    # Differences such as 0.8 - 0.7 and 0.5 - 0.4 differ only by rounding errors, so they are rounded to be equal.
    scale = max(np.abs(first).max(), np.abs(second).max(), np.finfo(np.float64).tiny)
    differences = np.round(first / scale - second / scale, 12)
    # SciPy's exact distribution assumes that no difference is 0.
    differences = differences[differences != 0]
    if not len(differences):
        return 1.0
    return float(stats.wilcoxon(differences).pvalue)


def _maximal_cliques(neighbours: list[set[int]]) -> list[set[int]]:
    """Return the maximal cliques of a graph (Bron and Kerbosch, with pivots)."""
    found: list[set[int]] = []
    stack = [(set[int](), set(range(len(neighbours))), set[int]())]
    while stack:
        clique, candidates, excluded = stack.pop()
        if not candidates and not excluded:
            found.append(clique)
            continue
        pivot = max(candidates | excluded, key=lambda i: len(neighbours[i] & candidates))
        for i in sorted(candidates - neighbours[pivot]):
            stack.append((clique | {i}, candidates & neighbours[i], excluded & neighbours[i]))
            candidates = candidates - {i}
            excluded = excluded | {i}
    return found
