"""A complete study with one and with two threads, measured alternately."""

from __future__ import annotations

import os
import time
from pathlib import Path

from bucketrank.datasets import Dataset, make_rankings, read_folder
from bucketrank.experiments import compare

SHARED = Path(os.environ.get("BUCKETRANK_SHARED", Path(__file__).parents[2] / "shared"))
GOAL = 1.7


def study(turns: int = 3) -> None:
    """Print the time of one repeat of the study of Wang, Alfaro and Bengs (2025), and the gain of a second thread."""
    folder = SHARED / "data"
    if folder.is_dir():
        datasets = read_folder(folder)
        print("\nstudy: 17 datasets, three levels, eight aggregators, 1 × 10 folds")
    else:
        datasets = _like_the_paper()
        print("\nstudy: generated datasets, three levels, eight aggregators, 1 × 10 folds")
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(turns):
        for threads in best:
            started = time.perf_counter()
            compare(datasets, n_repeats=1, baseline=False, n_jobs=threads, progress=False)
            best[threads] = min(best[threads], time.perf_counter() - started)
    ratio = best[1] / best[2]
    print(
        f"  1 thread {best[1]:.2f} s, 2 threads {best[2]:.2f} s: ratio {ratio:.2f} "
        f"(goal {GOAL}: {'reached' if ratio >= GOAL else 'missed'}); "
        f"5 × 10 folds with 2 threads: about {5 * best[2]:.0f} s (goal 90, stretch goal 40)"
    )


def _like_the_paper() -> list[Dataset]:
    """A large, a medium and a small dataset with shapes as in the paper."""
    shapes = {"letter": (20000, 16, 26), "satimage": (6435, 36, 6), "vowel": (528, 10, 11)}
    made = {name: make_rankings(*shape, random_state=0) for name, shape in shapes.items()}
    return [Dataset(name, data.X, data.Y) for name, data in made.items()]


if __name__ == "__main__":
    study()
