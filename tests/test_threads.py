"""Calls from several Python threads at once, also without the global interpreter lock."""

from __future__ import annotations

import pickle
import sys
import sysconfig
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import bucketrank as br
from bucketrank import datasets
from bucketrank.experiments import compare
from tree_data import random_data, with_missing_labels

THREADS = 8
X, Y = random_data(3, rows=120)
INCOMPLETE = with_missing_labels(Y, 0.3, 3)
SETS = [INCOMPLETE[start : start + 10] for start in range(0, 120, 10)]
BATTLES = datasets.make_battles(400, n_labels=5, random_state=0).comparisons
MODELS = {
    "tree": br.PartialLabelRankingTree("tau_x", shrinkage="path"),
    "forest": br.PartialLabelRankingForest(n_estimators=6, oob_score=True, random_state=0),
    "booster": br.PartialLabelRankingBooster(rounds=6, random_state=0),
    "linear": br.PartialLabelRankingLinear(),
    "ranker": br.PartialLabelRanker(n_estimators=4, rounds=4, n_parts=2, random_state=0),
}
METHODS = [br.get_aggregator(name) for name in br.METHODS]


def run_in_threads(work: Callable[[], Any]) -> list[Any]:
    """Return the results of the same work on all threads, which start together."""
    start = threading.Barrier(THREADS)

    def run(_: int) -> Any:
        start.wait()
        return work()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def check_same_on_all_threads(work: Callable[[], Any]) -> None:
    expected = pickle.dumps(work())
    assert [pickle.dumps(found) == expected for found in run_in_threads(work)] == [True] * THREADS


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="needs a free-threaded Python"
)
def test_the_lock_stays_off() -> None:
    """Importing an extension that does not declare support for free threading would enable the lock again."""
    is_enabled = getattr(sys, "_is_gil_enabled", None)  # not there before Python 3.13
    assert is_enabled is not None
    assert not is_enabled()


@pytest.mark.parametrize("name", MODELS)
def test_fits_on_shared_arrays(name: str) -> None:
    check_same_on_all_threads(lambda: clone(MODELS[name]).fit(X, INCOMPLETE).predict(X))


@pytest.mark.parametrize("name", MODELS)
def test_a_fresh_model_is_shared(name: str) -> None:
    """The first prediction of a model prepares its tables; here all threads make this prediction at the same time."""
    model = pickle.loads(pickle.dumps(MODELS[name].fit(X, INCOMPLETE)))
    found = run_in_threads(
        lambda: (model.predict(X), model.predict_pair_shares(X), model.score(X, Y))
    )
    fresh = pickle.loads(pickle.dumps(model))
    expected = (fresh.predict(X), fresh.predict_pair_shares(X), fresh.score(X, Y))
    for each in found:
        for ours, theirs in zip(each, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_aggregators_and_metrics() -> None:
    check_same_on_all_threads(
        lambda: [[method.aggregate(rows) for rows in SETS] for method in METHODS]
    )
    check_same_on_all_threads(
        lambda: [br.TauX().aggregate_many(SETS, n_jobs=2), br.tau_x(Y, Y[::-1])]
    )


def test_leaderboards() -> None:
    check_same_on_all_threads(lambda: str(br.leaderboard(BATTLES, n_resamples=50, n_jobs=2)))


def test_studies() -> None:
    check_same_on_all_threads(
        lambda: str(
            compare(["iris"], ["borda", "mc4"], missing=0.3, n_repeats=1, n_folds=2).summary()
        )
    )
