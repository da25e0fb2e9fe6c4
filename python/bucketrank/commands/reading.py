"""Rankings from a file: a CSV table of positions, or one ranking a line as text."""

from __future__ import annotations

import csv
import io
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


class BadFileError(ValueError):
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
    # Not `splitlines`, which also splits at characters that may stand in a name.
    lines = [line.rstrip("\r") for line in text.split("\n")]
    filled = [line for line in lines if line.strip()]
    if not filled:
        raise BadFileError(f"{name}: the file is empty; expected rankings")
    if _is_text(filled):
        return _from_lines(name, lines)
    return _from_csv(name, text)


def _is_text(filled: list[str]) -> bool:
    """Whether the lines are rankings as text; a CSV table may have such characters in its header only."""
    if len(filled) == 1:
        return _has_sign(filled[0])
    if _has_sign(filled[1]):
        return True
    cells = next(csv.reader([filled[1]]))
    return _has_sign(filled[0]) and not all(_is_cell(cell.strip()) for cell in cells)


def _has_sign(line: str) -> bool:
    return ">" in line or "~" in line


def _read_text(path: str) -> tuple[str, str]:
    name = "standard input" if path == "-" else path
    if path == "-" and sys.stdin is None:
        raise BadFileError("standard input is closed; expected rankings")
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
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
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
        if _is_cell(word):
            values.append(math.nan if word.lower() in MISSING else float(word))
        else:
            raise BadFileError(
                f"{name}, line {line}, column {column} ({header[column - 1]}): {word!r} is not a number; "
                "expected a position, or nothing for a missing label"
            )
    try:
        _core.parse_positions(np.array([values]))
    except ValueError as error:
        # The message counts labels from 0 in the only row there is; people look for line and column.
        found = re.match(r"row 0, label (\d+): (.*)", str(error))
        if found is None:
            raise BadFileError(f"{name}, line {line}: {error}") from None
        column = int(found[1])
        where = f"{name}, line {line}, column {column + 1} ({header[column]})"
        raise BadFileError(f"{where}: {found[2]}") from None
    return values


def _is_cell(word: str) -> bool:
    return word.lower() in MISSING or _is_number(word)


def _is_number(word: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|\+?inf", word, re.ASCII) is not None
