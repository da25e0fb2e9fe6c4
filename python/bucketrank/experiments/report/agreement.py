"""The sections of a report about agreement (tables of mean τ_X, and curves) and about the methods."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import bucketrank
from bucketrank.aggregation import METHODS, PAPER_AGGREGATORS, get_aggregator
from bucketrank.estimators.baseline import ALL_TIED
from bucketrank.experiments.intervals import half_widths, not_worse
from bucketrank.experiments.report.document import Figure, Section
from bucketrank.experiments.summary import Summary
from bucketrank.figures import plot_accuracy
from bucketrank.figures.style import height_for
from bucketrank.statistics import average_ranks
from bucketrank.tables import Column, Table, percent, pluralize

if TYPE_CHECKING:
    from bucketrank.experiments.study import Study

__all__ = ["agreement_section", "methods_section"]

_MOST_COLUMNS = 12
"""Largest number of datasets or methods side by side: more are continued in a further table."""


def agreement_section(study: Study) -> Section:
    """Return the section with one table of mean τ_X per level of missing labels, and the curves over the levels."""
    cube = study.summary()
    spread = half_widths(cube, int(study.settings["n_folds"]))
    near = not_worse(study)
    tables: list[Table] = []
    for level in range(len(study.missing)):
        tables += _LevelTable(cube, level, spread[level], near[level]).tables()
    text = (
        "Mean rank correlation τ_X between predicted and true bucket orders on the held-out rows; 1 is perfect "
        "agreement. ± is half of a 95 % confidence interval of the mean over repeats and folds, corrected for the "
        "overlap of their training sets (Nadeau and Bengio, 2003). Methods are sorted by average rank, or by mean τ_X "
        "if fewer than two datasets are finished."
    )
    if ALL_TIED in study.methods and len(study.methods) > 1:
        text += f" The all-tied baseline ({ALL_TIED}) is in the tables only: in a figure it would flatten other curves."
    return Section("Agreement", (text,), tuple(tables), tuple(_curves(cube)))


class _LevelTable:
    """The table of one level of missing labels; methods are rows if they are more than the datasets, else columns.

    `spread` holds half-widths of confidence intervals, and `near` the methods that are not shown to be worse than the
    best of the dataset.
    """

    def __init__(
        self, cube: Summary, level: int, spread: NDArray[np.float64], near: NDArray[np.bool_]
    ) -> None:
        self.title = f"τ_X at {percent(cube.missing[level])} missing labels"
        self.mean, self.best = cube.mean[level], cube.best[level]
        self.spread, self.near = spread, near
        self.datasets, self.methods = cube.datasets, cube.methods
        finished = cube.finished(level)
        rows = finished or list(range(len(cube.datasets)))
        self.overall = self.mean[rows].mean(axis=0)
        scores = cube.finished_scores(level)
        self.ranks = None if scores is None else average_ranks(scores).ranks
        keys = -np.nan_to_num(self.overall) if self.ranks is None else self.ranks
        self.order = np.argsort(keys, kind="stable").tolist()

    def tables(self) -> list[Table]:
        """Return the table, in several parts if there are too many columns."""
        by_method = len(self.methods) > len(self.datasets)
        parts = self._by_method() if by_method else self._by_dataset()
        first, columns = parts[0], parts[1:]
        # Count the leading columns instead of looking for their names, because a dataset can be called "mean".
        n_head = len(columns) - len(self.datasets) if by_method else 0
        head, cells = columns[:n_head], columns[n_head:]
        blocks = [cells[i : i + _MOST_COLUMNS] for i in range(0, len(cells), _MOST_COLUMNS)]
        found = []
        for number, block in enumerate(blocks, start=1):
            suffix = f" ({number} of {len(blocks)})" if len(blocks) > 1 else ""
            found.append(
                Table(
                    self.title + suffix,
                    (first, *head, *block),
                    # The legend: what a marked cell and a cell in bold mean.
                    meaning="not shown to be worse than the best of the dataset (corrected t-test over the folds, 5 %)",
                    best_meaning="best of the dataset",
                    n_footer=0 if by_method else len(first.values) - len(self.datasets),
                )
            )
        return found

    def _by_method(self) -> list[Column]:
        order = self.order
        columns = [Column.of("method", [self.methods[j] for j in order])]
        if self.ranks is not None:
            columns.append(Column.of("average rank", self.ranks[order], "{:.2f}".format))
        if len(self.datasets) > 1:
            columns.append(Column.of("mean", self.overall[order], "{:.3f}".format))
        for i, name in enumerate(self.datasets):
            columns.append(
                Column.with_spread(
                    name,
                    self.mean[i, order],
                    self.spread[i, order],
                    self.near[i, order],
                    self.best[i, order],
                )
            )
        return columns

    def _by_dataset(self) -> list[Column]:
        footers: list[tuple[str, Any]] = []
        if len(self.datasets) > 1:
            footers.append(("mean", self.overall))
        if self.ranks is not None:
            footers.append(("average rank", self.ranks))
        columns = [Column.of("dataset", [*self.datasets, *(name for name, _ in footers)])]
        unmarked = [False] * len(footers)
        for j in self.order:
            column = Column.with_spread(
                self.methods[j],
                [*self.mean[:, j], *(values[j] for _, values in footers)],
                [*self.spread[:, j], *(np.nan for _ in footers)],
                [*self.near[:, j], *unmarked],
                [*self.best[:, j], *unmarked],
            )
            columns.append(column)
        return columns


def _curves(cube: Summary) -> list[Figure]:
    levels = range(len(cube.missing))
    rows = sorted(set.intersection(*(set(cube.finished(i)) for i in levels)))
    if not rows or len(cube.missing) < 2:
        return []
    order = np.argsort(cube.missing)
    drawn = cube.without_baseline()
    curves = {
        method: drawn.mean[order][:, rows, j].mean(axis=1) for j, method in enumerate(drawn.methods)
    }
    shares = np.array(cube.missing)[order]
    title = (
        f"Mean τ_X over {pluralize(len(rows), 'dataset')} against the share of missing labels; "
        "methods with the same curve share a line"
    )
    size = (11.0, height_for(len(curves), 4.6))
    return [Figure(title, lambda ax: plot_accuracy(shares, curves, ax=ax), size)]


def methods_section(study: Study) -> Section | None:
    """Return a section with a sentence per method that is not in PAPER_AGGREGATORS; None if there is no such method."""
    learners = dict(study.settings.get("learners", {}))
    names = [name for name in study.methods if name not in PAPER_AGGREGATORS]
    if not names:
        return None
    columns = (
        Column.of("method", names),
        Column.of("what it is", [_explanation(name, learners) for name in names]),
    )
    paragraphs: tuple[str, ...] = ()
    if len(names) < len(study.methods):
        paragraphs = (
            "The other methods are those that Wang, Alfaro and Bengs (2025) compare, with the parameters of the paper.",
        )
    return Section("Methods", paragraphs, (Table("Methods that are not the paper's", columns),))


def _explanation(name: str, learners: dict[str, Any]) -> str:
    if name == ALL_TIED:
        return "A baseline that ties all labels, whatever the features."
    if name in METHODS:
        return f"{_summary(type(get_aggregator(name)))} Applied to {_input_of(name, learners)}."
    written = str(learners.get(name, {}).get("ranker", ""))
    for learner in learners.values():
        written = str(learner.get("aggregators", {}).get(name, written))
    match = re.match(r"(?:[\w.]+\.)?(\w+)\(", written)
    known = getattr(bucketrank, match[1], None) if match else None
    if known is None:
        return written or "No description was stored with the study."
    return f"{_summary(known)} Written as {written.rpartition('.estimators.')[2].partition('.')[2] or written}."


def _input_of(name: str, learners: dict[str, Any]) -> str:
    """Return what the aggregator is applied to: leaves of the tree, or predictions of another learner."""
    shared = [learner for learner in learners.values() if name in learner.get("aggregators", {})]
    is_tree = all("PartialLabelRankingTree(" in str(learner.get("ranker")) for learner in shared)
    return "the leaves of the tree" if is_tree else "the predictions of the shared model"


def _summary(kind: type) -> str:
    """Return the first sentence of a docstring as plain text."""
    first = (inspect.getdoc(kind) or "").partition("\n")[0]
    plain = re.sub(r":\w+:`([^`]*)`", r"\1", first)
    return re.sub(r"\\+tau_X", "τ_X", plain)
