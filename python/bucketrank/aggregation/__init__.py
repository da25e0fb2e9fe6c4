"""Rank aggregation: the consensus of many rankings with ties."""

from __future__ import annotations

from bucketrank.aggregation.base import Aggregator
from bucketrank.aggregation.explanation import Explanation
from bucketrank.aggregation.methods import (
    METHODS,
    PAPER_AGGREGATORS,
    Davidson,
    MarkovChain,
    MaximalLottery,
    TauX,
    aggregate,
    as_aggregator,
    get_aggregator,
)
from bucketrank.aggregation.thresholds import Borda, BucketPivot, Copeland, WithBeta

__all__ = [
    "METHODS",
    "PAPER_AGGREGATORS",
    "Aggregator",
    "Borda",
    "BucketPivot",
    "Copeland",
    "Davidson",
    "Explanation",
    "MarkovChain",
    "MaximalLottery",
    "TauX",
    "WithBeta",
    "aggregate",
    "as_aggregator",
    "get_aggregator",
]
