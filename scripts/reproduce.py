"""Run the complete study of the paper (Wang, Alfaro and Bengs, 2025), and compare our results with the published ones.

    python scripts/reproduce.py --data FOLDER --paper FOLDER [--store FILE] [--report FILE] [--seed N] [--jobs N]

The folder of --data contains the 17 datasets as CSV files, and that of --paper the published tables: accuracy.csv
(columns dataset, missing in percent, aggregator, tau_x_mean, tau_x_sd), holm.csv, beta.csv and training_time.csv. The
exit code is 1 when scores differ from the published ones by more than chance allows; z_scores.py states the criterion
and the scores that are exempt from it.
"""

from __future__ import annotations

import argparse
import resource
import sys
import textwrap
import time

from bucketrank.datasets import Dataset, read_folder
from bucketrank.experiments import PAPER_AGGREGATORS, BetaRecommender, Study, beta_study, compare
from bucketrank.experiments.report import Section
from bucketrank.tables import Table
from published import Cell, Published, sections
from real_betas import SCORING, beta_table
from z_scores import (
    EXPLANATIONS,
    LARGEST_RMS,
    LEVEL,
    REAL_DATASETS,
    explanation_table,
    judge,
    verdict,
)

METHODS_PER_BLOCK = 3
JUDGEMENT = (
    "z is our mean minus the published one, divided by the standard error of this difference, which is estimated from "
    f"the repeats. Scores hold if no cell differs at the significance level {LEVEL:g} (Holm over all cells that can "
    "match) and the root mean square of z, per percentage of missing labels, is at most "
    f"{LARGEST_RMS:g}; 1.41 is expected by chance."
)


def main() -> int:
    options = parse()
    datasets = read_folder(options.data)
    published = Published.read(options.paper)
    started = time.perf_counter()
    study = whole_study(datasets, options)
    seconds = time.perf_counter() - started
    cells = list(published.cells(study))
    print_cells(cells)
    table, holds = verdict(judge(study, cells))
    print(f"\n{table}\n{wrapped(JUDGEMENT)}\n")
    print_explanations()
    real = [data for data in datasets if data.name in REAL_DATASETS]
    betas = beta_table(real, study, published, n_jobs=options.jobs) if real else None
    if betas is not None:
        print(f"\n{betas}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"\n{len(study)} results in {seconds:.1f} s, peak memory {memory:.2f} GB")
    if options.report is not None:
        write_report(study, datasets, (table, betas), options)
    return 0 if holds else 1


def write_report(
    study: Study,
    datasets: list[Dataset],
    tables: tuple[Table, Table | None],
    options: argparse.Namespace,
) -> None:
    """Write a report that compares our tables and figures with the paper's; `tables` are the verdict and β."""
    table, betas = tables
    synthetic = [data for data in datasets if data.name not in REAL_DATASETS]
    text = (JUDGEMENT,)
    extra = [Section("Comparison with the paper: verdict", text, (table, explanation_table()))]
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
    parser.add_argument(
        "--store",
        metavar="FILE",
        help="save each result to FILE, or FILE-real for the real datasets, and resume from them",
    )
    parser.add_argument("--report", help="HTML file to write the report to")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    return parser.parse_args()


def print_cells(cells: list[Cell]) -> None:
    """Print our score, the paper's and the difference per dataset and method, in blocks that fit 80 columns."""
    for missing in sorted({cell.missing for cell in cells}):
        print(f"\n{missing} % missing: ours / paper / difference")
        level = {(c.dataset, c.method): c for c in cells if c.missing == missing}
        for start in range(0, len(PAPER_AGGREGATORS), METHODS_PER_BLOCK):
            print_block(level, PAPER_AGGREGATORS[start : start + METHODS_PER_BLOCK])


def print_block(level: dict[tuple[str, str], Cell], methods: tuple[str, ...]) -> None:
    print(" " * 11 + "".join(f"{method:>19}" for method in methods))
    for dataset in dict.fromkeys(dataset for dataset, _ in level):
        line = f"{dataset:<11}"
        for method in methods:
            cell = level.get((dataset, method))
            numbers = (
                f"{cell.ours:.3f} {cell.paper:.3f} {cell.difference:+.3f}".replace("0.", ".")
                if cell
                else "-"
            )
            line += f"{numbers:>19}"
        print(line)


def print_explanations() -> None:
    """Print what cannot match, and why: names at the left, the reasons wrapped beside them."""
    width = max(map(len, EXPLANATIONS)) + 2
    print("What cannot match, and why")
    for name, reason in EXPLANATIONS.items():
        first, *others = textwrap.wrap(reason, 80 - width)
        print("\n".join([f"{name:<{width}}{first}", *(" " * width + line for line in others)]))


def wrapped(text: str) -> str:
    return textwrap.fill(text, 80)


if __name__ == "__main__":
    sys.exit(main())
