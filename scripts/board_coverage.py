"""Coverage of rank intervals and false separations of leaderboards, by simulation.

A separation is false if the leaderboard places a label ahead of one that is in the same or a better true tier.

python scripts/board_coverage.py [REPETITIONS]
"""

from __future__ import annotations

import sys

import numpy as np

from bucketrank import leaderboard
from bucketrank.datasets import make_battles

N_LABELS, N_TIERS, N_COMPARISONS, N_RESAMPLES = 12, 4, 6000, 400


def main() -> int:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(
        f"{N_LABELS} labels in {N_TIERS} groups of equal strength, {N_COMPARISONS} comparisons, "
        f"{N_RESAMPLES} resamples, {repetitions} repetitions, confidence 95 %"
    )
    for simultaneous in (True, False):
        covered, false, exact = simulate(repetitions, simultaneous=simultaneous)
        name = "simultaneous" if simultaneous else "pair by pair"
        print(
            f"{name}: all true ranks inside the intervals in {covered:.1%}, a false separation in {false:.1%}, "
            f"exactly the true tiers in {exact:.1%} of the repetitions"
        )
    return 0


def simulate(repetitions: int, *, simultaneous: bool) -> tuple[float, float, float]:
    """Shares of repetitions with all ranks covered, with a false separation, and with the true tiers."""
    results = []
    for seed in range(repetitions):
        truth = make_battles(N_COMPARISONS, N_LABELS, n_tiers=N_TIERS, random_state=seed)
        board = leaderboard(
            truth.comparisons,
            n_resamples=N_RESAMPLES,
            simultaneous=simultaneous,
            random_state=seed,
        )
        tiers = truth.tiers
        # Labels of equal strength share a range of ranks; an interval covers the truth if it contains the whole range.
        best = np.array([1 + (tiers < tier).sum() for tier in tiers])
        worst = np.array([(tiers <= tier).sum() for tier in tiers])
        covered = ((board.rank_low <= best) & (board.rank_high >= worst)).all()
        false = (board.ahead & (tiers[:, None] >= tiers)).any()
        results.append((covered, false, np.array_equal(board.tiers(), tiers)))
    covered, false, exact = np.array(results, dtype=float).mean(axis=0).tolist()
    return covered, false, exact


if __name__ == "__main__":
    sys.exit(main())
