"""Rankings from a file: a CSV table of positions, or one ranking a line as text."""

from __future__ import annotations

import csv
import math
import re
import sys
from collections.abc import Hashable
from pathlib import Path

import numpy as np

from bucketrank import _core
from bucketrank.notation import LabelledRankings, from_text

MISSING = {"", "nan", "na", "n/a", "null", "none", "?"}
"""Cells that stand for a missing label, in lower case."""


class BadFileError(Exception):
    """A file that cannot be read as rankings; the message says which, where and why."""


def read_rankings(path: str) -> LabelledRankings:
    """Read rankings and the names of their labels.

    Parameters
    ----------
    path : str
        A file, or ``-`` for standard input.

    Returns
    -------
    LabelledRankings

    Raises
    ------
    BadFileError
        With file, line and column where that makes sense.
    """
    name, text = _read_text(path)
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise BadFileError(f"{name}: the file is empty; expected rankings")
    if ">" in first or "~" in first:
        return _from_lines(name, lines)
    return _from_csv(name, text)


def _read_text(path: str) -> tuple[str, str]:
    name = "standard input" if path == "-" else path
    try:
        raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise BadFileError(f"{name}: {error.strerror or error}") from None
    try:
        return name, raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        raise BadFileError(
            f"{name}, line {line}, byte {column}: 0x{raw[error.start]:02x} is not UTF-8; expected text in UTF-8"
        ) from None


def _from_lines(name: str, lines: list[str]) -> LabelledRankings:
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    try:
        return from_text([line for _, line in numbered])
    except ValueError as error:
        # The message counts rankings from 0; people count the lines of their file.
        found = re.match(r"row (\d+): (.*)", str(error))
        if found is None:
            raise BadFileError(f"{name}: {error}") from None
        number = numbered[int(found[1])][0]
        raise BadFileError(f"{name}, line {number}: {found[2]}") from None


def _from_csv(name: str, text: str) -> LabelledRankings:
    reader = csv.reader(text.splitlines(), strict=True)
    header: list[Hashable] | None = None
    rows: list[list[float]] = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells) and len(cells) < 2:
                continue
            if header is None:
                header = _header(name, reader.line_num, cells)
                continue
            rows.append(_row(name, reader.line_num, cells, header))
    except csv.Error as error:
        raise BadFileError(f"{name}, line {reader.line_num}: {error}") from None
    if header is None or not rows:
        raise BadFileError(
            f"{name}: a header but no rankings; expected one ranking a line below the header"
        )
    return LabelledRankings(np.array(rows), header)


def _header(name: str, line: int, cells: list[str]) -> list[Hashable]:
    labels = [cell.strip() for cell in cells]
    if len(labels) < 2:
        raise BadFileError(
            f"{name}, line {line}: {len(labels)} column; expected a column for each of 2 or more labels"
        )
    for column, label in enumerate(labels, start=1):
        if not label:
            raise BadFileError(
                f"{name}, line {line}, column {column}: no name; expected the name of a label"
            )
        first = labels.index(label) + 1
        if first < column:
            raise BadFileError(
                f"{name}, line {line}, column {column}: {label!r} names column {first} already; "
                "expected a different name for each label"
            )
    if all(_is_number(label) for label in labels):
        raise BadFileError(
            f"{name}, line {line}: only numbers; expected a header with the names of the labels"
        )
    return list(labels)


def _row(name: str, line: int, cells: list[str], header: list[Hashable]) -> list[float]:
    if len(cells) != len(header):
        raise BadFileError(
            f"{name}, line {line}: {len(cells)} cells; expected {len(header)}, one for each label of the header"
        )
    values = []
    for column, cell in enumerate(cells, start=1):
        word = cell.strip()
        if word.lower() in MISSING:
            values.append(math.nan)
        elif _is_number(word):
            values.append(float(word))
        else:
            raise BadFileError(
                f"{name}, line {line}, column {column} ({header[column - 1]}): {word!r} is not a number; "
                "expected a position, or nothing for a missing label"
            )
    try:
        _core.parse_positions(np.array([values]))
    except ValueError as error:
        raise BadFileError(f"{name}, line {line}: {_without_row(error)}") from None
    return values


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _without_row(error: ValueError) -> str:
    """Drop the row from a message: it was the only row, and the line is said already."""
    text = str(error)
    for start in ("row 0: ", "row 0, "):
        text = text.removeprefix(start)
    return text
