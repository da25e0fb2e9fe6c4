"""SHAP values: our kernels compared with the `shap` package, on one thread each.

First both explain the same tree, which must give the same values. Then the times: the package explains scikit-learn's
multi-output forests with as many trees and labels as ours, and scikit-learn's boosting of a single output with as many
trees as our booster of all labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import bucketrank as br

TRAINING_ROWS, ROWS, FEATURES, LABELS = 2000, 64, 16, 10
FOREST_ROWS = 16
"""Fewer rows for forests, whose trees have hundreds of leaves each."""
TURNS = 2


def tree_arrays(tree: Any) -> dict[str, Any]:
    """Our fitted tree in the format of the `shap` package."""
    nodes = tree.tree_.nodes()
    is_leaf = nodes["children"] == 0
    left = np.where(is_leaf, -1, nodes["first_child"])
    thresholds = [cuts[0] if cuts else -2.0 for cuts in nodes["thresholds"]]
    orders = tree.tree_.pair_orders(np.arange(len(is_leaf)))
    return {
        "children_left": left,
        "children_right": np.where(is_leaf, -1, nodes["first_child"] + 1),
        "children_default": left,
        "features": np.where(is_leaf, -2, nodes["feature"]),
        "thresholds": np.array(thresholds),
        "values": orders.sum(axis=2) - 0.5,
        "node_sample_weight": nodes["weight"],
    }


def leaves(model: Any) -> int:
    """Number of leaves of all trees of a scikit-learn ensemble."""
    return sum(tree.get_n_leaves() for tree in np.ravel(model.estimators_))


def best_seconds(calls: list[Callable[[], Any]]) -> list[float]:
    """Best processor time of each call, measured alternately."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(TURNS):
        for call, own in zip(calls, times, strict=True):
            start = time.process_time()
            call()
            own.append(time.process_time() - start)
    return [min(own) for own in times]


def compare_values(X: Any, Y: Any) -> None:
    import shap

    tree = br.PartialLabelRankingTree(min_samples_split=2).fit(X, Y)
    theirs = shap.TreeExplainer({"trees": [tree_arrays(tree)]}).shap_values(X[:ROWS])
    ours = tree.shap_values(X[:ROWS])
    difference = np.abs(ours - theirs).max()
    print(f"one tree of {tree.get_n_leaves()} leaves: largest difference {difference:.1e}")
    if difference > 1e-6:
        raise SystemExit("the values differ from those of the shap package")


def shap_values() -> None:
    import shap
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

    data = br.datasets.make_rankings(TRAINING_ROWS, FEATURES, LABELS, random_state=0)
    X, Y = np.asarray(data.X), np.asarray(data.Y)
    compare_values(X, Y)
    booster = br.PartialLabelRankingBooster(random_state=0).fit(X, Y)
    forest = br.PartialLabelRankingForest(random_state=0).fit(X, Y)
    shallow = RandomForestRegressor(200, max_depth=6, max_features=1 / 3, random_state=0)
    deep = RandomForestRegressor(100, max_features="sqrt", random_state=0)
    single = GradientBoostingRegressor(
        n_estimators=200, max_depth=6, min_samples_leaf=10, subsample=0.6, random_state=0
    )
    shallow.fit(X, Y)
    pairs = [
        (f"booster, {LABELS} labels / forest of depth 6, {LABELS} outputs", ROWS, booster, shallow),
        (f"booster, {LABELS} labels / boosting, 1 output", ROWS, booster, single.fit(X, Y[:, 0])),
        (
            f"forest, {LABELS} labels / forest, {LABELS} outputs",
            FOREST_ROWS,
            forest,
            deep.fit(X, Y),
        ),
    ]
    print(f"{FEATURES} features, processor time; bucketrank / shap {shap.__version__}")
    print(f"    leaves of our forest: {forest.get_n_leaves()}")
    for name, count, ours, peer in pairs:
        rows, explainer = X[:count], shap.TreeExplainer(peer)
        own, theirs = best_seconds(
            [
                partial(ours.shap_values, rows),
                partial(explainer.shap_values, rows, check_additivity=False),
            ]
        )
        print(
            f"    {name:<52} {count:4} rows {own * 1e3:9.1f} ms {theirs * 1e3:9.1f} ms {theirs / own:7.1f}x"
            f"  (leaves of the peer: {leaves(peer)})"
        )


if __name__ == "__main__":
    shap_values()
