"""The time of bucketrank, that of another library (the peer) and their ratio, all measured in the same run.

Machines differ and are noisy, so only the ratio is meaningful. Both sides are timed alternately, and the best of
several turns counts. Each side uses one thread unless the line states another number.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any

# The peers' linear algebra must not use more threads than we do; NumPy reads these variables when it is imported.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402 (after the environment is set)
from peer_boards import boards  # noqa: E402
from peer_boosting import boosting  # noqa: E402
from peer_consensus import consensus  # noqa: E402
from peer_forests import forests  # noqa: E402
from peer_serving import serving  # noqa: E402
from peer_shap import shap_values  # noqa: E402
from peer_study import study  # noqa: E402
from peer_trees import large_trees, trees  # noqa: E402

import bucketrank as br  # noqa: E402


def seconds(call: Callable[[], Any], times: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def in_turns(ours: Callable[[], Any], peer: Callable[[], Any], turns: int) -> tuple[float, float]:
    """Best time of each side, measured alternately so that both have the same noise.

    A turn takes at least 5 ms: short calls are repeated.
    """
    repeats = [max(1, math.ceil(5e-3 / seconds(call))) for call in (ours, peer)]
    times = [(seconds(ours, repeats[0]), seconds(peer, repeats[1])) for _ in range(turns)]
    return min(t for t, _ in times), min(t for _, t in times)


def line(
    name: str,
    ours: Callable[[], Any],
    peer: Callable[[], Any],
    goal: float | None = None,
    turns: int = 7,
    peer_share: float = 1.0,
) -> float:
    """Print one comparison.

    `goal` is the ratio that it should reach, and `peer_share` the share of the work that the peer's call does.
    """
    our_time, peer_time = in_turns(ours, peer, turns)
    peer_time /= peer_share
    ratio = peer_time / our_time
    verdict = "" if goal is None else f"  goal {goal:g}x {'ok' if ratio >= goal else 'MISSED'}"
    print(f"{name:<62} {our_time * 1e3:10.3f} ms {peer_time * 1e3:11.3f} ms {ratio:8.1f}x{verdict}")
    return ratio


def random_rankings(rows: int, labels: int, values: int, seed: int) -> Any:
    return br.to_dense_ranks(np.random.default_rng(seed).integers(0, values, (rows, labels)))


# --- tau_x and pair counts against NumPy --------------------------------------------------------------------------


def tau_x_broadcast(truth: Any, predicted: Any) -> float:
    """All pairs of all rows at once, as signs in one byte."""
    a = np.where(truth[:, :, None] <= truth[:, None, :], np.int8(1), np.int8(-1))
    b = np.where(predicted[:, :, None] <= predicted[:, None, :], np.int8(1), np.int8(-1))
    n = truth.shape[1]
    return float(((a * b).sum(axis=(1, 2), dtype=np.int64) - n).mean() / (n * (n - 1)))


def tau_x_chunked(truth: Any, predicted: Any, chunk: int = 512) -> float:
    """A few rows at a time, so that the signs stay in cache."""
    n = truth.shape[1]
    disagreeing = 0
    for start in range(0, len(truth), chunk):
        a = truth[start : start + chunk].astype(np.int8)
        b = predicted[start : start + chunk].astype(np.int8)
        differ = (a[:, :, None] <= a[:, None, :]) != (b[:, :, None] <= b[:, None, :])
        disagreeing += int(np.count_nonzero(differ))
    return 1 - 2 * disagreeing / (len(truth) * n * (n - 1))


def tau_x_pairs(truth: Any, predicted: Any) -> float:
    """The two labels of each unordered pair, gathered by index."""
    n = truth.shape[1]
    u, v = np.triu_indices(n, 1)
    a = np.sign(truth[:, u] - truth[:, v])
    b = np.sign(predicted[:, u] - predicted[:, v])
    return float((a * b + ((a == 0) & (b == 0))).mean())


def tau_x_columns(truth: Any, predicted: Any) -> float:
    """Column by column in bytes: expert code, tuned for NumPy."""
    n = truth.shape[1]
    a = np.ascontiguousarray(truth.T, dtype=np.int8)
    b = np.ascontiguousarray(predicted.T, dtype=np.int8)
    disagreeing = 0
    for u in range(n):
        for v in range(n):
            if u != v:
                disagreeing += int(np.count_nonzero((a[u] <= a[v]) != (b[u] <= b[v])))
    return 1 - 2 * disagreeing / (len(truth) * n * (n - 1))


def pair_order_chunked(Y: Any, chunk: int = 256) -> Any:
    """Pair order matrix by comparing all pairs of a few rows at a time."""
    n = Y.shape[1]
    wins = np.zeros((n, n))
    for start in range(0, len(Y), chunk):
        block = Y[start : start + chunk].astype(np.int8)
        wins += (block[:, :, None] < block[:, None, :]).sum(axis=0)
        wins += (block[:, :, None] == block[:, None, :]).sum(axis=0) / 2
    return wins / len(Y)


def pair_order_broadcast(Y: Any) -> Any:
    """Pair order matrix by comparing all pairs of all rows at once."""
    wins = (Y[:, :, None] < Y[:, None, :]).sum(axis=0)
    return (wins + (Y[:, :, None] == Y[:, None, :]).sum(axis=0) / 2) / len(Y)


def pair_order_columns(Y: Any) -> Any:
    """Pair order matrix by whole columns in bytes."""
    columns = np.ascontiguousarray(Y.T, dtype=np.int8)
    n = len(columns)
    C = np.full((n, n), 0.5)
    for u in range(n):
        before = np.count_nonzero(columns[u] < columns, axis=1)
        tied = np.count_nonzero(columns[u] == columns, axis=1)
        C[u] = (before + tied / 2) / len(Y)
    return C


def metrics() -> None:
    truth, predicted = (random_rankings(100_000, 26, 10, seed) for seed in (1, 2))
    expected = br.tau_x(truth, predicted)
    formulations = [tau_x_broadcast, tau_x_chunked, tau_x_pairs]
    ratios = []
    for peer in [*formulations, tau_x_columns]:
        assert (
            abs(peer(truth[:1000], predicted[:1000]) - br.tau_x(truth[:1000], predicted[:1000]))
            < 1e-12
        )
        ratios.append(
            line(
                f"tau_x, 100,000 x 26 / NumPy {peer.__name__}",
                lambda: br.tau_x(truth, predicted),
                lambda peer=peer: peer(truth, predicted),  # type: ignore[misc]
            )
        )
    print(f"    smallest ratio of the first three: {min(ratios[:3]):.1f}x, goal 20x")
    best = min(seconds(lambda: br.tau_x(truth, predicted)) for _ in range(15))
    print(
        f"    {len(truth) / best / 1e6:.1f} M rows/s with checking, goal 5; tau_x = {expected:.4f}"
    )
    Y = truth[:20_000]
    for peer in (pair_order_broadcast, pair_order_chunked, pair_order_columns):
        assert np.allclose(peer(Y), br.pair_order_matrix(Y), atol=1e-12)
        line(
            f"pair order matrix, 20,000 x 26 / NumPy {peer.__name__}",
            lambda: br.pair_order_matrix(Y),
            lambda peer=peer: peer(Y),  # type: ignore[misc]
            goal=None if peer is pair_order_columns else 20,
        )


# --- aggregators ---------------------------------------------------------------------------------------------------


def against_corankco() -> None:
    try:
        import corankco
        from corankco.algorithms.borda.borda import BordaCount
        from corankco.algorithms.copeland.copeland import CopelandMethod
    except ImportError as error:
        print(f"corankco is not installed ({error}): its lines are left out")
        return
    Y = random_rankings(200, 26, 10, 3)
    rankings = [corankco.Ranking([set(bucket) for bucket in row]) for row in br.to_buckets(Y)]
    dataset = corankco.Dataset(rankings)
    scheme = corankco.ScoringScheme.get_unifying_scoring_scheme()
    for peer in (BordaCount(), CopelandMethod()):
        for aggregator in (br.Borda(), br.Copeland(), br.BucketPivot()):
            line(
                f"{aggregator!r}, 200 x 26 / corankco {type(peer).__name__}",
                lambda aggregator=aggregator: aggregator.aggregate(Y),  # type: ignore[misc]
                lambda peer=peer: peer.compute_consensus_rankings(dataset, scheme),  # type: ignore[misc]
                goal=100,
            )


def cyclic_matrices(count: int, labels: int, seed: int) -> Any:
    """Random pair order matrices without a Condorcet winner."""
    matrices = []
    rng = np.random.default_rng(seed)
    while len(matrices) < count:
        upper = np.triu(rng.random((labels, labels)), 1)
        C = upper + np.tril(1 - upper.T, -1) + 0.5 * np.eye(labels)
        if ((C > 0.5).sum(axis=1) < labels - 1).all():
            matrices.append(C)
    return np.stack(matrices)


def lottery_by_linprog(C: Any) -> Any:
    from scipy.optimize import linprog

    n = len(C)
    A = C - C.T
    return linprog(
        np.zeros(n), A_ub=-A.T, b_ub=np.zeros(n), A_eq=np.ones((1, n)), b_eq=[1], method="highs"
    ).x


def stationary_by_eig(P: Any) -> Any:
    values, vectors = np.linalg.eig(P.T)
    vector = np.abs(np.real(vectors[:, np.argmin(np.abs(values - 1))]))
    return vector / vector.sum()


def mc4_matrix(C: Any) -> Any:
    """Transition matrix of MC4 from a pair order matrix."""
    n = len(C)
    P = np.where(C <= 0.5 + 1e-9, 1 / n, 0.0)
    np.fill_diagonal(P, 0)
    np.fill_diagonal(P, 1 - P.sum(axis=1))
    return P


def chain_matrix(Y: Any, variant: int) -> Any:
    """Transition matrix of MC1, MC2 or MC3 for complete rankings."""
    at_least = Y[:, None, :] <= Y[:, :, None]  # axes: row, from label, to label
    if variant == 2:
        return (at_least / at_least.sum(axis=2, keepdims=True)).mean(axis=0)
    P = at_least.sum(axis=0).astype(float)
    if variant == 1:
        return P / P.sum(axis=1, keepdims=True)
    P /= len(Y) * Y.shape[1]
    np.fill_diagonal(P, 0)
    np.fill_diagonal(P, 1 - P.sum(axis=1))
    return P


def batches() -> None:
    matrices = cyclic_matrices(1000, 26, 4)
    share = 0.1  # of the batch, for peers that would take minutes
    some = matrices[: int(share * len(matrices))]
    line(
        "MarkovChain(4), 1,000 matrices n = 26 / numpy.linalg.eig",
        lambda: br.MarkovChain(4).aggregate_pair_order(matrices),
        lambda: [stationary_by_eig(mc4_matrix(C)) for C in some],
        goal=15,
        peer_share=share,
    )
    sets = [random_rankings(25, 26, 10, seed) for seed in range(1000)]
    for variant in (1, 2, 3):
        line(
            f"MarkovChain({variant}), 1,000 sets of 25 x 26 / numpy.linalg.eig",
            lambda variant=variant: br.MarkovChain(variant).aggregate_many(sets),  # type: ignore[misc]
            lambda variant=variant: [
                stationary_by_eig(chain_matrix(Y, variant)) for Y in sets[: len(some)]
            ],  # type: ignore[misc]
            goal=15,
            peer_share=share,
        )
        # The peer starts from given transition matrices; ours computes them too.
        chains = [chain_matrix(Y, variant) for Y in sets[: len(some)]]
        line(
            f"MarkovChain({variant}), as above / eig of given transition matrices",
            lambda variant=variant: br.MarkovChain(variant).aggregate_many(sets),  # type: ignore[misc]
            lambda chains=chains: [stationary_by_eig(P) for P in chains],  # type: ignore[misc]
            goal=15,
            peer_share=share,
        )
    lotteries = [lottery_by_linprog(C) for C in some]
    supports = [int((p > 1e-9).sum()) for p in lotteries]
    print(f"    median support of the lotteries: {np.median(supports):.0f} (goal 5 or more)")
    line(
        "MaximalLottery, 1,000 matrices n = 26 / scipy linprog(HiGHS)",
        lambda: br.MaximalLottery().aggregate_pair_order(matrices),
        lambda: [lottery_by_linprog(C) for C in some],
        goal=30,
        turns=3,
        peer_share=share,
    )
    threads(sets * 10)


def threads(sets: list[Any]) -> None:
    """Compare two threads with one, for a list of sets of rankings and for the same sets as one array."""
    for name, big in (("list", sets), ("array", np.stack(sets))):
        for aggregator in (br.MarkovChain(1), br.BucketPivot(), br.MaximalLottery()):
            line(
                f"{aggregator!r}, {name} of {len(big):,} sets, 2 threads / 1",
                lambda a=aggregator, big=big: a.aggregate_many(big, n_jobs=2),  # type: ignore[misc]
                lambda a=aggregator, big=big: a.aggregate_many(big, n_jobs=1),  # type: ignore[misc]
                goal=1.7,
                turns=60,
            )


def growth() -> None:
    print("seconds for one consensus of 50 rankings, by number of labels")
    sizes = (10, 25, 50, 100, 200)
    print(f"    {'':<30}" + "".join(f"{n:>10}" for n in sizes))
    for aggregator in (
        *(br.Borda(), br.Copeland(), br.BucketPivot()),
        *(br.MarkovChain(v) for v in (1, 2, 3, 4)),
        br.MaximalLottery(),
    ):
        times = []
        for n in sizes:
            Y = random_rankings(50, n, n, n)
            times.append(min(seconds(lambda Y=Y, a=aggregator: a.aggregate(Y)) for _ in range(5)))  # type: ignore[misc]
        print(f"    {aggregator!r:<30}" + "".join(f"{t:>10.6f}" for t in times))


SECTIONS: dict[str, Callable[[], None]] = {
    "metrics": metrics,
    "corankco": against_corankco,
    "batches": batches,
    "growth": growth,
    "trees": trees,
    "boosting": boosting,
    "forests": forests,
    "serving": serving,
    "large_trees": large_trees,
    "shap": shap_values,
    "study": study,
    "boards": boards,
    "consensus": consensus,
}

ON_DEMAND = ("boosting", "large_trees", "shap")
"""Sections that take minutes or need a further package; they run only when requested by name."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    usual = [name for name in SECTIONS if name not in ON_DEMAND]
    parser.add_argument(
        "sections",
        nargs="*",
        help=f"sections to run: any of {', '.join(SECTIONS)}; default: all but {', '.join(ON_DEMAND)}",
    )
    chosen = parser.parse_args().sections or usual
    print(f"{'':<62} {'bucketrank':>13} {'peer':>14} {'ratio':>9}")
    for section in chosen:
        SECTIONS[section]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
