"""Hypothesis strategies for rankings: bucket orders, incomplete rankings, weights."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hypothesis import strategies as st

Ranking = list[float]
"""A row of positions: whole numbers from 1, NaN where a label is missing."""


def dense(values: Sequence[int | None]) -> Ranking:
    """Dense positions of small whole numbers; None becomes NaN."""
    rank = {value: i for i, value in enumerate(sorted({v for v in values if v is not None}), 1)}
    return [math.nan if value is None else float(rank[value]) for value in values]


def bucket_orders(n_labels: int) -> st.SearchStrategy[Ranking]:
    """Orders of all labels in which labels may be tied."""
    return st.lists(st.integers(0, n_labels - 1), min_size=n_labels, max_size=n_labels).map(dense)


def total_orders(n_labels: int) -> st.SearchStrategy[Ranking]:
    """Orders without ties."""
    return st.permutations(range(1, n_labels + 1)).map(lambda row: [float(p) for p in row])


def incomplete_rankings(n_labels: int) -> st.SearchStrategy[Ranking]:
    """Bucket orders of some of the labels, possibly of none."""
    value = st.none() | st.integers(0, n_labels - 1)
    return st.lists(value, min_size=n_labels, max_size=n_labels).map(dense)


@st.composite
def profiles(
    draw: st.DrawFn,
    *,
    complete: bool = False,
    min_labels: int = 2,
    max_labels: int = 7,
    max_rows: int = 8,
) -> list[Ranking]:
    """One or more rankings of the same labels."""
    n_labels = draw(st.integers(min_labels, max_labels))
    row = bucket_orders(n_labels) if complete else incomplete_rankings(n_labels)
    return draw(st.lists(row, min_size=1, max_size=max_rows))


@st.composite
def row_pairs(
    draw: st.DrawFn, *, max_labels: int = 7, max_rows: int = 8
) -> tuple[list[Ranking], list[Ranking]]:
    """True and predicted complete rankings of the same shape."""
    n_labels = draw(st.integers(2, max_labels))
    both = st.tuples(bucket_orders(n_labels), bucket_orders(n_labels))
    rows = draw(st.lists(both, min_size=1, max_size=max_rows))
    return [a for a, _ in rows], [b for _, b in rows]


def integer_weights(n_rows: int, max_weight: int = 4) -> st.SearchStrategy[list[int]]:
    """Whole weights with a positive sum; zeros are likely."""
    row = st.lists(st.integers(0, max_weight), min_size=n_rows, max_size=n_rows)
    return row.filter(any)


def real_weights(n_rows: int) -> st.SearchStrategy[list[float]]:
    """Real weights with a positive sum."""
    weight = st.just(0.0) | st.floats(1e-3, 1e3)
    return st.lists(weight, min_size=n_rows, max_size=n_rows).filter(any)
