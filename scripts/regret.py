"""Measure the regret of the ranker: how much better the best of its components is when it is used alone.

    python scripts/regret.py [--seeds N] [--first-seed N] [--only TEXT] [--jobs N] [--output FILE]

The ranker is `PartialLabelRanker`; its components are a forest, boosters and linear models. The datasets are generated
(see generated_sets.py), so nothing is read. The best component is chosen per dataset and level after the fact, from the
means over all seeds. The exit code is 1 if the mean regret is above 0.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bucketrank import (
    PartialLabelRanker,
    PartialLabelRankingBooster,
    PartialLabelRankingForest,
    PartialLabelRankingLinear,
)
from bucketrank.metrics import tau_x
from generated_sets import RECIPES, Recipe, generate

LEVELS = (0.0, 0.3, 0.6)
METHODS = ("forest", "booster", "linear", "ranker")
FIRST_SEED = 500_000

_Array = NDArray[np.float64]


def scores(
    sets: Sequence[Recipe], n_seeds: int, first_seed: int = FIRST_SEED, n_jobs: int = 1
) -> _Array:
    """Return the rank correlation by dataset, level, seed and method."""
    found = np.empty((len(sets), len(LEVELS), n_seeds, len(METHODS)))
    for i, recipe in enumerate(sets):
        for repeat in range(n_seeds):
            seed = first_seed + 1000 * RECIPES.index(recipe) + repeat
            for j, level in enumerate(LEVELS):
                found[i, j, repeat] = _evaluate(recipe, level, seed, n_jobs)
    return found


def _evaluate(recipe: Recipe, level: float, seed: int, n_jobs: int) -> list[float]:
    split = generate(recipe, level, seed)
    models = (
        PartialLabelRankingForest(random_state=seed, n_jobs=n_jobs),
        PartialLabelRankingBooster(random_state=seed, n_jobs=n_jobs),
        PartialLabelRankingLinear(n_jobs=n_jobs),
        PartialLabelRanker(random_state=seed, n_jobs=n_jobs),
    )
    return [
        tau_x(split.Y_test, model.fit(split.X, split.Y).predict(split.X_test)) for model in models
    ]


def regrets(found: _Array) -> _Array:
    """Return the regret by dataset and level."""
    means = found.mean(axis=2)
    difference: _Array = means[..., :-1].max(axis=-1) - means[..., -1]
    return difference


def standard_errors(found: _Array) -> _Array:
    """Return the standard errors of the regrets over the seeds; NaN with one seed."""
    best = found.mean(axis=2)[..., :-1].argmax(axis=-1)
    gaps = np.take_along_axis(found, best[..., None, None], axis=-1)[..., 0] - found[..., -1]
    if gaps.shape[2] < 2:
        return np.full(gaps.shape[:2], np.nan)
    errors: _Array = gaps.std(axis=2, ddof=1) / np.sqrt(gaps.shape[2])
    return errors


def report(sets: Sequence[Recipe], found: _Array) -> Iterator[str]:
    """Yield the lines of a table of scores and regrets."""
    means, regret = found.mean(axis=2), regrets(found)
    yield "| dataset | " + " | ".join(METHODS) + " | regret |"
    yield "|---" * (len(METHODS) + 2) + "|"
    for i, recipe in enumerate(sets):
        cells = [triple(means[i, :, k]) for k in range(len(METHODS))]
        yield f"| {recipe.name} | " + " | ".join(cells) + f" | {signed(regret[i])} |"
    overall = means.mean(axis=0)
    cells = [triple(overall[:, k]) for k in range(len(METHODS))]
    yield "| mean | " + " | ".join(cells) + f" | {signed(regret.mean(axis=0))} |"
    yield ""
    row, column = divmod(int(regret.argmax()), len(LEVELS))
    error = standard_errors(found)[row, column]
    yield (
        f"- regret: mean {regret.mean():+.4f}, largest {regret.max():+.3f} ± {error:.3f} "
        f"({sets[row].name}, {LEVELS[column]:.0%} missing), "
        f"above .02 in {np.count_nonzero(regret > 0.02)} of {regret.size} cells"
    )


def triple(values: _Array) -> str:
    return "/".join(f"{value:.3f}" for value in values).replace("0.", ".")


def signed(values: _Array) -> str:
    return "/".join(f"{value:+.3f}" for value in values).replace("0.", ".")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the regret of the ranker.")
    parser.add_argument("--seeds", type=int, default=8, help="repetitions of each dataset")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--only", default="", help="measure the datasets whose name contains this")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", help="file to write the table to")
    options = parser.parse_args()
    sets = [recipe for recipe in RECIPES if options.only in recipe.name]
    if not sets:
        parser.error(f"no dataset has {options.only!r} in its name")
    found = scores(sets, options.seeds, options.first_seed, options.jobs)
    text = "\n".join(report(sets, found)) + "\n"
    print(text)
    if options.output is not None:
        Path(options.output).write_text(text, encoding="utf-8")
    return 0 if regrets(found).mean() <= 0 else 1


if __name__ == "__main__":
    sys.exit(main())
