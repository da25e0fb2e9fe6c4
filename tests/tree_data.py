"""Data for the tests of trees: random rankings, the datasets next to the checkout, pair codes."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[Any]


def random_data(
    seed: int, rows: int = 30, features: int = 3, labels: int = 4, values: int = 6
) -> tuple[Array, Array]:
    """Features with a few distinct values, and complete bucket orders that depend weakly on them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (rows, features)) / 4
    noise = rng.integers(0, labels, (rows, labels))
    raw = noise + np.outer(X[:, 0] > 0.5, np.arange(labels))
    return X, dense(raw.astype(float))


def with_missing_labels(Y: Array, share: float, seed: int) -> Array:
    """Drop labels at random and rank the others densely."""
    dropped = np.random.default_rng(seed).random(Y.shape) < share
    return dense(np.where(dropped, np.nan, Y))


def changed(array: Array, row: int, column: int, value: float) -> Array:
    """A copy with another value in one cell."""
    result = array.astype(float)
    result[row, column] = value
    return result


def dense(raw: Array) -> Array:
    """Dense positions of each row, NaN where the label is missing."""
    return np.asarray(pd.DataFrame(raw).rank(axis=1, method="dense").to_numpy())


def load(shared_dir: Path, name: str) -> tuple[Array, Array]:
    """Features and positions of a dataset."""
    table = pd.read_csv(shared_dir / "data" / f"{name}.csv")
    return (
        table.filter(regex="^A").to_numpy(dtype=float),
        table.filter(regex="^L").to_numpy(dtype=float),
    )


def pair_codes(Y: Array) -> Array:
    """For each pair of labels: 0 before, 1 tied, 2 after."""
    columns = [np.sign(Y[:, u] - Y[:, v]) + 1 for u, v in combinations(range(Y.shape[1]), 2)]
    return np.column_stack(columns).astype(int)


def letter_like(rows: int = 20_000) -> tuple[Array, Array]:
    """Data with the shape of the letter dataset, from a generator with a fixed stream."""
    rng = np.random.RandomState(26)
    letters = rng.randint(0, 26, rows)
    X = (letters[:, None] * np.arange(3, 19) + rng.randint(0, 6, (rows, 16))) % 16
    distance = np.abs(letters[:, None] - np.arange(26)) + rng.randint(0, 3, (rows, 26))
    return X.astype(float), dense(np.minimum(distance, 9).astype(float))
