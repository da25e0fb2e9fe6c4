"""Average ranks and Friedman's test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bucketrank._validation import as_real
from bucketrank.statistics.score_table import ScoreTable
from bucketrank.tables import Column, Table, TabularResult, p_value_text

__all__ = ["AverageRanks", "FriedmanTest", "average_ranks", "friedman"]


@dataclass(frozen=True, eq=False)
class AverageRanks(TabularResult):
    """Mean rank of each method over datasets: 1 is best, and equal scores get the mean of their ranks.

    Attributes
    ----------
    methods : tuple of str
        Names of the methods, in the order of the scores.
    ranks : ndarray of shape (n_methods,)
        Average ranks in the same order.
    n_datasets : int
        Number of datasets.

    Examples
    --------
    >>> from bucketrank.statistics import ScoreTable, average_ranks
    >>> scores = ScoreTable(
    ...     [[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.7, 0.6, 0.5], [0.6, 0.5, 0.4]],
    ...     datasets=["w", "x", "y", "z"],
    ...     methods=["a", "b", "c"],
    ... )
    >>> ranks = average_ranks(scores)
    >>> ranks["a"], ranks.ordered
    (1.0, ('a', 'b', 'c'))
    """

    methods: tuple[str, ...]
    ranks: NDArray[np.float64]
    n_datasets: int

    def __getitem__(self, method: str) -> float:
        if method not in self.methods:
            raise KeyError(f"method {method!r} is unknown; known: {', '.join(self.methods)}")
        return float(self.ranks[self.methods.index(method)])

    @property
    def best(self) -> str:
        """The method with the smallest average rank; the first one if several are equal."""
        return self.ordered[0]

    @property
    def ordered(self) -> tuple[str, ...]:
        """The methods, smallest average rank first; methods with equal ranks keep their order."""
        # Ranks are sums of halves divided by the same number, so equal ranks are bit-identical.
        return tuple(self.methods[i] for i in np.argsort(self.ranks, kind="stable"))

    @property
    def standard_error(self) -> float:
        """Standard deviation of the difference of two average ranks under the null hypothesis."""
        k = len(self.methods)
        return float(np.sqrt(k * (k + 1) / (6 * self.n_datasets)))

    def to_dict(self) -> dict[str, Any]:
        """Return all results as plain Python numbers, strings and lists, ready for JSON."""
        return {
            "n_datasets": self.n_datasets,
            "ranks": {name: self[name] for name in self.ordered},
        }

    def table(self) -> Table:
        """Return the ranks as a table, best first."""
        columns = (
            Column.of("method", self.ordered),
            Column.of("rank", [self[name] for name in self.ordered], "{:.2f}".format),
        )
        return Table(f"average ranks over {self.n_datasets} datasets", columns)


@dataclass(frozen=True)
class FriedmanTest(TabularResult):
    """Friedman's test of the null hypothesis that all methods perform equally.

    Attributes
    ----------
    statistic : float
        Friedman's χ² without correction for equal scores.
    degrees_of_freedom : int
        Number of methods - 1.
    p_value : float
        Probability of a statistic of at least this size under the null hypothesis.
    alpha : float
        Level of significance.
    ranks : AverageRanks
        The ranks that were tested.

    Examples
    --------
    >>> from bucketrank.statistics import ScoreTable, friedman
    >>> scores = ScoreTable(
    ...     [[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.7, 0.6, 0.5], [0.6, 0.5, 0.4]],
    ...     datasets=["w", "x", "y", "z"],
    ...     methods=["a", "b", "c"],
    ... )
    >>> test = friedman(scores)
    >>> round(test.statistic, 6), test.degrees_of_freedom, test.rejected
    (8.0, 2, True)
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    alpha: float
    ranks: AverageRanks

    @property
    def rejected(self) -> bool:
        """Whether the null hypothesis is rejected at the level of significance."""
        return self.p_value <= self.alpha

    def to_dict(self) -> dict[str, Any]:
        """Return all results as plain Python numbers, strings and lists, ready for JSON."""
        return {
            "statistic": self.statistic,
            "degrees_of_freedom": self.degrees_of_freedom,
            "p_value": self.p_value,
            "alpha": self.alpha,
            "rejected": self.rejected,
            **self.ranks.to_dict(),
        }

    def sentence(self) -> str:
        """Return the result as a sentence."""
        verdict = "the methods differ" if self.rejected else "no difference is shown"
        return (
            f"Friedman: χ² = {self.statistic:.2f} with {self.degrees_of_freedom} degrees of freedom, "
            f"p = {p_value_text(self.p_value)}; {verdict} at the level {self.alpha:g}"
        )

    def table(self) -> Table:
        """Return the ranks as a table, with the result as a note."""
        ranks = self.ranks.table()
        return Table(ranks.title, ranks.columns, self.sentence())


def average_ranks(scores: Any, *, higher_is_better: bool = True) -> AverageRanks:
    """Return the average rank of each method over the datasets.

    Parameters
    ----------
    scores : ScoreTable, DataFrame, mapping or array-like of shape (n_datasets, n_methods)
        See :meth:`ScoreTable.of`.
    higher_is_better : bool, default True
        False for times and errors. Ignored for a :class:`ScoreTable`, which has this attribute.

    Returns
    -------
    AverageRanks

    Examples
    --------
    >>> print(average_ranks([[0.9, 0.8, 0.8], [0.7, 0.6, 0.5]]))
    average ranks over 2 datasets
    method    rank
    method 1  1.00
    method 2  2.25
    method 3  2.75
    """
    table = ScoreTable.of(scores, higher_is_better=higher_is_better)
    ranks = stats.rankdata(-table.merits, axis=1).mean(axis=0)
    return AverageRanks(table.methods, ranks, len(table.datasets))


def friedman(scores: Any, *, alpha: float = 0.05, higher_is_better: bool = True) -> FriedmanTest:
    r"""Test whether the average ranks of the methods differ significantly.

    The statistic is :math:`\chi^2 = \frac{12 N}{k (k + 1)} \sum_j (R_j - \frac{k + 1}{2})^2` for k methods with average
    ranks R on N datasets, compared with the χ² distribution with k - 1 degrees of freedom. It is not corrected for
    equal scores, which makes it conservative when there are many.

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
    FriedmanTest

    References
    ----------
    J. Demšar, "Statistical comparisons of classifiers over multiple data sets", Journal of Machine Learning Research
    7 (2006).

    Examples
    --------
    >>> test = friedman([[0.9, 0.8, 0.7], [0.7, 0.6, 0.5], [0.8, 0.6, 0.7], [0.9, 0.7, 0.5]])
    >>> round(test.statistic, 2), test.degrees_of_freedom, round(test.p_value, 4)
    (6.5, 2, 0.0388)
    """
    level = significance_level(alpha)
    ranks = average_ranks(scores, higher_is_better=higher_is_better)
    k = len(ranks.methods)
    spread = float(((ranks.ranks - (k + 1) / 2) ** 2).sum())
    statistic = 12 * ranks.n_datasets / (k * (k + 1)) * spread
    p_value = float(stats.chi2.sf(statistic, k - 1))
    return FriedmanTest(statistic, k - 1, p_value, level, ranks)


def significance_level(alpha: Any) -> float:
    """Return a level of significance after checking that it is between 0 and 1."""
    level = as_real(alpha, "alpha")
    if not 0 < level < 1:
        raise ValueError(f"alpha is {level}; expected a number between 0 and 1")
    return level
