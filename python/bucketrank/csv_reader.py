"""Reader of CSV tables of numbers; errors name file, line and column.

A row has features and a ranking: one column per label with its position (1 is best, equal positions are ties), which
may be missing.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import os
import re
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bucketrank import _core
from bucketrank._exact_numbers import MAX_EXACT_INTEGER, is_rounded_integer
from bucketrank._phrases import pluralize
from bucketrank.csv_records import BadFileError, decode, records
from bucketrank.errors import RankingError

_MISSING = {"", "nan", "+nan", "-nan", "na", "n/a", "null", "none", "?"}
"""Cells of missing labels and of missing feature values, in lower case."""

_MISSING_WORD = r"[ \t]*(?:na|n/a|null|none|\?)?[ \t]*"
_MISSING_CELL = re.compile(
    rf"(?<=,){_MISSING_WORD}(?=,|$)|^{_MISSING_WORD}(?=,)", re.IGNORECASE | re.MULTILINE
)
"""A cell of a missing label, except nan, which NumPy reads."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|\+?inf(inity)?", re.ASCII | re.IGNORECASE)
_MINUS_INFINITY = {"-inf", "-infinity"}
"""Cells in lower case that are numbers, but neither positions nor values of features."""

_INFINITE = re.compile("inf", re.IGNORECASE)
_INNER_QUOTE = re.compile(r'[^,\n]"[^,\n]')
"""A quote inside a cell, which NumPy drops."""


class CsvColumn(NamedTuple):
    """Number of a column, from 1, and its name in the header."""

    number: int
    name: str

    def __str__(self) -> str:
        return f"column {self.number} ({self.name})"


class CsvTable:
    """A CSV table of numbers below a header.

    Attributes
    ----------
    name : str
        Name of the file, for messages.
    header : list of str
        Names of the columns, all different.
    """

    def __init__(self, name: str, text: str) -> None:
        first = next(records(name, text), None)
        if first is None:
            raise BadFileError(f"{name}: the file is empty; expected a header and rows of numbers")
        self.name = name
        self._text = text
        self._header_line, cells = first
        self.header = _column_names(name, self._header_line, cells)

    def header_error(self, reason: object) -> BadFileError:
        """Return an error about the header."""
        return BadFileError(f"{self.name}, line {self._header_line}: {reason}")

    def weight_error(self, error: RankingError, column: int) -> BadFileError:
        """Return an error about a column of row weights; names the line in the file instead of the index of the row."""
        line = ""
        if error.row is not None:
            rows = itertools.islice(records(self.name, self._text), 1, None)
            line = f", line {next(itertools.islice(rows, error.row, None))[0]}"
        location = CsvColumn(column + 1, self.header[column])
        return BadFileError(f"{self.name}{line}, {location}: {error.reason}")

    def read(
        self,
        features: Sequence[int],
        labels: Sequence[int],
        row: str = "instance",
        *,
        value: str = "the value of a feature",
        allow_missing: bool = False,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Read the columns of the features (finite numbers) and of the labels (positions, NaN for missing labels).

        In messages, `row` is the noun for a row and `value` for the cell of a feature. A missing value of a feature
        is NaN with `allow_missing`, else an error.
        """
        values = self._read_fast(features, labels)
        if values is not None and (allow_missing or not np.isnan(values[0]).any()):
            return values
        return self._read_cells(features, labels, row, value, allow_missing=allow_missing)

    def read_with_text(
        self,
        features: Sequence[int],
        labels: Sequence[int],
        text: Collection[int] | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Read features and positions; the array of features holds numbers, or objects if some columns are strings.

        A missing number or label is NaN, a missing string is None. `text` are the columns that are read as strings; by
        default the features with a cell that is neither a number nor missing.
        """
        if not text:
            values = self._read_fast(features, labels)
            if values is not None:
                return values
        rows = [cells for _, cells in itertools.islice(records(self.name, self._text), 1, None)]
        if text is None:
            text = {i for i in features if any(_has_text(row[i : i + 1]) for row in rows)}
        numeric = [i for i in features if i not in text]
        X, Y = self._read_cells(numeric, labels, allow_missing=True)
        if not text:
            return X, Y
        table = np.empty((len(rows), len(features)), dtype=object)
        for j, i in enumerate(features):
            if i in text:
                words = [row[i].strip() for row in rows]
                table[:, j] = [None if word.lower() in _MISSING else word for word in words]
            else:
                table[:, j] = X[:, numeric.index(i)]
        return table, Y

    def _read_fast(
        self, features: Sequence[int], labels: Sequence[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Read the table with NumPy; return None if an unused column or a cell needs :meth:`_read_cells`."""
        width = len(self.header)
        if len(features) + len(labels) != width:
            return None
        text = self._text
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        body = text.split("\n", self._header_line)[-1]
        if not body.strip() or _has_long_cell(body):
            return None
        if '"' in body and _INNER_QUOTE.search(body):
            return None
        table = _load(body)
        if table is None and '"' not in body:
            table = _load(_MISSING_CELL.sub("nan", body))
        if table is None or table.shape[1] != width:
            return None
        if np.isinf(table).sum() != len(_INFINITE.findall(body)):
            # A number in the text is too large for a float.
            return None
        X, Y = (np.ascontiguousarray(table[:, columns]) for columns in (features, labels))
        if (np.isfinite(Y) & (Y >= MAX_EXACT_INTEGER)).any():
            # A number may have been rounded.
            return None
        try:
            if labels:
                Y = _dense(Y)
        except RankingError:
            return None
        return None if np.isinf(X).any() else (X, Y)

    def _read_cells(
        self,
        features: Sequence[int],
        labels: Sequence[int],
        row: str = "instance",
        value: str = "the value of a feature",
        *,
        allow_missing: bool,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Read cell by cell; supports quoted cells and unused columns, and reports line and column of an error."""
        columns = [CsvColumn(number, name) for number, name in enumerate(self.header, start=1)]
        line_numbers, X, Y = [], [], []
        for line, cells in itertools.islice(records(self.name, self._text), 1, None):
            check_width(self.name, line, cells, len(columns))
            X.append(
                [
                    math.nan
                    if allow_missing and cells[i].strip().lower() in _MISSING
                    else _feature(self.name, line, columns[i], cells[i], value)
                    for i in features
                ]
            )
            Y.append([_position(self.name, line, columns[i], cells[i]) for i in labels])
            line_numbers.append(line)
        if not line_numbers:
            raise BadFileError(
                f"{self.name}: a header but no rows; expected one {row} per line below it"
            )
        positions = np.array(Y)
        if labels:
            positions = _checked_positions(
                self.name, positions, line_numbers, [columns[i] for i in labels]
            )
        return np.array(X), positions


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file in UTF-8."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise BadFileError(f"{path}: {error.strerror or error}") from None
    return decode(str(path), raw)


def read_input(path: str) -> tuple[str, str]:
    """Return name and text of a file, or of standard input if `path` is ``-``."""
    if path != "-":
        return path, read_text(path)
    name = "standard input"
    if sys.stdin is None:
        raise BadFileError(f"{name} is closed; expected a CSV table or rankings")
    return name, decode(name, sys.stdin.buffer.read())


def is_position_row(line: str) -> bool:
    """Whether all cells of a line are numbers or missing labels."""
    try:
        cells = next(csv.reader([line]))
    except csv.Error:
        # The cell is too long; reading the table reports its line and column.
        return True
    return all(_is_number(cell.strip()) or cell.strip().lower() in _MISSING for cell in cells)


def _has_long_cell(body: str) -> bool:
    """Whether a cell exceeds the limit of the csv module."""
    limit = csv.field_size_limit()
    lines = (line for line in body.split("\n") if len(line) > limit)
    return any(len(cell) > limit for line in lines for cell in line.split(","))


def _load(body: str) -> NDArray[np.float64] | None:
    try:
        return np.loadtxt(io.StringIO(body), delimiter=",", comments=None, quotechar='"', ndmin=2)
    except ValueError:
        return None


def _column_names(name: str, line: int, cells: Sequence[str]) -> list[str]:
    """Return the names in a header after checking that they are different and not empty."""
    names = [cell.strip() for cell in cells]
    first: dict[str, int] = {}
    for number, column in enumerate(names, start=1):
        if not column:
            raise BadFileError(
                f"{name}, line {line}, column {number}: no name; expected a name for each column"
            )
        if column in first:
            raise BadFileError(
                f"{name}, line {line}, column {number}: {column!r} is already the name of column {first[column]}; "
                "expected a different name for each column"
            )
        first[column] = number
    if all(map(_is_number, names)):
        raise BadFileError(
            f"{name}, line {line}: only numbers; expected a header with the names of the columns"
        )
    return names


def _has_text(cells: Sequence[str]) -> bool:
    """Whether one of the cells is neither a number nor missing; False for no cells, as at the end of a short row."""
    words = [cell.strip() for cell in cells]
    numeric = _MISSING | _MINUS_INFINITY
    return any(not _is_number(word) and word.lower() not in numeric for word in words)


def _is_number(word: str) -> bool:
    """Whether a stripped cell is a number; ``inf``, the position of labels outside a top-k list, is a number."""
    return _NUMBER.fullmatch(word) is not None


def _position(name: str, line: int, column: CsvColumn, cell: str) -> float:
    """Parse the cell of a label: a number, or NaN for a missing label."""
    word = cell.strip()
    if _is_number(word):
        return _finite_or_inf(name, line, column, word)
    if word.lower() in _MISSING:
        return math.nan
    raise BadFileError(
        f"{name}, line {line}, {column}: {word!r} is not a number; "
        "expected a position, or an empty cell for a missing label"
    )


def _finite_or_inf(name: str, line: int, column: CsvColumn, word: str) -> float:
    """Parse a number; a number too large for a float is an error, not ``inf``, which has a meaning."""
    value = float(word)
    if math.isinf(value) and "inf" not in word.lower():
        raise BadFileError(
            f"{name}, line {line}, {column}: {word:.60} is too large; expected a position"
        )
    if is_rounded_integer(word, value):
        raise BadFileError(
            f"{name}, line {line}, {column}: {word:.60} cannot be read exactly; expected a position of at most 2**53"
        )
    return value


def _feature(name: str, line: int, column: CsvColumn, cell: str, expected: str) -> float:
    """Parse the cell of a feature, which must be a finite number."""
    word = cell.strip()
    value = float(word) if _is_number(word) else math.nan
    if math.isfinite(value):
        return value
    found = f"{word!r} is not a finite number" if word else "the cell is empty"
    raise BadFileError(f"{name}, line {line}, {column}: {found}; expected {expected}")


def check_width(name: str, line: int, cells: Sequence[str], expected: int) -> None:
    """Reject a line with more or fewer cells than the header."""
    found = len(cells)
    if found != expected:
        problem = "a cell is missing" if found < expected else "an extra cell"
        raise BadFileError(
            f"{name}, line {line}, column {min(found, expected) + 1}: {problem}: {pluralize(found, 'cell')}; "
            f"expected {expected}, one for each column of the header"
        )


def _dense(Y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Check positions and renumber them as 1, 2, 3, ... without gaps; NaN stays."""
    dense = _core.parse_positions(Y).astype(np.float64)
    dense[dense == 0] = np.nan
    return dense


def _checked_positions(
    name: str, Y: NDArray[np.float64], lines: Sequence[int], columns: Sequence[CsvColumn]
) -> NDArray[np.float64]:
    """Return positions as :func:`_dense` does; the error for an invalid one names its line and column."""
    try:
        return _dense(Y)
    except RankingError as error:
        # The core counts rows and labels from 0.
        line = "" if error.row is None else f", line {lines[error.row]}"
        column = "" if error.label is None else f", {columns[error.label]}"
        raise BadFileError(f"{name}{line}{column}: {error.reason}") from None
