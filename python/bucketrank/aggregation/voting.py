"""Methods of search engines and elections: reciprocal rank fusion, Schulze and ranked pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bucketrank._validation import as_real
from bucketrank.aggregation.base import Aggregator, Spec

__all__ = ["RankedPairs", "ReciprocalRankFusion", "Schulze"]


@dataclass(frozen=True)
class ReciprocalRankFusion(Aggregator):
    r"""Labels ordered by the sum of their reciprocal ranks, :math:`\sum 1 / (k + rank)`.

    Ranks count from 1. Tied labels share the mean of 1 / (k + rank) over the ranks they occupy; a ranking adds 0 to
    labels that it does not rank. Labels with equal sums are tied.

    Parameters
    ----------
    k : float, default 60
        Not negative; larger values lower the influence of the first ranks.

    References
    ----------
    G. V. Cormack, C. L. A. Clarke and S. Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods", SIGIR 2009.

    Examples
    --------
    >>> nan = float("nan")
    >>> ReciprocalRankFusion().aggregate([[1, 2, 3, nan], [2, 1, nan, 3], [1, nan, nan, 2]])
    array([1, 2, 4, 3])
    """

    k: float = 60.0

    _needs = "rankings"
    _needs_whole_rankings = True

    def __post_init__(self) -> None:
        k = as_real(self.k, "k")
        if not 0 <= k < math.inf:
            raise ValueError(f"k is {k}; expected a finite number that is not negative")
        object.__setattr__(self, "k", k)

    def _spec(self) -> Spec:
        return "reciprocal_rank_fusion", self.k


@dataclass(frozen=True)
class Schulze(Aggregator):
    """Labels ordered by the strongest paths of majorities (Schulze's method, also called beatpath).

    The majority for u over v is the share of rankings with u before v minus the share with v before u (margins). A path
    is as strong as its weakest majority; u wins against v if the strongest path from u to v is stronger than any from v
    to u. Labels are ordered by wins minus losses: a label is placed before all those it wins against.

    References
    ----------
    M. Schulze, "A new monotonic, clone-independent, reversal symmetric, and Condorcet-consistent single-winner election
    method", Social Choice and Welfare 36 (2011).

    Examples
    --------
    >>> Schulze().aggregate([[1, 2, 3], [1, 2, 3], [3, 1, 2], [2, 3, 1]])
    array([1, 2, 3])
    """

    def _spec(self) -> Spec:
        return "schulze", 0.0


@dataclass(frozen=True)
class RankedPairs(Aggregator):
    """Labels ordered by majorities that are locked from the strongest to the weakest (Tideman's ranked pairs).

    A majority (margins, as in :class:`Schulze`) is discarded if it closes a cycle with the locked ones. Majorities of
    equal strength are treated together: those that are part of a cycle of locked and equally strong majorities are all
    discarded, the others all locked, so the result does not depend on the order of the labels. Labels are ordered by
    wins minus losses along locked majorities. ``explain`` lists the ``discarded`` majorities.

    References
    ----------
    T. N. Tideman, "Independence of clones as a criterion for voting rules", Social Choice and Welfare 4 (1987).

    Examples
    --------
    >>> RankedPairs().aggregate([[1, 2, 3], [1, 2, 3], [3, 1, 2], [2, 3, 1]])
    array([1, 2, 3])
    """

    def _spec(self) -> Spec:
        return "ranked_pairs", 0.0
