"""Run the complete study of the paper and compare our results with the published ones.

    python scripts/reproduce.py --data FOLDER --paper FOLDER [--store FILE] [--report FILE] [--seed N] [--jobs N]

The folder of --data contains the 17 datasets as CSV files, and that of --paper the published tables: accuracy.csv
(columns dataset, missing in percent, aggregator, tau_x_mean, tau_x_sd), holm.csv, beta.csv and training_time.csv. The
exit code is 1 when a bound does not hold.
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

# Borda and Copeland use recommended thresholds on these datasets.
REAL_DATASETS = ("algae", "movies")
LOTTERY = "maximal_lottery"

# Bounds by level: mean and largest absolute difference, and number of datasets whose best method must agree.
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
    """Write a report that compares our tables and figures with the paper's."""
    synthetic = [data for data in datasets if data.name not in REAL_DATASETS]
    extra = []
    if synthetic:
        # One repeat is enough for the curves.
        curves = beta_study(synthetic, n_repeats=1, seed=options.seed, n_jobs=options.jobs)
        print(f"\n{curves}")
        extra.append(curves.section())
    extra += sections(study, Published.read(options.paper), betas)
    study.report(options.report, title="Rank aggregation for partial label ranking", sections=extra)
    print(f"\nreport: {options.report}")


def whole_study(datasets: list[Dataset], options: argparse.Namespace) -> Study:
    """Run the synthetic datasets with default thresholds, and the real ones with thresholds recommended per fold."""
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
    parser = argparse.ArgumentParser(description="Run the complete study of the paper.")
    parser.add_argument("--data", required=True, help="folder with the datasets as CSV files")
    parser.add_argument("--paper", required=True, help="folder with the published tables")
    parser.add_argument("--store", help="save each result to this file, and resume from it")
    parser.add_argument("--report", help="HTML file to write the report to")
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
    print("\nthe synthetic datasets, all methods except the maximal lottery")
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
        "maximal lottery (if several lotteries are maximal, ours is the fairest, the paper's an arbitrary one)"
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
    """Count the datasets on which the paper's best method is also our best, or close to it."""
    agreeing = 0
    datasets = {cell.dataset for cell in level}
    for dataset in datasets:
        row = [cell for cell in level if cell.dataset == dataset]
        theirs = max(row, key=lambda cell: cell.paper)
        agreeing += theirs.ours >= max(cell.ours for cell in row) - CLOSE
    return agreeing, len(datasets)


if __name__ == "__main__":
    sys.exit(main())
