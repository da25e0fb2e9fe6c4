"""Rankings with ties, fast: rank aggregation and partial label ranking.

A ranking is a row of *positions*, one per label: 1 is best, equal positions are ties, and the positions of the
labels that a row ranks are dense (1, 2, ... without gaps). ``NaN`` marks a label that the row does not rank.
``+inf`` marks the rest of a top-k list: ranked, but behind every label with a finite position.

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
    PAPER_AGGREGATORS,
    Aggregator,
    Borda,
    BucketPivot,
    Copeland,
    Davidson,
    MarkovChain,
    MaximalLottery,
    TauX,
    aggregate,
    get_aggregator,
)
from bucketrank.aggregation.explanation import Explanation
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
from bucketrank.rankings import drop_labels, pair_order_matrix, to_dense_ranks

__all__ = [
    "METHODS",
    "PAPER_AGGREGATORS",
    "Aggregator",
    "Borda",
    "BucketPivot",
    "Copeland",
    "Davidson",
    "Explanation",
    "LabelledRankings",
    "MarkovChain",
    "MaximalLottery",
    "PartialLabelRanker",
    "PartialLabelRankingBaseline",
    "PartialLabelRankingBooster",
    "PartialLabelRankingForest",
    "PartialLabelRankingLinear",
    "PartialLabelRankingTree",
    "RankingError",
    "TauX",
    "__version__",
    "aggregate",
    "bucket_count_difference",
    "datasets",
    "drop_labels",
    "export_graphviz",
    "export_text",
    "from_buckets",
    "from_text",
    "get_aggregator",
    "kendall_tau",
    "load_model",
    "pair_order_matrix",
    "plot_tree",
    "save_model",
    "tau_x",
    "tau_x_samples",
    "tau_x_scorer",
    "to_buckets",
    "to_dense_ranks",
    "to_text",
]

if TYPE_CHECKING:
    from bucketrank import datasets
    from bucketrank.estimators.baseline import PartialLabelRankingBaseline
    from bucketrank.estimators.boosting import PartialLabelRankingBooster
    from bucketrank.estimators.forest import PartialLabelRankingForest
    from bucketrank.estimators.linear import PartialLabelRankingLinear
    from bucketrank.estimators.ranker import PartialLabelRanker
    from bucketrank.estimators.tree import PartialLabelRankingTree
    from bucketrank.estimators.tree_export import export_graphviz, export_text, plot_tree
    from bucketrank.metrics import tau_x_scorer
    from bucketrank.saving import load_model, save_model

# Subpackages that are imported on first access.
_PARTS = {"datasets"}

# Names that need scikit-learn, whose import takes longer than most calls of this package, and their modules.
_NEED_SKLEARN = {
    "PartialLabelRanker": "bucketrank.estimators.ranker",
    "PartialLabelRankingBooster": "bucketrank.estimators.boosting",
    "PartialLabelRankingLinear": "bucketrank.estimators.linear",
    "PartialLabelRankingBaseline": "bucketrank.estimators.baseline",
    "PartialLabelRankingForest": "bucketrank.estimators.forest",
    "PartialLabelRankingTree": "bucketrank.estimators.tree",
    "export_graphviz": "bucketrank.estimators.tree_export",
    "export_text": "bucketrank.estimators.tree_export",
    "load_model": "bucketrank.saving",
    "save_model": "bucketrank.saving",
    "plot_tree": "bucketrank.estimators.tree_export",
    "tau_x_scorer": "bucketrank.metrics",
}


def __getattr__(name: str) -> Any:
    """Import slow modules on first access, so that a plain import stays quick."""
    if name in _PARTS:
        return import_module(f"{__name__}.{name}")
    if name not in _NEED_SKLEARN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_NEED_SKLEARN[name]), name)
    return value
