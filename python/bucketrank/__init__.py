"""Rankings with ties, fast: rank aggregation, and partial label ranking (predicting rankings from features).

A ranking is a row of *positions*, one per label: 1 is best, equal positions are ties, and only the order counts
(positions with gaps or fractions, such as 1, 2, 2, 4 or 1, 2.5, 2.5, 4, become dense ranks when data is read). ``NaN``
marks a missing label. ``+inf`` marks a label below the cut of a top-k list: ranked last, after every label with a
finite position.

Examples
--------
>>> from bucketrank import from_text, tau_x
>>> truth, labels = from_text(["tea > coffee ~ juice", "juice > tea > coffee"])
>>> predicted, _ = from_text(["tea > juice > coffee", "juice > tea > coffee"], labels=labels)
>>> round(tau_x(truth, predicted), 3)
0.833
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bucketrank._core import __version__
from bucketrank.aggregation import (
    METHODS,
    PAPER_AGGREGATORS,  # The methods that Wang, Alfaro and Bengs compare (ECAI 2025).
    Aggregator,
    Borda,
    BucketPivot,
    Copeland,
    Davidson,
    Kemeny,
    MarkovChain,
    MaximalLottery,
    RankedPairs,
    ReciprocalRankFusion,
    Schulze,
    TauX,
    UnprovenOptimumWarning,
    aggregate,
    get_aggregator,
)
from bucketrank.aggregation.explanation import Explanation
from bucketrank.agreement import (
    kendall_distance,
    kendall_distance_samples,
    kendall_w,
    rbo,
    rbo_samples,
    tau_b,
    tau_b_samples,
)
from bucketrank.comparisons import Comparisons, PairCounts, from_comparisons, from_scores
from bucketrank.errors import RankingError
from bucketrank.metrics import (
    bucket_count_difference,
    kendall_tau,
    tau_x,
    tau_x_samples,
)
from bucketrank.notation import (
    LabelledRankings,
    from_buckets,
    from_text,
    to_buckets,
    to_text,
)
from bucketrank.preflib import WeightedRankings, read_preflib, write_preflib
from bucketrank.rankings import drop_labels, pair_order_matrix, to_dense_ranks

__all__ = [
    "METHODS",
    "PAPER_AGGREGATORS",
    "Aggregator",
    "Borda",
    "BucketPivot",
    "Comparisons",
    "Copeland",
    "Davidson",
    "Explanation",
    "Kemeny",
    "LabelledRankings",
    "Leaderboard",
    "MarkovChain",
    "MaximalLottery",
    "PairCounts",
    "PartialLabelRanker",
    "PartialLabelRankingBaseline",
    "PartialLabelRankingBooster",
    "PartialLabelRankingForest",
    "PartialLabelRankingLinear",
    "PartialLabelRankingTree",
    "RankedPairs",
    "RankingError",
    "ReciprocalRankFusion",
    "Schulze",
    "TauX",
    "UnprovenOptimumWarning",
    "WeightedRankings",
    "__version__",
    "aggregate",
    "bucket_count_difference",
    "datasets",
    "drop_labels",
    "export_graphviz",
    "export_text",
    "from_buckets",
    "from_comparisons",
    "from_scores",
    "from_text",
    "get_aggregator",
    "kendall_distance",
    "kendall_distance_samples",
    "kendall_distance_scorer",
    "kendall_tau",
    "kendall_w",
    "leaderboard",
    "load_model",
    "pair_order_matrix",
    "plot_tree",
    "rbo",
    "rbo_samples",
    "rbo_scorer",
    "read_preflib",
    "save_model",
    "tau_b",
    "tau_b_samples",
    "tau_b_scorer",
    "tau_x",
    "tau_x_samples",
    "tau_x_scorer",
    "to_buckets",
    "to_dense_ranks",
    "to_text",
    "write_preflib",
]

if TYPE_CHECKING:
    from bucketrank import datasets
    from bucketrank.agreement import kendall_distance_scorer, rbo_scorer, tau_b_scorer
    from bucketrank.boards import Leaderboard, leaderboard
    from bucketrank.estimators.baseline import PartialLabelRankingBaseline
    from bucketrank.estimators.boosting import PartialLabelRankingBooster
    from bucketrank.estimators.forest import PartialLabelRankingForest
    from bucketrank.estimators.linear import PartialLabelRankingLinear
    from bucketrank.estimators.ranker import PartialLabelRanker
    from bucketrank.estimators.tree import PartialLabelRankingTree
    from bucketrank.estimators.tree_drawing import plot_tree
    from bucketrank.estimators.tree_export import export_graphviz, export_text
    from bucketrank.metrics import tau_x_scorer
    from bucketrank.saving import load_model, save_model

# Submodules that are imported on first access.
_LAZY_MODULES = {"datasets"}

# Names whose modules take long to import: most need scikit-learn, whose import is slower than most calls here.
_LAZY_ATTRIBUTES = {
    "PartialLabelRanker": "bucketrank.estimators.ranker",
    "PartialLabelRankingBooster": "bucketrank.estimators.boosting",
    "PartialLabelRankingLinear": "bucketrank.estimators.linear",
    "PartialLabelRankingBaseline": "bucketrank.estimators.baseline",
    "PartialLabelRankingForest": "bucketrank.estimators.forest",
    "PartialLabelRankingTree": "bucketrank.estimators.tree",
    "Leaderboard": "bucketrank.boards",
    "leaderboard": "bucketrank.boards",
    "export_graphviz": "bucketrank.estimators.tree_export",
    "export_text": "bucketrank.estimators.tree_export",
    "load_model": "bucketrank.saving",
    "save_model": "bucketrank.saving",
    "plot_tree": "bucketrank.estimators.tree_drawing",
    "kendall_distance_scorer": "bucketrank.agreement",
    "rbo_scorer": "bucketrank.agreement",
    "tau_b_scorer": "bucketrank.agreement",
    "tau_x_scorer": "bucketrank.metrics",
}


def __getattr__(name: str) -> Any:
    """Import slow modules on first access, so that ``import bucketrank`` stays fast."""
    if name in _LAZY_MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _LAZY_ATTRIBUTES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LAZY_ATTRIBUTES[name]), name)
    return value
