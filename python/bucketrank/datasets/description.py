"""Summary statistics of datasets: size, number of unique rankings, mean number of buckets, share missing."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._optional import pandas
from bucketrank.tables import escape_csv, escape_latex, escape_text

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
    """

    name: str
    instances: int
    features: int
    labels: int
    unique_rankings: int
    mean_buckets: float
    missing: float

    @classmethod
    def of(cls, name: str, n_features: int, Y: NDArray[np.float64]) -> Description:
        """Compute the numbers from dense positions with NaN for missing labels."""
        n_rows, n_labels = Y.shape
        missing = np.isnan(Y)
        compact = np.where(missing, 0, Y).astype(np.min_scalar_type(n_labels))
        # View each row as one opaque value, because sorting those is much faster than sorting rows by columns.
        rows = np.ascontiguousarray(compact).view(np.dtype((np.void, compact.itemsize * n_labels)))
        return cls(
            name=name,
            instances=n_rows,
            features=n_features,
            labels=n_labels,
            unique_rankings=len(np.unique(rows)),
            mean_buckets=float(compact.max(axis=1).mean()),
            missing=float(missing.mean()),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics by name, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return str(DescriptionTable((self,)))


@dataclass(frozen=True)
class DescriptionTable:
    """Descriptions of several datasets, one per row; prints as a table.

    Attributes
    ----------
    rows : tuple of Description
    """

    rows: tuple[Description, ...]

    def __iter__(self) -> Iterator[Description]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return text_table([_headings(), *map(_texts, self.rows)])

    def to_pandas(self) -> DataFrame:
        """Return a data frame indexed by the names of the datasets; needs pandas."""
        pd = pandas("to_pandas")
        columns = [field.name for field in fields(Description)]
        table = pd.DataFrame([astuple(row) for row in self.rows], columns=columns)
        frame: DataFrame = table.set_index("name")
        return frame

    def to_csv(self) -> str:
        """Return CSV with unrounded numbers; the header has the names of the attributes."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(field.name for field in fields(Description))
        writer.writerows([escape_csv(value) for value in astuple(row)] for row in self.rows)
        return out.getvalue()

    def to_latex(self) -> str:
        """Return a ``tabular`` for the package ``booktabs``."""
        return latex_table([_headings(), *map(_texts, self.rows)])


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


def _headings() -> list[str]:
    return ["dataset", *(field.name.replace("_", " ") for field in fields(Description)[1:])]


def _texts(row: Description) -> list[str]:
    counts = (row.instances, row.features, row.labels, row.unique_rankings)
    return [
        escape_text(row.name),
        *map(str, counts),
        f"{row.mean_buckets:.3f}",
        f"{row.missing:.1%}",
    ]


def text_table(rows: Sequence[Sequence[str]]) -> str:
    """Format rows of cells as text, the header first: the first column left-aligned, all others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for name, *numbers in rows:
        right = (text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True))
        lines.append("  ".join([name.ljust(widths[0]), *right]))
    return "\n".join(lines)


def latex_table(rows: Sequence[Sequence[str]]) -> str:
    """Format rows of cells, the header first, as a ``tabular`` for the package ``booktabs``."""
    heading, *body = (" & ".join(escape_latex(cell) for cell in row) + r" \\" for row in rows)
    columns = "l" + "r" * (len(rows[0]) - 1)
    lines = ["\\toprule", heading, "\\midrule", *body, "\\bottomrule"]
    inner = "\n".join(f"  {line}" for line in lines)
    return f"\\begin{{tabular}}{{{columns}}}\n{inner}\n\\end{{tabular}}\n"
