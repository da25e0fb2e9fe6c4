"""Base class of the aggregators, which turn rankings into one bucket order (a ranking with ties).

Many aggregators need only pair shares: for each pair of labels u and v, the shares of rankings with u before v, tied,
and u after v. Some even need only the pair order matrix, whose entry (u, v) is the share of u before v plus half the
share of ties.
"""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank import _core
from bucketrank._phrases import pluralize
from bucketrank._validation import (
    NUMBERS,
    Positions,
    as_number_array,
    as_positions,
    as_weights,
    check_same_labels,
    describe_value,
    is_frame,
    is_number_matrix,
    is_pandas,
    label_names,
    resolve_n_jobs,
)
from bucketrank.aggregation.explanation import Explanation, as_series_like
from bucketrank.comparisons import Comparisons, PairCounts


class SearchOptions(TypedDict):
    """Options of `TauX` and `Kemeny`, which search for the best bucket order, as the core expects them."""

    search: str
    order: tuple[str, float] | None
    """Name and parameter of the method that orders the labels before the search; None for the default order."""
    penalty: float
    ties: bool
    n_buckets: tuple[int, int] | None
    time_limit: float | None
    label_weights: list[float] | None


Spec: TypeAlias = tuple[str, float] | tuple[str, SearchOptions] | tuple[str, bool, "Aggregator"]
"""A method as the core expects it: its name with its parameter or its options.

For a method written in Python: its representation, whether it takes a pair order matrix (or else rankings), and itself.
"""

_PAIR_ORDER_AGGREGATORS = (
    "Borda, Copeland, BucketPivot, MarkovChain(variant=4), MaximalLottery, Schulze or RankedPairs"
)
"""Names of the aggregators that need only a pair order matrix, for messages."""

PAIR_SHARE_AGGREGATORS = f"TauX, Kemeny, {_PAIR_ORDER_AGGREGATORS}"
"""Names of the aggregators that need only pair shares, for messages."""

_Self = TypeVar("_Self", bound="Aggregator")

_MANY_VIEWS = 64
"""Above this many sets, copying views of one array is faster than letting the core borrow each of them."""


class Aggregator:
    """A method that turns rankings into one bucket order.

    Aggregators are immutable and compare equal by class and parameters; `set_params` returns a new one.

    A user-defined aggregator is a subclass that defines one of two methods. It works like the built-in ones: in
    `aggregate_many` and `explain`, as the aggregator of an estimator, in `compare`, and on the command line as
    ``module:Class``. ``aggregate_pair_order(self, C)`` gets the pair order matrix, whose entry (u, v) is the share of
    rankings with u before v, ties counting half; ``aggregate(self, Y, sample_weight=None)`` gets positions, with NaN
    for missing labels, and weights or None. Both return one number per label: smaller is better, equal numbers are
    ties. An aggregator with ``aggregate_pair_order`` also works on models that predict pair shares, such as forests.
    Parameters are arguments of ``__init__`` that are stored under their names, or fields of a frozen dataclass. Calls
    hold the global interpreter lock, so they do not run in parallel.

    Examples
    --------
    >>> from bucketrank import Aggregator, PartialLabelRankingTree
    >>> class WorstDefeat(Aggregator):
    ...     # A label is as good as its worst comparison (Simpson and Kramer).
    ...     def aggregate_pair_order(self, C):
    ...         others = ~np.eye(len(C), dtype=bool)
    ...         return -np.min(C, axis=1, where=others, initial=1.0)
    >>> WorstDefeat().aggregate([[1, 2, 3], [1, 3, 2], [2, 1, 3]])
    array([1, 2, 3])
    >>> tree = PartialLabelRankingTree(WorstDefeat(), min_samples_split=2)
    >>> tree = tree.fit([[0.0], [1.0]], [[1, 2, 3], [3, 2, 1]])
    >>> tree.predict([[0.0]])
    array([[1, 2, 2]])
    """

    _needs: ClassVar[str] = "pair order"
    """Input that the method requires: "pair order", "pair shares" or "rankings"."""

    _needs_whole_rankings: ClassVar[bool] = False
    """Whether the method needs whole rankings: how often each pair is in each order, or tied, is not enough."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        is_in_core = cls._spec is not Aggregator._spec
        if (
            not is_in_core
            and not cls._overrides("aggregate_pair_order")
            and cls._overrides("aggregate")
        ):
            cls._needs = "rankings"

    @classmethod
    def _overrides(cls, name: str) -> bool:
        return getattr(cls, name) is not getattr(Aggregator, name)

    def _check_label_count(self, n_labels: int) -> None:
        """Raise when the method does not support this many labels, before a long fit."""

    def _spec(self) -> Spec:
        """Return the method for the core; subclasses that the core implements override this."""
        reads_pair_order = self._overrides("aggregate_pair_order")
        if not reads_pair_order and not self._overrides("aggregate"):
            raise TypeError(
                f"{type(self).__name__} defines neither aggregate_pair_order(self, C) nor aggregate(self, Y, "
                "sample_weight=None); expected one of them"
            )
        return repr(self), reads_pair_order, self

    def _positions_of(self, *arguments: Any) -> NDArray[np.float64]:
        """Call the method of a subclass written in Python: with C, or with Y and weights."""
        call = self.aggregate_pair_order if len(arguments) == 1 else self.aggregate
        found = call(*arguments)
        try:
            positions = np.ascontiguousarray(found, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"it returned {describe_value(found)}; expected one number per label"
            ) from None
        if positions.ndim != 1:
            raise ValueError(f"it returned a {positions.ndim}-D array; expected a number per label")
        return positions

    def aggregate(self, Y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Return the consensus of rankings or comparisons.

        Parameters
        ----------
        Y : array-like or DataFrame of shape (n_rankings, n_labels), Comparisons or PairCounts
            Positions with NaN for missing labels, or comparisons of two labels per row, or counts of them.
        sample_weight : array-like of shape (n_rankings,), optional
            Non-negative weights of rankings; weight k equals k copies of the row.

        Returns
        -------
        ndarray or Series of shape (n_labels,)
            Positions of all labels as ``int64``; a Series named by the labels when `Y` is a pandas DataFrame. For
            comparisons and counts, positions are in the order of their attribute ``labels``.
        """
        if is_number_matrix(Y):
            # Skips the checks of other types: 1.8 instead of 2.1 µs for 10 rankings of 5 labels.
            return _core.aggregate(self._spec(), Y, as_weights(sample_weight))
        if isinstance(Y, (Comparisons, PairCounts)):
            return self.aggregate_counts(PairCounts.of(Y, sample_weight))
        positions = _core.aggregate(self._spec(), as_positions(Y), as_weights(sample_weight))
        return as_series_like(positions, Y)

    def aggregate_counts(self, counts: PairCounts) -> NDArray[np.int64]:
        """Return the consensus of counts of pairs.

        Parameters
        ----------
        counts : PairCounts
            Counts of comparisons or rankings, possibly merged from many parts.

        Returns
        -------
        ndarray of shape (n_labels,)
            Positions in the order of ``counts.labels``. Equal to the consensus of the rankings that were counted.
        """
        return _core.aggregate_counts(self._spec(), self._check_counts(counts)._input())

    def _check_counts(self, counts: Any) -> PairCounts:
        """Return the counts, or raise when they do not determine the result of this method."""
        if not isinstance(counts, PairCounts):
            raise TypeError(f"counts is of type {type(counts).__name__}; expected PairCounts")
        if self._needs_whole_rankings and counts.largest_ranking > 2:
            raise ValueError(
                f"{self!r} needs whole rankings, which counts of pairs do not determine: a row ranks "
                f"{counts.largest_ranking} labels; use aggregate(Y)"
            )
        return counts

    def aggregate_many(self, sets: Any, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Return the consensus of each of many sets of rankings.

        Parameters
        ----------
        sets : list of array-like of shape (n_rankings, n_labels), or array of shape (n_sets, n_rankings, n_labels)
            Sets may differ in their number of rankings, not in their number of labels.
        n_jobs : int, optional
            Number of threads; None means 1, and -1 means one per core. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n_sets, n_labels)
        """
        if isinstance(sets, np.ndarray) and sets.ndim == 3:
            # All sets of an array share one type and shape, so one check is enough.
            arrays: Any = as_number_array(sets, "sets")
        else:
            arrays = _read_sets(list(_check_sets(sets)))
        if len(arrays) == 0:
            raise ValueError("found 0 sets of rankings; expected at least one")
        return _core.aggregate_many(self._spec(), arrays, resolve_n_jobs(n_jobs))

    def aggregate_pair_order(self, C: Any, n_jobs: int | None = None) -> Any:
        """Return the consensus of a pair order matrix, or of each of many.

        Parameters
        ----------
        C : array-like or DataFrame of shape (n_labels, n_labels), or array of shape (n_matrices, n_labels, n_labels)
            ``C[u, v]`` is the share of rankings that place u before v, ties counting half.
        n_jobs : int, optional
            Number of threads for many matrices; None means 1, and -1 means one per core.

        Returns
        -------
        ndarray or Series of shape (n_labels,), or ndarray of shape (n_matrices, n_labels)

        See Also
        --------
        pair_order_matrix : Computes C from rankings.
        """
        if self._needs == "pair shares":
            raise ValueError(
                f"{self!r} needs the shares of before, tied and after of each pair, which a pair order matrix does "
                "not determine: 0.5 may be all ties or half against half; use aggregate(Y), aggregate_pair_shares, "
                f"or {_PAIR_ORDER_AGGREGATORS}"
            )
        if self._needs == "rankings":
            raise ValueError(
                f"{self!r} needs rankings, which a pair order matrix does not determine; use aggregate(Y), or "
                f"{_PAIR_ORDER_AGGREGATORS}"
            )
        matrix = np.asarray(as_number_array(C, "C", entries=NUMBERS), dtype=np.float64)
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
                f"C has {pluralize(matrix.ndim, 'dimension')}, shape {matrix.shape}; expected 2, or 3 for many matrices"
            )
        return as_series_like(_core.aggregate_pair_order(self._spec(), matrix), C)

    def aggregate_pair_shares(
        self, shares: ArrayLike, n_jobs: int | None = None
    ) -> NDArray[np.int64]:
        """Return the consensus of a table of pair shares, or of each of many.

        Parameters
        ----------
        shares : array-like of shape (n_pairs, 3) or (n_tables, n_pairs, 3)
            For each of the n_labels * (n_labels - 1) / 2 pairs u < v, in the order (0, 1), (0, 2), ..., (1, 2), ...,
            the shares of u before v, tied, and u after v; they add up to 1, or are all 0 for an unseen pair.
        n_jobs : int, optional
            Number of threads for many tables; None means 1, and -1 means one per core.

        Returns
        -------
        ndarray of shape (n_labels,) or (n_tables, n_labels)
        """
        if self._needs == "rankings":
            raise ValueError(
                f"{self!r} needs rankings, which shares of pairs do not determine; use aggregate(Y), or "
                f"{PAIR_SHARE_AGGREGATORS}"
            )
        tables = np.asarray(as_number_array(shares, "shares", entries=NUMBERS), dtype=np.float64)
        if tables.ndim not in (2, 3):
            raise ValueError(
                f"shares has {pluralize(tables.ndim, 'dimension')}, shape {tables.shape}; "
                "expected 2: one row per pair, or 3 for many tables"
            )
        if tables.ndim == 3 and len(tables) == 0:
            raise ValueError("found 0 tables of pair shares; expected at least one")
        many = tables.ndim == 3
        tables = tables if many else tables[np.newaxis]
        orders = _core.aggregate_pair_shares(self._spec(), tables, resolve_n_jobs(n_jobs))
        return orders if many else orders[0]

    def explain(
        self,
        Y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        labels: Sequence[Hashable] | None = None,
    ) -> Explanation:
        """Return the consensus together with the scores and other intermediate results of the method.

        Parameters
        ----------
        Y : array-like or DataFrame of shape (n_rankings, n_labels), Comparisons or PairCounts
            Positions with NaN for missing labels, or comparisons of two labels per row, or counts of them.
        sample_weight : array-like of shape (n_rankings,), optional
            Non-negative weights of rankings.
        labels : sequence, optional
            Names of the labels; by default a DataFrame's columns, or 0, 1, ...

        Returns
        -------
        Explanation
            Prints as a table; `to_dict` returns the numbers.
        """
        if isinstance(Y, (Comparisons, PairCounts)):
            counts = self._check_counts(PairCounts.of(Y, sample_weight))
            details = _core.explain_counts(self._spec(), counts._input())
            return Explanation(repr(self), counts.labels, details.pop("positions"), details)
        array = as_positions(Y)
        names = label_names(Y, labels, array.shape[1])
        details = _core.explain(self._spec(), array, as_weights(sample_weight))
        return Explanation(repr(self), names, details.pop("positions"), details)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 (scikit-learn's signature)
        """Return the parameters by name."""
        if type(self).__init__ is object.__init__:
            return {}
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self: _Self, **params: Any) -> _Self:
        """Return a copy of the aggregator with these parameters changed; the aggregator itself is unchanged."""
        known = self.get_params()
        for name in params:
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; known: {list(known)}"
                )
        return type(self)(**{**known, **params})

    def __sklearn_clone__(self: _Self) -> _Self:
        # Aggregators are immutable, and scikit-learn's own clone rejects parameters that the constructor converts.
        return self

    def __repr__(self) -> str:
        params = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({params})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Aggregator):
            return NotImplemented
        return self.get_params() == other.get_params()

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))


def _check_sets(sets: Any) -> Iterable[Any]:
    if isinstance(sets, np.ndarray) and sets.ndim != 3:
        raise ValueError(
            f"sets has {pluralize(sets.ndim, 'dimension')}, shape {sets.shape}; expected 3, or a list of 2-D arrays"
        )
    if isinstance(sets, (str, Mapping)) or is_frame(sets) or not isinstance(sets, Iterable):
        raise TypeError(
            f"sets is {sets!r:.60}; expected a list of 2-D arrays or DataFrames, or a 3-D array"
        )
    return sets


def _read_sets(sets: list[Any]) -> list[Positions]:
    """Return the sets as arrays with equal numbers of labels, copied only when needed."""
    # Whether all sets are arrays that the core can read without conversion.
    if _core.are_plain_sets(sets):
        return sets
    arrays: list[Positions] = []
    # Arrays have no label names, so the names of each DataFrame are compared with those of the first DataFrame.
    named = next((index for index, Y in enumerate(sets) if is_frame(Y)), 0)
    # The core borrows each array, which takes one check per other array that shares its memory.
    copies_views = len(sets) > _MANY_VIEWS
    for index, Y in enumerate(sets):
        array = Y if is_number_matrix(Y) else as_positions(Y, f"set {index}")
        if array.shape[1] != (arrays[0] if arrays else array).shape[1]:
            raise ValueError(
                f"set {index} has {pluralize(array.shape[1], 'label')} but set 0 has {arrays[0].shape[1]}; "
                "expected the same labels in every set"
            )
        if array is not Y:
            check_same_labels(sets[named], Y, f"set {named}", f"set {index}")
        arrays.append(
            array.copy() if copies_views and isinstance(array.base, np.ndarray) else array
        )
    return arrays
