"""Conversion of the names of labels and groups to indices."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._exact_numbers import unmasked
from bucketrank._phrases import pluralize
from bucketrank._validation import describe_value, is_missing, is_pandas

__all__ = ["factorise", "is_sorted", "sort_names"]


def factorise(
    values: Any, argument: str, expected: str
) -> tuple[NDArray[np.int64], list[Hashable]]:
    """Return the index of each value in the list of distinct values, and this list.

    A missing value is an error that names the row; `argument` and `expected` describe the values in messages.
    """
    if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__len__"):
        raise TypeError(
            f"{argument} is {describe_value(values)}; expected a list, an array or a Series with {expected} per row"
        )
    # Masked entries become NaN, so they are reported as missing.
    array: Any = values if is_pandas(values) else _as_array(unmasked(values))
    if getattr(array, "ndim", 1) != 1:
        raise ValueError(
            f"{argument} has {pluralize(array.ndim, 'dimension')}; expected 1: {expected} per row"
        )
    indices, distinct = _index_distinct(array)
    missing = [index for index, value in enumerate(distinct) if is_missing(value)]
    is_missing_row = np.isin(indices, [-1, *missing])
    if is_missing_row.any():
        row = int(np.argmax(is_missing_row))
        # An array of pandas, unlike a Series, has no index to go by.
        found = array.iloc[row] if hasattr(array, "iloc") else array[row]
        found = found.item() if isinstance(found, np.generic) else found
        raise ValueError(f"row {row}: {argument} is {found!r}; expected {expected}")
    return indices, distinct


def _index_distinct(array: Any) -> tuple[NDArray[np.int64], list[Hashable]]:
    """Return the index of each value in the list of distinct values (-1: missing in pandas), and this list."""
    if is_pandas(array):
        import pandas as pd

        indices, distinct = pd.factorize(array)
        return np.asarray(indices, dtype=np.int64), list(distinct.tolist())
    if array.dtype.kind in "biufSU":
        distinct, indices = np.unique(array, return_inverse=True)
        return indices.astype(np.int64, copy=False), distinct.tolist()
    index_of: dict[Hashable, int] = {}
    try:
        indices = np.array(
            [index_of.setdefault(value, len(index_of)) for value in array.tolist()], dtype=np.int64
        )
    except TypeError as error:
        raise TypeError(f"{error}; expected texts or numbers") from None
    return indices, list(index_of)


def _as_array(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        # NumPy turns numbers among texts into texts; keep the values as they are.
        array = np.empty(len(values), dtype=object)
        array[:] = list(values)
    return array


def sort_names(names: Sequence[Hashable]) -> list[Hashable]:
    """Return names in ascending order; names of several types are grouped by type."""
    try:
        return sorted(names)  # type: ignore[type-var]
    except TypeError:
        return sorted(names, key=lambda name: (type(name).__name__, str(name)))


def is_sorted(names: Sequence[Hashable]) -> bool:
    """Whether names are in ascending order."""
    return list(names) == sort_names(names)
