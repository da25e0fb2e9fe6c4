"""Lines and cells of CSV text; errors name file, line and column."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator

_LINE_END = re.compile(r"\r\n|\r|\n")
_PLAIN = re.compile(r"[^,\r\n]*")
_QUOTED = re.compile(r'"(?:[^"]|"")*')
"""A quoted cell up to its closing quote; inside, a quote is written twice."""


class BadFileError(ValueError):
    """A file that cannot be read; the message names the file, the location in it and the reason.

    Examples
    --------
    >>> from bucketrank.datasets import BadFileError, read_csv
    >>> try:
    ...     read_csv("no such file.csv")
    ... except BadFileError as error:
    ...     print(type(error).__bases__[0].__name__)
    ValueError
    """


def decode(name: str, raw: bytes) -> str:
    """Decode UTF-8 with or without a byte order mark."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Positions in the error start after the byte order mark.
        before = error.object[: error.start].decode()
        *above, last = _LINE_END.split(before)
        raise BadFileError(
            f"{name}, line {len(above) + 1}, column {len(last) + 1} (byte {len(last.encode()) + 1} of the line): "
            f"0x{error.object[error.start]:02x} is not UTF-8; expected text in UTF-8"
        ) from None


def records(name: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each line that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    read = 0
    try:
        for cells in reader:
            read = reader.line_num
            # A line of spaces is blank, but a line with only "" is an empty cell of a table with one column.
            if len(cells) > 1 or any(cell.strip() or not cell for cell in cells):
                yield read, cells
    except csv.Error as error:
        lines = itertools.islice(io.StringIO(text, newline=""), read, None)
        where, problem = _bad_cell("".join(lines), read + 1) or (f"line {read + 1}", str(error))
        raise BadFileError(f"{name}, {where}: {problem}") from None


def _bad_cell(rest: str, line: int) -> tuple[str, str] | None:
    """Return the location and the problem of the first invalid cell in the first record of `rest`."""
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


def _problem(cell: str, after: str, *, quoted: bool) -> str:
    """Return the problem of a cell, given the two characters after it; empty if it is valid."""
    if quoted and not after:
        return "a quote is opened but never closed; expected a closing quote"
    if quoted and after[1:] not in ("", ",", "\r", "\n"):
        return f"{after[1]!r} after a closing quote; expected a comma or the end of the line"
    limit = csv.field_size_limit()
    if len(cell) > limit:
        return f"a cell of {len(cell)} characters; expected at most {limit}"
    return ""


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return start if found is None else found.end()
