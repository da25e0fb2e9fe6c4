"""Short names of estimators on the command line."""

from __future__ import annotations

from typing import Any

from bucketrank.suggest import nearest_first

ESTIMATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "ranker": ("PartialLabelRanker", {}),
    "fast": ("PartialLabelRanker", {"fast": True}),
    "forest": ("PartialLabelRankingForest", {}),
    "booster": ("PartialLabelRankingBooster", {}),
    "linear": ("PartialLabelRankingLinear", {}),
    "tree": ("PartialLabelRankingTree", {}),
    "shrunk_tree": (
        "PartialLabelRankingTree",
        {"aggregator": "tau_x", "min_samples_split": 2, "shrinkage": "path"},
    ),
    "soft_tree": (
        "PartialLabelRankingTree",
        {
            "aggregator": "tau_x",
            "min_samples_split": 2,
            "shrinkage": "path",
            "routing": "soft",
        },
    ),
}
"""Name of the class, and preset parameters, of each short name."""


def make_estimator(name: str, **params: Any) -> Any:
    """Return an unfitted estimator; entries of `params` that are not parameters of the estimator are ignored."""
    import bucketrank

    if name not in ESTIMATORS:
        raise ValueError(
            f"unknown method {name!r}; known: {', '.join(nearest_first(name, ESTIMATORS))}"
        )
    class_name, preset = ESTIMATORS[name]
    estimator = getattr(bucketrank, class_name)(**preset)
    known = estimator.get_params()
    return estimator.set_params(**{key: value for key, value in params.items() if key in known})
