"""Reader of comparisons, such as arena battles, from CSV and JSON files."""

from __future__ import annotations

import io
import itertools
import json
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bucketrank._validation import is_missing
from bucketrank.comparisons import Comparisons, from_comparisons
from bucketrank.csv_reader import CsvColumn, check_width, read_text
from bucketrank.csv_records import BadFileError, records

__all__ = ["BattleFile", "read_battles"]

_COMPRESSED = (".gz", ".bz2", ".zip", ".xz", ".zst", ".tar")
"""Endings of files that pandas decompresses."""

_ROW = re.compile(r"row (\d+): (.*)", re.DOTALL)
"""Message of an error in one row, counted from 0."""


def read_battles(
    path: Any,
    *,
    first: str = "model_a",
    second: str = "model_b",
    outcome: str = "winner",
    weight: str | None = None,
    group: str | None = None,
    covariates: Any = None,
    outcomes: Any = None,
) -> Comparisons:
    r"""Read comparisons from a CSV or JSON file, such as the published battles of chatbot arenas; needs pandas.

    Parameters
    ----------
    path : str or Path
        A CSV file, a JSON file with a list of records or an object of columns, or a file with one JSON record per line
        (``.jsonl``).
    first, second, outcome : str
        Names of the columns; the defaults are those of the arena files.
    weight, group : str, optional
        Names of the columns with weights and groups.
    covariates : list of str, optional
        Names of the columns with covariates: the value of the first label minus that of the second.
    outcomes : mapping, optional
        See :func:`bucketrank.from_comparisons`.

    Returns
    -------
    Comparisons

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bucketrank.datasets import read_battles
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "games.csv")
    ...     _ = path.write_text("model_a,model_b,winner\nada,bob,model_a\nbob,ada,tie\n")
    ...     len(read_battles(path))
    2
    """
    return BattleFile(str(path), path=path).read(
        outcomes,
        first=first,
        second=second,
        outcome=outcome,
        weight=weight,
        group=group,
        covariates=covariates,
    )


class BattleFile:
    """A CSV or JSON file of comparisons, given by its path or by its text.

    Attributes
    ----------
    name : str
        Name of the file, for messages.
    form : {"csv", "json", "jsonl"}
        By the ending of the path; of a text, by its first character.
    """

    def __init__(self, name: str, *, path: Any = None, text: str | None = None) -> None:
        self.name = name
        self._path = path
        self._text = text
        self.form = Path(name).suffix[1:] if text is None else _form(text)
        if self.form not in ("json", "jsonl"):
            self.form = "csv"

    def read(self, outcomes: Any = None, **columns: Any) -> Comparisons:
        """Read the comparisons; `columns` maps arguments of :func:`from_comparisons` to names of columns."""
        from bucketrank._optional import import_pandas

        pd = import_pandas("read_battles")
        try:
            frame = self._read_frame(pd, columns)
            return from_comparisons(**columns, outcomes=outcomes, data=frame)
        except BadFileError:
            raise
        except OSError as error:
            raise BadFileError(f"{self.name}: {error.strerror or error}") from None
        except EOFError:
            raise BadFileError(f"{self.name}: the compressed file ends too early") from None
        except (UnicodeDecodeError, pd.errors.EmptyDataError, pd.errors.ParserError) as error:
            self._check_cells()
            raise BadFileError(f"{self.name}: {str(error).strip()}") from error
        except (TypeError, ValueError) as error:
            raise BadFileError(self._message(str(error).strip(), columns)) from error

    def _read_frame(self, pd: Any, columns: dict[str, Any]) -> Any:
        # Groups are read as texts, because 001 and 1 are different groups.
        named = [columns[argument] for argument in ("first", "second", "group")]
        texts = [column for column in named if column is not None]
        if self.form == "csv":
            return _read_csv(pd, self._source, texts, _number_columns(columns))
        rows = _read_json(self._read_text(), texts, is_lines=self.form == "jsonl")
        return pd.DataFrame(rows, dtype=object).infer_objects()

    def _source(self) -> Any:
        """Return what pandas reads: the path, which may be that of a compressed file, or the text."""
        return self._path if self._text is None else io.StringIO(self._text)

    def _read_text(self) -> str:
        return read_text(self._path) if self._text is None else self._text

    def _check_cells(self) -> None:
        """Raise for the first problem of a CSV table, with line and column, which errors of pandas do not name."""
        if Path(self.name).suffix.lower() in _COMPRESSED:
            return
        rows = records(self.name, self._read_text())
        _, header = next(rows, (0, []))
        if not header:
            raise BadFileError(
                f"{self.name}: the file is empty; expected a header and one comparison per row"
            )
        for line, cells in rows:
            # A comma at the end of all lines is allowed.
            if any(cells[len(header) :]):
                check_width(self.name, line, cells, len(header))

    def _message(self, message: str, columns: dict[str, Any]) -> str:
        """Return the message of an error, with the line and the column of the file instead of the row."""
        found = _ROW.fullmatch(message)
        location = None if found is None else self._locate(int(found[1]), found[2], columns)
        if found is None or location is None:
            return f"{self.name}: {message}"
        return f"{self.name}, {location}: {found[2]}"

    def _locate(self, row: int, reason: str, columns: dict[str, Any]) -> str | None:
        """Return line and column of an error in a row; None if the file has no lines of rows or cannot be read."""
        if self.form == "json":
            return None
        try:
            text = self._read_text()
            if self.form == "jsonl":
                return f"line {next(itertools.islice(_filled_lines(text), row, None))[0]}"
            cells = records(self.name, text)
            header = [cell.strip() for cell in next(cells)[1]]
            line = next(itertools.islice(cells, row, None))[0]
        except (BadFileError, StopIteration):
            # A compressed file, or one that pandas reads in another way.
            return None
        column = _column_of(reason, columns)
        if column not in header:
            return f"line {line}"
        return f"line {line}, {CsvColumn(header.index(column) + 1, column)}"


def _form(text: str) -> str:
    """Return the form of a text: JSON (a list, or an object of columns), one JSON record per line, or CSV."""
    start = text.lstrip()[:1]
    if start != "{":
        return "json" if start == "[" else "csv"
    try:
        first = json.loads(next(_filled_lines(text))[1])
    except (ValueError, RecursionError):
        # An object that takes several lines.
        return "json"
    return "json" if _are_columns(first) else "jsonl"


def _number_columns(columns: dict[str, Any]) -> dict[str, str]:
    """Return the columns that are read as numbers, and how messages of :func:`from_comparisons` name them."""
    given = columns["covariates"] or []
    named = {name: f"covariate {name!r}" for name in ([given] if isinstance(given, str) else given)}
    return named if columns["weight"] is None else {**named, columns["weight"]: "weight"}


def _column_of(reason: str, columns: dict[str, Any]) -> str | None:
    """Return the column that an error of :func:`from_comparisons` is about, or None if it is not one column."""
    arguments = ("first", "second", "outcome", "group")
    named = {columns[argument]: argument for argument in arguments} | _number_columns(columns)
    return next((name for name in named if reason.startswith(f"{named[name]} ")), None)


def _read_json(text: str, texts: list[str], *, is_lines: bool) -> dict[str, list[Any]]:
    """Read records as columns; numbers in the columns `texts` become texts."""
    if is_lines:
        records = [_parse_json(line, f"line {number}: ") for number, line in _filled_lines(text)]
    else:
        records = _parse_json(text, "")
    columns = _columns(records)
    for column in columns.keys() & texts:
        columns[column] = [
            str(cell) if isinstance(cell, (int, float)) and not is_missing(cell) else cell
            for cell in columns[column]
        ]
    return columns


def _columns(records: Any) -> dict[str, list[Any]]:
    """Return the cells of records by column."""
    if _are_columns(records):
        # pandas writes columns with an index, as objects.
        return {
            column: list(cells.values()) if isinstance(cells, dict) else cells
            for column, cells in records.items()
        }
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise ValueError("expected a list of records, or one record per line in a .jsonl file")
    names = dict.fromkeys(column for record in records for column in record)
    return {column: [record.get(column) for record in records] for column in names}


def _are_columns(value: Any) -> bool:
    """Whether a JSON value is an object of columns, each an object or a list."""
    if not isinstance(value, dict) or not value:
        return False
    return all(isinstance(cells, (dict, list)) for cells in value.values())


def _filled_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that is not blank."""
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _parse_json(text: str, location: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{location}{error}") from None
    except RecursionError:
        raise ValueError(f"{location}the values are nested too deeply") from None


def _read_csv(pd: Any, source: Callable[[], Any], texts: list[str], numbers: dict[str, str]) -> Any:
    """Read a CSV table; cells of the columns `texts` are texts without the spaces around them, or missing.

    A cell of the columns `numbers` that is not a number is an error.
    """
    header = pd.read_csv(source(), header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0]
    columns = [cell.strip() or f"column {number}" for number, cell in enumerate(header, start=1)]
    for number, column in enumerate(columns, start=1):
        if column in columns[: number - 1]:
            raise ValueError(
                f"column {number}: {column!r} is already the name of column {columns.index(column) + 1}; expected a "
                "different name for each column"
            )
    with warnings.catch_warnings():
        # pandas warns when it leaves out the cells of rows that are longer than the header.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(
                source(),
                header=0,
                names=columns,
                index_col=False,
                dtype=dict.fromkeys(texts, str),
                # An empty cell is missing, but a label may be called "NA".
                keep_default_na=False,
                na_values=[""],
                skipinitialspace=True,
            )
        except pd.errors.ParserWarning:
            raise pd.errors.ParserError(
                f"a row has more cells than the header; expected {len(columns)} cells per row"
            ) from None
    _check_numbers(pd, frame, numbers)
    for column in texts:
        if column in columns and any(
            cell != cell.strip() for cell in _distinct_texts(frame[column])
        ):
            stripped = frame[column].str.strip()
            frame[column] = stripped.mask(stripped == "")
    return frame


def _distinct_texts(column: Any) -> list[str]:
    return [cell for cell in column.unique() if isinstance(cell, str)]


def _check_numbers(pd: Any, frame: Any, numbers: dict[str, str]) -> None:
    """Raise for the first cell of a column of numbers that is a text."""
    for column, noun in numbers.items():
        if column not in frame.columns or pd.api.types.is_numeric_dtype(frame[column]):
            continue
        cells = frame[column]
        is_text = pd.to_numeric(cells, errors="coerce").isna() & cells.notna()
        if is_text.any():
            row = int(is_text.to_numpy().argmax())
            raise ValueError(f"row {row}: {noun} {cells.iloc[row]!r:.60}; expected a number")
