"""Reading of rankings from a file: a CSV table of positions, or one ranking per line as text."""

from __future__ import annotations

from bucketrank.csv_reader import BadFileError, CsvTable, is_position_row, read_input
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
    name, text = read_input(path)
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
    return _has_relation(filled[0]) and not is_position_row(filled[1])


def _has_relation(line: str) -> bool:
    return ">" in line or "~" in line


def _from_lines(name: str, lines: list[str]) -> LabelledRankings:
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    try:
        return from_text([line for _, line in numbered])
    except RankingError as error:
        line = "" if error.row is None else f", line {numbered[error.row][0]}"
        raise BadFileError(f"{name}{line}: {error.reason}") from None


def _from_csv(name: str, text: str) -> LabelledRankings:
    table = CsvTable(name, text)
    if len(table.header) < 2:
        raise table.header_error("1 column; expected a column for each of 2 or more labels")
    _, Y = table.read([], range(len(table.header)), row="ranking")
    return LabelledRankings(Y, list(table.header))
