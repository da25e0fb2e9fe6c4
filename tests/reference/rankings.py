"""Ranking rows, dense ranks and the enumeration of bucket orders."""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

Row: TypeAlias = Sequence[float | None]
"""Positions of the labels: 1 is best, equal is tied, None or NaN missing, inf below a top-k cut."""

CleanRow: TypeAlias = list[int | None]
"""A row after `clean_row`: integer positions, None for a missing label."""


def clean_row(row: Row) -> CleanRow:
    """Turn NaN into None and inf into position k + 1, where k is the largest finite position."""
    finite = [v for v in row if v is not None and math.isfinite(v)]
    last = max(finite, default=0)
    cleaned: CleanRow = []
    for value in row:
        if value is None or math.isnan(value):
            cleaned.append(None)
        elif value == math.inf:
            cleaned.append(int(last) + 1)
        elif value == int(value):
            cleaned.append(int(value))
        else:
            raise ValueError(f"position {value} is not an integer")
    return cleaned


def to_dense(values: Row) -> CleanRow:
    """Rank a row of real values: the smallest becomes 1, the next distinct value 2, and so on."""
    distinct = sorted({v for v in values if v is not None and not math.isnan(v)})
    return [None if v is None or math.isnan(v) else distinct.index(v) + 1 for v in values]


def buckets(positions: Row) -> list[list[int]]:
    """List the label indices of each bucket, best bucket first; missing labels are omitted."""
    cleaned = clean_row(positions)
    levels = sorted({p for p in cleaned if p is not None})
    return [[u for u, p in enumerate(cleaned) if p == level] for level in levels]


def all_weak_orders(n: int) -> Iterator[tuple[int, ...]]:
    """Yield every bucket order of n labels once, as dense positions.

    A tuple of positions is a bucket order when the positions used are exactly 1..k for some k.
    """
    for positions in itertools.product(range(1, n + 1), repeat=n):
        if set(positions) == set(range(1, max(positions, default=0) + 1)):
            yield positions


def cascade(scores: Sequence[Fraction], largest_drop: Fraction) -> list[int]:
    """Sort labels by descending score and join neighbours that are close.

    An item joins the bucket of the previous item if its score is at most `largest_drop` lower
    than that of the previous item (not of the bucket's first item). Equal scores are in the
    order of the label indices, which cannot change the result as long as `largest_drop` >= 0.
    """
    order = sorted(range(len(scores)), key=lambda u: (-scores[u], u))
    positions = [0] * len(scores)
    current = 0
    for place, label in enumerate(order):
        if place == 0 or scores[order[place - 1]] - scores[label] > largest_drop:
            current += 1
        positions[label] = current
    return positions
