"""Forests: our fit compared with scikit-learn's multi-output random forest on the codes of all pairs of labels.

The code of a pair is -1, 0 or 1: before, tied or after. Also measures the cost of TauX and of shrinkage on one tree.
"""

from __future__ import annotations

import copy
import pickle
import time
from typing import Any, NamedTuple

from peer_trees import full_tree, named_or_generated, pair_codes, processor_seconds
from sklearn.ensemble import RandomForestClassifier

import bucketrank as br

TREES = 100
PEER_TREES = (2, 6)
"""Sizes of scikit-learn's forests. One of the same size as ours would take minutes, so its time is extrapolated from
two small forests; two sizes separate the time per tree from the constant part, which must not be scaled."""

PREDICTING_TREES = (6, 24)
"""Sizes of scikit-learn's forests whose predictions are timed: the smaller one is the first trees of the larger one. A
tree on letter takes about 170 MB and 5 s to fit, so a forest of the same size as ours would take 17 GB."""

PREDICTED_ROWS = 2000

PART_ROWS = 500
"""Rows per call of the second measurement of the peer. For 2,000 rows, the output of a tree and the sums of all trees
are 31 MB together, about as large as a last-level cache. The peer reads both once per pair of labels, a few bytes per
cache line, so that its time per tree doubles when other processes use a part of that cache. With 500 rows both fit."""

THREADS = 2

TURNS = 3
"""Number of alternating measurements. The best of each side counts, because other load slows single turns."""

PREDICTION_TURNS = 9


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
    prediction(forests[-1].set_params(n_jobs=1), X, codes)
    consensus_and_shrinkage(X, Y)


def best(measured: Any) -> tuple[float, float]:
    """Smallest wall time and smallest processor time over the turns."""
    wall, processor = (min(seconds) for seconds in zip(*measured, strict=True))
    return wall, processor


def extrapolated(measured: list[tuple[float, float]]) -> list[float]:
    """Seconds for all trees, extrapolated from those of `PEER_TREES`."""
    return [all_trees(a, b, PEER_TREES) for a, b in zip(*measured, strict=True)]


def all_trees(
    few_seconds: float, more_seconds: float, trees: tuple[int, int] = PREDICTING_TREES
) -> float:
    """Seconds for all trees, extrapolated from two numbers of trees."""
    few, more = trees
    return few_seconds + (more_seconds - few_seconds) * (TREES - few) / (more - few)


class PredictionSeconds(NamedTuple):
    """Best processor times of predictions of the same rows; those of the peer are extrapolated to all trees."""

    ours: float
    peer: float
    peer_in_parts: float
    """The peer asked for `PART_ROWS` rows at a time."""
    peer_turns: tuple[float, float]
    """Smallest and largest time of `peer` if it is extrapolated from single turns."""


def prediction_seconds(forest: Any, X: Any, codes: Any) -> PredictionSeconds:
    """Time our consensus of averaged shares, and the peer's averaged class probabilities of each pair.

    One thread. Every turn calls ours and both sizes of the peer once, after one call of each that is not timed.
    """
    peer = RandomForestClassifier(
        PREDICTING_TREES[1],
        criterion="entropy",
        max_features="sqrt",
        n_jobs=THREADS,
        random_state=0,
    ).fit(X, codes)
    peers = [first_trees(peer.set_params(n_jobs=1), trees) for trees in PREDICTING_TREES]
    rows = X[:PREDICTED_ROWS]

    def in_parts(model: Any) -> None:
        for start in range(0, len(rows), PART_ROWS):
            model.predict_proba(rows[start : start + PART_ROWS])

    def turn() -> list[float]:
        return [
            processor_seconds(forest.predict, rows),
            *(processor_seconds(model.predict_proba, rows) for model in peers),
            *(processor_seconds(in_parts, model) for model in peers),
        ]

    turn()
    turns = [turn() for _ in range(PREDICTION_TURNS)]
    ours, few, more, few_in_parts, more_in_parts = map(min, zip(*turns, strict=True))
    single = [all_trees(t[1], t[2]) for t in turns]
    return PredictionSeconds(
        ours=ours,
        peer=all_trees(few, more),
        peer_in_parts=all_trees(few_in_parts, more_in_parts),
        peer_turns=(min(single), max(single)),
    )


def first_trees(peer: Any, trees: int) -> Any:
    """The forest of the first trees of a fitted forest."""
    forest = copy.copy(peer)
    forest.estimators_ = peer.estimators_[:trees]
    forest.n_estimators = trees
    return forest


def prediction(forest: Any, X: Any, codes: Any) -> None:
    """Report the times of predictions."""
    seconds = prediction_seconds(forest, X, codes)
    few, more = PREDICTING_TREES
    print(
        f"    predict {PREDICTED_ROWS} rows, one thread, processor time, best of {PREDICTION_TURNS} alternating turns: "
        f"{seconds.ours:.3f}, scikit-learn's predict_proba from {few} and {more} trees {seconds.peer:.3f} "
        f"(single turns {seconds.peer_turns[0]:.3f} to {seconds.peer_turns[1]:.3f}), "
        f"{seconds.peer / seconds.ours:.1f}x; asked for {PART_ROWS} rows at a time {seconds.peer_in_parts:.3f}, "
        f"{seconds.peer_in_parts / seconds.ours:.1f}x"
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
