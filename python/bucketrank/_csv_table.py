"""Reading of CSV tables of numbers; errors name file, line and column."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bucketrank import _core
from bucketrank.errors import RankingError

MISSING = {"", "nan", "na", "n/a", "null", "none", "?"}
"""Cells that mean a missing label, in lower case."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|\+?inf(inity)?", re.ASCII | re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|\r|\n")
_PLAIN = re.compile(r"[^,\r\n]*")
_QUOTED = re.compile(r'"(?:[^"]|"")*')
"""A quoted cell up to its closing quote; inside, a quote is written twice."""


class BadFileError(ValueError):
    """An invalid file; the message names the file, the location and the reason."""


class Column(NamedTuple):
    """A column of a file for messages: its number, counted from 1, and its name in the header."""

    number: int
    name: str

    def __str__(self) -> str:
        return f"column {self.number} ({self.name})"


def decode(name: str, raw: bytes) -> str:
    """Return the text of a file in UTF-8, with or without a byte order mark."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # error.object does not include the byte order mark.
        before = error.object[: error.start].decode()
        *above, last = _LINE_END.split(before)
        raise BadFileError(
            f"{name}, line {len(above) + 1}, column {len(last) + 1} (byte {len(last.encode()) + 1} of the line): "
            f"0x{error.object[error.start]:02x} is not UTF-8; expected text in UTF-8"
        ) from None


def records(name: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of each non-blank line."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    read = 0
    try:
        for cells in reader:
            read = reader.line_num
            if len(cells) > 1 or any(cell.strip() for cell in cells):
                yield read, cells
    except csv.Error as error:
        lines = itertools.islice(io.StringIO(text, newline=""), read, None)
        where, problem = _bad_cell("".join(lines), read + 1) or (f"line {read + 1}", str(error))
        raise BadFileError(f"{name}, {where}: {problem}") from None


def _bad_cell(rest: str, line: int) -> tuple[str, str] | None:
    """Return the location of the first invalid cell in the first record of `rest`, and the problem."""
    start = 0
    for column in itertools.count(1):
        quoted = rest.startswith('"', start)
        end = _end(_QUOTED if quoted else _PLAIN, rest, start)
        problem = _problem(rest[start:end], rest[end : end + 2], quoted=quoted)
        if problem:
            above = len(_LINE_END.findall(rest, 0, start))
            return f"line {line + above}, column {column}", problem
        end += quoted
        if rest[end : end + 1] != ",":
            break
        start = end + 1
    return None


def _problem(cell: str, following: str, *, quoted: bool) -> str:
    """Return the problem of a cell without its closing quote, given the next two characters; empty if valid."""
    if quoted and not following:
        return "a quote is opened but never closed; expected a closing quote"
    if quoted and following[1:] not in ("", ",", "\r", "\n"):
        return f"{following[1]!r} after a closing quote; expected a comma or the end of the line"
    limit = csv.field_size_limit()
    if len(cell) > limit:
        return f"a cell of {len(cell)} characters; expected at most {limit}"
    return ""


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return start if found is None else found.end()


def column_names(name: str, line: int, cells: Sequence[str]) -> list[str]:
    """Return the names in a header after checking that each column has a unique name."""
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
    if all(map(is_number, names)):
        raise BadFileError(
            f"{name}, line {line}: only numbers; expected a header with the names of the columns"
        )
    return names


def is_number(word: str) -> bool:
    """Whether a stripped cell is a number, including ``inf``."""
    return _NUMBER.fullmatch(word) is not None


def is_position(word: str) -> bool:
    """Whether a stripped cell is a number or means a missing label."""
    return is_number(word) or word.lower() in MISSING


def position(name: str, line: int, column: Column, cell: str) -> float:
    """Parse the cell of a label: a number, or NaN for a missing label."""
    word = cell.strip()
    if is_number(word):
        return float(word)
    if word.lower() in MISSING:
        return math.nan
    raise BadFileError(
        f"{name}, line {line}, {column}: {word!r} is not a number; "
        "expected a position, or nothing for a missing label"
    )


def feature(name: str, line: int, column: Column, cell: str) -> float:
    """Parse the cell of a feature: a finite number."""
    word = cell.strip()
    value = float(word) if is_number(word) else math.nan
    if math.isfinite(value):
        return value
    found = f"{word!r} is not a finite number" if word else "nothing"
    raise BadFileError(f"{name}, line {line}, {column}: {found}; expected the value of a feature")


def check_width(name: str, line: int, cells: Sequence[str], expected: int) -> None:
    """Raise if a line has more or fewer cells than the header; the error names the first missing or extra cell."""
    found = len(cells)
    if found != expected:
        problem = "a cell is missing" if found < expected else "an extra cell"
        raise BadFileError(
            f"{name}, line {line}, column {min(found, expected) + 1}: {problem}: {found} cells; expected {expected}, "
            "one for each column of the header"
        )


def check_positions(
    name: str, Y: NDArray[np.float64], lines: Sequence[int], columns: Sequence[Column]
) -> None:
    """Raise if a ranking is invalid; the error names its location in the file."""
    try:
        _core.parse_positions(Y)
    except RankingError as error:
        # Convert row and label, counted from 0, to line and column of the file.
        line = "" if error.row is None else f", line {lines[error.row]}"
        column = "" if error.label is None else f", {columns[error.label]}"
        raise BadFileError(f"{name}{line}{column}: {error.reason}") from None
