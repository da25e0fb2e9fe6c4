"""Soak test: many aggregations against the exact reference, and many predictions without growth of memory.

``python scripts/soak.py`` makes 1,000,000 random aggregations and 100,000 calls of predict; ``--aggregations`` and
``--predictions`` change the numbers. Random profiles (sets of rankings) of few labels repeat, so that each distinct
profile is computed by the slow reference in `tests/reference` once and by the package every time. Linux only: memory is
read from /proc.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import bucketrank as br
from reference import aggregators as reference
from reference import lottery, markov
from reference.pairs import pair_order
from reference.rankings import all_weak_orders

METHODS: list[br.Aggregator] = [
    br.Borda(),
    br.Borda(0),
    br.Copeland(),
    br.BucketPivot(),
    *(br.MarkovChain(variant) for variant in (1, 2, 3, 4)),
    br.MaximalLottery(),
]
SHAPES = [(3, 1), (3, 2), (3, 3), (3, 4), (4, 1), (4, 2)]
"""Numbers of labels and of rankings."""

MEMORY_SLACK = 32 << 20
"""Growth of memory in bytes that is not a leak: the allocator keeps some."""


def by_reference(aggregator: br.Aggregator, Y: list[tuple[int, ...]]) -> list[int]:
    """Return the consensus that the reference computes with exact fractions."""
    C = pair_order(Y)
    if isinstance(aggregator, br.Borda):
        return reference.borda(C, float(aggregator.beta))
    if isinstance(aggregator, br.Copeland):
        return reference.copeland(C, float(aggregator.beta))
    if isinstance(aggregator, br.BucketPivot):
        return reference.bucket_pivot(C, float(aggregator.beta))
    if isinstance(aggregator, br.MarkovChain):
        return markov.markov_chain(markov.transition_matrix(Y, aggregator.variant))
    return lottery.lottery_ranking(lottery.maximal_lottery(C))


def aggregate_randomly(count: int, seed: int) -> tuple[int, int]:
    """Compare `count` random aggregations with the reference; return their number and that of distinct ones."""
    rng = np.random.default_rng(seed)
    known: dict[tuple[int, tuple[tuple[int, ...], ...]], list[int]] = {}
    done = 0
    batch = 4000
    while done < count:
        method = int(rng.integers(len(METHODS)))
        labels, rows = SHAPES[int(rng.integers(len(SHAPES)))]
        orders = np.array(list(all_weak_orders(labels)))
        size = min(batch, count - done)
        sets = orders[rng.integers(len(orders), size=(size, rows))]
        found = METHODS[method].aggregate_many(sets, n_jobs=1 + done // batch % 2)
        for Y, positions in zip(sets.tolist(), found.tolist(), strict=True):
            profile = tuple(sorted(map(tuple, Y)))
            if (method, profile) not in known:
                known[method, profile] = by_reference(METHODS[method], list(profile))
            if positions != known[method, profile]:
                raise AssertionError(
                    f"{METHODS[method]!r} of {profile}: {positions}; "
                    f"the reference gives {known[method, profile]}"
                )
        done += size
    return done, len(known)


def resident_bytes() -> int:
    """Return the memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def predict_repeatedly(count: int) -> tuple[int, int]:
    """Call predict of all estimators `count` times in total; return that number and the growth of memory in bytes."""
    rng = np.random.default_rng(0)
    X: NDArray[np.float64] = rng.normal(size=(60, 4))
    Y = rng.permuted(np.tile(np.arange(1, 6), (60, 1)), axis=1)
    estimators: list[Any] = [
        br.PartialLabelRankingBaseline(),
        br.PartialLabelRankingTree(),
        br.PartialLabelRankingTree("tau_x", shrinkage="path", routing="soft"),
        br.PartialLabelRankingForest(n_estimators=5, random_state=0),
        br.PartialLabelRankingBooster(rounds=5, random_state=0),
        br.PartialLabelRankingLinear(),
        br.PartialLabelRanker(n_estimators=3, rounds=3, n_parts=2, random_state=0),
    ]
    models = [estimator.fit(X, Y) for estimator in estimators]
    expected = [model.predict(X[:3]) for model in models]
    start = 0
    for call in range(count):
        which = call % len(models)
        found = models[which].predict(X[:3])
        if not np.array_equal(found, expected[which]):
            raise AssertionError(
                f"{models[which]!r} predicts {found}; its first prediction was {expected[which]}"
            )
        if call == count // 10:
            # Caches are full by now.
            start = resident_bytes()
    return count, resident_bytes() - start


def main() -> int:
    """Run both parts and print their results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--aggregations", type=int, default=1_000_000)
    parser.add_argument("--predictions", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    began = time.monotonic()
    done, distinct = aggregate_randomly(options.aggregations, options.seed)
    seconds = time.monotonic() - began
    print(
        f"{done} aggregations equal the reference ({distinct} distinct, {seconds:.0f} s)",
        flush=True,
    )
    began = time.monotonic()
    done, growth = predict_repeatedly(options.predictions)
    seconds = time.monotonic() - began
    print(f"{done} predictions: memory grew by {growth / 2**20:.1f} MiB ({seconds:.0f} s)")
    return int(growth > MEMORY_SLACK)


if __name__ == "__main__":
    sys.exit(main())
