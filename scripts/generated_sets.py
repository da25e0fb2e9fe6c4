"""Generated datasets with a known dependence of rankings on features.

On them `PartialLabelRanker` is compared with its components: a forest, a booster and a linear model.

A dataset depends on its recipe, the share of missing labels and the seed only. It has training rows and 400 test rows;
labels are missing from the training rows only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bucketrank import drop_labels
from bucketrank.datasets import make_rankings, rank_scores

TEST_ROWS = 400
_CENTRES = 12

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class Recipe:
    """The shape of a dataset, and how its rankings depend on the features."""

    name: str
    truth: str
    """How scores depend on the features: "linear" or "nonlinear" of `make_rankings`, "local" or "noise"."""
    rows: int
    features: int
    labels: int
    ties: float
    """Share of neighbours in the order of a row that are tied."""
    noise: float


@dataclass(frozen=True)
class Split:
    """Training and test rows."""

    X: _Array
    Y: _Array
    X_test: _Array
    Y_test: _Array


RECIPES = (
    Recipe("linear, 60 rows, tied", "linear", 60, 6, 5, 0.3, 0.3),
    Recipe("linear, 60 rows, strict", "linear", 60, 6, 5, 0.0, 0.3),
    Recipe("linear, 200 rows, strict", "linear", 200, 8, 6, 0.0, 0.3),
    Recipe("linear, 1000 rows, tied", "linear", 1000, 8, 6, 0.3, 0.5),
    Recipe("local, 60 rows, tied", "local", 60, 4, 5, 0.3, 0.3),
    Recipe("local, 150 rows, tied", "local", 150, 4, 5, 0.3, 0.3),
    Recipe("local, 400 rows, strict", "local", 400, 4, 6, 0.0, 0.3),
    Recipe("local, 1000 rows, tied", "local", 1000, 4, 6, 0.3, 0.5),
    Recipe("waves, 300 rows, tied", "nonlinear", 300, 4, 5, 0.3, 0.2),
    Recipe("waves, 1000 rows, strict", "nonlinear", 1000, 4, 5, 0.0, 0.3),
    Recipe("linear, 30 rows, tied", "linear", 30, 4, 4, 0.3, 0.3),
    Recipe("local, 40 rows, strict", "local", 40, 3, 4, 0.0, 0.3),
    Recipe("noise, 100 rows, tied", "noise", 100, 5, 5, 0.4, 0.5),
    Recipe("noise, 400 rows, strict", "noise", 400, 5, 5, 0.0, 0.0),
    Recipe("linear, 16 labels, tied", "linear", 300, 8, 16, 0.3, 0.4),
    Recipe("local, 16 labels, strict", "local", 300, 4, 16, 0.0, 0.4),
)


def generate(recipe: Recipe, missing: float, seed: int) -> Split:
    """Generate a dataset; labels are missing from the training rows only."""
    n = recipe.rows
    X, Y = _TRUTHS.get(recipe.truth, _scored)(recipe, seed)
    train = (
        Y[:n] if missing == 0 else np.asarray(drop_labels(Y[:n], missing, seed + 1), dtype=float)
    )
    return Split(X[:n], train, X[n:], Y[n:])


def _scored(recipe: Recipe, seed: int) -> tuple[_Array, _Array]:
    """Rank by scores that are a smooth function of the features."""
    data = make_rankings(
        recipe.rows + TEST_ROWS,
        recipe.features,
        recipe.labels,
        relation=recipe.truth,
        noise=recipe.noise,
        ties=recipe.ties,
        random_state=seed,
    )
    return np.array(data.X), np.array(data.Y, dtype=float)


def _local(recipe: Recipe, seed: int) -> tuple[_Array, _Array]:
    """Rank by the scores of the nearest of 12 random centres, plus noise."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((_CENTRES, recipe.features))
    scores = rng.standard_normal((_CENTRES, recipe.labels))
    X = rng.standard_normal((recipe.rows + TEST_ROWS, recipe.features))
    nearest = ((X[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
    noise = rng.standard_normal((len(X), recipe.labels))
    return X, _ranked(scores[nearest] + recipe.noise * noise, recipe.ties)


def _noise(recipe: Recipe, seed: int) -> tuple[_Array, _Array]:
    """Rank by scores that do not depend on the features; `noise` is the last label's mean minus the first one's."""
    rng = np.random.default_rng(seed)
    rows = recipe.rows + TEST_ROWS
    scores = np.linspace(0, recipe.noise, recipe.labels) + rng.standard_normal(
        (rows, recipe.labels)
    )
    return rng.standard_normal((rows, recipe.features)), _ranked(scores, recipe.ties)


def _ranked(scores: _Array, ties: float) -> _Array:
    threshold = 0.0
    if ties > 0:
        threshold = float(np.quantile(np.diff(np.sort(scores, axis=1), axis=1), ties))
    return np.asarray(rank_scores(scores, threshold), dtype=float)


_TRUTHS: dict[str, Callable[[Recipe, int], tuple[_Array, _Array]]] = {
    "local": _local,
    "noise": _noise,
}
