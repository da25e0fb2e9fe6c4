"""Cost of studying and choosing thresholds for ties, as ratios of times in one run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from bucketrank import Borda, BucketPivot, Copeland, PartialLabelRankingTree
from bucketrank.datasets import make_rankings
from bucketrank.experiments import compare

pytestmark = pytest.mark.slow

DATA = make_rankings(4000, 12, 10, random_state=3)


def seconds(call: Callable[[], object]) -> float:
    """Best of several CPU times of this process, which exclude other load on the machine."""
    best = float("inf")
    for _ in range(4):
        started = time.process_time()
        call()
        best = min(best, time.process_time() - started)
    return best


def test_a_sweep_of_42_thresholds_takes_less_than_three_times_as_long_as_one() -> None:
    betas = [round(0.1 * step, 1) for step in range(21)]
    sweep = {f"b{b}": Borda(b) for b in betas} | {f"c{b}": Copeland(b) for b in betas}
    settings: dict[str, Any] = {"missing": 0.3, "n_repeats": 1, "n_folds": 3, "progress": False}
    one = seconds(lambda: compare([DATA], {"b": Borda()}, **settings))
    all_of_them = seconds(lambda: compare([DATA], sweep, **settings))
    print(f"42 thresholds take {all_of_them / one:.2f} times as long as one")
    assert all_of_them < 3 * one


@pytest.mark.parametrize("kind", [Borda, Copeland, BucketPivot])
def test_choosing_takes_at_most_four_times_as_long(kind: Any) -> None:
    usual = seconds(lambda: PartialLabelRankingTree(kind()).fit(DATA.X, DATA.Y))
    chosen = seconds(lambda: PartialLabelRankingTree(kind("auto")).fit(DATA.X, DATA.Y))
    print(f"{kind.__name__}: {chosen / usual:.2f} times")
    assert chosen <= 4 * usual


@pytest.mark.parametrize("params", [{"shrinkage": "path"}, {"routing": "soft"}])
def test_choosing_for_smoothed_leaves_takes_a_few_fits_and_predictions(params: Any) -> None:
    usual, auto = (PartialLabelRankingTree(Borda(beta), **params) for beta in (1, "auto"))
    fitted = seconds(lambda: usual.fit(DATA.X, DATA.Y).predict(DATA.X))
    chosen = seconds(lambda: auto.fit(DATA.X, DATA.Y).predict(DATA.X))
    print(f"{params}: {chosen / fitted:.2f} times")
    # With soft routing every row has its own shares, and the ratio is nearly 4; the bound has a margin for noise.
    assert chosen <= 5 * fitted
