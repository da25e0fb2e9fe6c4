"""Conversion of rankings to and from lists of buckets and text such as ``a > b ~ c``."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bucketrank import _core
from bucketrank._phrases import pluralize
from bucketrank._validation import (
    Positions,
    as_number_array,
    as_positions,
    check_labels,
    describe_value,
    is_name,
    label_names,
    zeros_to_nan,
)
from bucketrank.errors import RankingError
from bucketrank.tables.escape import escape_text

__all__ = ["LabelledRankings", "from_buckets", "from_text", "to_buckets", "to_text"]

_BEFORE, _TIED = ">", "~"
_SIGNS = (_BEFORE, _TIED, "\n")


class LabelledRankings(NamedTuple):
    """Positions together with the names of their columns.

    Attributes
    ----------
    positions : ndarray of shape (n_rankings, n_labels)
        ``int64``, or ``float64`` with NaN for missing labels.
    labels : list
        Name of each column.

    Examples
    --------
    >>> from bucketrank import from_text
    >>> rankings = from_text(["a > b ~ c", "b > a"])
    >>> rankings.labels
    ['a', 'b', 'c']
    >>> rankings.positions
    array([[ 1.,  2.,  2.],
           [ 2.,  1., nan]])
    """

    positions: Positions
    labels: list[Hashable]


def to_buckets(Y: Any, labels: Sequence[Hashable] | None = None) -> list[Any]:
    """Write positions as lists of buckets, best bucket first.

    Parameters
    ----------
    Y : array-like of shape (n_labels,) or (n_rankings, n_labels), Series or DataFrame
        Positions; missing labels are left out.
    labels : sequence, optional
        Names of the labels; by default a DataFrame's columns, a Series' index, or 0, 1, ...

    Returns
    -------
    list
        For one ranking a list of buckets, each a list of label names; for several a list of such lists.

    Examples
    --------
    >>> to_buckets([2, 1, 2], labels=["a", "b", "c"])
    [['b'], ['a', 'c']]
    >>> to_buckets([[1, 2], [1, 1]])
    [[[0], [1]], [[0, 1]]]
    """
    rows, names, single = _named_rows(Y, labels)
    buckets = [_row_buckets(row, names) for row in rows]
    return buckets[0] if single else buckets


def to_text(Y: Any, labels: Sequence[Hashable] | None = None) -> Any:
    """Write positions as text: ``>`` for "before", ``~`` for "tied".

    Parameters
    ----------
    Y : array-like of shape (n_labels,) or (n_rankings, n_labels), Series or DataFrame
        Positions; missing labels are left out.
    labels : sequence, optional
        Names of the labels; by default a DataFrame's columns, a Series' index, or 0, 1, ...

    Returns
    -------
    str or list of str
        A string for one ranking, a list for several. A ranking without labels is the empty string.

    Examples
    --------
    >>> to_text([1, 2, 2, 3], labels="abcd")
    Traceback (most recent call last):
        ...
    TypeError: labels is the string 'abcd'; expected a list of names
    >>> to_text([1, 2, 2, 3], labels=list("abcd"))
    'a > b ~ c > d'
    """
    rows, names, single = _named_rows(Y, labels)
    words = [_word(name) for name in names]
    check_labels(words)
    texts = [_row_text(row, words) for row in rows]
    return texts[0] if single else texts


def to_display_text(Y: Any, labels: Sequence[Hashable] | None = None) -> Any:
    """Write positions as text for display only.

    Names that :func:`to_text` rejects are quoted, as in ``"a>x" > b``; :func:`from_text` cannot read such a text.
    """
    rows, names, single = _named_rows(Y, labels)
    texts = [_row_text(row, [_quote_if_needed(name) for name in names]) for row in rows]
    return texts[0] if single else texts


def from_buckets(
    rankings: Iterable[Iterable[Iterable[Hashable]]], labels: Sequence[Hashable] | None = None
) -> LabelledRankings:
    """Read positions from lists of buckets, best bucket first.

    Parameters
    ----------
    rankings : iterable of rankings
        Each a list of buckets, each a list of label names. Labels that a ranking omits are missing. With
        `labels`, a bucket may also be a set.
    labels : sequence, optional
        Label names in the order of the columns; by default in order of first appearance.

    Returns
    -------
    LabelledRankings
        Unpacks into ``positions, labels``.

    Examples
    --------
    >>> Y, labels = from_buckets([[["b"], ["a", "c"]], [["a"], ["b"], ["c"]]], labels=["a", "b", "c"])
    >>> Y
    array([[2, 1, 2],
           [1, 2, 3]])
    """
    rows = [
        [
            _bucket(bucket, row, labels)
            for bucket in _items(ranking, f"row {row}", "a list of buckets")
        ]
        for row, ranking in enumerate(_items(rankings, "rankings", "a list of rankings"))
    ]
    if not rows:
        raise RankingError("found 0 rankings; expected at least one", found=0)
    names = check_labels(_names_in_order(rows) if labels is None else labels)
    column = {name: index for index, name in enumerate(names)}
    positions = np.zeros((len(rows), len(names)), dtype=np.int64)
    for row, buckets in enumerate(rows):
        for position, bucket in enumerate(buckets, start=1):
            for name in bucket:
                index = _column_of(name, column, names, row)
                if positions[row, index]:
                    raise _row_error(row, f"label {name!r} appears twice in the ranking", name)
                positions[row, index] = position
    if len(names) < 2:
        raise RankingError(
            f"found {pluralize(len(names), 'label')}; expected at least 2", found=len(names)
        )
    return LabelledRankings(zeros_to_nan(positions), names)


def from_text(
    texts: str | Iterable[str], labels: Sequence[Hashable] | None = None
) -> LabelledRankings:
    """Read positions from text such as ``"a > b ~ c > d"``.

    Parameters
    ----------
    texts : str or iterable of str
        One string per ranking. Spaces around names are ignored. Labels that a string omits are missing; an empty string
        ranks no label.
    labels : sequence, optional
        Label names in the order of the columns; by default in order of first appearance.

    Returns
    -------
    LabelledRankings
        Unpacks into ``positions, labels``; `positions` is 2-D even for a single string.

    Examples
    --------
    >>> from_text(["a > b ~ c", "c > a > b"])
    LabelledRankings(positions=array([[1, 2, 2],
           [2, 3, 1]]), labels=['a', 'b', 'c'])
    >>> from_text("b > a", labels=["a", "b", "c"]).positions
    array([[ 2.,  1., nan]])
    """
    if isinstance(texts, str):
        texts = [texts]
    given = None if labels is None else check_labels(labels)
    words = None if given is None else [_word(name) for name in given]
    texts = _items(texts, "texts", "a string such as 'a > b ~ c', or a list of strings")
    rows = [_parse(text, row) for row, text in enumerate(texts)]
    positions, names = from_buckets(rows, words)
    return LabelledRankings(positions, names if given is None else given)


def _named_rows(
    Y: Any, labels: Sequence[Hashable] | None
) -> tuple[NDArray[np.int64], list[Hashable], bool]:
    """Return checked positions (0 = missing), the label names, and whether `Y` is one 1-D ranking."""
    array = as_number_array(Y, "Y")
    single = array.ndim == 1
    positions = _core.parse_positions(array.reshape(1, -1) if single else as_positions(array))
    return positions, label_names(Y, labels, positions.shape[1]), single


def _row_buckets(row: NDArray[np.int64], names: Sequence[Any]) -> list[list[Any]]:
    buckets: list[list[Any]] = [[] for _ in range(int(row.max()))]
    for position, name in zip(row.tolist(), names, strict=True):
        if position:
            buckets[position - 1].append(name)
    return buckets


def _row_text(row: NDArray[np.int64], words: Sequence[str]) -> str:
    return f" {_BEFORE} ".join(f" {_TIED} ".join(bucket) for bucket in _row_buckets(row, words))


def _is_unambiguous(word: str) -> bool:
    """Whether a name can be written without quotes and read back unchanged."""
    return bool(word) and word == word.strip() and not any(sign in word for sign in _SIGNS)


def _quote_if_needed(name: Hashable) -> str:
    """Return the name for display, in quotes where it would be ambiguous and without control characters."""
    word = str(name)
    return escape_text(word if _is_unambiguous(word) else json.dumps(word, ensure_ascii=False))


def _word(name: Hashable) -> str:
    """Return the name as a string; raise if it could not be read back."""
    word = str(name)
    if not _is_unambiguous(word):
        raise ValueError(
            f"label name {word!r} cannot be written as text; expected a name without {_BEFORE!r}, {_TIED!r}, "
            "line breaks, or leading or trailing spaces"
        )
    return word


def _items(values: Any, name: str, expected: str) -> Iterable[Any]:
    """Return `values` if it is an ordered iterable; reject strings, mappings and sets."""
    if isinstance(values, (set, frozenset)):
        raise TypeError(
            f"{name} is {describe_value(values)}, whose order is arbitrary; expected {expected}"
        )
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} is {describe_value(values)}; expected {expected}")
    return values


def _bucket(
    bucket: Iterable[Hashable], row: int, labels: Sequence[Hashable] | None
) -> list[Hashable]:
    if isinstance(bucket, str):
        raise TypeError(f"row {row}: bucket {bucket!r} is a string; expected a list of label names")
    if isinstance(bucket, (set, frozenset)) and labels is not None:
        # The labels of a bucket are tied: with given columns their order is irrelevant.
        names = list(bucket)
    else:
        names = list(_items(bucket, f"row {row}: a bucket", "a list of label names"))
    if not names:
        raise _row_error(row, "a bucket is empty; expected at least one label in each")
    return names


def _names_in_order(rows: list[list[list[Hashable]]]) -> list[Hashable]:
    """Return all label names in order of first appearance."""
    names: dict[Hashable, None] = {}
    for row, buckets in enumerate(rows):
        for name in (name for bucket in buckets for name in bucket):
            if not is_name(name):
                raise TypeError(
                    f"row {row}: a label has the name {name!r:.60}; expected a string or a number"
                )
            names.setdefault(name)
    return list(names)


def _parse(text: Any, row: int) -> list[list[str]]:
    if not isinstance(text, str):
        raise TypeError(f"row {row}: found {text!r}; expected a string such as 'a > b ~ c'")
    if not text.strip():
        return []
    buckets = [[word.strip() for word in part.split(_TIED)] for part in text.split(_BEFORE)]
    if any(not word for bucket in buckets for word in bucket):
        raise _row_error(
            row,
            f"{text!r} lacks a label before or after {_BEFORE!r} or {_TIED!r}; expected text such as 'a > b ~ c'",
            text,
        )
    return buckets


def _column_of(name: Hashable, column: dict[Hashable, int], names: list[Hashable], row: int) -> int:
    try:
        return column[name]
    except (KeyError, TypeError):
        known = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
        raise _row_error(row, f"unknown label {name!r}; expected one of {known}", name) from None


def _row_error(row: int, reason: str, found: object = None) -> RankingError:
    return RankingError(f"row {row}: {reason}", row=row, found=found, reason=reason)
