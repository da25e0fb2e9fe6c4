"""The class Dataset: features, rankings, and their names."""

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
from bucketrank._exact_numbers import unmasked
from bucketrank._optional import import_pandas
from bucketrank._phrases import pluralize
from bucketrank._read_only import ReadOnlyArrays
from bucketrank._validation import (
    NUMBERS,
    as_number_array,
    as_positions,
    frame_labels,
    is_frame,
)
from bucketrank.datasets.description import Description
from bucketrank.datasets.preview import preview
from bucketrank.tables import notebook_html

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Dataset"]

_BLOCK = 65_536
"""Rows per block when checking and hashing; bounds the memory of temporary copies."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Dataset(ReadOnlyArrays):
    """Features and rankings of the same rows: validated, and immutable.

    Two datasets are equal when their features, rankings, feature names and label names are equal; `name` and `source`
    are not compared.

    Parameters
    ----------
    name : str
        Name of the dataset in tables.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Numbers; NaN marks a missing value. The array is copied unless it is C-contiguous and read-only and owns its
        data.
    Y : array-like or DataFrame of shape (n_samples, n_labels)
        Positions: 1 is best, equal positions are ties, NaN is a missing label; gaps are closed.
        ``+inf``, a label below the cut of a top-k list, becomes the last position.
    feature_names, label_names : sequence of str, optional
        By default the columns of a DataFrame, or ``A1``, ``A2``, ... and ``L1``, ``L2``, ...
    source : str, optional
        Description of the origin of the data.

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
        features = as_features(X, allow_missing=True)
        positions = _checked_positions(Y, name)
        if len(features) != len(positions):
            raise ValueError(
                f"X has {pluralize(len(features), 'row')} but Y has {len(positions)}; "
                "expected one ranking per row of features"
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

        It is the same on every machine, and does not depend on `name` and `source`.
        """
        digest = hashlib.sha256(b"bucketrank dataset 1\n")
        names = [list(self.X.shape), list(self.feature_names), list(self.label_names)]
        digest.update(json.dumps(names).encode("ascii"))
        for array in (self.X, self.Y):
            for start in range(0, len(array), _BLOCK):
                # Equal values must have equal bytes: adding 0 turns -0 into 0, and every NaN is replaced by one NaN.
                block = array[start : start + _BLOCK] + 0.0
                block[np.isnan(block)] = np.nan
                digest.update(block.astype("<f8").tobytes())
        return digest.hexdigest()

    def describe(self) -> Description:
        """Return summary statistics of the dataset.

        Returns
        -------
        Description
            Numbers of instances, features, labels and unique rankings, mean number of buckets, share of missing labels.
        """
        return Description.of(self.name, self.X.shape[1], self.Y)

    def to_pandas(self) -> tuple[DataFrame, DataFrame]:
        """Return features and rankings as data frames whose columns are the feature and label names; needs pandas."""
        pd = import_pandas("to_pandas")
        X = pd.DataFrame(self.X.copy(), columns=list(self.feature_names))
        Y = pd.DataFrame(self.Y.copy(), columns=list(self.label_names))
        return X, Y

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dataset):
            return NotImplemented
        return self is other or (
            self.feature_names == other.feature_names
            and self.label_names == other.label_names
            and np.array_equal(self.X, other.X, equal_nan=True)
            and np.array_equal(self.Y, other.Y, equal_nan=True)
        )

    def __hash__(self) -> int:
        return hash(self.content_hash)

    def __repr__(self) -> str:
        parts = [
            pluralize(self.n_samples, "row", spec=","),
            pluralize(self.n_features, "feature", spec=","),
        ]
        missing = np.isnan(self.Y).mean()
        parts.append(f"{self.n_labels} labels" + (f", {missing:.0%} missing" if missing else ""))
        return f"Dataset({self.name!r}: {', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Return the first rows as a table for a notebook."""
        return notebook_html(preview(self))


def as_features(X: Any, *, allow_missing: bool = False) -> NDArray[np.float64]:
    """Return features as a C-contiguous array of floats that shares no memory with a writable array.

    Infinite values are rejected, and NaN as well unless `allow_missing`.
    """
    array = _as_matrix(X)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"X has the shape {array.shape}; expected at least one row and one column: "
            "one row per instance, one column per feature"
        )
    flags = array.flags
    is_immutable = flags.owndata and flags.c_contiguous and flags.aligned and not flags.writeable
    if array.dtype != np.float64 or not is_immutable:
        array = np.array(array, dtype=np.float64, order="C")
    for start in range(0, len(array), _BLOCK):
        block = array[start : start + _BLOCK]
        invalid = np.isinf(block) if allow_missing else ~np.isfinite(block)
        if invalid.any():
            row, column = (int(index) for index in np.argwhere(invalid)[0])
            raise ValueError(
                f"X, row {start + row}, column {column}: {array[start + row, column]}; expected a finite number"
            )
    return array


def _as_matrix(X: Any) -> NDArray[Any]:
    if is_frame(X):
        return as_number_array(X, "X", entries=NUMBERS)
    X = unmasked(X)
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError(
            "X is not a table; expected rows of equal length, one column per feature"
        ) from None
    if array.dtype.kind in "biuf":
        return array
    # NumPy converts all numbers to strings if one entry is a string, so look at the original values.
    for index, value in np.ndenumerate(np.asarray(X, dtype=object)):
        if not isinstance(value, (int, float, np.number)) and len(index) == 2:
            raise TypeError(f"X, row {index[0]}, column {index[1]}: {value!r}; expected a number")
    raise TypeError(f"X has dtype {array.dtype}; expected numbers, one row per instance")


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
            # Check all rows again, so that the error counts rows from the first row, not from the start of the block.
            _core.parse_positions(positions)
        except ValueError as error:
            raise ValueError(f"rankings of {name!r}: {error}") from None
        raise
    return result


def column_names(values: Any, given: Sequence[str], letter: str, number: int) -> tuple[str, ...]:
    """Return `given`, else the columns of a data frame, else generated names such as A1, A2, ..."""
    argument = "feature_names" if letter == "A" else "label_names"
    if isinstance(given, str):
        raise TypeError(f"{argument} is the string {given!r}; expected a sequence of names")
    names = [str(name) for name in (list(given) or frame_labels(values) or ())]
    if not names:
        return tuple(f"{letter}{index}" for index in range(1, number + 1))
    if len(names) != number:
        raise ValueError(
            f"{argument} has {pluralize(len(names), 'name')}; expected {number}, one per column"
        )
    if len(set(names)) < number:
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"{argument} contains {repeated!r} twice; expected a different name for each column"
        )
    return tuple(names)
