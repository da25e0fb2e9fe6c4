"""Comparisons of two labels per row, and counts of their outcomes per pair of labels, which can be added."""

from __future__ import annotations

from bucketrank.comparisons.data import Comparisons
from bucketrank.comparisons.pair_counts import PairCounts
from bucketrank.comparisons.reading import from_comparisons
from bucketrank.comparisons.scores import from_scores

__all__ = ["Comparisons", "PairCounts", "from_comparisons", "from_scores"]
