"""Exact consensus: time until an optimum is proven, compared with corankco's solver, and until Ctrl-C ends a search."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import bucketrank as br

PEER_SETS = 20
"""Number of sets of rankings that both exact solvers solve."""


def mallows(n: int, phi: float, seed: int, rows: int = 50) -> Any:
    """Rankings around 0 < 1 < ... with ties and missing labels, by repeated insertion."""
    rng = np.random.default_rng(seed)
    table = np.full((rows, n), np.nan)
    for row in table:
        order: list[int] = []
        for label in range(n):
            weights = phi ** (label - np.arange(label + 1.0))
            order.insert(rng.choice(label + 1, p=weights / weights.sum()), label)
        row[order] = 1 + np.cumsum(rng.random(n) > 0.3)
        row[rng.random(n) < 0.1] = np.nan
    return br.to_dense_ranks(table)


def uniform(n: int, seed: int, rows: int = 50) -> Any:
    """Independent uniform rankings without ties."""
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(n) + 1 for _ in range(rows)])


def consensus() -> None:
    """Print the time of exact searches with their goals."""
    print("exact consensus of 50 rankings: slowest of the samples")
    for n, phi, samples, goal in ((30, 0.8, 8, 0.2), (200, 0.8, 4, 3.0), (1000, 0.7, 2, 30.0)):
        _search(
            f"Mallows n = {n:,}, phi = {phi}", [mallows(n, phi, s) for s in range(samples)], goal
        )
    _search("Mallows n = 30, phi = 0.9", [mallows(30, 0.9, s) for s in range(8)], 30.0, least=6)
    _search("uniform n = 20", [uniform(20, s) for s in range(4)], 30.0, least=0)
    _against_corankco()
    _interrupted()


def _search(name: str, samples: list[Any], goal: float, least: int | None = None) -> None:
    """Print the slowest exact search of the samples, of which at least `least` (None: all) must be proven optimal."""
    for aggregator in (
        br.Kemeny(search="exact", time_limit=goal),
        br.TauX("exact", time_limit=goal),
    ):
        times, found = [], []
        for Y in samples:
            start = time.perf_counter()
            found.append(aggregator.explain(Y).details)
            times.append(time.perf_counter() - start)
        proven = sum(details["optimal"] for details in found)
        sizes = [max(details["components"]) for details in found if "components" in details]
        parts = [f"largest components {min(sizes)} to {max(sizes)}"] if sizes else []
        parts += [f"gap {_gap(details):.2%}" for details in found if not details["optimal"]]
        # A search checks the clock only at intervals, so it may end a little after its time limit.
        reached = proven >= (len(samples) if least is None else least) and max(times) <= goal * 1.05
        line = (
            f"    {name + ', ' + type(aggregator).__name__:<36} {max(times) * 1e3:9.2f} ms  "
            f"proven {proven} of {len(samples)}  goal {goal:g} s {'ok' if reached else 'MISSED'}"
        )
        print("  ".join([line, *parts]))


def _gap(details: dict[str, Any]) -> float:
    if "gap" in details:
        return float(details["gap"] / details["distance"])
    return float(details["upper_bound"] - details["expected_tau_x"])


def _against_corankco(n: int = 12) -> None:
    solver = _corankco_solver()
    if solver is None:
        print("corankco is not installed: its line is left out")
        return
    sets = [
        br.to_dense_ranks(np.random.default_rng(seed).integers(0, n, (50, n)))
        for seed in range(PEER_SETS)
    ]
    ours = theirs = 0.0
    for Y in sets:
        start = time.perf_counter()
        details = br.Kemeny(search="exact").explain(Y).details
        ours += time.perf_counter() - start
        peer = solver(Y)
        start = time.perf_counter()
        score = peer()
        theirs += time.perf_counter() - start
        assert abs(score - details["distance"]) < 1e-6, (score, details)
    ratio = theirs / ours
    print(
        f"    Kemeny exact, {PEER_SETS} sets of 50 x {n} / corankco exact: {ours / PEER_SETS * 1e3:.3f} ms, "
        f"{theirs / PEER_SETS * 1e3:.1f} ms, {ratio:.0f}x  goal 100x {'ok' if ratio >= 100 else 'MISSED'}"
    )


def _corankco_solver() -> Callable[[Any], Callable[[], float]] | None:
    """Return a function that prepares corankco's exact algorithm with penalty 1/2 for a set of rankings."""
    try:
        import corankco
        from corankco.algorithms.exact.exactalgorithmpulp import ExactAlgorithmPulp
    except ImportError:
        return None
    scheme = corankco.ScoringScheme([[0, 1, 0.5, 0, 0, 0], [0.5, 0.5, 0, 0, 0, 0]])

    def prepare(Y: Any) -> Callable[[], float]:
        rankings = [corankco.Ranking([set(bucket) for bucket in row]) for row in br.to_buckets(Y)]
        dataset = corankco.Dataset(rankings)

        def solve() -> float:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = ExactAlgorithmPulp().compute_consensus_rankings(dataset, scheme, True)
            return float(found.kemeny_score)

        return solve

    return prepare


def _interrupted() -> None:
    """Print how long a search without a limit runs after Ctrl-C."""
    Y = uniform(60, 0)
    sent = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    # Shells start background jobs with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(2.0, interrupt)
    timer.start()
    try:
        br.Kemeny(search="exact").explain(Y)
    except KeyboardInterrupt:
        took = time.perf_counter() - sent[0]
        print(
            f"    Ctrl-C in an exact search: {took:.3f} s  goal 1 s {'ok' if took < 1 else 'MISSED'}"
        )
    else:
        print("    Ctrl-C in an exact search: the search ended before")
    finally:
        timer.cancel()
