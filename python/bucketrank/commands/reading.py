"""Reading of rankings from a file: a CSV table of positions, a PrefLib file, or one ranking per line as text."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from bucketrank import _core
from bucketrank._phrases import pluralize
from bucketrank._validation import zeros_to_nan
from bucketrank.csv_reader import CsvTable, is_position_row, read_input
from bucketrank.csv_records import BadFileError
from bucketrank.errors import RankingError
from bucketrank.notation import from_text
from bucketrank.preflib import WeightedRankings, is_preflib, parse_preflib
from bucketrank.suggest import nearest_first


def read_rankings(
    path: str, labels: Sequence[str] | None = None, weights: str | None = None
) -> WeightedRankings:
    """Read rankings, the names of their labels and the weights of the rows from a file, or ``-`` for standard input.

    `labels` are the labels to read, in this order; by default all. `weights` is the column of a CSV table with the
    weights of the rows; all other columns are labels by default.
    """
    return parse_rankings(*read_input(path), labels, weights)


def parse_rankings(
    name: str, text: str, labels: Sequence[str] | None = None, weights: str | None = None
) -> WeightedRankings:
    """Return the rankings in a text as :func:`read_rankings` does; `name` is the name of the file, for messages."""
    # Not `splitlines`, which also splits at characters that a name may contain.
    lines = [line.rstrip("\r") for line in text.split("\n")]
    filled = [line for line in lines if line.strip()]
    if not filled:
        raise BadFileError(f"{name}: the file is empty; expected rankings")
    if is_preflib(name, text):
        found = parse_preflib(name, text)
    elif _is_text(filled):
        found = _from_lines(name, lines)
    else:
        return _from_csv(name, text, labels, weights)
    if weights is not None:
        raise BadFileError(
            f"{name}: no column {weights!r}, because the file is not a CSV table; only CSV tables have weight columns"
        )
    return found if labels is None else _select(name, found, labels)


def _select(name: str, found: WeightedRankings, labels: Sequence[str]) -> WeightedRankings:
    """Return the rankings of some of the labels only."""
    known = [str(label) for label in found.labels]
    columns = [_column(name, known, label) for label in labels]
    _check_columns(name, columns, known)
    chosen = np.ascontiguousarray(found.positions[:, columns], dtype=np.float64)
    positions = zeros_to_nan(_core.parse_positions(chosen))
    return WeightedRankings(positions, [known[i] for i in columns], found.weights)


def _column(name: str, known: Sequence[str], wanted: str, noun: str = "label") -> int:
    """Return the index of a name among the known ones; the error calls the name a `noun`."""
    if wanted not in known:
        near = ", ".join(nearest_first(wanted, known))
        raise BadFileError(f"{name}: no {noun} {wanted!r}; it has: {near}")
    return list(known).index(wanted)


def _check_columns(name: str, columns: Sequence[int], names: Sequence[str]) -> None:
    if len(columns) < 2:
        raise BadFileError(f"{name}: {len(columns)} label; expected at least 2 labels to compare")
    for i, column in enumerate(columns):
        if column in columns[:i]:
            raise BadFileError(f"{name}: --labels names {names[column]!r} twice")


def _is_text(filled: list[str]) -> bool:
    """Whether the lines are rankings as text; a CSV table may contain > and ~ in its header only."""
    if len(filled) == 1:
        return _has_relation(filled[0])
    if _has_relation(filled[1]):
        return True
    return _has_relation(filled[0]) and not is_position_row(filled[1])


def _has_relation(line: str) -> bool:
    return ">" in line or "~" in line


def _from_lines(name: str, lines: list[str]) -> WeightedRankings:
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    try:
        return WeightedRankings(*from_text([line for _, line in numbered]), None)
    except RankingError as error:
        line = "" if error.row is None else f", line {numbered[error.row][0]}"
        raise BadFileError(f"{name}{line}: {error.reason}") from None


def _from_csv(
    name: str, text: str, labels: Sequence[str] | None, weights: str | None
) -> WeightedRankings:
    table = CsvTable(name, text)
    header = table.header
    weight_columns = [] if weights is None else [_column(name, header, weights, "column")]
    if labels is None:
        columns = [column for column in range(len(header)) if column not in weight_columns]
    else:
        columns = [_column(name, header, label) for label in labels]
        _check_columns(name, columns, header)
        if set(columns).intersection(weight_columns):
            raise table.header_error(f"{weights!r} is both a label and the column of the weights")
    if len(columns) < 2:
        raise table.header_error(
            f"{pluralize(len(columns), 'column')}; expected a column for each of 2 or more labels"
        )
    try:
        # The table reader returns features X and positions Y; the column of the weights is read as the only feature.
        X, Y = table.read(weight_columns, columns, row="ranking", value="a weight")
    except BadFileError as error:
        hint = "; --labels names the columns with positions if the table also has other columns"
        raise BadFileError(f"{error}{hint if labels is None else ''}") from None
    names: list[Hashable] = [header[i] for i in columns]
    if not weight_columns:
        return WeightedRankings(Y, names, None)
    numbers = np.ascontiguousarray(X[:, 0])
    try:
        _core.check_weights(numbers, len(Y))
    except RankingError as error:
        raise table.weight_error(error, weight_columns[0]) from None
    return WeightedRankings(Y, names, numbers)
