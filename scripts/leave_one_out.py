"""Choose the constants of the log-linear pool on all datasets but one, and score them on that one.

    python scripts/leave_one_out.py --data FOLDER [--only NAME ...] [--of N] [--folds K] [--seed N] [--output FILE]

The log-linear pool of `PartialLabelRanker` is a weighted geometric mean of the pair shares of its forest, boosters and
linear models. Its constants are the ridge of its fit, and its share in the mixture with the weighted arithmetic mean.

Each dataset is divided into N parts; each of the first K parts is the test set of one fold. The ranker is fitted once
per fold and level, always with ``n_parts=5``; the pools of all constants are fitted again from the held-out predictions
of this ranker.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from accuracy_summary import standard_error
from bucketrank import PartialLabelRanker, TauX, _core, drop_labels
from bucketrank.datasets import Dataset, read_folder
from bucketrank.metrics import tau_x
from pool_evidence import Constants, collect, component_shares, fit_pool, mixed_shares

LEVELS = (0.0, 0.3, 0.6)
REAL_DATASETS = ("algae", "movies")
RIDGES = (1.0, 3.0, 10.0)
SHARES = (0.5, 0.75, 1.0)
N_PARTS = 5
GRID = [Constants(ridge, share) for ridge in RIDGES for share in SHARES]

_Array = NDArray[np.float64]


def scores(data: Dataset, options: argparse.Namespace) -> _Array:
    """Return the mean scores of a dataset by level and constants."""
    fold_of = _core.fold_of_rows(data.n_samples, options.of, options.seed, 0)
    found = np.empty((options.folds, len(LEVELS), len(GRID)))
    for fold in range(options.folds):
        for index, level in enumerate(LEVELS):
            found[fold, index] = _score_fold(data, fold_of == fold, level, options.seed + fold)
    means: _Array = found.mean(axis=0)
    return means


def _score_fold(data: Dataset, is_test: NDArray[np.bool_], level: float, seed: int) -> list[float]:
    X, Y = data.X[~is_test], data.Y[~is_test].astype(float)
    if level > 0:
        Y = np.asarray(drop_labels(Y, level, seed), dtype=float)
    # With a fixed number of parts the ranker keeps the models of all parts, which the held-out predictions need.
    ranker = PartialLabelRanker(n_parts=N_PARTS, random_state=seed, n_jobs=1).fit(X, Y)
    evidence = collect(ranker, X, Y, seed)
    components = component_shares(ranker, data.X[is_test])
    weights = np.array([*ranker.weights_.values()])
    parameters = {ridge: fit_pool(evidence, weights, ridge) for ridge in RIDGES}
    found = []
    for constants in GRID:
        mixed = mixed_shares(components, weights, parameters[constants.ridge], constants.share)
        mixed /= mixed.sum(axis=-1, keepdims=True)
        found.append(tau_x(data.Y[is_test], TauX().aggregate_pair_shares(mixed)))
    return found


def report(names: Sequence[str], found: _Array) -> Iterator[str]:
    """Yield the scores of all constants and, per dataset, of the constants chosen on the other datasets.

    `found` holds the scores by dataset, level and constants.
    """
    yield f"| ridge | share | mean of {len(names)} datasets |"
    yield "|---|---|---|"
    for index, constants in enumerate(GRID):
        means = ", ".join(f"{value:.4f}" for value in found[:, :, index].mean(axis=0))
        yield f"| {constants.ridge:g} | {constants.share:g} | {means} |"
    yield ""
    chosen = _choose(found)
    of_package = GRID.index(Constants())
    yield "| left out | chosen ridge, share | score | score of the package |"
    yield "|---|---|---|---|"
    for row, (name, index) in enumerate(zip(names, chosen, strict=True)):
        left_out, package = found[row, :, index], found[row, :, of_package]
        yield (
            f"| {name} | {GRID[index].ridge:g}, {GRID[index].share:g} | {_listed(left_out)} | {_listed(package)} |"
        )
    left_out = np.array([found[row, :, index] for row, index in enumerate(chosen)])
    package = found[:, :, of_package]
    yield f"| mean | | {_listed(left_out.mean(axis=0))} | {_listed(package.mean(axis=0))} |"
    yield ""
    gaps = left_out - package
    listed = ", ".join(f"{gap.mean():+.4f} ± {standard_error(gap):.4f}" for gap in gaps.T)
    yield f"- score of the constants chosen without the dataset, minus that of the package: {listed}"


def _choose(found: _Array) -> list[int]:
    """Return, per dataset, the index in GRID of the constants with the best mean over levels and other datasets."""
    means = found.mean(axis=1)
    return [int(np.delete(means, row, axis=0).mean(axis=0).argmax()) for row in range(len(means))]


def _listed(values: _Array) -> str:
    return ", ".join(f"{value:.3f}" for value in values)


def main() -> None:
    parser = argparse.ArgumentParser(description="Choose constants by leaving one dataset out.")
    parser.add_argument("--data", required=True, help="folder with the datasets as CSV files")
    parser.add_argument("--only", nargs="*", help="names of the datasets; default all synthetic")
    parser.add_argument("--folds", type=int, default=3, help="number of test folds")
    parser.add_argument("--of", type=int, default=10, help="number of parts of a dataset")
    parser.add_argument("--seed", type=int, default=4711)
    parser.add_argument("--output", help="file to write the tables to")
    options = parser.parse_args()
    datasets = [data for data in read_folder(options.data) if data.name not in REAL_DATASETS]
    if options.only:
        datasets = [data for data in datasets if data.name in options.only]
    found = np.array([scores(data, options) for data in datasets])
    text = "\n".join(report([data.name for data in datasets], found)) + "\n"
    print(text)
    if options.output is not None:
        Path(options.output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
