"""Forests: our fit compared with scikit-learn's multi-output random forest on the codes of all pairs of labels.

Also the cost of TauX and of shrinkage on one tree.
"""

from __future__ import annotations

import pickle
import time
from typing import Any

from peer_trees import full_tree, named_or_generated, pair_codes, processor_seconds
from sklearn.ensemble import RandomForestClassifier

import bucketrank as br

TREES = 100
PEER_TREES = (2, 6)
"""Sizes of scikit-learn's forests. One of the same size as ours would take minutes, so its time is extrapolated from
two small forests; two sizes separate the time per tree from the constant part, which must not be scaled."""

THREADS = 2

TURNS = 3
"""Number of alternating measurements. The best of each side counts, because other load slows single turns."""


def wall_and_processor_seconds(call: Any, *arguments: Any) -> tuple[float, float]:
    start = time.perf_counter()
    processor = processor_seconds(call, *arguments)
    return time.perf_counter() - start, processor


def forests() -> None:
    X, Y = named_or_generated("letter")
    codes = pair_codes(Y)
    print(
        f"forests of {TREES} trees on letter, {THREADS} threads both: seconds (processor seconds)"
    )
    peers = [
        RandomForestClassifier(
            trees, criterion="entropy", max_features="sqrt", n_jobs=THREADS, random_state=0
        )
        for trees in PEER_TREES
    ]
    forests = [
        br.PartialLabelRankingForest(
            n_estimators=TREES, variant=variant, n_jobs=THREADS, random_state=0
        )
        for variant in ("bootstrap", "extra_trees", "mixed")
    ]
    fits = [*((peer, codes) for peer in peers), *((forest, Y) for forest in forests)]
    turns = [
        [wall_and_processor_seconds(model.fit, X, labels) for model, labels in fits]
        for _ in range(TURNS)
    ]
    few, more, *ours = (best(measured) for measured in zip(*turns, strict=True))
    theirs = extrapolated([few, more])
    print(
        f"    {'scikit-learn, from {} and {} trees'.format(*PEER_TREES):<36}"
        f"{theirs[0]:>9.2f} ({theirs[1]:.2f})"
    )
    for forest, own in zip(forests, ours, strict=True):
        ratios = [peer_seconds / seconds for peer_seconds, seconds in zip(theirs, own, strict=True)]
        goal = ""
        if forest.variant == "bootstrap":
            goal = f"  goal 30x {'ok' if min(ratios) >= 30 else 'MISSED'}"
        print(
            f"    {forest.variant:<36}{own[0]:>9.2f} ({own[1]:.2f}) "
            f"{ratios[0]:>8.1f}x ({ratios[1]:.1f}x){goal}"
        )
    prediction(forests[-1], peers, X[:2000])
    consensus_and_shrinkage(X, Y)


def best(measured: Any) -> tuple[float, float]:
    """Smallest wall time and smallest processor time over the turns."""
    wall, processor = (min(seconds) for seconds in zip(*measured, strict=True))
    return wall, processor


def extrapolated(measured: list[tuple[float, float]]) -> list[float]:
    """Seconds for all trees, extrapolated from two numbers of trees."""
    few, more = PEER_TREES
    return [a + (b - a) * (TREES - few) / (more - few) for a, b in zip(*measured, strict=True)]


def prediction(forest: Any, peers: list[Any], X: Any) -> None:
    """Compare the time of our consensus of averaged shares with that of the peer's averaged class probabilities."""
    ours, *measured = (
        best([wall_and_processor_seconds(call, X) for _ in range(TURNS)])
        for call in (forest.predict, *(peer.predict_proba for peer in peers))
    )
    theirs = extrapolated(measured)
    ratios = [peer_seconds / own for peer_seconds, own in zip(theirs, ours, strict=True)]
    print(
        f"    {f'predict {len(X)} rows':<36}{ours[0]:>9.2f} ({ours[1]:.2f}) "
        f"{ratios[0]:>8.1f}x ({ratios[1]:.1f}x), scikit-learn {theirs[0]:.2f} ({theirs[1]:.2f})"
    )


def consensus_and_shrinkage(X: Any, Y: Any) -> None:
    options: list[dict[str, Any]] = [{}, {"min_samples_split": 2}]
    for params in options:
        tree = br.PartialLabelRankingTree(**params).fit(X, Y)
        # Without shrinkage, the first prediction aggregates all leaves, even for a single row, and caches their
        # consensus. A tree read from a pickle has an empty cache.
        times = {}
        for name, aggregator in (("Borda", br.Borda()), ("TauX", br.TauX())):
            seconds = []
            for _ in range(5):
                fresh = pickle.loads(pickle.dumps(tree)).with_aggregator(aggregator)
                seconds.append(processor_seconds(fresh.predict, X[:1]))
            times[name] = min(seconds)
        ratio = times["TauX"] / times["Borda"]
        print(
            f"        consensus of {tree.get_n_leaves()} leaves: TauX {times['TauX'] * 1e3:.1f} ms, "
            f"{ratio:.2f} times Borda, goal 2 {'ok' if ratio <= 2 else 'MISSED'}"
        )

    def fit_and_predict(**params: Any) -> float:
        def both() -> None:
            full_tree(aggregator="tau_x", **params).fit(X, Y).predict(X[:2000])

        return min(processor_seconds(both) for _ in range(3))

    plain, shrunk = fit_and_predict(), fit_and_predict(shrinkage="path")
    more = shrunk / plain - 1
    print(
        f"        path shrinkage adds {more:.0%} to a fit and its predictions, goal 50 % "
        f"{'ok' if more <= 0.5 else 'MISSED'}"
    )
