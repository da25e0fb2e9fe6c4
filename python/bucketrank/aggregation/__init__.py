"""Rank aggregation: methods that combine many rankings with ties into one, their consensus."""

from __future__ import annotations

from bucketrank.aggregation.base import Aggregator
from bucketrank.aggregation.davidson import Davidson, DavidsonExplanation
from bucketrank.aggregation.explanation import Explanation
from bucketrank.aggregation.methods import (
    METHODS,
    PAPER_AGGREGATORS,
    MarkovChain,
    MaximalLottery,
    TauX,
    aggregate,
    as_aggregator,
    get_aggregator,
)
from bucketrank.aggregation.optimal import Kemeny, UnprovenOptimumWarning
from bucketrank.aggregation.thresholds import Borda, BucketPivot, Copeland, WithBeta
from bucketrank.aggregation.voting import RankedPairs, ReciprocalRankFusion, Schulze

__all__ = [
    "METHODS",
    "PAPER_AGGREGATORS",
    "Aggregator",
    "Borda",
    "BucketPivot",
    "Copeland",
    "Davidson",
    "DavidsonExplanation",
    "Explanation",
    "Kemeny",
    "MarkovChain",
    "MaximalLottery",
    "RankedPairs",
    "ReciprocalRankFusion",
    "Schulze",
    "TauX",
    "UnprovenOptimumWarning",
    "WithBeta",
    "aggregate",
    "as_aggregator",
    "get_aggregator",
]
