"""Embedded datasets: rankings derived from the classification data that scikit-learn includes."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from bucketrank.datasets.conversion import from_classification
from bucketrank.datasets.dataset import Dataset
from bucketrank.datasets.openml import PAPER_DATASETS
from bucketrank.suggest import nearest_first

__all__ = ["EMBEDDED_DATASETS", "EmbeddedDataset", "load", "names"]


class EmbeddedDataset(NamedTuple):
    """Name, size and tie threshold of an embedded dataset.

    Examples
    --------
    >>> from bucketrank.datasets import EMBEDDED_DATASETS
    >>> EMBEDDED_DATASETS[0]
    EmbeddedDataset(name='iris', instances=150, features=4, labels=3, tie_threshold=0.02)
    """

    name: str
    instances: int
    features: int
    labels: int
    tie_threshold: float


EMBEDDED_DATASETS = (
    EmbeddedDataset("iris", 150, 4, 3, 0.02),
    EmbeddedDataset("wine", 178, 13, 3, 0.02),
    EmbeddedDataset("digits", 1797, 64, 10, 0.02),
    # Two classes have a single difference of probabilities, which is rarely within 0.02 for a forest, so probabilities
    # up to 0.6 and 0.4 are tied.
    EmbeddedDataset("breast_cancer", 569, 30, 2, 0.2),
)
"""The embedded datasets; see :func:`load`."""


def names() -> tuple[str, ...]:
    """Return the names of the embedded datasets.

    Examples
    --------
    >>> names()
    ('iris', 'wine', 'digits', 'breast_cancer')
    """
    return tuple(dataset.name for dataset in EMBEDDED_DATASETS)


def load(name: str) -> Dataset:
    """Load an embedded dataset, without network access.

    The features come from classification data that scikit-learn includes. The rankings of the classes are
    derived by :func:`from_classification` with its defaults, seed 0 and the threshold in ``EMBEDDED_DATASETS``, once
    per process. They are reproducible, but may differ between releases of scikit-learn, because its random forest is
    used. ``breast_cancer`` has only two labels, the smallest possible number: a ranking is one class before the other,
    or a tie if neither has a probability above 60 %. For comparisons of methods the other datasets are more
    informative.

    Parameters
    ----------
    name : {"iris", "wine", "digits", "breast_cancer"}
        Name of the dataset. The published label ranking datasets iris and wine have the same features but different
        rankings; ``fetch("iris")`` downloads them.

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
            return _derive(dataset)
    raise ValueError(unknown_dataset_message(name, "fetch"))


def unknown_dataset_message(name: str, fetcher: str) -> str:
    """Return the message for an unknown dataset: all known names, most similar first.

    ``fetcher`` is the function or option that downloads a dataset from OpenML.
    """
    embedded = ", ".join(nearest_first(name, names()))
    downloadable = ", ".join(nearest_first(name, (paper.name for paper in PAPER_DATASETS)))
    return f"unknown dataset {name!r}; embedded: {embedded}; from OpenML with {fetcher}: {downloadable}"


@cache
def _derive(dataset: EmbeddedDataset) -> Dataset:
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
