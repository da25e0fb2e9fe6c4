"""Datasets that need no network: rankings derived from the classification data in scikit-learn."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from bucketrank.datasets.conversion import from_classification
from bucketrank.datasets.dataset import Dataset
from bucketrank.datasets.openml import PAPER_DATASETS
from bucketrank.suggest import nearest_first

__all__ = ["EMBEDDED_DATASETS", "EmbeddedDataset", "load", "names"]


class EmbeddedDataset(NamedTuple):
    """One of the datasets that :func:`load` makes, and the threshold for ties in it."""

    name: str
    instances: int
    features: int
    labels: int
    tie_threshold: float


EMBEDDED_DATASETS = (
    EmbeddedDataset("iris", 150, 4, 3, 0.02),
    EmbeddedDataset("wine", 178, 13, 3, 0.02),
    EmbeddedDataset("digits", 1797, 64, 10, 0.02),
    # Of two classes only one gap can be closed, and forests are rarely undecided to 2 %: tie up to 60 : 40.
    EmbeddedDataset("breast_cancer", 569, 30, 2, 0.2),
)
"""The embedded datasets; :func:`load` makes them."""


def names() -> tuple[str, ...]:
    """Return the names that :func:`load` knows.

    Examples
    --------
    >>> names()
    ('iris', 'wine', 'digits', 'breast_cancer')
    """
    return tuple(dataset.name for dataset in EMBEDDED_DATASETS)


def load(name: str) -> Dataset:
    """Make one of the embedded datasets, without files or network.

    The features are those of the classification data that scikit-learn brings along; the rankings of the classes are
    derived by :func:`from_classification` with its defaults and seed 0, once in a process. They are equal from call to
    call, but another release of scikit-learn may grow other forests. ``breast_cancer`` has only two labels: a
    ranking says which of them is likelier, or that neither is (probabilities up to 60 : 40 are tied). It shows the
    smallest case that there is; for comparisons of methods the others tell more.

    Parameters
    ----------
    name : {"iris", "wine", "digits", "breast_cancer"}
        The published datasets called iris and wine come from the same flowers and bottles, but their rankings were
        made by others: ``fetch("iris")`` gets those.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> iris = load("iris")
    >>> iris
    Dataset('iris': 150 rows, 4 features, 3 labels)
    >>> iris.label_names
    ('setosa', 'versicolor', 'virginica')
    """
    if not isinstance(name, str):
        raise TypeError(f"name is {name!r}; expected one of {', '.join(names())}")
    for dataset in EMBEDDED_DATASETS:
        if dataset.name == name:
            return _make(dataset)
    raise ValueError(unknown(name, "fetch"))


def unknown(name: str, how: str) -> str:
    """Say that there is no such dataset, which there are, nearest first, and how to get those on OpenML."""
    embedded = ", ".join(nearest_first(name, names()))
    papers = ", ".join(nearest_first(name, (paper.name for paper in PAPER_DATASETS)))
    return f"unknown dataset {name!r}; embedded: {embedded}; from OpenML with {how}: {papers}"


@cache
def _make(dataset: EmbeddedDataset) -> Dataset:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{dataset.name}")()
    return from_classification(
        bunch.data,
        bunch.target,
        tie_threshold=dataset.tie_threshold,
        name=dataset.name,
        feature_names=[str(feature) for feature in bunch.feature_names],
        label_names=[str(label) for label in bunch.target_names],
        source=f"class probabilities for scikit-learn's {dataset.name} data",
    )
