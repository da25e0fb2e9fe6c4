"""Download of datasets from OpenML.

The datasets of the paper (Wang, Alfaro and Bengs, 2025) are found by name, others by number.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError

import numpy as np
from numpy.typing import NDArray

from bucketrank.datasets.dataset import Dataset
from bucketrank.datasets.files import choose_columns
from bucketrank.suggest import nearest_first

__all__ = ["PAPER_DATASETS", "PaperDataset", "fetch"]


class PaperDataset(NamedTuple):
    """Name, OpenML number and size of a dataset of the paper whose methods this package implements.

    Examples
    --------
    >>> from bucketrank.datasets import PAPER_DATASETS
    >>> PAPER_DATASETS[0].name, PAPER_DATASETS[0].labels
    ('authorship', 4)
    """

    name: str
    openml_id: int
    instances: int
    features: int
    labels: int


PAPER_DATASETS = (
    PaperDataset("authorship", 42835, 841, 70, 4),
    PaperDataset("blocks", 42836, 5472, 10, 5),
    # The paper's table gives 109 rows; the data have 106.
    PaperDataset("breast", 42838, 106, 9, 6),
    PaperDataset("ecoli", 42844, 336, 7, 8),
    PaperDataset("glass", 42848, 214, 9, 6),
    PaperDataset("iris", 42871, 150, 4, 3),
    PaperDataset("letter", 42853, 20000, 16, 26),
    PaperDataset("libras", 42855, 360, 90, 15),
    PaperDataset("pendigits", 42857, 10992, 16, 10),
    PaperDataset("satimage", 42858, 6435, 36, 6),
    PaperDataset("segment", 42860, 2310, 18, 7),
    PaperDataset("vehicle", 42864, 846, 18, 4),
    PaperDataset("vowel", 42866, 528, 10, 11),
    PaperDataset("wine", 42872, 178, 13, 3),
    PaperDataset("yeast", 42870, 1484, 8, 10),
    PaperDataset("algae", 45755, 316, 18, 7),
    PaperDataset("movies", 45738, 260, 64, 15),
)
"""The paper's 17 datasets; algae and movies are real, the others derived from classification data."""


def fetch(
    dataset: str | int,
    *,
    data_home: str | os.PathLike[str] | None = None,
    label_columns: Sequence[str] | None = None,
    feature_columns: Sequence[str] | None = None,
) -> Dataset:
    """Download a dataset from OpenML, or read it from the local cache.

    Parameters
    ----------
    dataset : str or int
        A name in ``PAPER_DATASETS``, or the number of any dataset on OpenML.
    data_home : str or path-like, optional
        Folder of scikit-learn's cache; by default ``~/scikit_learn_data``.
    label_columns, feature_columns : sequence of str, optional
        Needed if the columns are not named ``A1``, ``A2``, ... and ``L1``, ``L2``, ...; as in :func:`read_csv`.

    Returns
    -------
    Dataset

    Raises
    ------
    ConnectionError
        OpenML cannot be reached and the dataset is not in the cache.
    ValueError
        The dataset is unknown or does not contain rankings.

    See Also
    --------
    load : Load an embedded dataset, without network access.
    read_csv : Read a dataset from a file.

    Examples
    --------
    >>> from bucketrank.datasets import fetch
    >>> fetch("algea")
    Traceback (most recent call last):
        ...
    ValueError: unknown dataset 'algea'; known by name: algae, ...
    """
    number, name = _resolve(dataset)
    bunch = _download(number, data_home)
    name = name or str(bunch.details.get("name", number))
    where = f"OpenML {number} ({name})"
    header = list(bunch.feature_names)
    try:
        roles = choose_columns(header, label_columns, feature_columns)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    categories = bunch.categories or {}
    columns = {}
    for i in roles.features + roles.labels:
        values = _numbers(bunch.data[:, i], categories.get(header[i]))
        if values is None:
            raise ValueError(f"{where}: column {header[i]!r} contains text; expected numbers")
        columns[i] = values
    X, Y = (np.column_stack([columns[i] for i in role]) for role in roles)
    try:
        return Dataset(
            name=name,
            X=X,
            Y=Y,
            feature_names=tuple(header[i] for i in roles.features),
            label_names=tuple(header[i] for i in roles.labels),
            source=f"https://www.openml.org/d/{number}",
        )
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _resolve(dataset: Any) -> tuple[int, str]:
    """Return the OpenML number of a dataset, and its name if it is one of the paper's, else an empty string."""
    if isinstance(dataset, (int, np.integer)) and not isinstance(dataset, bool):
        if dataset < 1:
            raise ValueError(f"dataset is {dataset}; OpenML counts its datasets from 1")
        return int(dataset), next((p.name for p in PAPER_DATASETS if p.openml_id == dataset), "")
    if not isinstance(dataset, str):
        raise TypeError(
            f"dataset is {dataset!r}; expected a name or the number of an OpenML dataset"
        )
    for paper in PAPER_DATASETS:
        if paper.name == dataset:
            return paper.openml_id, paper.name
    known = ", ".join(nearest_first(dataset, (paper.name for paper in PAPER_DATASETS)))
    raise ValueError(
        f"unknown dataset {dataset!r}; known by name: {known}; others by their OpenML number"
    )


def _download(number: int, data_home: str | os.PathLike[str] | None) -> Any:
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            # Hide the warnings about failed attempts; if all attempts fail, an error is raised below.
            warnings.filterwarnings("ignore", message="A network error occurred")
            # This parser works without pandas.
            return fetch_openml(
                data_id=number,
                data_home=data_home,
                target_column=None,
                as_frame=False,
                parser="liac-arff",
            )
    except HTTPError as error:
        if error.code in (404, 412):
            raise ValueError(f"OpenML has no dataset {number}") from None
        raise ConnectionError(_offline(number, error)) from None
    except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
        raise ConnectionError(_offline(number, error)) from None
    except ValueError as error:
        raise ValueError(f"OpenML {number}: {error}") from None


def _offline(number: int, error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    return (
        f"cannot download dataset {number} from OpenML ({reason}). Without network access: copy the CSV of "
        f"https://www.openml.org/d/{number} to this machine and use read_csv, or use an embedded dataset: load('iris')"
    )


def _numbers(column: NDArray[Any], categories: Sequence[str] | None) -> NDArray[np.float64] | None:
    """Return a column as floats, or None if it contains text.

    A nominal column contains indices into its list of categories; the numbers are the names of these categories.
    """
    try:
        if categories is None:
            return column.astype(np.float64)
        codes = column.astype(np.float64)
        values = np.array([float(category) for category in categories])
    except (TypeError, ValueError):
        return None
    known = ~np.isnan(codes)
    result = np.full(len(codes), np.nan)
    result[known] = values[codes[known].astype(np.intp)]
    return result
