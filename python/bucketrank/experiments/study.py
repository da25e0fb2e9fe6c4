"""The results of a comparison: a tidy table and what it says."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._files import write_file
from bucketrank._optional import pandas
from bucketrank.experiments.conclusions import Conclusions
from bucketrank.experiments.store import COLUMNS, Row, Store
from bucketrank.experiments.summary import Summary
from bucketrank.tables import escape_csv

if TYPE_CHECKING:
    from pandas import DataFrame

_TEXTS = ("dataset", "method")
_WHOLE = ("repeat", "fold")


class Study(Conclusions):
    """Results of :func:`bucketrank.experiments.compare`: one row for each dataset, level, method, repeat and fold.

    Attributes
    ----------
    columns : dict of str to ndarray
        The table by columns. ``dataset``, ``missing`` (share of labels dropped from training rankings), ``method``,
        ``repeat`` and ``fold`` say what was measured; then ``tau_x`` (mean rank correlation on the rows held out),
        ``buckets_predicted`` and ``buckets_true`` (mean numbers of buckets), ``leaves`` and ``depth`` of the tree
        (NaN for rankers without), ``fit_seconds`` (growing the tree) and ``consensus_seconds`` (its leaves'
        consensus; for other rankers the time to predict).
    settings : dict
        What the results depend on: seed, folds, levels, hashes of the data, learners and methods.
    notes : dict
        Versions and the like, which the results should not depend on.

    Examples
    --------
    >>> from bucketrank.experiments import compare
    >>> study = compare(["iris"], aggregators=["borda", "mc4"], missing=0, n_repeats=1, n_folds=5)
    >>> study
    Study(1 dataset × 1 level × 3 methods × 1 repeat × 5 folds: 15 results)
    >>> study.summary().methods
    ['borda', 'mc4', 'all_tied']

    With several datasets it says which methods differ:

    >>> study = compare(["iris", "wine"], ["borda", "mc4"], missing=0.3, n_repeats=1, n_folds=5)
    >>> study.holm(missing=0.3).control
    'borda'
    """

    def __init__(
        self, rows: Iterable[Row], settings: Mapping[str, Any], notes: Mapping[str, Any]
    ) -> None:
        self.settings = dict(settings)
        self.notes = dict(notes)
        order = self._order(list(rows))
        self.columns: dict[str, NDArray[Any]] = {
            name: np.array([row[index] for row in order], dtype=_dtype(name))
            for index, name in enumerate(COLUMNS)
        }

    @classmethod
    def load(cls, store: str | Path) -> Study:
        """Read the results that a store holds, also those of a study that is not finished.

        Parameters
        ----------
        store : str or Path
            File that ``compare(..., store=...)`` wrote.

        Returns
        -------
        Study
        """
        with Store.read(store) as opened:
            settings = opened.settings()
            return cls(opened.rows(), settings, opened.notes().get("surroundings", {}))

    @classmethod
    def joined(cls, studies: Iterable[Study]) -> Study:
        """Put together studies of different datasets, measured by the same methods on the same levels and folds.

        Parameters
        ----------
        studies : iterable of Study
            What they fitted and aggregated by may differ; the settings of each are kept under ``"joined"``.

        Returns
        -------
        Study
        """
        several = list(studies)
        if not several:
            raise ValueError("found 0 studies; expected at least one")
        settings = dict(several[0].settings)
        datasets: dict[str, str] = {}
        for study in several:
            for name in ("methods", "missing", "n_repeats", "n_folds"):
                if study.settings[name] != settings[name]:
                    raise ValueError(
                        f"the studies differ in {name}: {settings[name]} and {study.settings[name]}"
                    )
            for name in study.datasets:
                if name in datasets:
                    raise ValueError(f"dataset {name!r} is in two of the studies; expected one")
            datasets |= study.settings["datasets"]
        settings |= {"datasets": datasets, "joined": [study.settings for study in several]}
        return cls((row for study in several for row in study._rows()), settings, several[0].notes)

    def _rows(self) -> list[Row]:
        return list(zip(*(self.columns[name].tolist() for name in COLUMNS), strict=True))

    @property
    def datasets(self) -> list[str]:
        """Names of the datasets."""
        return list(self.settings["datasets"])

    @property
    def methods(self) -> list[str]:
        """Names of the methods."""
        return list(self.settings["methods"])

    @property
    def missing(self) -> list[float]:
        """Levels of missing labels."""
        return list(self.settings["missing"])

    @property
    def n_expected(self) -> int:
        """Number of results of the finished study."""
        folds: int = self.settings["n_repeats"] * self.settings["n_folds"]
        return len(self.datasets) * len(self.methods) * len(self.missing) * folds

    @property
    def is_complete(self) -> bool:
        """Whether every job is finished."""
        return len(self) == self.n_expected

    def __len__(self) -> int:
        return len(self.columns["tau_x"])

    def __repr__(self) -> str:
        parts = [
            _counted(len(self.datasets), "dataset"),
            _counted(len(self.missing), "level"),
            _counted(len(self.methods), "method"),
            _counted(self.settings["n_repeats"], "repeat"),
            _counted(self.settings["n_folds"], "fold"),
        ]
        found = f"{len(self)} results"
        if not self.is_complete:
            found += f" of {self.n_expected}, unfinished"
        return f"Study({' × '.join(parts)}: {found})"

    def __str__(self) -> str:
        return f"{self!r}\n\n{self.summary()}"

    def summary(self) -> Summary:
        r"""Return mean and standard deviation of :math:`\tau_X` over repeats and folds.

        Returns
        -------
        Summary
            One table a level: datasets by methods. ``print`` it, or ask it for other forms.
        """
        return Summary.of(
            self.columns, datasets=self.datasets, methods=self.methods, missing=self.missing
        )

    def to_pandas(self) -> DataFrame:
        """Return the table as a data frame; needs pandas.

        Returns
        -------
        pandas.DataFrame
            One row a result.
        """
        frame: DataFrame = pandas("to_pandas").DataFrame(self.columns)
        return frame

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the table as comma-separated values.

        Parameters
        ----------
        path : str or Path, optional
            Where to write them as well.

        Returns
        -------
        str
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([escape_csv(value) for value in row] for row in self._rows())
        if path is not None:
            write_file(path, text.getvalue())
        return text.getvalue()

    def to_latex(self) -> str:
        """Return the summary as LaTeX tables, one a level; see :meth:`Summary.to_latex`."""
        return self.summary().to_latex()

    def _order(self, rows: list[Row]) -> list[Row]:
        """Sort as the settings list datasets, levels and methods, whatever the order of finishing."""
        datasets = {name: index for index, name in enumerate(self.datasets)}
        missing = {level: index for index, level in enumerate(self.missing)}
        methods = {name: index for index, name in enumerate(self.methods)}
        return sorted(
            rows, key=lambda row: (datasets[row[0]], missing[row[1]], methods[row[2]], *row[3:5])
        )


def _dtype(column: str) -> Any:
    if column in _TEXTS:
        return np.str_
    return np.int64 if column in _WHOLE else np.float64


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
