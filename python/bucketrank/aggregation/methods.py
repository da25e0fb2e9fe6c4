"""Markov chains, maximal lotteries and TauX; and all aggregators by name.

Some aggregators need rankings. Others need only pair shares (for each pair of labels u and v, the shares of rankings
with u before v, tied, and u after v) or the pair order matrix (the share of u before v plus half the share of ties).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from bucketrank._validation import as_flag, as_whole
from bucketrank.aggregation.base import Aggregator, SearchOptions, Spec
from bucketrank.aggregation.davidson import Davidson
from bucketrank.aggregation.optimal import (
    Kemeny,
    check_search,
    check_time_limit,
    warn_unless_proven,
)
from bucketrank.aggregation.thresholds import Borda, BucketPivot, Copeland, WithBeta
from bucketrank.aggregation.voting import RankedPairs, ReciprocalRankFusion, Schulze
from bucketrank.suggest import nearest_first

__all__ = [
    "METHODS",
    "PAPER_AGGREGATORS",
    "Davidson",
    "MarkovChain",
    "MaximalLottery",
    "TauX",
    "aggregate",
    "as_aggregator",
    "get_aggregator",
]


@dataclass(frozen=True)
class MarkovChain(Aggregator):
    """Labels ordered by how often they are visited by a random walk that moves to higher-ranked labels.

    The four chains of Dwork et al. (2001); labels of equal probability are tied.

    Parameters
    ----------
    variant : {1, 2, 3, 4}, default 4
        The step from the current label. 1: move to any label that is placed at least as high, in proportion to how
        often it is placed so. 2: choose a ranking, then one of its labels placed at least as high. 3: choose a ranking
        and a label, and move if the label is placed at least as high. 4: choose a label, and move if its share of wins
        against the current label is at least half, ties counting half.

    Examples
    --------
    >>> MarkovChain(variant=4).aggregate([[1, 2, 3], [1, 3, 2], [2, 1, 3]])
    array([1, 2, 2])
    """

    variant: int = 4

    def __post_init__(self) -> None:
        variant = as_whole(self.variant, "variant", "1, 2, 3 or 4")
        if variant not in (1, 2, 3, 4):
            raise ValueError(f"variant is {variant}; expected 1, 2, 3 or 4")
        object.__setattr__(self, "variant", variant)

    @property
    def _needs(self) -> str:  # type: ignore[override]
        return "pair order" if self.variant == 4 else "rankings"

    @property
    def _needs_whole_rankings(self) -> bool:  # type: ignore[override]
        # Variant 2 draws whole rankings; for the others, counts of all pairs of labels are enough.
        return self.variant == 2

    def _spec(self) -> Spec:
        return "markov_chain", float(self.variant)


@dataclass(frozen=True)
class MaximalLottery(Aggregator):
    """Labels ordered by their probability in a maximal lottery.

    A lottery draws a label at random; a maximal lottery is one that no other lottery beats in expectation (Fishburn
    1984). If there are several, the fairest is used: its smallest probability is as large as possible, then the second
    smallest, and so on.

    Examples
    --------
    >>> MaximalLottery().aggregate([[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    array([1, 1, 1])
    """

    def _spec(self) -> Spec:
        return "maximal_lottery", 0.0


WITH_SCORES = (Borda, Copeland, MarkovChain, MaximalLottery)
"""Methods whose scores can order the labels for `TauX` or rank them on a leaderboard."""


@dataclass(frozen=True)
class TauX(Aggregator):
    r"""The bucket order with the largest expected :math:`\tau_X`, without a parameter to tune.

    Placing u before v scores the share of rankings with u before v minus the share with v before u; tying them scores
    the share of ties. The consensus maximises the mean score over all pairs of labels, which is the expected rank
    correlation with a ranking drawn at random from the given ones. Pairs that no ranking compares score 0.

    Parameters
    ----------
    search : {"cut", "local", "exact"}, default "cut"
        ``"cut"`` orders the labels by net preference (per label u, the sum over the other labels v of the share of
        rankings with u before v minus the share with v before u) and divides that order into buckets in the best way.
        ``"local"`` goes on from there by moving single labels and dividing the new order again. ``"exact"`` finds the
        best of all bucket orders; it divides the problem into parts that can be solved one by one, and ``explain`` says
        what it proved.
    order : str or Aggregator, optional
        Method whose scores order the labels instead of net preference (Borda's order): ``"borda"``,
        ``"copeland"``, ``"mc1"`` to ``"mc4"`` or ``"maximal_lottery"``. Equal scores are ordered by net preference.
        The exact search needs no order.
    ties : bool, default True
        Whether labels may be tied; False gives strict orders, as plain label ranking needs.
    time_limit : float, optional
        Seconds after which the exact search ends with the best bucket order found; by default it has no limit.

    Notes
    -----
    Among bucket orders of equal value, those with more ties are preferred: labels about which nothing is known, and
    labels that the rankings do not distinguish, are tied. Labels with equal net preference are ordered by the net
    preference among these labels only, then by the sum of their signed squared leads over all other labels, where the
    lead of u over v is the share of u before v minus the share of v before u. Labels that are equal by all of these are
    never separated by search ``"cut"``. The other searches order them by the sorted list of a label's shares against
    all other labels, and by column if these lists are equal. ``explain`` says whether the optimum is unique, if the
    search can tell.

    Examples
    --------
    >>> TauX().aggregate([[1, 2, 3], [1, 3, 2], [1, 2, 2]])
    array([1, 2, 2])
    >>> TauX(order="maximal_lottery").aggregate([[1, 2, 3], [1, 3, 2], [2, 1, 3]])
    array([1, 2, 3])
    >>> TauX(ties=False).aggregate([[1, 2, 2], [1, 3, 2], [1, 2, 2]])
    array([1, 3, 2])
    """

    search: str = "cut"
    order: str | Aggregator | None = None
    ties: bool = True
    time_limit: float | None = None

    def __post_init__(self) -> None:
        check_search(self.search, ("cut", "local", "exact"))
        object.__setattr__(self, "ties", as_flag(self.ties, "ties"))
        object.__setattr__(self, "time_limit", check_time_limit(self.time_limit))
        if self.order is not None:
            object.__setattr__(self, "order", self._check_order())

    def _check_order(self) -> Aggregator:
        if self.search == "exact":
            raise ValueError(
                f"order is {self.order!r} with search 'exact', which searches all orders; expected order=None"
            )
        if not isinstance(self.order, (str, Aggregator)):
            raise TypeError(f"order is {self.order!r}; expected a name or an aggregator")
        order = get_aggregator(self.order)
        if isinstance(order, WithBeta) and isinstance(order.beta, str):
            raise ValueError(
                f"order is {order!r}, whose beta (threshold for ties) is chosen by a tree; expected a number for beta"
            )
        if not isinstance(order, WITH_SCORES):
            raise ValueError(
                f"order is {self.order!r}, which has no scores to order labels by; expected Borda, Copeland, "
                "MarkovChain or MaximalLottery"
            )
        return order

    @property
    def _needs(self) -> str:  # type: ignore[override]
        order = self.order
        return (
            "rankings"
            if isinstance(order, Aggregator) and order._needs == "rankings"
            else "pair shares"
        )

    @property
    def _needs_whole_rankings(self) -> bool:  # type: ignore[override]
        return isinstance(self.order, Aggregator) and self.order._needs_whole_rankings

    def aggregate(self, Y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Return the consensus of rankings; see :meth:`Aggregator.aggregate`."""
        if self.search != "exact":
            return super().aggregate(Y, sample_weight)
        explanation = self.explain(Y, sample_weight)
        warn_unless_proven(explanation)
        return explanation._positions_like(Y)

    def _spec(self) -> Spec:
        if self.search == "cut" and self.order is None and self.ties:
            return "tau_x", 0.0
        order = None
        if self.order is not None:
            spec = get_aggregator(self.order)._spec()
            if len(spec) != 2 or not isinstance(spec[1], float):
                raise TypeError(f"order is {self.order!r}; expected a method with scores")
            order = spec[0], spec[1]
        options: SearchOptions = {
            "search": self.search,
            "order": order,
            "ties": self.ties,
            "time_limit": self.time_limit,
            # Only Kemeny uses these.
            "penalty": 0.5,
            "n_buckets": None,
            "label_weights": None,
        }
        return "tau_x", options


_BY_NAME: dict[str, Aggregator] = {
    "bucket_pivot": BucketPivot(),
    "borda": Borda(),
    "copeland": Copeland(),
    "mc1": MarkovChain(1),
    "mc2": MarkovChain(2),
    "mc3": MarkovChain(3),
    "mc4": MarkovChain(4),
    "maximal_lottery": MaximalLottery(),
    "tau_x": TauX(),
    "davidson": Davidson(),
    "kemeny": Kemeny(),
    "reciprocal_rank_fusion": ReciprocalRankFusion(),
    "schulze": Schulze(),
    "ranked_pairs": RankedPairs(),
}


METHODS = tuple(_BY_NAME)
"""Names accepted by :func:`get_aggregator`."""

PAPER_AGGREGATORS = METHODS[: METHODS.index("tau_x")]
"""The methods that Wang, Alfaro and Bengs compare (ECAI 2025), in the order of the paper, with default parameters."""


def get_aggregator(method: str | Aggregator, /, **params: Any) -> Aggregator:
    """Return the aggregator with this name, with the given parameters changed.

    Parameters
    ----------
    method : str or Aggregator
        ``"borda"``, ``"copeland"``, ``"bucket_pivot"``, ``"mc1"`` to ``"mc4"``, ``"maximal_lottery"``,
        ``"tau_x"``, ``"davidson"``, ``"kemeny"``, ``"reciprocal_rank_fusion"``, ``"schulze"``, ``"ranked_pairs"``,
        or an aggregator, which is returned as it is.
    **params
        Parameters such as ``beta``.

    Returns
    -------
    Aggregator

    Examples
    --------
    >>> get_aggregator("borda", beta=0.5)
    Borda(beta=0.5)
    >>> get_aggregator("mc3")
    MarkovChain(variant=3)
    """
    if isinstance(method, str):
        if method not in _BY_NAME:
            raise ValueError(
                f"unknown method {method!r}; known: {', '.join(nearest_first(method, _BY_NAME))}"
            )
        method = _BY_NAME[method]
    if not isinstance(method, Aggregator):
        raise TypeError(f"method is {method!r}; expected a name or an aggregator such as Borda()")
    return method.set_params(**params) if params else method


def as_aggregator(aggregator: Any) -> Aggregator:
    """Return the aggregator given by the parameter `aggregator` of an estimator.

    Examples
    --------
    >>> as_aggregator("mc4")
    MarkovChain(variant=4)
    >>> as_aggregator(TauX())
    TauX(search='cut', order=None, ties=True, time_limit=None)
    """
    if not isinstance(aggregator, (str, Aggregator)):
        raise TypeError(
            f"aggregator is {aggregator!r}; expected a name or an aggregator such as Borda()"
        )
    return get_aggregator(aggregator)


def aggregate(
    Y: Any,
    method: str | Aggregator = "tau_x",
    *,
    sample_weight: ArrayLike | None = None,
    **params: Any,
) -> Any:
    """Return the consensus of rankings with ties.

    Parameters
    ----------
    Y : array-like or DataFrame of shape (n_rankings, n_labels)
        Positions; NaN for missing labels.
    method : str or Aggregator, default "tau_x"
        See :func:`get_aggregator`.
    sample_weight : array-like of shape (n_rankings,), optional
        Non-negative weights.
    **params
        Parameters of the method, such as ``beta``.

    Returns
    -------
    ndarray or Series of shape (n_labels,)
        Positions of all labels; a Series named by the labels when `Y` is a pandas DataFrame.

    Examples
    --------
    >>> aggregate([[1, 2, 3], [1, 3, 2], [2, 1, 3]])
    array([1, 2, 3])
    >>> aggregate([[1, 2, 3], [1, 3, 2], [2, 1, 3]], "kemeny", ties=False)
    array([1, 2, 3])
    """
    return get_aggregator(method, **params).aggregate(Y, sample_weight)
