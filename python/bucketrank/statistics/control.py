"""Comparison of a control method with all other methods: Holm's procedure on average ranks over datasets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bucketrank._exact_numbers import unmasked
from bucketrank.statistics.ranks import FriedmanTest, friedman
from bucketrank.statistics.score_table import ScoreTable
from bucketrank.statistics.wins import WinTieLoss, win_tie_loss
from bucketrank.tables import Column, Table, TabularResult, p_value_text

__all__ = ["HolmTest", "holm", "holm_adjusted"]


@dataclass(frozen=True, eq=False)
class HolmTest(TabularResult):
    """Comparisons of a control with all other methods.

    Attributes
    ----------
    control : str
        The method that the others are compared with.
    methods : tuple of str
        The other methods, smallest average rank first.
    z : ndarray of shape (n_methods - 1,)
        Average rank minus the average rank of the control, in standard errors; negative if better than the control.
    p_values, adjusted : ndarray of shape (n_methods - 1,)
        Two-sided p-values, unadjusted and adjusted for the number of comparisons.
    friedman : FriedmanTest
        The preceding test of all methods. If it is not significant, no method counts as different.
    counts : WinTieLoss
        Wins, ties and losses of each pair of methods.

    Examples
    --------
    >>> from bucketrank.statistics import ScoreTable, holm
    >>> scores = ScoreTable(
    ...     [[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.7, 0.6, 0.5], [0.6, 0.5, 0.4]],
    ...     datasets=["w", "x", "y", "z"],
    ...     methods=["a", "b", "c"],
    ... )
    >>> test = holm(scores)
    >>> test.control, test.different, test.not_different
    ('a', ('c',), ('b',))
    """

    control: str
    methods: tuple[str, ...]
    z: NDArray[np.float64]
    p_values: NDArray[np.float64]
    adjusted: NDArray[np.float64]
    friedman: FriedmanTest
    counts: WinTieLoss

    @property
    def alpha(self) -> float:
        """Level of significance."""
        return self.friedman.alpha

    @property
    def different(self) -> tuple[str, ...]:
        """The methods that differ from the control at the level of significance."""
        if not self.friedman.rejected:
            return ()
        below = self.adjusted <= self.alpha
        return tuple(name for name, is_below in zip(self.methods, below, strict=True) if is_below)

    @property
    def not_different(self) -> tuple[str, ...]:
        """The methods that do not differ significantly from the control."""
        return tuple(name for name in self.methods if name not in self.different)

    def adjusted_p_value(self, method: str) -> float:
        """Return the adjusted p-value of a method."""
        if method not in self.methods:
            raise ValueError(
                f"{method!r} is not compared with {self.control!r}; known: {', '.join(self.methods)}"
            )
        return float(self.adjusted[self.methods.index(method)])

    def to_dict(self) -> dict[str, Any]:
        """Return all results as plain Python numbers, strings and lists, ready for JSON."""
        ranks = self.friedman.ranks
        comparisons = []
        for i, name in enumerate(self.methods):
            win, tie, loss = self.counts.against(self.control, name)
            comparisons.append(
                {
                    "method": name,
                    "rank": ranks[name],
                    "z": float(self.z[i]),
                    "p_value": float(self.p_values[i]),
                    "adjusted": float(self.adjusted[i]),
                    "win": win,
                    "tie": tie,
                    "loss": loss,
                }
            )
        return {
            "control": self.control,
            "control_rank": ranks[self.control],
            "friedman": self.friedman.to_dict(),
            "comparisons": comparisons,
        }

    def table(self) -> Table:
        """Return all methods as a table, best first; methods that do not differ from the control are marked."""
        ranks = self.friedman.ranks
        names = ranks.ordered
        against = [
            (None, None, None) if name == self.control else self.counts.against(self.control, name)
            for name in names
        ]
        p_values = [None if name == self.control else self.adjusted_p_value(name) for name in names]
        columns = (
            Column.of("method", names),
            Column.of("rank", [ranks[name] for name in names], "{:.2f}".format),
            Column.of("p", p_values, p_value_text, [name in self.not_different for name in names]),
            *(
                Column.of(heading, [counts[i] for counts in against])
                for i, heading in enumerate(("win", "tie", "loss"))
            ),
        )
        note = self.friedman.sentence()
        if not self.friedman.rejected:
            note += ", so the comparisons are not interpreted"
        title = f"Holm, control {self.control}; wins, ties and losses of the control"
        return Table(title, columns, note, f"no difference from {self.control} shown")


def holm(
    scores: Any,
    control: str | None = None,
    *,
    alpha: float = 0.05,
    decimals: int = 3,
    higher_is_better: bool = True,
) -> HolmTest:
    r"""Compare a control with every other method by Holm's step-down procedure.

    The difference of two average ranks, divided by :math:`\sqrt{k (k + 1) / (6 N)}` for k methods on N datasets, is
    compared with the standard normal distribution, two-sided; the p-values are adjusted so that the probability of any
    false rejection is at most `alpha`.

    Parameters
    ----------
    scores : ScoreTable, DataFrame, mapping or array-like of shape (n_datasets, n_methods)
        See :meth:`ScoreTable.of`.
    control : str, optional
        The method to compare with; by default the method with the best average rank.
    alpha : float, default 0.05
        Level of significance, between 0 and 1.
    decimals : int, default 3
        Decimals to which scores are rounded for counting wins and losses; ranks use the unrounded scores.
    higher_is_better : bool, default True
        False for times and errors. Ignored for a :class:`ScoreTable`, which has this attribute.

    Returns
    -------
    HolmTest

    References
    ----------
    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
    >>> scores = ScoreTable([[0.9, 0.8, 0.7], [0.7, 0.6, 0.5], [0.8, 0.6, 0.7], [0.9, 0.7, 0.5]])
    >>> print(holm(scores))
    Holm, control method 1; wins, ties and losses of the control
    method    rank       p   win  tie  loss
    method 1  1.00
    method 2  2.25  0.077*     4    0     0
    method 3  2.75  0.027      4    0     0
    * no difference from method 1 shown
    Friedman: χ² = 6.50 with 2 degrees of freedom, p = 0.039; the methods differ at the level 0.05
    """
    table = ScoreTable.of(scores, higher_is_better=higher_is_better)
    test = friedman(table, alpha=alpha)
    ranks = test.ranks
    chosen = ranks.best if control is None else control
    if chosen not in table.methods:
        raise ValueError(
            f"control {chosen!r} is not among the methods; known: {', '.join(table.methods)}"
        )
    others = tuple(name for name in ranks.ordered if name != chosen)
    distances = np.array([ranks[name] - ranks[chosen] for name in others])
    z = distances / ranks.standard_error
    p_values = 2 * stats.norm.sf(np.abs(z))
    counts = win_tie_loss(table, decimals=decimals)
    return HolmTest(chosen, others, z, p_values, holm_adjusted(p_values), test, counts)


def holm_adjusted(p_values: Any) -> NDArray[np.float64]:
    """Adjust p-values for multiple comparisons by Holm's procedure.

    Parameters
    ----------
    p_values : array-like of shape (n_comparisons,)
        From 0 to 1.

    Returns
    -------
    ndarray of shape (n_comparisons,)
        Adjusted p-values in the same order: the smallest is multiplied by the number of comparisons, the second
        smallest by one less, and so on; the sequence is then made non-decreasing and clipped at 1.

    Examples
    --------
    >>> holm_adjusted([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(unmasked(p_values), dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"p_values has shape {values.shape}; expected one dimension")
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("p_values has numbers outside [0, 1]; expected probabilities")
    order = np.argsort(values, kind="stable")
    steps = (len(values) - np.arange(len(values))) * values[order]
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted
