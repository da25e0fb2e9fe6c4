"""Kemeny's consensus: the bucket order with the smallest total distance to the rankings."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from bucketrank._phrases import pluralize
from bucketrank._validation import as_flag, as_real, as_whole
from bucketrank.aggregation.base import Aggregator, SearchOptions, Spec
from bucketrank.aggregation.explanation import Explanation

__all__ = ["Kemeny", "UnprovenOptimumWarning"]


class UnprovenOptimumWarning(UserWarning):
    """An exact search ended before it could prove that its result is optimal.

    Examples
    --------
    >>> import warnings
    >>> from bucketrank import Kemeny, UnprovenOptimumWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", UnprovenOptimumWarning)
    ...     Kemeny().aggregate([[1, 2, 3], [1, 3, 2], [1, 2, 2]])
    array([1, 2, 2])
    """


def warn_unless_proven(explanation: Explanation) -> None:
    """Warn when an exact search was ended by its time limit or by its memory limit."""
    details = explanation.details
    if details["optimal"]:
        return
    # Kemeny reports a gap, TauX does not.
    if "gap" in details:
        found = f"distance {details['distance']:.6g}, at least {details['lower_bound']:.6g}"
    else:
        found = (
            f"expected tau_x {details['expected_tau_x']:.6g}, at most {details['upper_bound']:.6g}"
        )
    warnings.warn(
        f"{explanation.aggregator} ended before its result was proven optimal ({found}); a larger time_limit "
        "helps if that limit ended the search, and search='local' is a quick heuristic",
        UnprovenOptimumWarning,
        stacklevel=3,
    )


def check_search(search: Any, known: tuple[str, ...]) -> str:
    """Return the name of a search after checking it."""
    expected = ", ".join(map(repr, known))
    if not isinstance(search, str):
        raise TypeError(f"search is {search!r}; expected one of {expected}")
    if search not in known:
        raise ValueError(f"search is {search!r}; expected one of {expected}")
    return search


def check_time_limit(time_limit: Any) -> float | None:
    """Return a number of seconds after checking it."""
    if time_limit is None:
        return None
    seconds = as_real(time_limit, "time_limit")
    if not 0 <= seconds < math.inf:
        raise ValueError(f"time_limit is {seconds}; expected a number of seconds from 0, or None")
    return seconds


@dataclass(frozen=True)
class Kemeny(Aggregator):
    r"""The bucket order with the smallest total distance to the rankings: Kemeny's consensus, with ties.

    Per pair of labels, a ranking and the consensus have distance 1 when they order the pair in opposite ways, and
    `penalty` when it is tied in one and strict in the other. Pairs that a ranking does not rank are not counted. With
    the default 0.5 this is half the distance of Kemeny and Snell, and on complete rankings the consensus is that of
    ``TauX("exact")``.

    Parameters
    ----------
    penalty : float, default 0.5
        The parameter p of the distance K^(p) of Fagin et al., from 0 to 1. Below 0.5 ties become cheap. Above 0.5 an
        order of two labels may be cheaper than a tie although the rankings do not distinguish them.
    ties : bool, default True
        Whether labels may be tied; False finds the best strict order, Kemeny's classical problem.
    n_buckets : int or (int, int), optional
        Number of buckets, or its minimum and maximum: ``(1, 3)`` allows up to three.
    search : {"auto", "exact", "local"}, default "auto"
        ``"exact"`` proves the optimum, or ends at the time limit; ``"auto"`` does the same, but stops after a limited
        number of steps (about a second), so its result is reproducible; ``"local"`` moves single labels and proves
        nothing. The problem is first divided into independent parts. When the rankings largely agree, the parts are
        small, and hundreds of labels are solved exactly.
    time_limit : float, optional
        Seconds after which an exact search ends with the best bucket order found; by default it has no limit.
    label_weights : sequence of float, optional
        Weight per label, 0 or from 1e-70 to 1e70; a pair weighs the product of its labels' weights.

    Notes
    -----
    ``explain`` tells what was proven: ``distance``, ``lower_bound`` (a lower bound of the distance of all permitted
    bucket orders), ``gap`` (the difference of these two), ``optimal``, ``unique`` (None if unknown) and ``components``
    (the sizes of the independent parts). ``aggregate`` warns (:class:`UnprovenOptimumWarning`) when ``search="exact"``
    ended early. Among bucket orders of equal distance, one with the most ties is returned; labels about which nothing
    is known, and labels that the rankings do not distinguish, are tied (unless ties are forbidden or cost more than an
    order).

    References
    ----------
    J. G. Kemeny, "Mathematics without numbers", Daedalus 88 (1959).
    R. Fagin, R. Kumar, M. Mahdian, D. Sivakumar and E. Vee, "Comparing partial rankings", SIAM Journal on Discrete
    Mathematics 20 (2006).

    Examples
    --------
    >>> Y = [[1, 2, 3], [1, 3, 2], [2, 1, 1]]
    >>> Kemeny().aggregate(Y)
    array([1, 2, 2])
    >>> Kemeny(ties=False).aggregate([[1, 2, 3], [1, 2, 3], [3, 1, 2]])
    array([1, 2, 3])
    >>> Kemeny(n_buckets=2).aggregate([[1, 2, 3], [1, 2, 3], [1, 3, 2]])
    array([1, 2, 2])
    >>> Kemeny().explain(Y).details["distance"]
    3.0
    """

    penalty: float = 0.5
    ties: bool = True
    n_buckets: int | tuple[int, int] | None = None
    search: str = "auto"
    time_limit: float | None = None
    label_weights: tuple[float, ...] | None = None

    _needs = "pair shares"

    def __post_init__(self) -> None:
        penalty = as_real(self.penalty, "penalty")
        if not 0 <= penalty <= 1:
            raise ValueError(f"penalty is {penalty}; expected a number from 0 to 1")
        values = {
            "penalty": penalty,
            "ties": as_flag(self.ties, "ties"),
            "n_buckets": _check_n_buckets(self.n_buckets),
            "search": check_search(self.search, ("auto", "exact", "local")),
            "time_limit": check_time_limit(self.time_limit),
            "label_weights": _check_label_weights(self.label_weights),
        }
        if not values["ties"] and values["n_buckets"] is not None:
            raise ValueError(
                f"n_buckets is {self.n_buckets!r} with ties=False, which has one bucket per label; "
                "expected n_buckets=None"
            )
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _check_label_count(self, n_labels: int) -> None:
        weights = self.label_weights
        if weights is not None and len(weights) != n_labels:
            raise ValueError(
                f"label_weights has {pluralize(len(weights), 'weight')} for {n_labels} labels; "
                "expected one weight per label"
            )

    def aggregate(self, Y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Return the consensus of rankings; see :meth:`Aggregator.aggregate`."""
        if self.search != "exact":
            return super().aggregate(Y, sample_weight)
        explanation = self.explain(Y, sample_weight)
        warn_unless_proven(explanation)
        return explanation._positions_like(Y)

    def _spec(self) -> Spec:
        n_buckets = self.n_buckets
        options: SearchOptions = {
            "search": self.search,
            "order": None,
            "penalty": self.penalty,
            "ties": self.ties,
            "n_buckets": (n_buckets, n_buckets) if isinstance(n_buckets, int) else n_buckets,
            "time_limit": self.time_limit,
            "label_weights": None if self.label_weights is None else list(self.label_weights),
        }
        return "kemeny", options


def _check_n_buckets(n_buckets: Any) -> int | tuple[int, int] | None:
    """Return a number of buckets, or its minimum and maximum, after checking it."""
    expected = "a whole number, or a minimum and a maximum"
    if n_buckets is None:
        return None
    if isinstance(n_buckets, (tuple, list)):
        if len(n_buckets) != 2:
            raise ValueError(f"n_buckets is {n_buckets!r}; expected {expected}")
        least, most = (as_whole(number, "n_buckets", expected) for number in n_buckets)
    else:
        least = most = as_whole(n_buckets, "n_buckets", expected)
    if not 1 <= least <= most < 2**32:
        raise ValueError(f"n_buckets is {n_buckets!r}; expected {expected}, from 1 up")
    return least if least == most else (least, most)


def _check_label_weights(weights: Any) -> tuple[float, ...] | None:
    if weights is None:
        return None
    if isinstance(weights, str) or not isinstance(weights, Iterable):
        raise TypeError(f"label_weights is {weights!r}; expected one number per label")
    numbers = tuple(as_real(weight, "label_weights") for weight in weights)
    for number in numbers:
        # Products of larger or smaller weights would overflow or vanish.
        if number != 0 and not 1e-70 <= number <= 1e70:
            raise ValueError(
                f"label_weights has {number}; expected 0 or numbers from 1e-70 to 1e70"
            )
    if not any(numbers):
        raise ValueError("label_weights are all zero; expected at least one weight above 0")
    return numbers
