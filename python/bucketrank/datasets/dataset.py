"""A dataset: features, rankings, and the names of both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bucketrank import _core
from bucketrank._optional import pandas
from bucketrank._validation import (
    NUMBERS,
    as_number_array,
    as_positions,
    frame_labels,
    is_frame,
)
from bucketrank.datasets.description import Description

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Dataset"]

_BLOCK = 65_536
"""Rows that are converted at once: copies of a part cost little, copies of millions of rows do."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Dataset:
    """Features and rankings of the same rows, checked once and not to be changed.

    Two datasets are equal when their features, rankings and names of features and labels are; what they are called
    and where they come from does not count.

    Parameters
    ----------
    name : str
        What tables call the dataset.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Finite numbers. They are copied, unless the array is C-contiguous, read-only and no view.
    Y : array-like or DataFrame of shape (n_samples, n_labels)
        Positions: 1 is best, equal positions are ties, rows are dense, NaN is a missing label. ``+inf``, the rest of
        a top-k list, becomes the position behind all others.
    feature_names, label_names : sequence of str, optional
        By default the columns of a DataFrame, or ``A1``, ``A2``, ... and ``L1``, ``L2``, ...
    source : str, optional
        Where the data come from, for people.

    Attributes
    ----------
    X, Y : ndarray of float64
        C-contiguous and read-only.
    feature_names, label_names : tuple of str
    name, source : str

    Examples
    --------
    >>> drinks = Dataset("drinks", [[8, 21], [15, 30]], [[1, 2, 2], [2, 3, 1]], label_names=["tea", "coffee", "juice"])
    >>> drinks
    Dataset('drinks': 2 rows, 2 features, 3 labels)
    >>> drinks.Y
    array([[1., 2., 2.],
           [2., 3., 1.]])
    >>> drinks.describe().mean_buckets
    2.5
    """

    name: str
    X: NDArray[np.float64]
    Y: NDArray[np.float64]
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    source: str

    def __init__(
        self,
        name: str,
        X: Any,
        Y: Any,
        feature_names: Sequence[str] = (),
        label_names: Sequence[str] = (),
        source: str = "",
    ) -> None:
        for argument, value in (("name", name), ("source", source)):
            if not isinstance(value, str):
                raise TypeError(f"{argument} is {value!r}; expected a string")
        features = as_features(X)
        positions = _checked_positions(Y, name)
        if len(features) != len(positions):
            raise ValueError(
                f"X has {len(features)} rows but Y has {len(positions)}; expected one ranking per row of features"
            )
        self.__setstate__(
            {
                "name": name,
                "X": features,
                "Y": positions,
                "feature_names": column_names(X, feature_names, "A", features.shape[1]),
                "label_names": column_names(Y, label_names, "L", positions.shape[1]),
                "source": source,
            }
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over fields; arrays that come from a pickle or a copy are made read-only again."""
        for field in ("X", "Y"):
            state[field].flags.writeable = False
        self.__dict__.update(state)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.Y.shape[1])

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of shapes, values and names of features and labels, in hexadecimal digits.

        It is the same on every machine. The dataset's own name and its source do not count.
        """
        digest = hashlib.sha256(b"bucketrank dataset 1\n")
        names = [list(self.X.shape), list(self.feature_names), list(self.label_names)]
        digest.update(json.dumps(names).encode("ascii"))
        for array in (self.X, self.Y):
            for start in range(0, len(array), _BLOCK):
                # Adding 0 turns -0 into 0, which equals it.
                digest.update((array[start : start + _BLOCK] + 0.0).astype("<f8").tobytes())
        return digest.hexdigest()

    def describe(self) -> Description:
        """Return the numbers that tables of datasets show.

        Returns
        -------
        Description
            Numbers of instances, features, labels and different rankings, mean number of buckets, share of missing
            labels.
        """
        return Description.of(self.name, self.X.shape[1], self.Y)

    def to_pandas(self) -> tuple[DataFrame, DataFrame]:
        """Return features and rankings as data frames named by features and labels; needs pandas."""
        pd = pandas("to_pandas")
        X = pd.DataFrame(self.X.copy(), columns=list(self.feature_names))
        Y = pd.DataFrame(self.Y.copy(), columns=list(self.label_names))
        return X, Y

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dataset):
            return NotImplemented
        return self is other or (
            self.feature_names == other.feature_names
            and self.label_names == other.label_names
            and np.array_equal(self.X, other.X)
            and np.array_equal(self.Y, other.Y, equal_nan=True)
        )

    def __hash__(self) -> int:
        return hash(self.content_hash)

    def __repr__(self) -> str:
        parts = [_count(self.n_samples, "row"), _count(self.n_features, "feature")]
        missing = np.isnan(self.Y).mean()
        parts.append(f"{self.n_labels} labels" + (f", {missing:.0%} missing" if missing else ""))
        return f"Dataset({self.name!r}: {', '.join(parts)})"


def as_features(X: Any) -> NDArray[np.float64]:
    """Return features as a C-contiguous array of finite floats that nobody else can write to."""
    array = _as_matrix(X)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"X has the shape {array.shape}; expected at least one row and one column: "
            "one row an instance, one column a feature"
        )
    flags = array.flags
    sealed = flags.owndata and flags.c_contiguous and flags.aligned and not flags.writeable
    if array.dtype != np.float64 or not sealed:
        array = np.array(array, dtype=np.float64, order="C")
    for start in range(0, len(array), _BLOCK):
        finite = np.isfinite(array[start : start + _BLOCK])
        if not finite.all():
            row, column = (int(index) for index in np.argwhere(~finite)[0])
            raise ValueError(
                f"X, row {start + row}, column {column}: {array[start + row, column]}; expected a finite number"
            )
    return array


def _as_matrix(X: Any) -> NDArray[Any]:
    if is_frame(X):
        return as_number_array(X, "X", NUMBERS)
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError(
            "X is not a table; expected rows of equal length, one column a feature"
        ) from None
    if array.dtype.kind in "biuf":
        return array
    # Among strings NumPy writes numbers as strings too: look at what was passed.
    for index, value in np.ndenumerate(np.asarray(X, dtype=object)):
        if not isinstance(value, (int, float, np.number)) and len(index) == 2:
            raise TypeError(f"X, row {index[0]}, column {index[1]}: {value!r}; expected a number")
    raise TypeError(f"X has dtype {array.dtype}; expected numbers, one row an instance")


def _checked_positions(Y: Any, name: str) -> NDArray[np.float64]:
    """Return positions as floats, with NaN for missing labels."""
    positions = as_positions(Y)
    result = np.empty(positions.shape)
    try:
        if len(positions) == 0:
            _core.parse_positions(positions)
        for start in range(0, len(positions), _BLOCK):
            block = slice(start, start + _BLOCK)
            parsed = _core.parse_positions(positions[block])
            result[block] = np.where(parsed == 0, np.nan, parsed)
    except ValueError:
        try:
            # The whole again: a block counts its rows from 0.
            _core.parse_positions(positions)
        except ValueError as error:
            raise ValueError(f"rankings of {name!r}: {error}") from None
        raise
    return result


def column_names(values: Any, given: Sequence[str], letter: str, number: int) -> tuple[str, ...]:
    """Return the names given, else those of a data frame, else the letter with 1, 2, ..."""
    what = "feature_names" if letter == "A" else "label_names"
    if isinstance(given, str):
        raise TypeError(f"{what} is the string {given!r}; expected a sequence of names")
    names = [str(name) for name in (list(given) or frame_labels(values) or ())]
    if not names:
        return tuple(f"{letter}{index}" for index in range(1, number + 1))
    if len(names) != number:
        raise ValueError(f"{what} has {len(names)} names; expected {number}, one a column")
    if len(set(names)) < number:
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"{what} has {repeated!r} twice; expected a different name for each column"
        )
    return tuple(names)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
