"""Suggestions for mistyped names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["nearest_first"]


def nearest_first(name: str, known: Iterable[str]) -> list[str]:
    """Sort the known names by similarity to `name`, most similar first.

    Examples
    --------
    >>> nearest_first("whine", ["digits", "iris", "wine"])
    ['wine', 'iris', 'digits']
    """
    typed = name.lower()

    def difference(candidate: str) -> float:
        return -difflib.SequenceMatcher(None, typed, candidate.lower()).ratio()

    return sorted(known, key=difference)
