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

    A missing value is an error that names the row.
    """
    if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__len__"):
        raise TypeError(
            f"{argument} is {describe_value(values)}; expected a list, an array or a Series with {expected} per row"
        )
    array: Any = values if is_pandas(values) else _as_array(unmasked(values))
    if getattr(array, "ndim", 1) != 1:
        raise ValueError(
            f"{argument} has {pluralize(array.ndim, 'dimension')}; expected 1: {expected} per row"
        )
    codes, distinct = _number(array)
    missing = [index for index, value in enumerate(distinct) if is_missing(value)]
    absent = np.isin(codes, [-1, *missing])
    if absent.any():
        row = int(np.argmax(absent))
        # An array of pandas, unlike a Series, has no index to go by.
        found = array.iloc[row] if hasattr(array, "iloc") else array[row]
        found = found.item() if isinstance(found, np.generic) else found
        raise ValueError(f"row {row}: {argument} is {found!r}; expected {expected}")
    return codes, distinct


def _number(array: Any) -> tuple[NDArray[np.int64], list[Hashable]]:
    if is_pandas(array):
        import pandas as pd

        codes, names = pd.factorize(array)
        return np.asarray(codes, dtype=np.int64), list(names.tolist())
    if array.dtype.kind in "biufSU":
        names, codes = np.unique(array, return_inverse=True)
        return codes.astype(np.int64, copy=False), names.tolist()
    numbers: dict[Hashable, int] = {}
    try:
        codes = np.array(
            [numbers.setdefault(name, len(numbers)) for name in array.tolist()], dtype=np.int64
        )
    except TypeError as error:
        raise TypeError(f"{error}; expected texts or numbers") from None
    return codes, list(numbers)


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
