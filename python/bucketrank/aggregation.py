"""Rank aggregation: many rankings with ties become one consensus."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank import _core
from bucketrank._validation import (
    NATIVE,
    Positions,
    as_number_array,
    as_positions,
    as_real,
    as_weights,
    as_whole,
    check_same_labels,
    is_frame,
    is_pandas,
    is_plain,
    label_names,
    resolve_n_jobs,
)
from bucketrank.explanation import Explanation

__all__ = [
    "METHODS",
    "Aggregator",
    "Borda",
    "BucketPivot",
    "Copeland",
    "MarkovChain",
    "MaximalLottery",
    "aggregate",
    "get_aggregator",
]

_Self = TypeVar("_Self", bound="Aggregator")

_MANY_VIEWS = 64
"""From so many views of one array on, copying them is faster than borrowing them one by one."""


class Aggregator(ABC):
    """What all aggregators have in common: they are small values that turn rankings into a bucket order.

    Aggregators do not change: `set_params` returns another one. Equal parameters make equal aggregators.
    """

    _needs_rankings: ClassVar[bool] = False

    @abstractmethod
    def _spec(self) -> tuple[str, float]:
        """Return the method and its parameter as the kernels know them."""

    def aggregate(self, Y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Return the consensus of rankings.

        Parameters
        ----------
        Y : array-like or DataFrame of shape (n_rankings, n_labels)
            Positions; NaN for missing labels.
        sample_weight : array-like of shape (n_rankings,), optional
            Non-negative weights; weight k equals k copies of the row.

        Returns
        -------
        ndarray or Series of shape (n_labels,)
            Positions of all labels as ``int64``; a Series named by the labels when `Y` is a pandas DataFrame.
        """
        positions = _core.aggregate(self._spec(), as_positions(Y), as_weights(sample_weight))
        return _labelled(positions, Y)

    def aggregate_many(self, sets: Any, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Return the consensus of each of many sets of rankings.

        Parameters
        ----------
        sets : list of array-like of shape (n_rankings, n_labels), or array of shape (n_sets, n_rankings, n_labels)
            Sets may differ in their number of rankings, not in their number of labels.
        n_jobs : int, optional
            Number of threads; None means 1, and -1 one for each core. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n_sets, n_labels)
        """
        if isinstance(sets, np.ndarray) and sets.ndim == 3:
            # One check for all: the sets of such an array have one type and one shape.
            arrays: Any = as_number_array(sets, "sets")
        else:
            arrays = _read_sets(list(_as_sets(sets)))
        if len(arrays) == 0:
            raise ValueError("found 0 sets of rankings; expected at least one")
        return _core.aggregate_many(self._spec(), arrays, resolve_n_jobs(n_jobs))

    def aggregate_pair_order(self, C: Any, n_jobs: int | None = None) -> Any:
        """Return the consensus that a pair order matrix determines, or that each of many does.

        Parameters
        ----------
        C : array-like or DataFrame of shape (n_labels, n_labels), or array of shape (n_matrices, n_labels, n_labels)
            ``C[u, v]`` is the share of rankings that place u before v, ties counting half.
        n_jobs : int, optional
            Number of threads for many matrices; None means 1, and -1 one for each core.

        Returns
        -------
        ndarray or Series of shape (n_labels,), or ndarray of shape (n_matrices, n_labels)

        See Also
        --------
        pair_order_matrix : Computes C from rankings.
        """
        if self._needs_rankings:
            raise ValueError(
                f"{self!r} needs rankings, which a pair order matrix does not determine; use aggregate(Y), or "
                "Borda, Copeland, BucketPivot, MarkovChain(variant=4) or MaximalLottery"
            )
        matrix = np.asarray(as_number_array(C, "C"), dtype=np.float64)
        if is_pandas(C) and list(C.index) != list(C.columns):
            raise ValueError(
                f"C has the rows {list(C.index)} but the columns {list(C.columns)}; "
                "expected the same labels in the same order"
            )
        if matrix.ndim == 3 and len(matrix) == 0:
            raise ValueError("found 0 pair order matrices; expected at least one")
        if matrix.ndim == 3:
            return _core.aggregate_pair_orders(self._spec(), matrix, resolve_n_jobs(n_jobs))
        if matrix.ndim != 2:
            raise ValueError(
                f"C has {matrix.ndim} dimension(s), shape {matrix.shape}; expected 2, or 3 for many matrices"
            )
        return _labelled(_core.aggregate_pair_order(self._spec(), matrix), C)

    def explain(
        self,
        Y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        labels: Sequence[Hashable] | None = None,
    ) -> Explanation:
        """Return the consensus together with the numbers it comes from.

        Parameters
        ----------
        Y : array-like or DataFrame of shape (n_rankings, n_labels)
            Positions; NaN for missing labels.
        sample_weight : array-like of shape (n_rankings,), optional
            Non-negative weights.
        labels : sequence, optional
            Names of the labels; by default a DataFrame's columns, or 0, 1, ...

        Returns
        -------
        Explanation
            Prints as a table; `to_dict` gives the numbers.
        """
        array = as_positions(Y)
        names = label_names(Y, labels, array.shape[1])
        details = _core.explain(self._spec(), array, as_weights(sample_weight))
        return Explanation(repr(self), names, details.pop("positions"), details)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 (scikit-learn's signature)
        """Return the parameters by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def set_params(self: _Self, **params: Any) -> _Self:
        """Return an aggregator of the same kind with these parameters changed.

        Aggregators are values: this one stays as it is.
        """
        known = self.get_params()
        for name in params:
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; known: {list(known)}"
                )
        return type(self)(**{**known, **params})


@dataclass(frozen=True)
class _WithBeta(Aggregator):
    beta: float

    def __post_init__(self) -> None:
        beta = as_real(self.beta, "beta")
        if not 0 <= beta < np.inf:
            raise ValueError(f"beta is {beta}; expected a finite number that is not negative")
        object.__setattr__(self, "beta", beta)


@dataclass(frozen=True)
class Borda(_WithBeta):
    """Labels ordered by the sum of their shares in the pair order matrix.

    A label joins the bucket of the label before it when their scores differ by at most `beta`.

    Parameters
    ----------
    beta : float, default 0.9
        0 gives the classical method, in which only equal scores are tied.

    Examples
    --------
    >>> Borda(beta=0.5).aggregate([[1, 2, 3], [1, 3, 2], [2, 1, 3]])
    array([1, 2, 3])
    >>> Borda().aggregate([[1, 2, 3], [1, 3, 2], [2, 1, 3]])
    array([1, 1, 1])
    """

    beta: float = 0.9

    def _spec(self) -> tuple[str, float]:
        return "borda", self.beta


@dataclass(frozen=True)
class Copeland(_WithBeta):
    """Labels ordered by their number of won comparisons, a draw counting half.

    A comparison is won when its share is above 0.5 + `beta`; labels of equal score are tied.

    Parameters
    ----------
    beta : float, default 0.4
        0 gives the classical method; from 0.5 on all labels are tied.

    Examples
    --------
    >>> Copeland(beta=0).aggregate([[1, 2, 3], [1, 3, 2], [2, 1, 3]])
    array([1, 2, 3])
    """

    beta: float = 0.4

    def _spec(self) -> tuple[str, float]:
        return "copeland", self.beta


@dataclass(frozen=True)
class BucketPivot(_WithBeta):
    """Buckets around pivots: least indecision, multiple pivots, two stages.

    Labels whose mean share against a bucket is within 0.5 ± `beta` join it; the others go before or after it and
    are treated in the same way. The result depends on the order of the labels where pivots are equally good.

    Parameters
    ----------
    beta : float, default 0.25
        How far from 0.5 a share may be for a tie.

    Examples
    --------
    >>> BucketPivot().aggregate([[1, 2, 2], [1, 2, 3], [1, 3, 2]])
    array([1, 2, 2])
    """

    beta: float = 0.25

    def _spec(self) -> tuple[str, float]:
        return "bucket_pivot", self.beta


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
    def _needs_rankings(self) -> bool:  # type: ignore[override]
        return self.variant != 4

    def _spec(self) -> tuple[str, float]:
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

    def _spec(self) -> tuple[str, float]:
        return "maximal_lottery", 0.0


_BY_NAME: dict[str, Aggregator] = {
    "bucket_pivot": BucketPivot(),
    "borda": Borda(),
    "copeland": Copeland(),
    "mc1": MarkovChain(1),
    "mc2": MarkovChain(2),
    "mc3": MarkovChain(3),
    "mc4": MarkovChain(4),
    "maximal_lottery": MaximalLottery(),
}


METHODS = tuple(_BY_NAME)
"""The names that :func:`get_aggregator` knows."""


def get_aggregator(method: str | Aggregator, **params: Any) -> Aggregator:
    """Return the aggregator that a name stands for, with parameters changed if any are given.

    Parameters
    ----------
    method : str or Aggregator
        ``"borda"``, ``"copeland"``, ``"bucket_pivot"``, ``"mc1"`` to ``"mc4"``, ``"maximal_lottery"``, or an
        aggregator, which is returned as it is.
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
                f"unknown method {method!r}; known: {', '.join(_nearest_first(method))}"
            )
        method = _BY_NAME[method]
    if not isinstance(method, Aggregator):
        raise TypeError(f"method is {method!r}; expected a name or an aggregator such as Borda()")
    return method.set_params(**params) if params else method


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


def _nearest_first(method: str) -> list[str]:
    def distance(name: str) -> float:
        return -difflib.SequenceMatcher(None, method.lower(), name).ratio()

    return sorted(_BY_NAME, key=distance)


def _as_sets(sets: Any) -> Iterable[Any]:
    if isinstance(sets, np.ndarray) and sets.ndim != 3:
        raise ValueError(
            f"sets has {sets.ndim} dimension(s), shape {sets.shape}; expected 3, or a list of 2-D arrays"
        )
    if isinstance(sets, (str, Mapping)) or is_frame(sets) or not isinstance(sets, Iterable):
        raise TypeError(
            f"sets is {sets!r:.60}; expected a list of 2-D arrays or DataFrames, or a 3-D array"
        )
    return sets


def _are_plain_sets(sets: list[Any]) -> bool:
    """Whether all sets are plain arrays of their own memory and of as many labels.

    While this runs, no thread can aggregate, so each question is put to all sets in one sweep, not to set after set.
    """
    return (
        set(map(type, sets)) == {np.ndarray}
        and set(map(attrgetter("ndim"), sets)) == {2}
        and len({Y.shape[1] for Y in sets}) == 1
        and NATIVE.issuperset(map(attrgetter("dtype"), sets))
        and all(map(attrgetter("flags.carray"), sets))
        and np.ndarray not in map(type, map(attrgetter("base"), sets))
    )


def _read_sets(sets: list[Any]) -> list[Positions]:
    """Return the sets as arrays of as many labels each; plain arrays pass as they are."""
    if _are_plain_sets(sets):
        return sets
    arrays: list[Positions] = []
    # The kernels borrow each array, and check it against all others that share its memory.
    many = len(sets) > _MANY_VIEWS
    for index, Y in enumerate(sets):
        array = Y if is_plain(Y) else as_positions(Y, f"set {index}")
        if array.shape[1] != (arrays[0] if arrays else array).shape[1]:
            raise ValueError(
                f"set {index} has {array.shape[1]} labels but set 0 has {arrays[0].shape[1]}; "
                "expected the same labels in every set"
            )
        if array is not Y:
            check_same_labels(sets[0], Y, "set 0", f"set {index}")
        arrays.append(array.copy() if many and isinstance(array.base, np.ndarray) else array)
    return arrays


def _labelled(positions: NDArray[np.int64], source: Any) -> Any:
    """Give back a Series where a DataFrame came in."""
    if not is_pandas(source):
        return positions
    import pandas as pd

    return pd.Series(positions, index=source.columns, name="position")
