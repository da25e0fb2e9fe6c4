"""Reading numbers without changing them.

Masked entries of NumPy arrays become NaN; dates, and integers that a float cannot hold exactly, are rejected.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MAX_EXACT_INTEGER",
    "as_exact_floats",
    "check_dates",
    "check_exact_list",
    "check_large_integers",
    "columns_to_array",
    "is_rounded_integer",
    "unmasked",
]

MAX_EXACT_INTEGER = 2**53
"""Up to this size every integer is exactly a float; larger integers may not be."""

_MAX_FLOAT = int(np.finfo(np.float64).max)


def unmasked(values: Any) -> Any:
    """Replace masked entries by NaN, even in a list of masked rows; other values are returned unchanged."""
    if isinstance(values, (list, tuple)) and any(map(_is_masked, values)):
        try:
            values = np.ma.array(values)
        except ValueError:
            # Rows of different lengths; the caller reports them.
            return values
    if not _is_masked(values):
        return values
    data, mask = np.ma.getdata(values), np.ma.getmaskarray(values)
    if data.dtype.kind in "mM" or not mask.any():
        return data
    if data.dtype.kind not in "biuf":
        filled = data.astype(object)
        filled[mask] = np.nan
        return filled
    return np.where(mask, np.nan, as_exact_floats(data, "the masked array", mask))


def _is_masked(values: Any) -> bool:
    return isinstance(values, np.ma.MaskedArray)


def _is_temporal(dtype: Any) -> bool:
    """Whether a data type of pandas or polars holds dates, times or durations."""
    is_temporal = getattr(dtype, "is_temporal", None)
    return getattr(dtype, "kind", "") in ("m", "M") or (is_temporal is not None and is_temporal())


def check_dates(X: Any, name: str) -> None:
    """Raise if an array or data frame holds dates or durations, which NumPy would read as integers."""
    dtypes = getattr(X, "dtypes", None)
    if dtypes is not None and hasattr(X, "columns"):
        for column, dtype in zip(X.columns, dtypes, strict=True):
            if _is_temporal(dtype):
                raise TypeError(f"{name}, column {column!r}: dtype {dtype}; expected numbers")
        return
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in ("m", "M"):
        raise TypeError(f"{name} has dtype {X.dtype}; expected numbers")
    if kind == "O" and isinstance(X, np.ndarray):
        for index, value in np.ndenumerate(X):
            if isinstance(value, (np.datetime64, np.timedelta64)):
                location = ", ".join(map(str, index))
                raise TypeError(f"{name}, entry ({location}): {value!r}; expected a number")


def check_large_integers(array: NDArray[Any], name: str) -> None:
    """Raise if an array of objects holds an integer that is too large for a float."""
    for index, value in np.ndenumerate(array):
        if isinstance(value, int) and abs(value) > _MAX_FLOAT:
            location = ", ".join(map(str, index))
            raise ValueError(
                f"{name}, entry ({location}): the integer is too large for a float; expected a smaller number"
            )


def as_exact_floats(
    array: NDArray[Any], name: str, ignored: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Return an array of integers or floats as 64-bit floats, or raise where that would change a number.

    Rounding of longer floats is allowed, but not their overflow. Entries that are `ignored` are not checked.
    """
    with np.errstate(over="ignore"):
        floats = np.asarray(array, dtype=np.float64)
    kind = array.dtype.kind
    if kind in "iu" and array.itemsize == 8:
        # The largest integers are rounded up to a float that is larger than all integers of the type.
        beyond = floats >= 2.0 ** (64 - (kind == "i"))
        inexact = beyond | (np.where(beyond, 0, floats).astype(array.dtype) != array)
    elif kind == "f" and array.itemsize > 8:
        inexact = np.isinf(floats) & np.isfinite(array)
    else:
        return floats
    if ignored is not None:
        inexact &= ~ignored
    if inexact.any():
        index = tuple(np.argwhere(inexact)[0].tolist())
        raise _inexact(name, index, array[index])
    return floats


def check_exact_list(values: Any, floats: NDArray[np.float64], name: str) -> None:
    """Raise if an integer of a list or of a polars data frame changed when all entries were converted to floats."""
    if not isinstance(values, (list, tuple)) and not hasattr(values, "rows"):
        return
    large = np.isfinite(floats) & (np.abs(floats) >= MAX_EXACT_INTEGER)
    if not large.any():
        return
    rows = values if isinstance(values, (list, tuple)) else values.rows()
    originals = np.asarray(rows, dtype=object)
    for index in map(tuple, np.argwhere(large).tolist()):
        value = originals[index] if originals.shape == floats.shape else None
        if isinstance(value, (int, np.integer)) and int(value) != int(floats[index]):
            raise _inexact(name, index, value)


def is_rounded_integer(word: str, value: float) -> bool:
    """Whether `value`, the float read from `word`, is a large integer that differs from the number in that text.

    Rounding of numbers with an exponent is accepted.
    """
    if not MAX_EXACT_INTEGER <= abs(value) <= _MAX_FLOAT or "e" in word.lower():
        return False
    return Decimal(word) != Decimal(value)


def columns_to_array(columns: Iterable[Any], names: Iterable[Any], name: str) -> NDArray[Any]:
    """Join the columns of a pandas data frame, whose types may differ, into one array without changing a number."""
    arrays = [
        _column_to_array(column, f"{name}, column {key!r}")
        for column, key in zip(columns, names, strict=True)
    ]
    if all(array.dtype.kind in "iu" for array in arrays):
        kinds = {array.dtype.kind for array in arrays}
        # Large unsigned numbers stay unsigned, so that the caller reports them instead of wrapping them.
        wide = "u" in kinds and any(
            array.max(initial=0) > np.iinfo(np.int64).max for array in arrays
        )
        if not wide:
            return np.column_stack([array.astype(np.int64) for array in arrays])
        if kinds == {"u"}:
            return np.column_stack(arrays)
    floats = [
        as_exact_floats(array, f"{name}, column {key!r}")
        for array, key in zip(arrays, names, strict=True)
    ]
    return np.column_stack(floats)


def _column_to_array(column: Any, name: str) -> NDArray[Any]:
    kind = column.dtype.kind
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column.to_numpy())
    if kind == "f":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    integer = np.uint64 if kind == "u" else np.int64
    missing = np.asarray(column.isna())
    whole = np.asarray(column.to_numpy(dtype=integer, na_value=0))
    if not missing.any():
        return whole
    return np.where(missing, np.nan, as_exact_floats(whole, name, missing))


def _inexact(name: str, index: tuple[int, ...], value: Any) -> ValueError:
    where = f", entry {index[0] if len(index) == 1 else index}" if index else ""
    return ValueError(
        f"{name}{where}: {value!s} cannot be converted exactly to a float; expected at most 2**53 if other numbers are "
        "floats or missing"
    )
