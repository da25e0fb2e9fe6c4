"""Bucket orders from scores, and descriptions of datasets, by loops over plain lists."""

from __future__ import annotations

import math
from collections.abc import Sequence


def rank_scores(scores: Sequence[float], tie_threshold: float) -> list[int]:
    """Positions of one row: in descending order of score, open a bucket where the drop is too large."""
    order = sorted(range(len(scores)), key=lambda label: -scores[label])
    positions = [0] * len(scores)
    bucket = 1
    for before, label in zip([None, *order], order, strict=False):
        if before is not None and scores[before] - scores[label] > tie_threshold + 1e-9:
            bucket += 1
        positions[label] = bucket
    return positions


def mean_buckets(Y: Sequence[Sequence[float]]) -> float:
    """Mean number of different positions in a row."""
    return sum(len({p for p in row if not math.isnan(p)}) for row in Y) / len(Y)


def unique_rankings(Y: Sequence[Sequence[float]]) -> int:
    """Number of different rows, where missing labels equal missing labels."""
    return len({tuple(None if math.isnan(p) else p for p in row) for row in Y})


def missing_share(Y: Sequence[Sequence[float]]) -> float:
    """Share of the cells without a position."""
    cells = [p for row in Y for p in row]
    return sum(math.isnan(p) for p in cells) / len(cells)
