"""Header of a PrefLib file: data type, names of the alternatives, and the counts that the ballots must agree with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bucketrank.csv_records import BadFileError

PREFLIB_TYPES = ("soc", "soi", "toc", "toi", "cat")
"""Data types: orders that are strict (s) or with ties (t), complete (c) or incomplete (i); and categories (cat)."""

_MOST_LABELS = 2**16 - 1
"""Largest number of labels of the Rust core."""

_NAME = re.compile(r"ALTERNATIVE NAME (\d+)", re.IGNORECASE | re.ASCII)
_WHOLE = re.compile(r"\d{1,400}", re.ASCII)


class PreflibHeader:
    """The lines ``# KEY: value`` of a PrefLib file.

    Attributes
    ----------
    name : str
        Name of the file, for messages.
    values : dict
        Line number and value by key; keys are in upper case.
    """

    def __init__(self, name: str, lines: Sequence[tuple[int, str]]) -> None:
        self.name = name
        self.values: dict[str, tuple[int, str]] = {}
        for number, line in lines:
            key, colon, value = line.removeprefix("#").partition(":")
            if line.startswith("#") and colon and key.strip():
                self.values[key.strip().upper()] = number, value.strip()
        if "NUMBER ALTERNATIVES" not in self.values:
            raise BadFileError(
                f"{name}: no line '# NUMBER ALTERNATIVES: ...'; expected a PrefLib file with a header of lines "
                "'# KEY: value' (files of the format before 2022 can be downloaded again from preflib.org)"
            )

    def labels(self) -> list[Hashable]:
        """Return the names of the alternatives, all different; an alternative without a name has its number."""
        number, value = self.values["NUMBER ALTERNATIVES"]
        if not re.fullmatch(r"[0-9]{1,5}", value) or not 2 <= int(value) <= _MOST_LABELS:
            raise BadFileError(
                f"{self.name}, line {number}: {value[:60]!r} alternatives; expected a whole number from 2 to "
                f"{_MOST_LABELS}"
            )
        labels: list[Hashable] = [str(alternative) for alternative in range(1, int(value) + 1)]
        for key, (line, text) in self.values.items():
            found = _NAME.fullmatch(key)
            if found is None:
                continue
            index = int(found[1]) - 1 if len(found[1]) < 10 else -1
            if not 0 <= index < len(labels):
                raise BadFileError(
                    f"{self.name}, line {line}: alternative {found[1]:.60}; expected a number from 1 to {len(labels)}"
                )
            labels[index] = text or labels[index]
        return _distinct(labels)

    def data_type(self) -> str:
        """Return the data type of the header; without one, the ending of the file."""
        number, value = self.values.get("DATA TYPE", (0, Path(self.name).suffix[1:]))
        kind = value.lower()
        if kind not in PREFLIB_TYPES:
            location = f"{self.name}, line {number}" if number else self.name
            raise BadFileError(
                f"{location}: data type {value[:60]!r}; expected one of {', '.join(PREFLIB_TYPES)}"
            )
        return kind

    def check_counts(self, counts: Sequence[float], rows: Sequence[NDArray[np.float64]]) -> None:
        """Raise if the header states other numbers of voters or orders than the ballots have.

        PrefLib's specification gives each order one line with the number of its voters, so that the two numbers follow
        from the ballots, and a truncated file disagrees with them. Three departures from it are read: a header without
        one of the numbers; an order on several lines, which then may be counted once or per line; and counts that are
        not whole numbers, which are weights and need not add up to the number of voters.
        """
        if all(count.is_integer() for count in counts):
            self._check_count("NUMBER VOTERS", [sum(map(int, counts))])
        orders = [len({row.tobytes() for row in rows}), len(rows)]
        for key in ("NUMBER UNIQUE ORDERS", "NUMBER UNIQUE PREFERENCES"):
            self._check_count(key, orders)

    def _check_count(self, key: str, found: Sequence[int]) -> None:
        """Raise if the header states a number that is none of `found`."""
        line, value = self.values.get(key, (0, ""))
        if not value:
            return
        location = f"{self.name}, line {line}: {key} is"
        if not _WHOLE.fullmatch(value):
            raise BadFileError(f"{location} {value[:60]!r}; expected a whole number")
        if int(value) not in found:
            fewer = int(value) > found[0]
            reason = "the file may be truncated" if fewer else "the header may be out of date"
            raise BadFileError(f"{location} {value:.60}, but the ballots have {found[0]}; {reason}")


def _distinct(names: list[Hashable]) -> list[Hashable]:
    """Append the number of the alternative to repeated names, which PrefLib allows."""
    # A numbered name may equal the name of another alternative, which is then numbered in the next pass. Each pass
    # numbers further alternatives, and once all are numbered, all names differ.
    labels, numbered = list(names), {name for name, count in Counter(names).items() if count > 1}
    repeated = numbered
    while repeated:
        labels = [
            f"{name} ({number})" if name in numbered else name
            for number, name in enumerate(names, start=1)
        ]
        repeated = {label for label, count in Counter(labels).items() if count > 1}
        numbered |= {name for name, label in zip(names, labels, strict=True) if label in repeated}
    return labels
