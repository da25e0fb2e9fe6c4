"""The plan of a study: datasets, methods, levels of missing labels, folds and seed, validated.

A level is the probability with which each label is dropped from the training rankings.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn

from bucketrank import __version__
from bucketrank._phrases import pluralize
from bucketrank._validation import as_real, as_seed, as_whole
from bucketrank.datasets import Dataset
from bucketrank.experiments.learners import Learner, learners_of

FORMAT = 2
"""Version of the file of results (`Store`); incremented when the meaning of stored results changes."""

_MAX_JOBS = 10_000_000
"""Largest number of jobs of a study: a job takes about 200 bytes of memory, and at least a millisecond."""


@dataclass(frozen=True, order=True)
class Job:
    """One learner on one split of one dataset: the learner is fitted to the other folds and tested on `fold`."""

    dataset: str
    missing: float
    repeat: int
    fold: int
    learner: str

    def __str__(self) -> str:
        share = f"{100 * self.missing:g} % missing"
        return f"{self.dataset}, {share}, repeat {self.repeat}, fold {self.fold}, {self.learner}"


@dataclass(frozen=True)
class Plan:
    """All jobs of a study; :func:`make_plan` creates it from unchecked arguments.

    A learner is fitted once per job and can have several methods: a tree has one method per aggregator.
    """

    datasets: dict[str, Dataset]
    learners: dict[str, Learner]
    missing: tuple[float, ...]
    n_repeats: int
    n_folds: int
    seed: int

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the order of the columns of the result tables."""
        return [method for learner in self.learners.values() for method in learner.methods]

    def jobs(self) -> list[Job]:
        """Return all jobs, dataset by dataset."""
        return [
            Job(dataset, missing, repeat, fold, learner)
            for dataset in self.datasets
            for missing in self.missing
            for repeat in range(self.n_repeats)
            for fold in range(self.n_folds)
            for learner in self.learners
        ]

    def dataset_seed(self, dataset: str) -> int:
        """Return the seed of all random numbers of a dataset; it does not depend on the other datasets."""
        text = f"{self.seed} {self.datasets[dataset].content_hash}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")

    def settings(self) -> dict[str, Any]:
        """Return everything that the results depend on, ready for JSON."""
        return {
            "format": FORMAT,
            "bucketrank": __version__,
            "seed": self.seed,
            "n_repeats": self.n_repeats,
            "n_folds": self.n_folds,
            "missing": list(self.missing),
            "datasets": {name: data.content_hash for name, data in self.datasets.items()},
            "learners": {name: learner.describe() for name, learner in self.learners.items()},
            "methods": self.methods,
        }


def environment() -> dict[str, str]:
    """Return the versions of Python and libraries and the machine, as notes; results should not depend on them."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
    }


def make_plan(
    datasets: Any,
    *,
    aggregators: Any,
    tree: Any,
    rankers: Mapping[str, Any] | None,
    baseline: bool = False,
    missing: Any,
    n_repeats: Any,
    n_folds: Any,
    seed: Any,
) -> Plan:
    """Validate the arguments of :func:`compare` and return the plan."""
    named = _named_datasets(datasets)
    folds = as_whole(n_folds, "n_folds")
    if folds < 2:
        raise ValueError(f"n_folds is {folds}; expected at least 2")
    for name, data in named.items():
        if data.n_samples < folds:
            raise ValueError(
                f"dataset {name!r} has {pluralize(data.n_samples, 'row')}; expected at least n_folds = {folds}"
            )
    repeats = as_whole(n_repeats, "n_repeats")
    if not 1 <= repeats < 2**32:
        raise ValueError(f"n_repeats is {repeats}; expected a whole number from 1 to {2**32 - 1}")
    plan = Plan(
        datasets=named,
        learners=learners_of(tree, aggregators, rankers, baseline=baseline),
        missing=_levels(missing),
        n_repeats=repeats,
        n_folds=folds,
        seed=as_seed(seed),
    )
    n_jobs = len(named) * len(plan.missing) * repeats * folds * len(plan.learners)
    if n_jobs > _MAX_JOBS:
        raise ValueError(
            f"n_repeats is {repeats}, which makes {n_jobs} jobs; expected at most {_MAX_JOBS}"
        )
    return plan


def _named_datasets(datasets: Any) -> dict[str, Dataset]:
    if isinstance(datasets, (str, Dataset)):
        datasets = [datasets]
    if isinstance(datasets, Mapping):
        datasets = [_rename(name, data) for name, data in datasets.items()]
    if not isinstance(datasets, Iterable):
        raise TypeError(f"datasets is {datasets!r}; expected a list of datasets or their names")
    named: dict[str, Dataset] = {}
    for item in datasets:
        data = _as_dataset(item)
        if data.name in named:
            raise ValueError(f"two datasets have the name {data.name!r}; expected different names")
        named[data.name] = data
    if not named:
        raise ValueError("found 0 datasets; expected at least one")
    return named


def _as_dataset(item: Any) -> Dataset:
    if isinstance(item, Dataset):
        return item
    if isinstance(item, str):
        from bucketrank.datasets import load

        return load(item)
    raise TypeError(
        f"datasets has an entry of type {type(item).__name__}; expected a Dataset or the name of an "
        "embedded dataset; Dataset(name, X, Y) creates one from arrays"
    )


def _rename(name: str, data: Any) -> Dataset:
    if isinstance(data, tuple) and len(data) == 2:
        return Dataset(name, *data)
    given = _as_dataset(data)
    return Dataset(
        name, given.X, given.Y, given.feature_names, given.label_names, source=given.source
    )


def _levels(missing: Any) -> tuple[float, ...]:
    values: Sequence[Any] = (
        list(missing)
        if isinstance(missing, Iterable) and not isinstance(missing, str)
        else [missing]
    )
    # Levels are rounded, so that 0.1 + 0.2 and 0.3 are the same level.
    levels = [round(as_real(value, "missing"), 9) for value in values]
    for level in levels:
        if not 0 <= level < 1:
            raise ValueError(
                f"missing has the level {level}; expected shares from 0 to below 1, such as 0.3"
            )
    if not levels:
        raise ValueError("missing has no level; expected at least one, such as 0")
    if len(set(levels)) < len(levels):
        raise ValueError(f"missing is {levels}; expected different levels")
    return tuple(levels)
