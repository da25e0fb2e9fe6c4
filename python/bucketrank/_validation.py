"""Conversion of arguments to the types that the Rust core takes.

Shapes and types are checked here; the values are checked once, in the Rust core.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank import _core
from bucketrank._exact_numbers import (
    as_exact_floats,
    check_dates,
    check_exact_list,
    check_large_integers,
    columns_to_array,
    unmasked,
)
from bucketrank._phrases import pluralize

Positions: TypeAlias = NDArray[np.int64] | NDArray[np.float64]

_MAX_SEED = 2**64 - 1
_FLOAT = np.dtype(np.float64)
NATIVE = frozenset((_FLOAT, np.dtype(np.int64)))
"""The dtypes of arrays that the Rust core reads without a copy."""


class Entries(NamedTuple):
    """Words for the entries of an array in error messages: names of the axes, a noun, and a hint to append."""

    axes: tuple[str, ...]
    noun: str
    hint: str = ""


POSITIONS = Entries(("row", "label"), "position", "; NaN marks a missing label")
WEIGHTS = Entries(("row",), "weight")
NUMBERS = Entries(("row", "column"), "number")


def is_float_matrix(X: Any) -> bool:
    """Whether scikit-learn's input checks would return `X` unchanged, apart from the check for finite values.

    Skipping these checks saves time: they take longer than fitting a tree to a few hundred rows.
    """
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype == _FLOAT
        and X.size > 0
        and _has_whole_strides(X)
    )


def as_feature_table(X: Any) -> Any:
    """Return `X` for scikit-learn's input checks, which would read masked entries and dates as numbers.

    Masked entries become NaN; dates and durations are rejected.
    """
    table = unmasked(X)
    if isinstance(table, (list, tuple)):
        try:
            array = np.asarray(table)
        except ValueError:
            # scikit-learn reports rows of different lengths.
            return table
        check_dates(array, "X")
        if array.dtype.kind == "O":
            check_large_integers(array, "X")
        return array if array.dtype.kind in "biuf" else table
    check_dates(table, "X")
    return table


def as_positions(Y: Any, name: str = "Y") -> Positions:
    """Return `Y` as a 2-D array of native 64-bit integers or floats, copying only when needed."""
    if is_number_matrix(Y):
        return Y
    array = as_number_array(Y, name)
    if array.ndim != 2:
        hint = "; for one ranking pass [y]" if array.ndim == 1 else ""
        raise ValueError(
            f"{name} has {pluralize(array.ndim, 'dimension')}, shape {array.shape}; "
            f"expected 2-D: one row per ranking, one column per label{hint}"
        )
    return array


def is_number_matrix(Y: Any) -> TypeGuard[Positions]:
    """Whether `Y` is a 2-D array that the Rust core can read without conversion or further checks of its layout."""
    return type(Y) is np.ndarray and Y.ndim == 2 and Y.dtype in NATIVE and Y.flags.carray


def as_number_array(values: Any, name: str, entries: Entries = POSITIONS) -> Positions:
    """Return `values` as an array of native 64-bit integers or floats, of any shape."""
    if type(values) is np.ndarray and values.dtype in NATIVE:
        return _with_whole_strides(values)
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind not in "iuf":
        raise _wrong_entry(np.ma.getdata(values), values.dtype, name, entries)
    values = _frame_to_array(values, name) if is_frame(values) else unmasked(values)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(_ragged_message(values, name)) from error
    kind = array.dtype.kind
    if array.ndim == 0 and kind not in "fiu":
        raise TypeError(
            f"{name} is {describe_value(values)}; expected numbers in an array, a list or a DataFrame"
        )
    if kind == "f":
        floats = as_exact_floats(array, name)
        check_exact_list(values, floats, name)
        return _with_whole_strides(floats)
    if kind == "i" or (kind == "u" and (array <= np.iinfo(np.int64).max).all()):
        return _with_whole_strides(np.asarray(array, dtype=np.int64))
    if kind in "SU" and isinstance(values, (list, tuple)):
        # NumPy converts all numbers to strings if one entry is a string, so look for that entry in the original values.
        raise _wrong_entry(np.asarray(values, dtype=object), array.dtype, name, entries)
    raise _wrong_entry(array, array.dtype, name, entries)


def describe_value(value: Any) -> str:
    """Return a short description of an invalid value, for messages."""
    if value is None or isinstance(value, (str, bytes, bool, int, float, complex)):
        return f"{value!r:.60}"
    return f"of type {type(value).__name__}"


def _with_whole_strides(array: Positions) -> Positions:
    """Return the array, or a copy if it is unaligned or a stride is not a multiple of the item size.

    Fields of a structured array can have such strides; strides of the Rust core are numbers of items, not of bytes.
    """
    return array if _has_whole_strides(array) else array.copy()


def _has_whole_strides(array: NDArray[Any]) -> bool:
    """Whether the array is aligned and its strides are whole numbers of items, as the Rust core needs."""
    flags = array.flags
    if not flags.aligned:
        return False
    if flags.c_contiguous or flags.f_contiguous:
        return True
    return all(stride % array.itemsize == 0 for stride in array.strides)


def _wrong_entry(
    array: NDArray[Any], dtype: np.dtype[Any], name: str, entries: Entries
) -> TypeError | ValueError:
    """Return the error for the first entry that is not a 64-bit number."""
    found = f"{name} has dtype {dtype}; expected integers or floats"
    for index, value in np.ndenumerate(array):
        location = _location(index, entries.axes)
        if isinstance(value, (int, np.unsignedinteger)) and not -(2**63) <= value < 2**63:
            limit = (
                "small; expected -2**63 or more" if value < 0 else "large; expected up to 2**63 - 1"
            )
            return ValueError(
                f"{name}{location and f', {location}'}: the {entries.noun} is too {limit}"
            )
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
            entry = value.item() if isinstance(value, np.generic) else value
            return TypeError(f"{found}{location and f' ({location}: {entry!r:.60})'}{entries.hint}")
    return TypeError(f"{found}{entries.hint}")


def _location(index: tuple[int, ...], axes: tuple[str, ...]) -> str:
    """Return the location of an entry, such as "row 1, label 2"; empty if the array has too many axes."""
    if len(index) > len(axes):
        return ""
    named = axes[len(axes) - len(index) :]
    return ", ".join(f"{axis} {i}" for axis, i in zip(named, index, strict=True))


def as_weights(sample_weight: ArrayLike | None) -> NDArray[np.float64] | None:
    """Return weights as a 1-D array of floats; the Rust core checks the values."""
    if sample_weight is None:
        return None
    weights = as_number_array(sample_weight, "sample_weight", WEIGHTS)
    if weights.ndim != 1:
        raise ValueError(
            f"sample_weight has {pluralize(weights.ndim, 'dimension')}, shape {weights.shape}; "
            "expected 1-D: one weight per row"
        )
    return np.asarray(weights, dtype=np.float64)


def as_whole(value: Any, name: str, expected: str = "a whole number") -> int:
    """Return a whole number as an int; booleans and floats are rejected."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {value!r}; expected {expected}")
    return int(value)


def at_least(value: Any, name: str, least: int) -> int:
    """Return a whole number of at least `least`."""
    number = as_whole(value, name)
    if number < least:
        raise ValueError(f"{name} is {number}; expected a whole number of at least {least}")
    return number


def bounded_count(value: Any, name: str) -> int:
    """Return a whole number from 1 to the largest count that the core accepts; larger counts are rejected."""
    return _core.check_bounded_count(name, as_whole(value, name))


def as_flag(value: Any, name: str) -> bool:
    """Return a boolean; values that are only truthy or falsy, such as "no" and 1, are rejected."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r}; expected True or False")
    return bool(value)


def as_seed(seed: Any, name: str = "seed") -> int:
    """Return a seed: a whole number from 0 to 2**64 - 1."""
    number = as_whole(seed, name)
    if not 0 <= number <= _MAX_SEED:
        raise ValueError(f"{name} is {number}; expected a whole number from 0 to {_MAX_SEED}")
    return number


def as_real(value: Any, name: str) -> float:
    """Return a real number as a float; strings, booleans and arrays are rejected."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}; expected a number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is too large for a float; expected a smaller number") from None


def resolve_n_jobs(n_jobs: Any) -> int:
    """Return a number of threads: None means 1, -1 all cores, -2 all cores but one, and so on."""
    if n_jobs is None:
        return 1
    number = as_whole(n_jobs, "n_jobs", "a whole number or None")
    if number == 0:
        raise ValueError("n_jobs is 0; expected a positive number of threads, or -1 for all cores")
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    # More than 1024 threads would only cost memory; the results do not depend on the number of threads.
    return min(number, 1024) if number > 0 else max(1, cores + 1 + number)


def zeros_to_nan(positions: NDArray[np.int64]) -> Positions:
    """Replace 0, the Rust core's code for a missing label, by NaN; complete rankings stay integers."""
    missing = positions == 0
    if not missing.any():
        return positions
    result = positions.astype(np.float64)
    result[missing] = np.nan
    return result


def is_frame(values: Any) -> bool:
    """Whether `values` is a data frame of pandas or of a library with the same interface."""
    return hasattr(values, "columns") and hasattr(values, "to_numpy")


def is_pandas(values: Any) -> bool:
    """Whether `values` is a pandas object, so that results can be pandas objects too."""
    return type(values).__module__.partition(".")[0] == "pandas"


def frame_labels(values: Any) -> list[Hashable] | None:
    """Return the column names of a data frame, or None for other values."""
    return list(values.columns) if is_frame(values) else None


def as_names(names: Any, argument: str) -> list[Any]:
    """Return a list of names; strings, mappings and unordered collections are rejected."""
    if isinstance(names, str):
        raise TypeError(f"{argument} is the string {names!r}; expected a list of names")
    if isinstance(names, (set, frozenset)):
        raise TypeError(
            f"{argument} is {describe_value(names)}, whose order is arbitrary; expected a list of names"
        )
    if isinstance(names, Mapping) or not isinstance(names, Iterable):
        raise TypeError(f"{argument} is {describe_value(names)}; expected a list of names")
    dimensions = getattr(names, "ndim", 1)
    if dimensions != 1:
        raise ValueError(
            f"{argument} has {pluralize(dimensions, 'dimension')}; expected 1: a list of names"
        )
    return list(names)


def is_missing(value: Any) -> bool:
    """Whether `value` is None, NaN or pandas.NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        # pandas.NA: its comparison with itself has no truth value.
        return True


def is_name(name: Any) -> bool:
    """Whether `name` can be a label name: it is hashable and comparable."""
    try:
        hash(name)
        bool(name == name)
    except (TypeError, ValueError):
        return False
    return True


def check_labels(labels: Sequence[Hashable]) -> list[Hashable]:
    """Return label names after checking that each is valid and unique."""
    names = as_names(labels, "labels")
    seen: dict[Hashable, int] = {}
    for index, name in enumerate(names):
        if not is_name(name):
            raise TypeError(
                f"label {index} has the name {name!r:.60}; expected a string or a number"
            )
        if name != name:
            raise ValueError(f"label {index} has the name NaN; expected a name")
        if name in seen:
            raise ValueError(
                f"label name {name!r} appears twice (labels {seen[name]} and {index}); "
                "expected a different name for each label"
            )
        seen[name] = index
    return names


def label_names(values: Any, labels: Sequence[Hashable] | None, expected: int) -> list[Hashable]:
    """Return the label names: `labels`, else the names in a data frame or series, else 0, 1, ..."""
    if labels is None:
        labels = frame_labels(values)
    if labels is None and is_pandas(values) and hasattr(values, "index"):
        labels = list(values.index)
    if labels is None:
        return list(range(expected))
    names = check_labels(labels)
    if len(names) != expected:
        raise ValueError(
            f"found {pluralize(len(names), 'label name')} for {pluralize(expected, 'label')}"
        )
    return names


def check_same_labels(left: Any, right: Any, left_name: str, right_name: str) -> None:
    """Raise if two data frames have different columns, because they are compared column by column."""
    left_labels, right_labels = frame_labels(left), frame_labels(right)
    if left_labels is None or right_labels is None or left_labels == right_labels:
        return
    raise ValueError(
        f"{left_name} has the columns {left_labels} but {right_name} has {right_labels}; "
        "expected the same labels in the same order"
    )


def _frame_to_array(frame: Any, name: str) -> Any:
    """Convert a data frame to an array; for pandas, the error for a column that is not numeric names the column."""
    if not is_pandas(frame):
        array = frame.to_numpy()
        if array.dtype.kind == "f" and hasattr(frame, "rows"):
            # polars converts integers to floats if the frame also contains missing values or floats.
            check_exact_list(frame, array, name)
        return array
    columns = list(frame.columns)
    if not columns:
        return np.empty(frame.shape)
    for index, column in enumerate(columns):
        dtype = frame.iloc[:, index].dtype
        if getattr(dtype, "kind", None) not in ("i", "u", "f"):
            raise TypeError(
                f"{name}, column {column!r}: dtype {dtype}; expected integers or floats"
            )
    if len(set(frame.dtypes)) == 1 and isinstance(frame.dtypes.iloc[0], np.dtype):
        return frame.to_numpy()
    return columns_to_array((frame.iloc[:, index] for index in range(len(columns))), columns, name)


def _ragged_message(values: Any, name: str) -> str:
    try:
        lengths = [len(row) for row in values]
    except TypeError:
        return f"{name} is not a table; expected one row per ranking, one column per label"
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is None:
        return (
            f"{name} is not a table of numbers; expected one row per ranking, one column per label"
        )
    return (
        f"{name}, row {odd}: {pluralize(lengths[odd], 'entry', 'entries')}, but row 0 has {lengths[0]}; "
        "expected rows of equal length, with NaN for missing labels"
    )
