"""Reading and writing of PrefLib files: elections and surveys with counted ballots.

A ballot is a ranking of the alternatives, which become the labels.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank import _core
from bucketrank._exact_numbers import is_rounded_integer
from bucketrank._files import write_file
from bucketrank._validation import Positions, as_positions, as_weights, label_names, zeros_to_nan
from bucketrank.csv_reader import read_text
from bucketrank.csv_records import BadFileError
from bucketrank.preflib_header import PREFLIB_TYPES, PreflibHeader

__all__ = ["PREFLIB_TYPES", "WeightedRankings", "read_preflib", "write_preflib"]

_BALLOT = re.compile(r"\s*([^:\s]+)\s*:(.*)")
_COUNT = re.compile(r"\+?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_BUCKET = re.compile(r"\s*(?:\{([\d\s,]*)\}|(\d+))\s*(?:,(?=.)|$)", re.ASCII)
"""A bucket with the comma after it; the ballot must not end with a comma."""


class WeightedRankings(NamedTuple):
    """Rankings with the names of the labels and a weight per row.

    Attributes
    ----------
    positions : ndarray of shape (n_rankings, n_labels)
        ``int64``, or ``float64`` with NaN for labels that are not ranked.
    labels : list
        Name of each column.
    weights : ndarray of shape (n_rankings,), or None
        Number of ballots per row; None if all rows count once.

    Examples
    --------
    >>> import tempfile
    >>> from bucketrank import read_preflib, write_preflib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_preflib(f"{folder}/drinks.toc", [[1, 2, 2], [1, 2, 2]], labels=["tea", "coffee", "juice"])
    ...     rankings = read_preflib(f"{folder}/drinks.toc")
    >>> rankings.labels, rankings.weights.tolist()
    (['tea', 'coffee', 'juice'], [2.0])
    """

    positions: Positions
    labels: list[Hashable]
    weights: NDArray[np.float64] | None


def read_preflib(path: str | os.PathLike[str]) -> WeightedRankings:
    """Read a PrefLib file of type soc, soi, toc, toi or cat.

    Counts become weights, names of alternatives become labels. In soi and toi files, alternatives that a ballot does
    not mention are not ranked (NaN). In cat files, the categories are positions; alternatives in the same category
    are tied.

    Parameters
    ----------
    path : str or path-like
        A file whose header has lines ``# KEY: value``, which is PrefLib's format since 2022.

    Returns
    -------
    WeightedRankings

    Raises
    ------
    BadFileError
        If the file is invalid, or its header states other numbers of voters or of unique orders than the ballots have;
        the message names file and line.

    References
    ----------
    N. Mattei and T. Walsh, "PrefLib: a library for preferences", Algorithmic Decision Theory 2013; https://preflib.org.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "drinks.toi")
    ...     write_preflib(file, [[1, 2, 2], [2, 1, np.nan]], labels=["tea", "coffee", "juice"], weights=[5, 3])
    ...     Y, labels, weights = read_preflib(file)
    >>> labels, weights
    (['tea', 'coffee', 'juice'], array([5., 3.]))
    >>> Y
    array([[ 1.,  2.,  2.],
           [ 2.,  1., nan]])
    """
    return parse_preflib(str(path), read_text(path))


def is_preflib(path: str, text: str) -> bool:
    """Return whether a file has the name or the header of a PrefLib file."""
    if Path(path).suffix.lower()[1:] in PREFLIB_TYPES:
        return True
    return text.startswith("#") and "# NUMBER ALTERNATIVES:" in text


def parse_preflib(name: str, text: str) -> WeightedRankings:
    """Return the rankings in the text of a PrefLib file; `name` appears in messages."""
    lines = list(_numbered_lines(text))
    header = PreflibHeader(name, lines)
    labels = header.labels()
    kind = header.data_type()
    rows: list[NDArray[np.float64]] = []
    counts: list[float] = []
    for number, line in lines:
        if line.startswith("#"):
            continue
        ballot = _BALLOT.fullmatch(line)
        location = f"{name}, line {number}"
        if ballot is None:
            raise BadFileError(
                f"{location}: {line[:60]!r}; expected a count, a colon and a ballot, such as '12: 3,{{1,2}}'"
            )
        counts.append(_parse_count(location, ballot[1]))
        rows.append(_parse_ballot(location, ballot[2], len(labels), kind))
    if not rows:
        raise BadFileError(f"{name}: no ballots; expected lines such as '12: 3,1,2'")
    header.check_counts(counts, rows)
    weights = np.array(counts)
    return WeightedRankings(
        zeros_to_nan(_core.parse_positions(np.array(rows))),
        labels,
        None if (weights == 1).all() else weights,
    )


def _numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line.strip()


def _parse_count(location: str, word: str) -> float:
    count = float(word) if _COUNT.fullmatch(word) else math.nan
    if not 0 < count < math.inf:
        raise BadFileError(f"{location}: count {word[:60]!r}; expected a number above 0")
    if is_rounded_integer(word, count):
        raise BadFileError(
            f"{location}: count {word[:60]!r} cannot be read exactly; expected at most 2**53"
        )
    return count


def _parse_ballot(location: str, text: str, n_labels: int, kind: str) -> NDArray[np.float64]:
    row = np.full(n_labels, np.nan)
    for position, bucket in enumerate(_parse_buckets(location, text), start=1):
        if len(bucket) > 1 and kind in ("soc", "soi"):
            raise BadFileError(
                f"{location}: alternatives {bucket[0]} and {bucket[1]} are tied; "
                f"expected strict orders in a {kind} file"
            )
        for alternative in bucket:
            if not 1 <= alternative <= n_labels:
                raise BadFileError(
                    f"{location}: alternative {alternative}; expected a number from 1 to {n_labels}"
                )
            if not math.isnan(row[alternative - 1]):
                raise BadFileError(f"{location}: alternative {alternative} appears twice")
            row[alternative - 1] = position
    absent = np.flatnonzero(np.isnan(row))
    if kind in ("soc", "toc") and len(absent):
        raise BadFileError(
            f"{location}: alternative {absent[0] + 1} is missing; expected complete orders in a {kind} file"
        )
    return row


def _parse_buckets(location: str, text: str) -> Iterator[list[int]]:
    """Yield the alternatives of each bucket or category; a category may be empty."""
    text = text.strip()
    start = 0
    while start < len(text):
        found = _BUCKET.match(text, start)
        if found is None:
            raise BadFileError(
                f"{location}: {text[start:].lstrip()[:60]!r}; expected alternatives such as 3 or {{1,2}}, "
                "separated by commas"
            )
        inside = found[2] if found[1] is None else found[1]
        words = [word.strip() for word in inside.split(",")] if inside.strip() else []
        # A word may be empty, or contain a space.
        if not all(word.isdecimal() and len(word) < 10 for word in words):
            raise BadFileError(f"{location}: {inside[:60]!r}; expected numbers of alternatives")
        yield [int(word) for word in words]
        start = found.end()


def write_preflib(
    path: str | os.PathLike[str],
    Y: Any,
    *,
    labels: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
    title: str = "",
) -> None:
    """Write rankings to a PrefLib file; equal rankings become one line with their count.

    Parameters
    ----------
    path : str or path-like
        The ending decides the data type: ``.soc`` (strict and complete), ``.soi`` (strict), ``.toc`` (complete),
        ``.toi`` (any ranking) or ``.cat`` (buckets as categories).
    Y : array-like or DataFrame of shape (n_rankings, n_labels)
        Positions; NaN for missing labels.
    labels : sequence, optional
        Names of the labels; by default a DataFrame's columns, or 0, 1, ...
    weights : array-like of shape (n_rankings,), optional
        Whole numbers of ballots; by default each row counts once.
    title : str, default ""
        Title in the header.

    Raises
    ------
    ValueError
        If a ranking has ties or missing labels that the data type does not allow, ranks no label, or has a weight that
        is not a whole number.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "drinks.toc")
    ...     write_preflib(path, [[1, 2, 2], [1, 2, 2]], labels=["tea", "coffee", "juice"])
    ...     print(path.read_text().splitlines()[-1])
    2: 1,{2,3}
    """
    file = Path(path)
    kind = file.suffix.lower()[1:]
    if kind not in PREFLIB_TYPES:
        raise ValueError(
            f"{file}: ending {file.suffix!r}; expected one of {', '.join('.' + t for t in PREFLIB_TYPES)}"
        )
    array = as_positions(Y)
    names = [_one_line(name) for name in label_names(Y, labels, array.shape[1])]
    positions = _core.parse_positions(array)
    ballots = _count_ballots(positions, _whole_weights(weights, len(positions)), kind)
    header = {
        "FILE NAME": file.name,
        "TITLE": _one_line(title),
        "DATA TYPE": kind,
        "NUMBER ALTERNATIVES": len(names),
        "NUMBER VOTERS": sum(ballots.values()),
        f"NUMBER UNIQUE {'PREFERENCES' if kind == 'cat' else 'ORDERS'}": len(ballots),
    }
    if kind == "cat":
        n_categories = int(positions.max())
        header["NUMBER CATEGORIES"] = n_categories
        header |= {f"CATEGORY NAME {i}": f"Category {i}" for i in range(1, n_categories + 1)}
    header |= {f"ALTERNATIVE NAME {i}": name for i, name in enumerate(names, start=1)}
    lines = [f"# {key}: {value}" for key, value in header.items()]
    # PrefLib lists frequent ballots first; equal counts keep their order.
    ranked = sorted(ballots.items(), key=lambda item: -item[1])
    lines += [f"{count}: {ballot}" for ballot, count in ranked]
    write_file(file, "\n".join(lines) + "\n")


def _one_line(text: Hashable) -> str:
    return " ".join(str(text).split())


def _whole_weights(weights: ArrayLike | None, rows: int) -> list[int]:
    numbers = as_weights(weights)
    if numbers is None:
        return [1] * rows
    # `check_weights` may return scaled weights, so only its checks are used.
    _core.check_weights(numbers, rows)
    for row, number in enumerate(numbers):
        if number != int(number):
            raise ValueError(f"row {row}: weight {number}; expected whole numbers of ballots")
    return [int(number) for number in numbers]


def _count_ballots(
    positions: NDArray[np.int64], weights: Sequence[int], kind: str
) -> dict[str, int]:
    """Return the number of occurrences of each ballot, by the text of the ballot; rows of weight 0 are left out."""
    ballots: dict[str, int] = {}
    # A ballot of categories names all of them; those behind its last alternative are empty.
    n_buckets = positions.max(axis=1) if kind != "cat" else np.full(len(positions), positions.max())
    for row, weight in enumerate(weights):
        if weight:
            text = _ballot_text(positions[row], row, kind, int(n_buckets[row]))
            ballots[text] = ballots.get(text, 0) + weight
    return ballots


def _ballot_text(positions: NDArray[np.int64], row: int, kind: str, n_buckets: int) -> str:
    if not positions.any():
        raise ValueError(f"row {row} ranks no label; expected at least one")
    if kind in ("soc", "toc") and not positions.all():
        label = int(np.flatnonzero(positions == 0)[0])
        raise ValueError(
            f"row {row}, label {label}: position missing (NaN), which a {kind} file cannot hold; use the ending "
            f".{kind[:2]}i"
        )
    buckets = [np.flatnonzero(positions == p) + 1 for p in range(1, n_buckets + 1)]
    if kind in ("soc", "soi"):
        tied = next((bucket for bucket in buckets if len(bucket) > 1), None)
        if tied is not None:
            raise ValueError(
                f"row {row}: labels {tied[0] - 1} and {tied[1] - 1} are tied, which a {kind} file cannot hold; use the "
                f"ending .t{kind[1:]}"
            )
    texts = [",".join(map(str, bucket.tolist())) for bucket in buckets]
    return ",".join(
        text if len(bucket) == 1 else f"{{{text}}}"
        for text, bucket in zip(texts, buckets, strict=True)
    )
