"""The aggregation methods without a threshold, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from bucketrank._validation import as_real, as_whole
from bucketrank.aggregation.base import Aggregator, Spec
from bucketrank.aggregation.thresholds import Borda, BucketPivot, Copeland, WithBeta
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
    """Labels ordered by how often a random walk that prefers better labels visits them.

    The four chains of Dwork et al. (2001); labels of equal probability are tied.

    Parameters
    ----------
    variant : {1, 2, 3, 4}, default 4
        1: to any label that is placed at least as high, in proportion to how often. 2: choose a ranking, then one
        of its labels placed at least as high. 3: choose a ranking and a label, move if it is placed at least as
        high. 4: choose a label, move if half of the rankings or more place it at least as high.

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

    def _spec(self) -> Spec:
        return "markov_chain", float(self.variant)


@dataclass(frozen=True)
class MaximalLottery(Aggregator):
    """Labels ordered by their probability in a maximal lottery.

    A maximal lottery is a random label that no other random label beats in expectation (Fishburn 1984). Where
    there are several, the fairest is taken: the one with the largest smallest probability, then the next, and so on.

    Examples
    --------
    >>> MaximalLottery().aggregate([[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    array([1, 1, 1])
    """

    def _spec(self) -> Spec:
        return "maximal_lottery", 0.0


_SEARCHES = ("cut", "local", "exact")
_MOST_LABELS_EXACTLY = 14
_WITH_SCORES = (Borda, Copeland, MarkovChain, MaximalLottery)


@dataclass(frozen=True)
class TauX(Aggregator):
    r"""The bucket order with the largest expected :math:`\\tau_X`, without a parameter to tune.

    Placing u before v earns the share of rankings with u before v minus the share with v before u; tying them earns the
    share of ties. The consensus maximises the mean over all pairs of labels, which is the expected rank correlation
    with a ranking like those given. Pairs that no ranking compares earn nothing.

    Parameters
    ----------
    method : {"cut", "local", "exact"}, default "cut"
        ``"cut"`` orders the labels by net preference and divides that order into buckets in the best way. ``"local"``
        goes on from there by moving labels and cutting again. ``"exact"`` finds the best of all bucket orders, for
        at most 14 labels.
    order : str or Aggregator, optional
        Method with scores that orders the labels instead of net preference (Borda's order): ``"borda"``,
        ``"copeland"``, ``"mc1"`` to ``"mc4"`` or ``"maximal_lottery"``. Equal scores are ordered by net preference,
        then by index. The exact search needs no order.

    Examples
    --------
    >>> TauX().aggregate([[1, 2, 3], [1, 3, 2], [1, 2, 2]])
    array([1, 2, 2])
    >>> TauX(order="maximal_lottery").aggregate([[1, 2, 3], [1, 3, 2], [2, 1, 3]])
    array([1, 2, 3])
    """

    method: str = "cut"
    order: str | Aggregator | None = None

    def __post_init__(self) -> None:
        expected = ", ".join(map(repr, _SEARCHES))
        if not isinstance(self.method, str):
            raise TypeError(f"method is {self.method!r}; expected one of {expected}")
        if self.method not in _SEARCHES:
            raise ValueError(f"method is {self.method!r}; expected one of {expected}")
        if self.order is None:
            return
        if self.method == "exact":
            raise ValueError(
                f"order is {self.order!r} with method 'exact', which searches all orders; expected order=None"
            )
        if not isinstance(self.order, (str, Aggregator)):
            raise TypeError(f"order is {self.order!r}; expected a name or an aggregator")
        order = get_aggregator(self.order)
        if isinstance(order, WithBeta) and isinstance(order.beta, str):
            raise ValueError(
                f"order is {order!r}, whose beta is chosen by a tree; expected a number for beta"
            )
        if not isinstance(order, _WITH_SCORES):
            raise ValueError(
                f"order is {self.order!r}, which has no scores to order labels by; expected Borda, Copeland, "
                "MarkovChain or MaximalLottery"
            )
        object.__setattr__(self, "order", order)

    def _check_label_count(self, n_labels: int) -> None:
        if self.method == "exact" and n_labels > _MOST_LABELS_EXACTLY:
            raise ValueError(
                f"method 'exact' takes at most {_MOST_LABELS_EXACTLY} labels, found {n_labels}; expected fewer labels, "
                "or method 'cut' or 'local'"
            )

    @property
    def _needs(self) -> str:  # type: ignore[override]
        order = self.order
        return (
            "rankings"
            if isinstance(order, Aggregator) and order._needs == "rankings"
            else "pair shares"
        )

    def _spec(self) -> Spec:
        name = f"tau_x_{self.method}"
        if self.order is None:
            return name, 0.0
        method, parameter = get_aggregator(self.order)._spec()
        if isinstance(parameter, tuple):
            raise TypeError(f"order is {self.order!r}; expected a method with scores")
        return name, (method, parameter)


@dataclass(frozen=True)
class Davidson(Aggregator):
    r"""Labels ordered by the utilities of a fitted model of comparisons with ties.

    Every label gets a utility :math:`f` and a tie term :math:`h`; it is placed before, tied with or placed behind
    another one with weights :math:`e^{(f_u - f_v)/2}`, :math:`e^{h_u + h_v}` and :math:`e^{(f_v - f_u)/2}`. The most
    probable ones, given the rankings and normal priors around 0, are found by Newton's method, and the fitted shares
    are cut into the bucket order with the largest expected rank correlation. Pairs that no ranking compares are
    estimated from the other comparisons of their labels, so comparisons of two labels per row are enough.

    Parameters
    ----------
    ridge : float, default 0.1
        Inverse variance of the priors; a positive number. Weights are counted against it, unless the pair with the
        largest weight has less than 1e-9 or more than 1e9: weights are then relative to that.

    Notes
    -----
    ``explain`` gives utilities and tie terms with standard errors, from the second derivatives at the maximum. Only
    differences of utilities have a meaning: those of all labels that were compared add up to 0, and their errors are
    those of the difference from the mean. A label that was never compared has the error of its prior.

    References
    ----------
    R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments", Journal
    of the American Statistical Association 65 (1970).

    Examples
    --------
    >>> nan = float("nan")
    >>> Davidson().aggregate([[1, 2, nan], [nan, 1, 2]])
    array([1, 2, 3])
    """

    ridge: float = 0.1

    _needs = "rankings"

    def __post_init__(self) -> None:
        ridge = as_real(self.ridge, "ridge")
        if not 0 < ridge <= 1e12:
            raise ValueError(f"ridge is {ridge}; expected a number above 0 and up to 1e12")
        object.__setattr__(self, "ridge", ridge)

    def _spec(self) -> Spec:
        return "davidson", self.ridge


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
}


METHODS = tuple(_BY_NAME)
"""Names accepted by :func:`get_aggregator`."""

PAPER_AGGREGATORS = METHODS[: METHODS.index("tau_x")]
"""The methods that Wang, Alfaro and Bengs compare, in their order; their parameters are the defaults."""


def get_aggregator(method: str | Aggregator, /, **params: Any) -> Aggregator:
    """Return the aggregator of a name, with the given parameters changed.

    Parameters
    ----------
    method : str or Aggregator
        ``"borda"``, ``"copeland"``, ``"bucket_pivot"``, ``"mc1"`` to ``"mc4"``, ``"maximal_lottery"``,
        ``"tau_x"``, ``"davidson"``, or an aggregator, which is returned as it is.
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
    """Return the aggregator that the parameter `aggregator` of an estimator names."""
    if not isinstance(aggregator, (str, Aggregator)):
        raise TypeError(
            f"aggregator is {aggregator!r}; expected a name or an aggregator such as Borda()"
        )
    return get_aggregator(aggregator)


def aggregate(
    Y: Any,
    method: str | Aggregator = "borda",
    *,
    sample_weight: ArrayLike | None = None,
    **params: Any,
) -> Any:
    """Return the consensus of rankings with ties.

    Parameters
    ----------
    Y : array-like or DataFrame of shape (n_rankings, n_labels)
        Positions; NaN for missing labels.
    method : str or Aggregator, default "borda"
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
    >>> aggregate([[1, 2, 3], [1, 3, 2], [2, 1, 3]], "copeland", beta=0)
    array([1, 2, 3])
    """
    return get_aggregator(method, **params).aggregate(Y, sample_weight)
