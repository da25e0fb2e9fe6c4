"""Public calls that can take long, each as a function that prepares its data and returns the call.

``python tests/long_calls.py NAME ...`` runs the named calls one after the other for `test_interruption.py`: it prints
``ready`` before each call, expects a SIGINT, and prints when the call ended and whether the package still works.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bucketrank as br
from bucketrank import datasets, experiments

Call = Callable[[], Any]

rng = np.random.default_rng(0)


@cache
def rankings(rows: int, labels: int) -> NDArray[np.int64]:
    """Random total orders."""
    order = rng.permuted(np.tile(np.arange(1, labels + 1), (min(rows, 500), 1)), axis=1)
    return np.resize(order, (rows, labels))


@cache
def features(rows: int, columns: int) -> NDArray[np.float64]:
    return np.resize(rng.normal(size=(min(rows, 5000), columns)), (rows, columns))


@cache
def matrix(n: int) -> NDArray[np.float64]:
    """A random pair order matrix, which usually has no Condorcet winner."""
    upper = np.triu(rng.random((n, n)), 1)
    return upper + np.tril(1 - upper.T, -1) + 0.5 * np.eye(n)


def fit(estimator: Any, rows: int, columns: int, labels: int, **params: Any) -> Call:
    model = estimator(**params)
    X, Y = features(rows, columns), rankings(rows, labels)
    return lambda: model.fit(X, Y)


def predict(estimator: Any, method: str, rows: int, labels: int = 25, **params: Any) -> Call:
    """Fit on few rows, predict many."""
    model = estimator(**params).fit(features(200, 5), rankings(200, labels))
    X = features(rows, 5)
    return lambda: getattr(model, method)(X)


def predict_unsplit(estimator: Any, method: str, labels: int = 1000, **params: Any) -> Call:
    """Fit one leaf of many rows, and predict one row: the time goes into counting the pairs of the leaf."""
    if estimator is br.PartialLabelRankingTree:
        params["min_samples_split"] = 10**6
    model = estimator(**params).fit(features(15_000, 2), rankings(15_000, labels))
    return lambda: getattr(model, method)(features(1, 2))


def compare(**settings: Any) -> Call:
    data = datasets.make_rankings(2000, 8, 12, random_state=0)
    return lambda: experiments.compare([data], n_repeats=500, progress=False, **settings)


@cache
def gaps() -> NDArray[np.int64]:
    """Rankings whose positions have gaps: reading them takes more than a second."""
    return 2 * rankings(40_000, 1000)


def gaps_twice(function: Callable[[Any, Any], Any]) -> Call:
    return partial(function, gaps(), gaps())


LONG_CALLS: dict[str, Callable[[], Call]] = {
    "to_dense_ranks": lambda: partial(br.to_dense_ranks, rankings(40_000, 1000).astype(float)),
    "pair_order_matrix": lambda: partial(br.pair_order_matrix, rankings(15_000, 1000)),
    "bucket_count_difference": lambda: gaps_twice(br.bucket_count_difference),
    "tau_x, gaps": lambda: gaps_twice(br.tau_x),
    "drop_labels": lambda: partial(br.drop_labels, gaps(), 0.3, 0),
    "kendall_w": lambda: partial(br.kendall_w, gaps()),
    "Borda.aggregate, gaps": lambda: partial(br.Borda().aggregate, gaps()),
    "leaderboard, gaps": lambda: partial(br.leaderboard, gaps(), "borda", progress=False),
    "PartialLabelRankingBaseline.fit, gaps": lambda: partial(
        br.PartialLabelRankingBaseline().fit, np.ones((40_000, 1)), gaps()
    ),
    "kendall_distance": lambda: partial(
        br.kendall_distance, rankings(10_000, 1000), rankings(10_000, 1000)
    ),
    "rbo": lambda: partial(br.rbo, rankings(10_000, 1000), rankings(10_000, 1000)),
    "tau_x, missing labels": lambda: partial(
        br.tau_x,
        np.where(rankings(10_000, 1000) > 999, np.nan, rankings(10_000, 1000)),
        rankings(10_000, 1000),
        missing="ignore",
    ),
    "Borda.aggregate": lambda: partial(
        br.Borda().aggregate, rankings(15_000, 1000), np.full(15_000, 0.5)
    ),
    "Davidson.aggregate": lambda: partial(br.Davidson().aggregate, rankings(2000, 512)),
    "Davidson.explain": lambda: partial(br.Davidson().explain, rankings(2000, 512)),
    "MaximalLottery.aggregate": lambda: partial(
        br.MaximalLottery().aggregate, rankings(15_000, 1000)
    ),
    "MaximalLottery.explain": lambda: partial(br.MaximalLottery().explain, rankings(15_000, 1000)),
    "MaximalLottery.aggregate_pair_order": lambda: partial(
        br.MaximalLottery().aggregate_pair_order, matrix(4000)
    ),
    "MaximalLottery.aggregate_pair_order, many": lambda: partial(
        br.MaximalLottery().aggregate_pair_order, np.stack([matrix(1200)] * 2)
    ),
    "MaximalLottery.aggregate_many": lambda: partial(
        br.MaximalLottery().aggregate_many, [rankings(15_000, 1000)] * 2, n_jobs=2
    ),
    "MaximalLottery.aggregate, many labels": lambda: partial(
        br.MaximalLottery().aggregate, rankings(100, 8000)
    ),
    "TauX.aggregate": lambda: partial(br.TauX("local").aggregate, rankings(100, 2000)),
    "Schulze.aggregate": lambda: partial(br.Schulze().aggregate, rankings(100, 3000)),
    "RankedPairs.aggregate": lambda: partial(br.RankedPairs().aggregate, rankings(100, 3000)),
    "MarkovChain.aggregate_pair_order": lambda: partial(
        br.MarkovChain(4).aggregate_pair_order, matrix(3000)
    ),
    "MarkovChain.explain": lambda: partial(br.MarkovChain(2).explain, rankings(15_000, 1000)),
    "Kemeny.aggregate": lambda: partial(br.Kemeny(search="exact").aggregate, rankings(200, 60)),
    "leaderboard": lambda: partial(br.leaderboard, rankings(300, 40), n_resamples=10**6),
    "leaderboard, two threads": lambda: partial(
        br.leaderboard, rankings(300, 40), n_resamples=10**6, n_jobs=2
    ),
    "PartialLabelRankingTree.fit": lambda: fit(br.PartialLabelRankingTree, 60_000, 30, 60),
    "PartialLabelRankingTree.fit, distance": lambda: fit(
        br.PartialLabelRankingTree, 3000, 30, 20, criterion="distance"
    ),
    "PartialLabelRankingTree.predict": lambda: predict_unsplit(
        br.PartialLabelRankingTree, "predict"
    ),
    "PartialLabelRankingTree.predict, lottery": lambda: predict_unsplit(
        br.PartialLabelRankingTree, "predict", labels=1500, aggregator="maximal_lottery"
    ),
    "PartialLabelRankingTree.predict_pair_order": lambda: predict_unsplit(
        br.PartialLabelRankingTree, "predict_pair_order"
    ),
    "PartialLabelRankingTree.predict_pair_shares": lambda: predict_unsplit(
        br.PartialLabelRankingTree, "predict_pair_shares", shrinkage="path", aggregator="tau_x"
    ),
    "PartialLabelRankingTree.predict_pair_shares, many rows": lambda: predict(
        br.PartialLabelRankingTree, "predict_pair_shares", 300_000
    ),
    "PartialLabelRankingBaseline.predict": lambda: predict_unsplit(
        br.PartialLabelRankingBaseline, "predict"
    ),
    "PartialLabelRankingForest.apply": lambda: predict(
        br.PartialLabelRankingForest, "apply", 1_000_000, labels=5
    ),
    "PartialLabelRankingForest.predict_pair_shares": lambda: predict(
        br.PartialLabelRankingForest, "predict_pair_shares", 200_000
    ),
    "PartialLabelRankingBooster.predict_pair_shares": lambda: predict(
        br.PartialLabelRankingBooster, "predict_pair_shares", 200_000
    ),
    "PartialLabelRankingLinear.predict_utilities": lambda: predict(
        br.PartialLabelRankingLinear, "predict_utilities", 4_000_000
    ),
    "PartialLabelRankingForest.fit": lambda: fit(
        br.PartialLabelRankingForest, 3000, 10, 10, n_estimators=10_000, n_jobs=2
    ),
    "PartialLabelRankingForest.predict": lambda: predict(
        br.PartialLabelRankingForest, "predict", 200_000
    ),
    "PartialLabelRankingBooster.fit": lambda: fit(
        br.PartialLabelRankingBooster, 50_000, 30, 25, rounds=10_000
    ),
    "PartialLabelRankingBooster.predict": lambda: predict(
        br.PartialLabelRankingBooster, "predict", 400_000
    ),
    "PartialLabelRankingBooster.shap_values": lambda: predict(
        br.PartialLabelRankingBooster, "shap_values", 200_000
    ),
    "PartialLabelRankingForest.shap_values": lambda: predict(
        br.PartialLabelRankingForest, "shap_values", 50_000, n_jobs=2
    ),
    "PartialLabelRankingLinear.fit, many labels": lambda: fit(
        br.PartialLabelRankingLinear, 3000, 5, 800
    ),
    "PartialLabelRankingLinear.fit, many rows": lambda: fit(
        br.PartialLabelRankingLinear, 200_000, 60, 25, tolerance=1e-12
    ),
    "PartialLabelRankingLinear.predict": lambda: predict(
        br.PartialLabelRankingLinear, "predict", 400_000
    ),
    "PartialLabelRanker.fit": lambda: fit(
        br.PartialLabelRanker, 60, 3, 4, n_estimators=5, rounds=10**6, n_jobs=2
    ),
    "PartialLabelRanker.predict": lambda: predict(
        br.PartialLabelRanker, "predict", 200_000, n_estimators=20, rounds=20, n_parts=2
    ),
    "compare": lambda: compare(n_jobs=2),
    "compare, rankers": lambda: compare(
        tree=None, rankers={"forest": br.PartialLabelRankingForest(n_estimators=50)}
    ),
}


NOT_MEASURED = {
    "aggregate": "as Aggregator.aggregate",
    "export_graphviz": "writes text",
    "export_text": "writes text",
    "from_buckets": "Python code",
    "from_comparisons": "reads its arguments once",
    "from_scores": "as to_dense_ranks",
    "from_text": "Python code",
    "kendall_distance_samples": "as kendall_distance",
    "kendall_distance_scorer": "as kendall_distance",
    "rbo_samples": "as rbo",
    "rbo_scorer": "as rbo",
    "read_preflib": "reads a file",
    "tau_b": "as kendall_distance",
    "tau_b_samples": "as kendall_distance",
    "tau_b_scorer": "as kendall_distance",
    "write_preflib": "writes a file",
    "Aggregator.aggregate_counts": "as Aggregator.aggregate_pair_order",
    "get_aggregator": "makes an object",
    "kendall_tau": "below a second for 40,000 rankings of 1,000 labels",
    "load_model": "reads a file",
    "plot_tree": "Python code",
    "save_model": "writes a file",
    "tau_x_samples": "as tau_x",
    "tau_x_scorer": "as tau_x",
    "to_buckets": "Python code",
    "to_text": "Python code",
    "Aggregator.aggregate_pair_shares": "as Aggregator.aggregate_pair_order",
    "Estimator.decision_path": "walks trees, as predict",
    "Estimator.get_depth": "reads a number",
    "Estimator.get_n_leaves": "reads a number",
    "Estimator.leaf_rankings": "reads an array",
    "Estimator.leaf_rows": "reads an array",
    "Estimator.paper": "makes an object",
    "Estimator.predict_label_scores": "as predict",
    "Estimator.predict_many": "as predict",
    "Estimator.predict_oob_pair_shares": "as predict",
    "Estimator.predict_tie_terms": "as predict",
    "Estimator.score": "as predict",
    "Estimator.shap_base_values": "reads the leaves of all trees, as predict",
    "Estimator.set_fit_request": "sets an attribute",
    "Estimator.set_output": "sets an attribute",
    "Estimator.set_score_request": "sets an attribute",
    "Estimator.staged_predict": "as predict, for each stage",
    "Estimator.with_aggregator": "copies an object",
}
"""Public calls that are not measured, and why. A new function or method belongs here or in LONG_CALLS."""


def public_calls() -> set[str]:
    """Return the names of functions, and of methods after "Estimator." or "Aggregator." in place of their class."""
    names = set()
    for name in br.__all__:
        value = getattr(br, name)
        if isinstance(value, type):
            kind = "Estimator" if hasattr(value, "fit") else "Aggregator"
            if kind == "Aggregator" and not issubclass(value, br.Aggregator):
                continue
            own = {
                key
                for base in value.__mro__
                if "bucketrank" in base.__module__
                for key in vars(base)
            }
            methods = {key for key in own if key[0] != "_" and callable(getattr(value, key))}
            names |= {f"{kind}.{key}" for key in methods - {"get_params", "set_params"}}
        elif callable(value):
            names.add(name)
    return names


def known_calls() -> set[str]:
    """Return the names in LONG_CALLS and NOT_MEASURED in the form of :func:`public_calls`."""
    names = set(NOT_MEASURED)
    for call in LONG_CALLS:
        owner, dot, method = call.partition(",")[0].partition(".")
        kind = "Estimator" if owner.startswith("PartialLabel") else "Aggregator"
        names.add(f"{kind}.{method}" if dot else owner)
    return names


def main() -> None:
    warnings.simplefilter("ignore")
    for name in sys.argv[1:]:
        call = LONG_CALLS[name]()
        print("ready", flush=True)
        try:
            call()
        except KeyboardInterrupt:
            ended = time.time()
            works = br.Borda().aggregate([[1, 2, 3]]).tolist() == [1, 2, 3]
            print(ended, works, flush=True)
        else:
            print("the call ended before the signal", flush=True)
        for cached in (rankings, features, matrix, gaps):
            cached.cache_clear()


if __name__ == "__main__":
    main()
