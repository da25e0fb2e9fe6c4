"""Phrases of messages and generated sentences: lists of names, shares and counts."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["join_names", "percent", "pluralize"]


def join_names(names: Sequence[str]) -> str:
    """Join names by commas and a final "and".

    Examples
    --------
    >>> join_names(["a"]), join_names(["a", "b"]), join_names(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def percent(share: float) -> str:
    """Format a share as a percentage.

    Examples
    --------
    >>> percent(0.3)
    '30 %'
    """
    return f"{100 * share:g} %"


def pluralize(number: float, noun: str, plural: str = "", *, spec: str = "") -> str:
    """Format a number, by a format specification, with its noun in singular or plural.

    Examples
    --------
    >>> pluralize(1, "dataset"), pluralize(2, "dataset"), pluralize(0, "entry", "entries")
    ('1 dataset', '2 datasets', '0 entries')
    >>> pluralize(2000, "row", spec=",")
    '2,000 rows'
    """
    return f"{number:{spec}} {noun if number == 1 else plural or noun + 's'}"
