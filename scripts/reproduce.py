"""Run the paper's whole study and print our numbers beside the published ones.

    python scripts/reproduce.py --data FOLDER --paper FOLDER [--store FILE] [--report FILE] [--seed N] [--jobs N]

FOLDER of --data has the 17 datasets as CSV files, that of --paper the published tables: accuracy.csv (columns dataset,
missing in percent, aggregator, tau_x_mean, tau_x_sd), holm.csv, beta.csv and training_time.csv. The exit code is 1 when
a bound at the end does not hold.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import numpy as np

from bucketrank.datasets import Dataset, read_folder
from bucketrank.experiments import PAPER_AGGREGATORS, BetaRecommender, Study, beta_study, compare
from bucketrank.tables import Table
from published import Cell, Published, sections
from real_betas import SCORING, beta_table

# Borda and Copeland use recommended thresholds there.
REAL_DATASETS = ("algae", "movies")
LOTTERY = "maximal_lottery"

# Bounds by level: mean and largest absolute difference, and sets whose best method must agree.
MEAN_BOUND = {0: 0.005, 30: 0.006, 60: 0.009}
LARGEST_BOUND = {0: 0.015, 30: 0.03, 60: 0.045}
CLOSE = 0.005
AGREEING_SETS = 14


def main() -> int:
    options = parse()
    datasets = read_folder(options.data)
    published = Published.read(options.paper)
    started = time.perf_counter()
    study = whole_study(datasets, options)
    seconds = time.perf_counter() - started
    cells = list(published.cells(study))
    print_cells(cells)
    holds = print_totals(cells)
    real = [data for data in datasets if data.name in REAL_DATASETS]
    betas = beta_table(real, study, published, n_jobs=options.jobs) if real else None
    if betas is not None:
        print(f"\n{betas}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"\n{len(study)} results in {seconds:.1f} s, peak memory {memory:.2f} GB")
    if options.report is not None:
        write_report(study, datasets, betas, options)
    return 0 if holds else 1


def write_report(
    study: Study, datasets: list[Dataset], betas: Table | None, options: argparse.Namespace
) -> None:
    """Write the paper's tables and figures, ours beside them, as one page."""
    synthetic = [data for data in datasets if data.name not in REAL_DATASETS]
    extra = []
    if synthetic:
        # One repeat shows the curves as well as five.
        curves = beta_study(synthetic, n_repeats=1, seed=options.seed, n_jobs=options.jobs)
        print(f"\n{curves}")
        extra.append(curves.section())
    extra += sections(study, Published.read(options.paper), betas)
    study.report(options.report, title="Rank aggregation for partial label ranking", sections=extra)
    print(f"\nreport: {options.report}")


def whole_study(datasets: list[Dataset], options: argparse.Namespace) -> Study:
    """The synthetic datasets with the usual thresholds, the real ones with those that are recommended by each fold."""
    recommended = {
        name: BetaRecommender.default(name) if name in SCORING else name
        for name in PAPER_AGGREGATORS
    }
    synthetic = [d for d in datasets if d.name not in REAL_DATASETS]
    real = [d for d in datasets if d.name in REAL_DATASETS]
    parts = []
    for group, methods, suffix in (
        (synthetic, PAPER_AGGREGATORS, ""),
        (real, recommended, "-real"),
    ):
        if group:
            store = options.store and f"{options.store}{suffix}"
            parts.append(
                compare(
                    group,
                    methods,
                    baseline=False,
                    seed=options.seed,
                    n_jobs=options.jobs,
                    store=store,
                )
            )
    return Study.joined(parts)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the paper's whole study.")
    parser.add_argument("--data", required=True, help="folder with the datasets as CSV files")
    parser.add_argument("--paper", required=True, help="folder with the published tables")
    parser.add_argument("--store", help="keep results here, and resume from here")
    parser.add_argument("--report", help="write a report here, an HTML page")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    return parser.parse_args()


def print_cells(cells: list[Cell]) -> None:
    for missing in sorted({cell.missing for cell in cells}):
        print(f"\n{missing} % missing: ours / paper / difference")
        print(" " * 11 + "".join(f"{method:>19}" for method in PAPER_AGGREGATORS))
        level = {(c.dataset, c.method): c for c in cells if c.missing == missing}
        for dataset in dict.fromkeys(dataset for dataset, _ in level):
            line = f"{dataset:<11}"
            for method in PAPER_AGGREGATORS:
                cell = level.get((dataset, method))
                line += (
                    f"   {cell.ours:.3f} {cell.paper:.3f} {cell.difference:+.3f}".replace("0.", ".")
                    if cell
                    else f"{'-':>19}"
                )
            print(line)


def print_totals(cells: list[Cell]) -> bool:
    synthetic = [cell for cell in cells if cell.dataset not in REAL_DATASETS]
    all_hold = True
    print("\nthe synthetic datasets, all methods but the maximal lottery")
    for missing in MEAN_BOUND:
        level = [c for c in synthetic if c.missing == missing and c.method != LOTTERY]
        if not level:
            continue
        sizes = np.abs([cell.difference for cell in level])
        agreeing, sets = best_methods_agree(level)
        largest = level[int(sizes.argmax())]
        bounds = {
            f"mean difference {sizes.mean():.4f}": (sizes.mean(), MEAN_BOUND[missing]),
            f"largest {sizes.max():.3f} ({largest.dataset}, {largest.method})": (
                sizes.max(),
                LARGEST_BOUND[missing],
            ),
        }
        parts = []
        for text, (found, bound) in bounds.items():
            parts.append(
                f"{text}, at most {bound}: {'holds' if found <= bound else 'DOES NOT HOLD'}"
            )
            all_hold &= found <= bound
        enough = agreeing >= min(AGREEING_SETS, sets)
        parts.append(
            f"best method agrees on {agreeing} of {sets}: {'holds' if enough else 'DOES NOT HOLD'}"
        )
        all_hold &= enough
        print(f"  {missing:>2} %: " + "; ".join(parts))
    print(
        "maximal lottery (where several lotteries are maximal, ours is the fairest, the paper's is any)"
    )
    for missing in MEAN_BOUND:
        level = [c for c in synthetic if c.missing == missing and c.method == LOTTERY]
        if level:
            sizes = np.abs([cell.difference for cell in level])
            print(
                f"  {missing:>2} %: mean difference {sizes.mean():.4f}, largest {sizes.max():.3f}"
            )
    return all_hold


def best_methods_agree(level: list[Cell]) -> tuple[int, int]:
    """Count the datasets where the method that is best in the paper is ours too, or close to our best."""
    agreeing = 0
    datasets = {cell.dataset for cell in level}
    for dataset in datasets:
        row = [cell for cell in level if cell.dataset == dataset]
        theirs = max(row, key=lambda cell: cell.paper)
        agreeing += theirs.ours >= max(cell.ours for cell in row) - CLOSE
    return agreeing, len(datasets)


if __name__ == "__main__":
    sys.exit(main())
