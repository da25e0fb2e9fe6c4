"""Generator of synthetic datasets: labels ranked by noisy scores that depend on the features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._validation import as_real, as_seed, at_least
from bucketrank.datasets.conversion import rank
from bucketrank.datasets.dataset import Dataset
from bucketrank.rankings import drop_labels

__all__ = ["make_rankings"]

_PILOT_ROWS = 8192
"""Rows of the pilot sample that sets the threshold for ties."""

_BLOCK_CELLS = 2**20
"""Approximate number of features and scores per block; bounds the memory for temporary arrays."""

_WAVES = 24
"""Number of cosine waves in a non-linear score; few enough that trees can approximate the sum."""

_Array = NDArray[np.float64]


def make_rankings(
    n_samples: int = 1000,
    n_features: int = 8,
    n_labels: int = 5,
    *,
    relation: str = "linear",
    n_informative: int | None = None,
    noise: float = 0.1,
    ties: float = 0.2,
    missing: float = 0.0,
    random_state: int = 0,
    name: str = "generated",
) -> Dataset:
    r"""Generate a dataset of random features, and rankings that depend on them.

    The features are independent standard normal numbers. Each label has a score, which is a random function of the
    features with variance 1 over all labels and rows, plus normal noise. The labels are ranked by score, and
    neighbours with close scores are tied. Temporary memory does not grow with `n_samples`. With equal other arguments,
    a longer dataset begins with the rows of a shorter one.

    Parameters
    ----------
    n_samples, n_features, n_labels : int
        Size of the dataset; at least 1, 1 and 2.
    relation : {"linear", "nonlinear"}, default "linear"
        Whether a score is a weighted sum of the features or a sum of cosine waves in random directions.
    n_informative : int, optional
        The scores depend only on the first `n_informative` features; by default on all.
    noise : float, default 0.1
        Standard deviation of the noise relative to that of the scores: with 0 the features determine the rankings,
        with 1 half of the variance is noise.
    ties : float, default 0.2
        Share of the pairs of adjacent labels, in the order of the scores of a row, that are tied: 0 gives total
        orders, 1 ties all labels. The expected number of buckets is 1 + (n_labels - 1) (1 - ties) when no label is
        missing.
    missing : float, default 0
        Probability of dropping a label from a ranking, as in :func:`bucketrank.drop_labels`.
    random_state : int, default 0
        Seed of the random numbers.
    name : str, optional
        Name of the dataset.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> data = make_rankings(1000, n_features=4, n_labels=6, ties=0.4, missing=0.3, random_state=1)
    >>> data
    Dataset('generated': 1,000 rows, 4 features, 6 labels, 30% missing)
    >>> round(make_rankings(1000, n_labels=6, ties=0.4).describe().mean_buckets, 1)
    4.0
    """
    shape = _Shape(
        at_least(n_samples, "n_samples", 1),
        at_least(n_features, "n_features", 1),
        at_least(n_labels, "n_labels", 2),
    )
    informative = shape.features
    if n_informative is not None:
        informative = at_least(n_informative, "n_informative", 1)
        if informative > shape.features:
            raise ValueError(
                f"n_informative is {informative}; expected at most n_features={shape.features}"
            )
    if relation not in _RELATIONS:
        raise ValueError(f"relation is {relation!r}; expected {' or '.join(map(repr, _RELATIONS))}")
    spread = as_real(noise, "noise")
    if not 0 <= spread < np.inf:
        raise ValueError(f"noise is {spread}; expected a finite number that is not negative")
    tied, dropped = _share(ties, "ties"), _share(missing, "missing")
    seed = as_seed(random_state, "random_state")
    scores = _RELATIONS[relation](_stream(seed, 0), informative, shape.labels)
    generator = _RowGenerator(seed, shape, scores, spread)
    X = np.empty((shape.samples, shape.features))
    Y = np.empty((shape.samples, shape.labels))
    largest_drop = generator.largest_drop(tied)
    for block, start in enumerate(range(0, shape.samples, shape.block_rows)):
        rows = slice(start, min(start + shape.block_rows, shape.samples))
        X[rows], values = generator.draw(2 + block, rows.stop - rows.start)
        positions: Any = rank(values, largest_drop)
        if dropped:
            positions = drop_labels(positions, dropped, _seed(seed, 2 + block))
        Y[rows] = positions
    X.flags.writeable = False
    return Dataset(name, X, Y, source=f"make_rankings(..., random_state={seed})")


@dataclass(frozen=True)
class _Shape:
    """Size of a dataset, which is generated in blocks of rows."""

    samples: int
    features: int
    labels: int

    @property
    def block_rows(self) -> int:
        """Rows per block; independent of `samples`, so that a longer dataset begins with the rows of a shorter one."""
        return max(64, _BLOCK_CELLS // (self.features + self.labels))


@dataclass(frozen=True)
class _RowGenerator:
    """Generates blocks of features and noisy scores; each block has its own random streams."""

    seed: int
    shape: _Shape
    scores: Callable[[_Array], _Array]
    noise: float

    def draw(self, block: int, rows: int) -> tuple[_Array, _Array]:
        """Draw features and scores of a block; `block` is the key of its random streams."""
        features, noise = _stream(self.seed, block, 0), _stream(self.seed, block, 1)
        X = features.standard_normal((rows, self.shape.features))
        values = self.scores(X)
        if self.noise:
            values += self.noise * noise.standard_normal(values.shape)
        return X, values

    def largest_drop(self, ties: float) -> float:
        """Return the tie threshold with which a share `ties` of the pairs of adjacent labels is tied."""
        if ties in (0.0, 1.0):
            return np.inf if ties else -1.0
        _, values = self.draw(1, min(_PILOT_ROWS, self.shape.block_rows))
        values.sort(axis=1)
        return float(np.quantile(np.diff(values, axis=1), ties))


def _linear(rng: np.random.Generator, n_features: int, n_labels: int) -> Callable[[_Array], _Array]:
    weights = rng.standard_normal((n_features, n_labels))
    weights /= np.linalg.norm(weights, axis=0)
    return lambda X: X[:, :n_features] @ weights


def _nonlinear(
    rng: np.random.Generator, n_features: int, n_labels: int
) -> Callable[[_Array], _Array]:
    directions = rng.standard_normal((n_features, _WAVES))
    directions /= np.linalg.norm(directions, axis=0)
    shift = rng.uniform(0, 2 * np.pi, _WAVES)
    weights = rng.standard_normal((_WAVES, n_labels))
    # The mean square of a cosine wave over random shifts is 1/2.
    weights *= np.sqrt(2) / np.linalg.norm(weights, axis=0)
    return lambda X: np.cos(2 * (X[:, :n_features] @ directions) + shift) @ weights


_RELATIONS = {"linear": _linear, "nonlinear": _nonlinear}


def _stream(seed: int, *key: int) -> np.random.Generator:
    """Return the random stream of a key: 0 for the score functions, 1 for the pilot sample, 2 + i for block i."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def _seed(seed: int, block: int) -> int:
    """Return the seed of the labels that are dropped in a block."""
    sequence = np.random.SeedSequence(seed, spawn_key=(block, 2))
    return int(sequence.generate_state(1, np.uint64)[0])


def _share(value: Any, name: str) -> float:
    share = as_real(value, name)
    if not 0 <= share <= 1:
        raise ValueError(f"{name} is {share}; expected a share from 0 to 1")
    return share
