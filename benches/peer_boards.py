"""Leaderboards against bootstraps of evalica and of scikit-learn, with the same number of resamples."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import bucketrank as br

RESAMPLES = 1000
PEER_SHARE = 0.01
"""Part of the resamples that the peers compute; their time is extrapolated."""


def boards() -> None:
    """Print the time of a leaderboard of 100,000 comparisons of 40 labels, and of the peers' bootstraps."""
    data = br.datasets.make_battles(100_000, 40, random_state=0).comparisons
    ours = min(seconds(lambda: br.leaderboard(data, n_resamples=RESAMPLES)) for _ in range(3))
    print(f"leaderboard, 100,000 x 40, {RESAMPLES:,} resamples: {ours:.2f} s")
    for name, bootstrap in (
        ("evalica", evalica_bootstrap(data)),
        ("scikit-learn", sklearn_bootstrap(data)),
    ):
        if bootstrap is None:
            print(f"    {name} is not installed: its line is left out")
            continue
        peer = seconds(lambda b=bootstrap: b(int(PEER_SHARE * RESAMPLES))) / PEER_SHARE  # type: ignore[misc]
        verdict = "ok" if peer / ours >= 20 else "MISSED"
        print(f"    {name:<14} {peer:8.1f} s {peer / ours:8.1f}x  goal 20x {verdict}")
    big = br.datasets.make_battles(2_000_000, 200, random_state=1).comparisons
    took = seconds(lambda: br.leaderboard(big, n_resamples=RESAMPLES))
    print(f"leaderboard, 2,000,000 x 200, {RESAMPLES:,} resamples: {took:.2f} s")


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def evalica_bootstrap(data: Any) -> Callable[[int], Any] | None:
    """Resample rows, and fit the model of Bradley and Terry by evalica."""
    try:
        from evalica import Winner, bradley_terry
    except ImportError:
        return None
    names = np.array(data.labels)
    winner = np.array([Winner.X, Winner.Draw, Winner.Y], dtype=object)[data.outcome]
    first, second = names[data.first], names[data.second]

    def bootstrap(resamples: int) -> None:
        rng = np.random.default_rng(0)
        for _ in range(resamples):
            rows = rng.integers(0, len(first), len(first))
            bradley_terry(first[rows].tolist(), second[rows].tolist(), winner[rows].tolist())

    return bootstrap


def sklearn_bootstrap(data: Any) -> Callable[[int], Any]:
    """Resample rows, and fit a logistic regression to the distinct pairs with their counts as weights."""
    from sklearn.linear_model import LogisticRegression

    n = len(data.labels)
    cells = (data.first.astype(np.int64) * n + data.second) * 3 + data.outcome
    u, v = np.divmod(np.arange(n * n), n)
    design = np.eye(n)[u] - np.eye(n)[v]

    def bootstrap(resamples: int) -> None:
        rng = np.random.default_rng(0)
        for _ in range(resamples):
            drawn = cells[rng.integers(0, len(cells), len(cells))]
            counts = np.bincount(drawn, minlength=3 * n * n).reshape(n * n, 3)
            wins, losses = counts[:, 0] + counts[:, 1] / 2, counts[:, 2] + counts[:, 1] / 2
            seen = np.flatnonzero(wins + losses)
            LogisticRegression(C=10.0, fit_intercept=False, tol=1e-8).fit(
                np.vstack([design[seen], design[seen]]),
                np.repeat([1, 0], len(seen)),
                sample_weight=np.concatenate([wins[seen], losses[seen]]),
            )

    return bootstrap
