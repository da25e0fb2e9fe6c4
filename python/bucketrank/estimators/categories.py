"""Categorical features: finds them, orders their categories by the rankings, and encodes values by that order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank import _core
from bucketrank._phrases import pluralize
from bucketrank._validation import Positions, as_weights, describe_value, is_frame, is_pandas

Categories: TypeAlias = dict[int, list[Any]]
"""Per categorical feature, by its index: its categories, or its value in each row."""

MAX_CATEGORIES = 255
"""Largest number of categories of a feature."""

_TEXT_DTYPES = ("category", "object", "string", "str", "Categorical", "Enum", "String", "Object")
"""Types of data frame columns that can hold categories or strings, in pandas and polars."""


class FeatureColumns:
    """The columns of an array or data frame of features."""

    def __init__(self, X: Any) -> None:
        self._frame = X if is_frame(X) else None
        if self._frame is not None:
            self.names: list[Any] | None = list(X.columns)
            self.count = len(self.names)
            return
        self.names = None
        self._array = X if isinstance(X, np.ndarray) else _object_table(X)
        self.count = self._array.shape[1] if self._array.ndim == 2 else 0

    def location(self, column: int) -> str:
        """Return the name of a column for messages, such as "X, column 2"."""
        return f"X, column {column if self.names is None else repr(self.names[column])}"

    def text_columns(self) -> list[int]:
        """Return the indices of the columns that hold categories or strings, ascending."""
        # Skip the loop for an array of numbers, which may have very many columns.
        if self._frame is None and self._array.dtype.kind not in "USO":
            return []
        return [column for column in range(self.count) if self._holds_text(column)]

    def _holds_text(self, column: int) -> bool:
        """Whether a column holds categories or strings.

        A column of booleans holds numbers, except in a data frame with dtype object.
        """
        if self._frame is None:
            cells = self._array[:, column]
            return cells.dtype.kind in "US" or any(isinstance(v, str) for v in cells.tolist())
        series = self._series(column)
        kind = str(series.dtype).partition("(")[0]
        if kind not in _TEXT_DTYPES:
            return False
        if kind in ("category", "object", "Object"):
            values = self.values(column)
            return kind == "category" or any(isinstance(value, (str, bool)) for value in values)
        return True

    def values(self, column: int) -> list[Any]:
        """Return the values of a column as Python objects; None for a missing one."""
        if self._frame is None:
            values = self._array[:, column].tolist()
        elif is_pandas(self._frame):
            series = self._series(column)
            is_present = series.notna().to_numpy()
            listed = series.astype(object).tolist()
            values = [
                value if present else None
                for value, present in zip(listed, is_present, strict=True)
            ]
        else:
            values = self._series(column).to_list()
        return [_to_python(value) for value in values]

    def without(self, columns: Sequence[int]) -> Any:
        """Return the table without these columns."""
        others = [column for column in range(self.count) if column not in set(columns)]
        if self._frame is None:
            return self._array[:, others]
        if is_pandas(self._frame):
            return self._frame.iloc[:, others]
        assert self.names is not None
        return self._frame.select([self.names[column] for column in others])

    def _series(self, column: int) -> Any:
        assert self._frame is not None
        assert self.names is not None
        return (
            self._frame.iloc[:, column]
            if is_pandas(self._frame)
            else self._frame[self.names[column]]
        )


def find_categorical(columns: FeatureColumns, chosen: Any) -> list[int]:
    """Return the indices of the categorical features, ascending; `chosen` is the parameter `categorical_features`."""
    if chosen is None:
        return []
    if isinstance(chosen, str):
        if chosen != "from_dtype":
            raise ValueError(
                f"categorical_features is {chosen!r}; "
                "expected 'from_dtype', None, or a list of names, indices or booleans"
            )
        return columns.text_columns()
    try:
        entries = list(chosen)
    except TypeError:
        raise TypeError(
            f"categorical_features is {describe_value(chosen)}; "
            "expected 'from_dtype', None, or a list of names, indices or booleans"
        ) from None
    if entries and all(isinstance(entry, (bool, np.bool_)) for entry in entries):
        if len(entries) != columns.count:
            raise ValueError(
                f"categorical_features has {pluralize(len(entries), 'boolean')}; "
                f"expected {columns.count}, one per feature"
            )
        return [column for column, entry in enumerate(entries) if entry]
    return sorted({_column_of(columns, entry) for entry in entries})


def _column_of(columns: FeatureColumns, entry: Any) -> int:
    if isinstance(entry, str):
        if columns.names is None:
            raise ValueError(
                f"categorical_features names {entry!r}, but X has no column names; expected indices or booleans"
            )
        if entry not in columns.names:
            raise ValueError(f"categorical_features names {entry!r}, which is not a column of X")
        return columns.names.index(entry)
    if isinstance(entry, (bool, np.bool_)) or not isinstance(entry, (int, np.integer)):
        raise TypeError(
            f"categorical_features has the entry {entry!r:.60}; expected names, indices or booleans, not a mixture"
        )
    if not 0 <= entry < columns.count:
        raise ValueError(
            f"categorical_features has the index {entry}; expected 0 to {columns.count - 1}"
        )
    return int(entry)


def list_categories(values: list[Any], location: str) -> list[Any]:
    """Return the distinct values that are not missing, sorted; they must be of one type.

    `location` names the column in messages.
    """
    kind = ""
    found = set()
    for row, value in enumerate(values):
        if value is None:
            continue
        value_kind = _kind(value)
        if not value_kind:
            raise TypeError(
                f"{location}, row {row}: {describe_value(value)}; expected a string, a number or a boolean"
            )
        if kind and value_kind != kind:
            raise TypeError(
                f"{location}, row {row}: {value!r:.60} is a {value_kind}, but the categories before it are of type "
                f"{kind}; expected categories of one type"
            )
        kind = value_kind
        found.add(value)
    if len(found) > MAX_CATEGORIES:
        raise ValueError(
            f"{location}: {len(found)} categories; expected at most {MAX_CATEGORIES}. "
            "Merge rare categories, or encode the feature as numbers"
        )
    return sorted(found)


def encode(values: list[Any], categories: list[Any], location: str) -> NDArray[np.float64]:
    """Return the index of each value in `categories`; NaN for a missing or unknown value."""
    kinds = {_kind(category) for category in categories}
    index_of = {category: float(index) for index, category in enumerate(categories)}
    missing = float("nan")
    codes = np.array([index_of.get(value, missing) for value in values])
    for row in np.flatnonzero(np.isnan(codes)).tolist():
        value = values[row]
        if value is not None and kinds and _kind(value) not in kinds:
            raise TypeError(
                f"{location}, row {row}: {describe_value(value)}; "
                f"expected a category of type {' or '.join(sorted(kinds))}, as in the fit"
            )
    return codes


def order_categories(
    values: list[Any], location: str, positions: Positions, sample_weight: ArrayLike | None
) -> list[Any]:
    """Return the ordered categories of a column, such that categories with similar rankings are close to each other.

    The order follows the direction in which the mean rankings of the categories differ most. Rows of weight 0 are left
    out.
    """
    weights = as_weights(sample_weight)
    if weights is not None and weights.shape == (len(values),):
        weighted = zip(values, weights.tolist(), strict=True)
        values = [None if weight == 0 else value for value, weight in weighted]
    categories = list_categories(values, location)
    if not categories:
        return categories
    if len(values) != len(positions):
        raise ValueError(
            f"X has {pluralize(len(values), 'row')} but y has {len(positions)}; "
            "expected one ranking per row of features"
        )
    codes = encode(values, categories, location)
    integer_codes = np.where(np.isnan(codes), -1, codes).astype(np.int64)
    ranks = _core.order_categories(integer_codes, len(categories), positions, weights)
    ordered = [None] * len(categories)
    for category, rank in zip(categories, ranks.tolist(), strict=True):
        ordered[rank] = category
    return ordered


def category_counts(categories: Categories) -> list[tuple[int, int]]:
    """Return the categorical features with their numbers of categories, as the Rust core expects them."""
    return [(feature, len(categories[feature])) for feature in sorted(categories)]


def _kind(value: Any) -> str:
    """Return the type of a category as a word; empty for a value that cannot be a category."""
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, (int, float)) else ""


def _to_python(value: Any) -> Any:
    """Convert a NumPy scalar to a Python object, and NaN, NaT and NA to None."""
    if isinstance(value, np.generic):
        value = value.item()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float) and value != value:
        return None
    return str(value) if isinstance(value, str) else value


def _object_table(X: Any) -> NDArray[Any]:
    """Return a list of rows as an array of objects, because NumPy would convert numbers beside strings to strings."""
    has_rows = isinstance(X, (list, tuple)) and all(isinstance(row, (list, tuple)) for row in X)
    if has_rows and len({len(row) for row in X}) == 1:
        table = np.empty((len(X), len(X[0])), dtype=object)
        for row, values in enumerate(X):
            table[row] = values
        return table
    try:
        return np.asarray(X)
    except ValueError:
        # scikit-learn reports rows of different lengths.
        return np.empty(0)
