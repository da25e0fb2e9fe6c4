"""Results of a comparison of methods as a table, with summaries, tests and reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._files import write_file
from bucketrank._optional import import_pandas
from bucketrank._validation import describe_value
from bucketrank.experiments.means import MeanCube, bucket_difference_means, training_time_means
from bucketrank.experiments.store import COLUMNS, Row, Store
from bucketrank.experiments.summary import Summary
from bucketrank.statistics import (
    AverageRanks,
    FriedmanTest,
    HolmTest,
    PairwiseTest,
    ScoreTable,
    WinTieLoss,
    average_ranks,
    friedman,
    holm,
    nemenyi,
    wilcoxon,
    win_tie_loss,
)
from bucketrank.tables import notebook_html, pluralize, to_csv_text

if TYPE_CHECKING:
    from pandas import DataFrame

    from bucketrank.experiments.report import Section

_TEXT_COLUMNS = ("dataset", "method")
_WHOLE_NUMBER_COLUMNS = ("repeat", "fold")


class Study:
    """Results of :func:`bucketrank.experiments.compare`: one row per dataset, level, method, repeat and fold.

    A level is a share of labels that are dropped from the training rankings.

    Attributes
    ----------
    columns : dict of str to ndarray
        The table by columns. ``dataset``, ``missing`` (share of labels dropped from training rankings), ``method``,
        ``repeat`` and ``fold`` identify the result. The others are ``tau_x`` (mean rank correlation on held-out rows),
        ``buckets_predicted`` and ``buckets_true`` (mean numbers of buckets), ``leaves`` and ``depth`` of the tree or
        forest (NaN for other rankers), ``fit_seconds`` (time to fit) and ``consensus_seconds`` (time for the consensus
        of the leaves; for rankers other than the tree the time to predict).
    settings : dict
        Inputs that determine the results: seed, folds, levels, hashes of the data, learners and methods.
    notes : dict
        Versions and other notes that do not affect the results.

    Examples
    --------
    >>> from bucketrank.experiments import compare
    >>> study = compare(["iris"], aggregators=["borda", "mc4"], missing=0, n_repeats=1, n_folds=5)
    >>> study
    Study(1 dataset × 1 level × 3 methods × 1 repeat × 5 folds: 15 results)
    >>> study.summary().methods
    ['borda', 'mc4', 'all_tied']

    With several datasets, significance tests are available:

    >>> study = compare(["iris", "wine"], ["borda", "mc4"], missing=0.3, n_repeats=1, n_folds=5)
    >>> study.holm(missing=0.3).control
    'borda'
    """

    def __init__(
        self, rows: Iterable[Row], settings: Mapping[str, Any], notes: Mapping[str, Any]
    ) -> None:
        self.settings = dict(settings)
        self.notes = dict(notes)
        ordered = self._sorted(list(rows))
        self.columns: dict[str, NDArray[Any]] = {
            name: np.array([row[index] for row in ordered], dtype=_dtype(name))
            for index, name in enumerate(COLUMNS)
        }

    @classmethod
    def load(cls, store: str | Path) -> Study:
        """Read the results in a store; the study may be unfinished.

        Parameters
        ----------
        store : str or Path
            File written by ``compare(..., store=...)``.

        Returns
        -------
        Study
        """
        with Store.read(store) as opened:
            settings = opened.settings()
            return cls(opened.rows(), settings, opened.notes().get("surroundings", {}))

    @classmethod
    def joined(cls, studies: Iterable[Study]) -> Study:
        """Join studies of different datasets with the same methods, levels and folds.

        Parameters
        ----------
        studies : iterable of Study
            Their learners may differ; the settings of each are kept in ``settings["joined"]``.

        Returns
        -------
        Study
        """
        several = list(studies)
        if not several:
            raise ValueError("found 0 studies; expected at least one")
        for study in several:
            if not isinstance(study, Study):
                raise TypeError(f"studies contains {describe_value(study)}; expected a Study")
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
                    raise ValueError(
                        f"dataset {name!r} is in two of the studies; expected different datasets"
                    )
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
            pluralize(len(self.datasets), "dataset"),
            pluralize(len(self.missing), "level"),
            pluralize(len(self.methods), "method"),
            pluralize(self.settings["n_repeats"], "repeat"),
            pluralize(self.settings["n_folds"], "fold"),
        ]
        found = pluralize(len(self), "result")
        if not self.is_complete:
            found += f" of {self.n_expected}, unfinished"
        return f"Study({' × '.join(parts)}: {found})"

    def __str__(self) -> str:
        return f"{self!r}\n\n{self.summary()}"

    def _repr_html_(self) -> str:
        """Return the size of the study and its summary for a notebook."""
        return notebook_html(*self.summary()._tables(), heading=repr(self))

    def summary(self) -> Summary:
        r"""Return mean and standard deviation of :math:`\tau_X` over repeats and folds.

        Returns
        -------
        Summary
            One table per level, datasets by methods, with methods for text, CSV, JSON and LaTeX.
        """
        return Summary.of(self)

    def scores(self, missing: float = 0, measure: str = "tau_x") -> ScoreTable:
        """Return the mean of one measure over repeats and folds.

        Parameters
        ----------
        missing : float, default 0
            Level of missing labels.
        measure : str, default "tau_x"
            A column of the study, such as ``"buckets_predicted"``.

        Returns
        -------
        ScoreTable
            Datasets by methods. If results are missing, the error names them.
        """
        if measure not in self.columns or self.columns[measure].dtype.kind != "f":
            known = [name for name, column in self.columns.items() if column.dtype.kind == "f"]
            raise ValueError(f"measure is {measure!r}; known: {', '.join(known)}")
        means = MeanCube.of(self, measure)
        return means.scores(means.level(missing), higher_is_better=not measure.endswith("_seconds"))

    def average_ranks(self, missing: float = 0) -> AverageRanks:
        r"""Return the average rank of each method by :math:`\tau_X`; see :func:`.statistics.average_ranks`."""
        return average_ranks(self.scores(missing))

    def friedman(self, missing: float = 0, *, alpha: float = 0.05) -> FriedmanTest:
        """Test whether the methods differ at all; see :func:`.statistics.friedman`."""
        return friedman(self.scores(missing), alpha=alpha)

    def holm(
        self, missing: float = 0, control: str | None = None, *, alpha: float = 0.05
    ) -> HolmTest:
        """Compare the best method, or another control, with all others; see :func:`.statistics.holm`."""
        return holm(self.scores(missing), control, alpha=alpha)

    def nemenyi(self, missing: float = 0, *, alpha: float = 0.05) -> PairwiseTest:
        """Compare all pairs of methods by their average ranks; see :func:`.statistics.nemenyi`."""
        return nemenyi(self.scores(missing), alpha=alpha)

    def wilcoxon(self, missing: float = 0, *, alpha: float = 0.05) -> PairwiseTest:
        """Compare all pairs of methods by signed ranks; see :func:`.statistics.wilcoxon`."""
        return wilcoxon(self.scores(missing), alpha=alpha)

    def win_tie_loss(self, missing: float = 0, *, decimals: int = 3) -> WinTieLoss:
        """Count wins, ties and losses of all pairs of methods; see :func:`.statistics.win_tie_loss`."""
        return win_tie_loss(self.scores(missing), decimals=decimals)

    def bucket_differences(self, missing: float = 0) -> ScoreTable:
        """Return the mean difference between the numbers of predicted and true buckets.

        Parameters
        ----------
        missing : float, default 0
            Level of missing labels.

        Returns
        -------
        ScoreTable
            One row per dataset, sorted by the mean number of true buckets, and one column per method. Closest to 0 is
            best.
        """
        means = bucket_difference_means(self)
        table = means.scores(means.level(missing), zero_is_best=True)
        buckets = self.scores(missing, "buckets_true").values[:, 0]
        order = buckets.argsort(kind="stable")
        names = [table.datasets[i] for i in order]
        return ScoreTable(
            table.values[order], names, table.methods, zero_is_best=True, measure=table.measure
        )

    def training_times(self, missing: float = 0) -> ScoreTable:
        """Return the mean training time of a fold in seconds.

        Parameters
        ----------
        missing : float, default 0
            Level of missing labels.

        Returns
        -------
        ScoreTable
            Datasets by methods: for aggregators, the time for growing the tree and for the consensus of its leaves; for
            other rankers, the time for fitting and for predicting the held-out rows.
        """
        means = training_time_means(self)
        return means.scores(means.level(missing), higher_is_better=False)

    def report(
        self,
        path: str | Path | None = None,
        *,
        format: str = "html",  # noqa: A002 (the usual name of this parameter)
        title: str | None = None,
        sections: Sequence[Section] = (),
    ) -> str:
        """Write a report: a summary in sentences, all tables and figures, settings and hashes of the data.

        Parameters
        ----------
        path : str or Path, optional
            File to write to, in addition to returning the text.
        format : {"html", "latex", "markdown"}, default "html"
            HTML is one self-contained page with figures and needs matplotlib (``pip install 'bucketrank[plot]'``);
            the others have text and tables.
        title : str, optional
            Heading of the report.
        sections : sequence of Section, optional
            Further sections before the settings, such as the result of :meth:`BetaStudy.section`.

        Returns
        -------
        str
            The report; for an unfinished study it begins with a warning.
        """
        from bucketrank.experiments.report import RENDERERS, contents

        if format not in RENDERERS:
            known = ", ".join(map(repr, RENDERERS))
            raise ValueError(f"format is {format!r}; expected one of {known}")
        text = RENDERERS[format](contents(self, title, sections))
        if path is not None:
            write_file(path, text)
        return text

    def to_pandas(self) -> DataFrame:
        """Return the table as a data frame; needs pandas.

        Returns
        -------
        pandas.DataFrame
            One row per result.
        """
        frame: DataFrame = import_pandas("to_pandas").DataFrame(self.columns)
        return frame

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the table as comma-separated values.

        Parameters
        ----------
        path : str or Path, optional
            File to write to, in addition to returning the text.

        Returns
        -------
        str
        """
        text = to_csv_text([COLUMNS, *self._rows()])
        if path is not None:
            write_file(path, text)
        return text

    def to_latex(self) -> str:
        """Return the summary as LaTeX tables, one per level; see :meth:`Summary.to_latex`."""
        return self.summary().to_latex()

    def _sorted(self, rows: list[Row]) -> list[Row]:
        """Sort by the order of datasets, levels and methods in the settings."""
        datasets = {name: index for index, name in enumerate(self.datasets)}
        missing = {level: index for index, level in enumerate(self.missing)}
        methods = {name: index for index, name in enumerate(self.methods)}
        return sorted(
            rows, key=lambda row: (datasets[row[0]], missing[row[1]], methods[row[2]], *row[3:5])
        )


def _dtype(column: str) -> Any:
    if column in _TEXT_COLUMNS:
        # Not str_, which strips NUL characters at the end.
        return np.object_
    return np.int64 if column in _WHOLE_NUMBER_COLUMNS else np.float64
