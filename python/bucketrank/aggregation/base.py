"""Base class of the aggregators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank import _core
from bucketrank._validation import (
    NUMBERS,
    Positions,
    as_number_array,
    as_positions,
    as_weights,
    check_same_labels,
    is_frame,
    is_pandas,
    is_plain,
    label_names,
    resolve_n_jobs,
)
from bucketrank.aggregation.explanation import Explanation

Spec: TypeAlias = tuple[str, float] | tuple[str, tuple[str, float]]
"""Name of a method and its parameter, or of a method and the method that orders its labels, as the core expects."""

_Self = TypeVar("_Self", bound="Aggregator")

_MANY_VIEWS = 64
"""Above this many views of one array, copying them is faster than borrowing them one by one."""


class Aggregator(ABC):
    """A method that turns rankings into one bucket order.

    Aggregators are immutable and compare equal by class and parameters; `set_params` returns a new one.
    """

    _needs: ClassVar[str] = "pair order"
    """Input that the method requires: "pair order", "pair shares" or "rankings"."""

    def _check_label_count(self, n_labels: int) -> None:  # noqa: B027 (most methods take any number)
        """Raise when the method does not support this many labels, before a long fit."""

    @abstractmethod
    def _spec(self) -> Spec:
        """Return the name of the method and its parameter for the core."""

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
            Number of threads; None means 1, and -1 means one per core. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n_sets, n_labels)
        """
        if isinstance(sets, np.ndarray) and sets.ndim == 3:
            # All sets of an array share one type and shape, so one check is enough.
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
                "or Borda, Copeland, BucketPivot, MarkovChain(variant=4) or MaximalLottery"
            )
        if self._needs == "rankings":
            raise ValueError(
                f"{self!r} needs rankings, which a pair order matrix does not determine; use aggregate(Y), or "
                "Borda, Copeland, BucketPivot, MarkovChain(variant=4) or MaximalLottery"
            )
        matrix = np.asarray(as_number_array(C, "C", NUMBERS), dtype=np.float64)
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

    def aggregate_pair_shares(
        self, shares: ArrayLike, n_jobs: int | None = None
    ) -> NDArray[np.int64]:
        """Return the consensus that the shares of before, tied and after of each pair determine.

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
                f"{self!r} needs rankings, which shares of pairs do not determine; use aggregate(Y), or TauX, "
                "Borda, Copeland, BucketPivot, MarkovChain(variant=4) or MaximalLottery"
            )
        tables = np.asarray(as_number_array(shares, "shares", NUMBERS), dtype=np.float64)
        if tables.ndim not in (2, 3):
            raise ValueError(
                f"shares has {tables.ndim} dimension(s), shape {tables.shape}; "
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
        """Return the consensus together with the scores behind it.

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
        """Return a copy of the aggregator with these parameters changed; this one stays unchanged."""
        known = self.get_params()
        for name in params:
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; known: {list(known)}"
                )
        return type(self)(**{**known, **params})


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


def _read_sets(sets: list[Any]) -> list[Positions]:
    """Return the sets as arrays with equal numbers of labels; plain arrays are not copied."""
    if _core.are_plain_sets(sets):
        return sets
    arrays: list[Positions] = []
    # Arrays have no label names: compare with the first DataFrame.
    named = next((index for index, Y in enumerate(sets) if is_frame(Y)), 0)
    # The core borrows each array, and checks it against all others that share its memory.
    many = len(sets) > _MANY_VIEWS
    for index, Y in enumerate(sets):
        array = Y if is_plain(Y) else as_positions(Y, f"set {index}")
        if array.shape[1] != (arrays[0] if arrays else array).shape[1]:
            raise ValueError(
                f"set {index} has {array.shape[1]} labels but set 0 has {arrays[0].shape[1]}; "
                "expected the same labels in every set"
            )
        if array is not Y:
            check_same_labels(sets[named], Y, f"set {named}", f"set {index}")
        arrays.append(array.copy() if many and isinstance(array.base, np.ndarray) else array)
    return arrays


def _labelled(positions: NDArray[np.int64], source: Any) -> Any:
    """Return a Series when `source` is a pandas DataFrame, else the array."""
    if not is_pandas(source):
        return positions
    import pandas as pd

    return pd.Series(positions, index=source.columns, name="position")
