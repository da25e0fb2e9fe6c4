"""Predictions of a forest, one thread: our ranking of all labels compared with scikit-learn's forests.

There are two peers: the multi-output forest on the codes of all pairs of labels (-1 before, 0 tied, 1 after), timed by
`predict_proba`, and the forest that predicts the top label only. The multi-output forest of 100 trees on letter would
take minutes and 17 GB, so its time is extrapolated from smaller forests, fitted on all rows; see `peer_forests`.

`PartialLabelRanker` is compared with its own forest. The time around the core is the time of `predict` for one row
minus the time of the call into the Rust extension.

A goal is met or MISSED; the aim printed after some goals is a better value to work towards and decides nothing.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from peer_forests import PART_ROWS, PREDICTED_ROWS, TREES, prediction_seconds
from peer_trees import named_or_generated, pair_codes
from sklearn.ensemble import RandomForestClassifier

import bucketrank as br
from bucketrank import _core

TURNS = 7
"""Number of alternating measurements; the best of each side counts."""

ONE_ROW_CALLS = 20


def best_seconds(*calls: Any) -> list[float]:
    """Best processor time of each call, measured alternately."""
    best = [float("inf")] * len(calls)
    for _ in range(TURNS):
        for index, call in enumerate(calls):
            start = time.process_time()
            call()
            best[index] = min(best[index], time.process_time() - start)
    return best


def one_row_seconds(rows: Any, *predictions: Any) -> list[float]:
    """Best processor time of each prediction of one row."""

    def one_by_one(predict: Any) -> None:
        for row in range(ONE_ROW_CALLS):
            predict(rows[row : row + 1])

    seconds = best_seconds(*(lambda p=p: one_by_one(p) for p in predictions))  # type: ignore[misc]
    return [best / ONE_ROW_CALLS for best in seconds]


def report_overhead(name: str, whole: float, core: float) -> None:
    """Report the time of one row that is spent around the core."""
    micros = (whole - core) * 1e6
    verdict = "ok" if micros < 50 else "MISSED"
    print(f"    {name}, one row: {micros:.1f} us around the core, goal 50 {verdict}")


def fitted(name: str) -> tuple[Any, Any, Any, Any]:
    """Features, rankings, our forest and the forest for the top label."""
    X, Y = named_or_generated(name)
    ours = br.PartialLabelRankingForest(n_estimators=TREES, n_jobs=2, random_state=0).fit(X, Y)
    top = RandomForestClassifier(TREES, n_jobs=2, random_state=0).fit(X, Y.argmin(axis=1))
    for model in (ours, top):
        model.set_params(n_jobs=1)
    start = time.process_time()
    ours.predict(X[:1])
    print(f"    {name}: first prediction {time.process_time() - start:.2f} s")
    return X, Y, ours, top


def report(name: str, ours: float, peer: float, ratio: float, goal: str, reached: bool) -> None:
    verdict = "ok" if reached else "MISSED"
    print(
        f"    {name:<48}{ours * 1e3:>10.3f} ms {peer * 1e3:>10.3f} ms {ratio:>8.3f}x  "
        f"goal {goal} {verdict}"
    )


def serving() -> None:
    print(
        f"\npredictions of forests of {TREES} trees, one thread, processor time: ours and the peer's"
    )
    letter()
    ranker()
    for name, goal in (("segment", 0.4), ("vowel", 0.5)):
        X, _, forest, top = fitted(name)
        rows = np.resize(X, (1000, X.shape[1]))  # vowel has fewer rows: they are repeated
        ours, peer = best_seconds(
            lambda f=forest, r=rows: f.predict(r), lambda t=top, r=rows: t.predict(r)
        )  # type: ignore[misc]
        name = f"{name}, {len(rows)} rows / top-label forest"
        report(name, ours, peer, ours / peer, f"at most {goal}x", ours <= goal * peer)


def letter() -> None:
    X, Y, forest, top = fitted("letter")
    seconds = prediction_seconds(forest, X, pair_codes(Y))
    name = f"letter, {PREDICTED_ROWS} rows / multi-output forest"
    ratio = seconds.peer / seconds.ours
    report(name, seconds.ours, seconds.peer, ratio, "at least 12x, aim 25x", ratio >= 12)
    least, most = seconds.peer_turns
    print(
        f"    letter, multi-output forest: {least * 1e3:.0f} to {most * 1e3:.0f} ms in single turns; asked for "
        f"{PART_ROWS} rows at a time {seconds.peer_in_parts * 1e3:.0f} ms, {seconds.peer_in_parts / seconds.ours:.1f}x"
    )

    rows = X[:PREDICTED_ROWS]
    ours, peer = one_row_seconds(rows, forest.predict, top.predict)
    name = "letter, one row / top-label forest"
    report(name, ours, peer, ours / peer, "at most .12x, aim .04x", ours <= 0.12 * peer)
    spec, strength = forest.aggregator_._spec(), forest.shrinkage_strength_
    hot = np.repeat(rows[:1], ONE_ROW_CALLS, axis=0)
    core = partial(forest.forest_.consensus, spec, strength=strength, out_of_bag=False, n_jobs=1)
    report_overhead(
        "forest, letter", *one_row_seconds(hot, forest.predict, lambda row: core(x=row))
    )
    size = len(forest.forest_.to_bytes()) / 1e6
    verdict = "ok" if size <= 60 else "MISSED"
    print(f"    letter, saved forest: {size:.1f} MB, goal 60, aim 40 {verdict}")


def ranker() -> None:
    X, Y = named_or_generated("letter")
    model = br.PartialLabelRanker(n_jobs=2, random_state=0).fit(X, Y).set_params(n_jobs=1)
    forest = model.components_["forest"][0].set_params(n_jobs=1)
    rows = X[:2000]
    model.predict(rows[:1])
    ours, own = one_row_seconds(rows, model.predict, forest.predict)
    name = "ranker, letter, one row / its own forest"
    report(name, ours, own, ours / own, "at most 2.5x, aim 1.8x", ours <= 2.5 * own)
    ours, own = best_seconds(lambda: model.predict(rows), lambda: forest.predict(rows))
    name = f"ranker, letter, {len(rows)} rows / its own forest"
    report(name, ours, own, ours / own, "at most 1.8x, aim 1.4x", ours <= 1.8 * own)
    _, components, pool = model._models()
    core = partial(_core.mixture_consensus, model.aggregator_._spec(), components, pool, n_jobs=1)
    hot = np.repeat(rows[:1], ONE_ROW_CALLS, axis=0)
    report_overhead("ranker, letter", *one_row_seconds(hot, model.predict, lambda row: core(x=row)))


if __name__ == "__main__":
    serving()
