"""What can be concluded from the results of a study: statistics over its datasets, and a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bucketrank.experiments.cells import Cells
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

if TYPE_CHECKING:
    from bucketrank.experiments.report import Section
    from bucketrank.experiments.study import Study

__all__ = ["Conclusions"]


class Conclusions:
    """The methods of a study that compare its methods; all take one level of missing labels."""

    def scores(self, missing: float = 0, measure: str = "tau_x") -> ScoreTable:
        r"""Return the mean over repeats and folds of something that was measured.

        Parameters
        ----------
        missing : float, default 0
            Level of missing labels.
        measure : str, default "tau_x"
            A column of the study, such as ``"buckets_predicted"``.

        Returns
        -------
        ScoreTable
            Datasets by methods. For results that are incomplete the error says which are lacking.
        """
        study = self._study()
        if measure not in study.columns or study.columns[measure].dtype.kind != "f":
            known = [name for name, column in study.columns.items() if column.dtype.kind == "f"]
            raise ValueError(f"measure is {measure!r}; known: {', '.join(known)}")
        cells = Cells.of(study, measure)
        return cells.scores(cells.level(missing), higher_is_better=not measure.endswith("_seconds"))

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
        """Return by how many buckets predictions exceed the truth on average.

        Parameters
        ----------
        missing : float, default 0
            Level of missing labels.

        Returns
        -------
        ScoreTable
            Datasets, ordered by their mean number of true buckets, by methods. Closest to 0 is best.
        """
        study = self._study()
        difference = study.columns["buckets_predicted"] - study.columns["buckets_true"]
        cells = Cells.of(study, "predicted − true buckets", difference)
        table = cells.scores(cells.level(missing), zero_is_best=True)
        buckets = self.scores(missing, "buckets_true").values[:, 0]
        order = buckets.argsort(kind="stable")
        names = [table.datasets[i] for i in order]
        return ScoreTable(
            table.values[order], names, table.methods, zero_is_best=True, measure=table.measure
        )

    def training_times(self, missing: float = 0) -> ScoreTable:
        """Return the mean seconds to fit on a training fold: growing the tree and the consensus of its leaves.

        Parameters
        ----------
        missing : float, default 0
            Level of missing labels.

        Returns
        -------
        ScoreTable
            Datasets by methods.
        """
        study = self._study()
        seconds = study.columns["fit_seconds"] + study.columns["consensus_seconds"]
        cells = Cells.of(study, "seconds", seconds)
        return cells.scores(cells.level(missing), higher_is_better=False)

    def report(
        self,
        path: str | Path | None = None,
        *,
        format: str = "html",  # noqa: A002 (the word that people look for)
        title: str | None = None,
        sections: Sequence[Section] = (),
    ) -> str:
        """Write a report: a summary in words, all tables and figures, settings and hashes of the data.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it.
        format : {"html", "latex", "markdown"}, default "html"
            HTML is one self-contained page with figures and needs matplotlib (``pip install 'bucketrank[plot]'``);
            the others have words and tables.
        title : str, optional
            Heading of the report.
        sections : sequence of Section, optional
            More sections, such as that of :meth:`BetaStudy.section`, which come before the settings.

        Returns
        -------
        str
            The report. A study that is not finished has one as well, which says so.
        """
        from bucketrank.experiments.report import write_report

        return write_report(self._study(), path, format=format, title=title, sections=sections)

    def _study(self) -> Study:
        return cast("Study", self)
