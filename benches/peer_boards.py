"""Leaderboards compared with bootstraps of evalica and of scikit-learn, with the same number of resamples."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bucketrank as br

RESAMPLES = 1000
PEER_SHARE = 0.01
"""Part of the resamples that the peers compute; their time is extrapolated."""
TURNS = 3
"""Alternating turns of both sides; the fastest of each counts."""


# Run in a separate process. The peak memory is reset after the input arrays are created.
LARGE = """
import sys, time
import bucketrank as br
data = br.datasets.make_battles(2_000_000, 200, random_state=1).comparisons
first, second, outcome = data.first, data.second, 1 - data.outcome / 2
br.leaderboard(br.from_comparisons([0, 1], [1, 0], [0, 1]), n_resamples=2)
del data
def status(key):
    return int(next(line for line in open("/proc/self/status") if line.startswith(key)).split()[1])
is_linux = sys.platform == "linux"
if is_linux:
    open("/proc/self/clear_refs", "w").write("5")
    before = status("VmRSS")
start = time.perf_counter()
comparisons = br.from_comparisons(first, second, outcome)
read = time.perf_counter()
br.leaderboard(comparisons, n_resamples=int(sys.argv[1]))
end = time.perf_counter()
print(read - start, end - read, (status("VmHWM") - before) / 1024 if is_linux else "nan")
"""


def boards() -> None:
    """Print the time of a medium leaderboard against the peers' bootstraps, and the time and memory of a large one."""
    data = br.datasets.make_battles(100_000, 40, random_state=0).comparisons
    for name, bootstrap in (
        ("evalica", evalica_bootstrap(data)),
        ("scikit-learn", sklearn_bootstrap(data)),
    ):
        if bootstrap is None:
            print(f"    {name} is not installed: its line is left out")
            continue
        ours, peer = fastest_turns(data, bootstrap)
        verdict = "ok" if peer / ours >= 20 else "MISSED"
        print(
            f"leaderboard, 100,000 x 40, {RESAMPLES:,} resamples, 1 thread both: {ours:.2f} s, "
            f"{name} {peer:.1f} s, {peer / ours:.1f}x  goal 20x {verdict}"
        )
    reading, took, memory = measured_large_board()
    verdict = "ok" if memory < 200 else "MISSED"
    print(
        f"leaderboard, 2,000,000 x 200, {RESAMPLES:,} resamples, 1 thread: {took:.2f} s "
        f"after {reading:.2f} s of reading; {memory:.0f} MB above the input, goal 200 MB {verdict}"
    )


def fastest_turns(data: Any, bootstrap: Callable[[int], Any]) -> tuple[float, float]:
    """Seconds of a leaderboard and of a peer's bootstrap, one thread each, measured in turns.

    The peer's matrices are small: on a machine with other load, two BLAS threads made its bootstrap ten times as slow.
    """
    from threadpoolctl import threadpool_limits

    ours, peer = [], []
    with threadpool_limits(1):
        for _ in range(TURNS):
            ours.append(seconds(lambda: br.leaderboard(data, n_resamples=RESAMPLES, n_jobs=1)))
            peer.append(seconds(lambda: bootstrap(int(PEER_SHARE * RESAMPLES))) / PEER_SHARE)
    return min(ours), min(peer)


def measured_large_board() -> tuple[float, float, float]:
    """Seconds of `from_comparisons` and of the large leaderboard, and their peak memory in MB above the inputs."""
    result = subprocess.run(
        [sys.executable, "-c", LARGE, str(RESAMPLES)],
        cwd=Path(__file__).resolve().parent,
        capture_output=True,
        text=True,
        check=True,
    )
    reading, took, memory = map(float, result.stdout.split())
    return reading, took, memory


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def evalica_bootstrap(data: Any) -> Callable[[int], Any] | None:
    """Return a function that resamples rows and fits evalica's Bradley–Terry model; None without evalica."""
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
    """Return a function that resamples rows and fits a logistic regression to pairs, with their counts as weights."""
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
