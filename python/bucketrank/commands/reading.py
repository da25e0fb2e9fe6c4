"""Reading of rankings from a file: a CSV table of positions, or one ranking per line as text."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

from bucketrank._csv_table import (
    BadFileError,
    Column,
    check_positions,
    check_width,
    column_names,
    decode,
    is_position,
    position,
    records,
)
from bucketrank.errors import RankingError
from bucketrank.notation import LabelledRankings, from_text


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
        The message names file, line and column where applicable.
    """
    name, text = _read_text(path)
    # Not `splitlines`, which also splits at characters that a name may contain.
    lines = [line.rstrip("\r") for line in text.split("\n")]
    filled = [line for line in lines if line.strip()]
    if not filled:
        raise BadFileError(f"{name}: the file is empty; expected rankings")
    if _is_text(filled):
        return _from_lines(name, lines)
    return _from_csv(name, text)


def _is_text(filled: list[str]) -> bool:
    """Whether the lines are rankings as text; a CSV table may contain > and ~ in its header only."""
    if len(filled) == 1:
        return _has_relation(filled[0])
    if _has_relation(filled[1]):
        return True
    return _has_relation(filled[0]) and not _are_positions(filled[1])


def _are_positions(line: str) -> bool:
    try:
        cells = next(csv.reader([line]))
    except csv.Error:
        # A cell exceeds the limit of the csv module: reading the file as a table reports where.
        return True
    return all(is_position(cell.strip()) for cell in cells)


def _has_relation(line: str) -> bool:
    return ">" in line or "~" in line


def _read_text(path: str) -> tuple[str, str]:
    name = "standard input" if path == "-" else path
    if path == "-" and sys.stdin is None:
        raise BadFileError("standard input is closed; expected rankings")
    try:
        raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise BadFileError(f"{name}: {error.strerror or error}") from None
    return name, decode(name, raw)


def _from_lines(name: str, lines: list[str]) -> LabelledRankings:
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    try:
        return from_text([line for _, line in numbered])
    except RankingError as error:
        line = "" if error.row is None else f", line {numbered[error.row][0]}"
        raise BadFileError(f"{name}{line}: {error.reason}") from None


def _from_csv(name: str, text: str) -> LabelledRankings:
    lines = records(name, text)
    first = next(lines, None)
    if first is None:
        raise BadFileError(f"{name}: the file is empty; expected rankings")
    header_line, header = first
    labels = column_names(name, header_line, header)
    if len(labels) < 2:
        raise BadFileError(
            f"{name}, line {header_line}: 1 column; expected a column for each of 2 or more labels"
        )
    columns = [Column(number, label) for number, label in enumerate(labels, start=1)]
    numbers, rows = [], []
    for line, cells in lines:
        check_width(name, line, cells, len(columns))
        cells_of_columns = zip(columns, cells, strict=True)
        rows.append([position(name, line, column, cell) for column, cell in cells_of_columns])
        numbers.append(line)
    if not rows:
        raise BadFileError(
            f"{name}: a header but no rankings; expected one ranking per line below the header"
        )
    Y = np.array(rows)
    check_positions(name, Y, numbers, columns)
    return LabelledRankings(Y, list(labels))
