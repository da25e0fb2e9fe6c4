"""Summary statistics of datasets: size, number of unique rankings, mean number of buckets, share of missing labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._optional import import_pandas
from bucketrank.tables import Column, Table, notebook_html

if TYPE_CHECKING:
    from pandas import DataFrame

    from bucketrank.datasets.dataset import Dataset

__all__ = ["Description", "DescriptionTable", "describe"]


@dataclass(frozen=True)
class Description:
    """Summary statistics of a dataset.

    Attributes
    ----------
    name : str
        Name of the dataset.
    instances, features, labels : int
        Size of the dataset.
    unique_rankings : int
        Number of unique rankings; rankings with different missing labels are different.
    mean_buckets : float
        Mean number of buckets per ranking; a ranking without labels has 0.
    missing : float
        Share of missing labels, from 0 to 1.

    Examples
    --------
    >>> from bucketrank.datasets import load
    >>> description = load("iris").describe()
    >>> description.instances, description.labels, description.missing
    (150, 3, 0.0)
    """

    name: str
    instances: int
    features: int
    labels: int
    unique_rankings: int
    mean_buckets: float
    missing: float

    @classmethod
    def of(
        cls,
        name: str,
        n_features: int,
        Y: NDArray[np.float64],
        counts: NDArray[np.float64] | None = None,
    ) -> Description:
        """Compute the statistics from positions without gaps (NaN: missing label); row i occurs `counts[i]` times."""
        n_rows, n_labels = Y.shape
        missing = np.isnan(Y)
        compact = np.where(missing, 0, Y).astype(np.min_scalar_type(n_labels))
        # View each row as one opaque value, because sorting such values is much faster than sorting rows by columns.
        rows = np.ascontiguousarray(compact).view(np.dtype((np.void, compact.itemsize * n_labels)))
        return cls(
            name=name,
            instances=n_rows if counts is None else round(float(counts.sum())),
            features=n_features,
            labels=n_labels,
            unique_rankings=len(np.unique(rows)),
            mean_buckets=float(np.average(compact.max(axis=1), weights=counts)),
            missing=float(np.average(missing.mean(axis=1), weights=counts)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics by name, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return str(DescriptionTable((self,)))

    def _repr_html_(self) -> str:
        """Return the statistics as a table for a notebook."""
        return DescriptionTable((self,))._repr_html_()


_FIELDS = [field.name for field in fields(Description)]
_HEADINGS = ["dataset", *(name.replace("_", " ") for name in _FIELDS[1:])]
_FORMATS = {"mean_buckets": "{:.3f}".format, "missing": "{:.1%}".format}


@dataclass(frozen=True)
class DescriptionTable:
    """Descriptions of several datasets, one per row; prints as a table.

    Attributes
    ----------
    rows : tuple of Description

    Examples
    --------
    >>> from bucketrank.datasets import describe, load
    >>> table = describe([load("iris"), load("wine")])
    >>> [row.name for row in table]
    ['iris', 'wine']
    """

    rows: tuple[Description, ...]

    def __iter__(self) -> Iterator[Description]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return str(self._table(_HEADINGS))

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return notebook_html(self._table(_HEADINGS))

    def to_pandas(self) -> DataFrame:
        """Return a data frame indexed by the names of the datasets; needs pandas."""
        pd = import_pandas("to_pandas")
        table = pd.DataFrame([astuple(row) for row in self.rows], columns=_FIELDS)
        frame: DataFrame = table.set_index("name")
        return frame

    def to_csv(self) -> str:
        """Return CSV with unrounded numbers; the header has the names of the attributes."""
        return self._table(_FIELDS).to_csv()

    def to_latex(self) -> str:
        """Return a ``tabular`` for the package ``booktabs``."""
        return self._table(_HEADINGS).to_latex() + "\n"

    def _table(self, names: Sequence[str]) -> Table:
        columns = (
            Column.of(name, [getattr(row, field) for row in self.rows], _FORMATS.get(field, str))
            for name, field in zip(names, _FIELDS, strict=True)
        )
        return Table("", tuple(columns))


def describe(datasets: Dataset | Iterable[Dataset]) -> DescriptionTable:
    """Describe several datasets in one table.

    Parameters
    ----------
    datasets : Dataset or iterable of Dataset

    Returns
    -------
    DescriptionTable
        Prints as text; ``to_pandas()``, ``to_csv()`` and ``to_latex()`` return other formats.

    Examples
    --------
    >>> from bucketrank.datasets import Dataset, describe
    >>> drinks = Dataset("drinks", [[8], [15]], [[1, 2, 2], [2, float("nan"), 1]])
    >>> print(describe([drinks]))
    dataset  instances  features  labels  unique rankings  mean buckets  missing
    drinks           2         1       3                2         2.000    16.7%
    """
    from bucketrank.datasets.dataset import Dataset

    if isinstance(datasets, Dataset):
        datasets = [datasets]
    rows = []
    for index, dataset in enumerate(datasets):
        if not isinstance(dataset, Dataset):
            raise TypeError(f"datasets[{index}] is {dataset!r:.60}; expected a Dataset")
        rows.append(dataset.describe())
    return DescriptionTable(tuple(rows))
