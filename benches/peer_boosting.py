"""Boosting: our model of whole rankings compared with scikit-learn's boosting of classification problems.

No other library boosts rankings with ties. The peer is `HistGradientBoostingClassifier` with the same number of rounds
and the same depth: one classifier of the top label, and one classifier per pair of labels, of which a few are fitted
and the total is extrapolated. Both use two threads, in a separate process, because scikit-learn reads the number of
threads when it is imported.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

THREADS = 2
ROWS = 18_000
ROUNDS, DEPTH = 200, 6
PAIRS = 5
CATEGORY_ROWS = 10_000


def wall_seconds(call: Any, *arguments: Any) -> float:
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def letter() -> tuple[Any, Any]:
    from peer_trees import datasets

    X, Y = next((X, Y) for name, X, Y in datasets() if name == "letter")
    return X[:ROWS], Y[:ROWS]


def peer() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    # Only the depth limits the number of leaves, as in our trees.
    return HistGradientBoostingClassifier(
        max_iter=ROUNDS, max_depth=DEPTH, max_leaf_nodes=None, early_stopping=False
    )


def ours(**params: Any) -> Any:
    import bucketrank as br

    return br.PartialLabelRankingBooster(
        rounds=ROUNDS, max_depth=DEPTH, n_jobs=THREADS, random_state=0, **params
    )


def against_classifiers() -> None:
    X, Y = letter()
    top = Y.argmin(axis=1)
    booster, classifier = [], []
    for _ in range(2):
        booster.append(wall_seconds(ours().fit, X, Y))
        classifier.append(wall_seconds(peer().fit, X, top))
    best, theirs = min(booster), min(classifier)
    print(f"boosting letter ({len(X):,} rows, {ROUNDS} rounds, depth {DEPTH}, {THREADS} threads)")
    verdict = "ok" if theirs > best else "MISSED"
    print(f"    the ranking of 26 labels   {best:8.2f} s")
    print(
        f"    one classifier, top label  {theirs:8.2f} s  {theirs / best:6.1f}x  goal 1x {verdict}"
    )
    rng = np.random.default_rng(0)
    pairs = [(u, v) for u in range(26) for v in range(u + 1, 26)]
    chosen = rng.choice(len(pairs), PAIRS, replace=False)
    each = [
        wall_seconds(peer().fit, X, np.sign(Y[:, pairs[i][0]] - Y[:, pairs[i][1]])) for i in chosen
    ]
    total = float(np.mean(each)) * len(pairs)
    verdict = "ok" if total >= 50 * best else "MISSED"
    print(
        f"    {len(pairs)} pair classifiers       {total:8.0f} s  {total / best:6.0f}x  goal 50x {verdict}"
        f" (extrapolated from {PAIRS})"
    )
    booster = ours().fit(X, Y)
    print(f"    predict 18,000 rows        {wall_seconds(booster.predict, X):8.2f} s")


def growth() -> None:
    from peer_trees import generated

    print(f"growth of 20 rounds, {THREADS} threads")
    for rows, labels in (
        (10_000, 26), (100_000, 26), (1_000_000, 26), (10_000, 50), (10_000, 100), (10_000, 200),
    ):  # fmt: skip
        X, Y = generated(rows, 16, labels, None, 2)
        seconds = wall_seconds(ours().set_params(rounds=20).fit, X, Y)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
        each = seconds / (20 * rows * labels * (labels - 1) / 2) * 1e9
        print(
            f"    {rows:>9,} rows, {labels:>3} labels {seconds:8.2f} s  {each:6.2f} ns per row, pair and round"
            f"  peak memory so far {peak:.1f} GB"
        )


def rankers() -> None:
    """Compare the ranker, a mixture of several models, with a forest alone, on datasets of at least a thousand rows."""
    from peer_trees import datasets

    import bucketrank as br

    print(
        f"ranker against its forest alone, seconds to fit nine tenths of the rows ({THREADS} threads)"
    )
    for name, X, Y in datasets():
        if len(X) < 1000:
            continue
        rows = len(X) * 9 // 10
        turns = 5 if rows < 5000 else 2
        for missing in (0, 0.6):
            labels = br.drop_labels(Y[:rows], missing, seed=1) if missing else Y[:rows]
            times = [
                [
                    wall_seconds(estimator(n_jobs=THREADS, random_state=0).fit, X[:rows], labels)
                    for estimator in (br.PartialLabelRankingForest, br.PartialLabelRanker)
                ]
                for _ in range(turns)
            ]
            forest, ranker = (min(column) for column in zip(*times, strict=True))
            verdict = "" if missing else f"  goal 5 {'ok' if ranker <= 5 * forest else 'MISSED'}"
            print(
                f"    {name:<12}{missing:>5.0%} missing {ranker:8.2f} s against {forest:6.2f} s "
                f"{ranker / forest:6.1f} times{verdict}"
            )


def categories() -> None:
    """Compare 8 categorical columns of 20 levels with the same columns as numbers, in processor time."""
    import pandas as pd

    rng = np.random.default_rng(0)
    codes = rng.integers(0, 20, (CATEGORY_ROWS, 8))
    effects = rng.normal(size=(8, 20, 10))
    utilities = sum(effects[column][codes[:, column]] for column in range(8))
    noisy = utilities + rng.gumbel(size=utilities.shape)
    Y = (-noisy).argsort(axis=1).argsort(axis=1) // 2 + 1
    numbers = codes.astype(float)
    names = np.array([f"level {level}" for level in range(20)])
    frame = pd.DataFrame(
        {f"c{column}": names[codes[:, column]] for column in range(8)}, dtype="category"
    )
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(3):
        for own, table in zip(times, (numbers, frame), strict=True):
            start = time.process_time()
            ours().set_params(n_jobs=1).fit(table, Y)
            own.append(time.process_time() - start)
    ordinal, categorical = (min(own) for own in times)
    ratio = categorical / ordinal
    print(
        f"8 columns of 20 levels, {CATEGORY_ROWS:,} rows, 10 labels: as numbers {ordinal:.2f} s, as categories "
        f"{categorical:.2f} s, {ratio:.2f} times  goal 1.5 {'ok' if ratio <= 1.5 else 'MISSED'}"
    )


def boosting() -> None:
    """Run all comparisons in a separate process with `THREADS` threads."""
    subprocess.run(
        [sys.executable, str(Path(__file__).resolve())],
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": str(THREADS)},
    )


if __name__ == "__main__":
    against_classifiers()
    rankers()
    growth()
    categories()
