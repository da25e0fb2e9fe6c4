"""Sections of a report that compare our results with the tables of the paper (Wang, Alfaro and Bengs, 2025)."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bucketrank.experiments import Study
from bucketrank.experiments.report import Figure, Section
from bucketrank.figures import plot_training_times
from bucketrank.statistics import ScoreTable, holm
from bucketrank.tables import Column, Table, p_value_text

Row = dict[str, str]


class Cell(NamedTuple):
    """A score of ours and the published score of the same dataset, level and method."""

    dataset: str
    missing: int
    method: str
    ours: float
    paper: float

    @property
    def difference(self) -> float:
        return self.ours - self.paper


@dataclass(frozen=True)
class Published:
    """The published tables of the paper."""

    accuracy: list[Row]
    holm: list[Row]
    beta: list[Row]
    training_time: list[Row]

    @classmethod
    def read(cls, folder: str | Path) -> Published:
        """Read a folder with one CSV file per table; a table without a file is empty."""
        tables = {}
        for name in ("accuracy", "holm", "beta", "training_time"):
            path = Path(folder) / f"{name}.csv"
            rows: list[Row] = []
            if path.is_file():
                with path.open(encoding="utf-8") as lines:
                    rows = list(csv.DictReader(lines))
            tables[name] = rows
        return cls(**tables)

    def cells(self, study: Study) -> Iterator[Cell]:
        """Yield each published score with ours, where both exist."""
        summary = study.summary()
        for row in self.accuracy:
            dataset, method, missing = row["dataset"], row["aggregator"], int(row["missing"])
            if (
                dataset in summary.datasets
                and method in summary.methods
                and missing / 100 in summary.missing
            ):
                index = (
                    summary.missing.index(missing / 100),
                    summary.datasets.index(dataset),
                    summary.methods.index(method),
                )
                ours = float(summary.mean[index])
                yield Cell(dataset, missing, method, ours, float(row["tau_x_mean"]))

    def score(self, dataset: str, missing: int, method: str) -> float:
        """Return a published score, or NaN if it does not exist."""
        wanted = (dataset, str(missing), method)
        for row in self.accuracy:
            if (row["dataset"], row["missing"], row["aggregator"]) == wanted:
                return float(row["tau_x_mean"])
        return float("nan")


def sections(study: Study, published: Published, beta_table: Table | None) -> list[Section]:
    """Return the sections that compare scores, tests, times and β with the paper."""
    found = [_scores(study, published), _tests(study, published), _times(study, published)]
    if beta_table is not None:
        text = "β on the real datasets: the recommendations for the training folds, and the best values."
        found.append(Section("Comparison with the paper: β", (text,), (beta_table,)))
    return found


def _scores(study: Study, published: Published) -> Section:
    cells = list(published.cells(study))
    tables = []
    for missing in sorted({cell.missing for cell in cells}):
        level = {(c.dataset, c.method): c for c in cells if c.missing == missing}
        datasets = list(dict.fromkeys(dataset for dataset, _ in level))
        columns = [Column.of("dataset", datasets)]
        for method in study.methods:
            row = [level.get((dataset, method)) for dataset in datasets]
            texts = tuple(f"{c.ours:.3f} / {c.paper:.3f}" if c else "" for c in row)
            values = tuple(c.ours if c else None for c in row)
            columns.append(Column(method, values, texts, (False,) * len(row)))
        tables.append(Table(f"τ_X at {missing} % missing labels, ours / paper's", tuple(columns)))
    every = Table(
        "All differences",
        (
            Column.of("dataset", [c.dataset for c in cells]),
            Column.of("missing %", [c.missing for c in cells]),
            Column.of("method", [c.method for c in cells]),
            Column.of("ours", [c.ours for c in cells], "{:.3f}".format),
            Column.of("paper", [c.paper for c in cells], "{:.3f}".format),
            Column.of("ours − paper", [c.difference for c in cells], "{:+.3f}".format),
        ),
    )
    sizes = np.abs([cell.difference for cell in cells])
    text = (
        f"{len(cells)} scores of the paper and ours: the mean absolute difference is {sizes.mean():.4f}, "
        f"the largest {sizes.max():.3f}. Folds and missing labels are not the paper's, so the numbers differ as "
        "they do between two seeds. If several lotteries are maximal, ours is the fairest and the "
        "paper's an arbitrary one."
    )
    return Section("Comparison with the paper: agreement", (text,), tuple(tables), more=(every,))


def _tests(study: Study, published: Published) -> Section:
    tables = []
    for missing in sorted({int(row["missing"]) for row in published.holm}):
        if missing / 100 not in study.missing:
            continue
        rows = {row["aggregator"]: row for row in published.holm if int(row["missing"]) == missing}
        test = holm(study.scores(missing / 100).select(rows))
        ranks = test.friedman.ranks
        names = ranks.ordered
        p_values = [None if n == test.control else test.adjusted_p_value(n) for n in names]
        counts = [
            None if n == test.control else "/".join(map(str, test.counts.against(test.control, n)))
            for n in names
        ]
        theirs = [_printed_counts(rows[name]) for name in names]
        columns = (
            Column.of("method", names),
            Column.of("rank", [ranks[name] for name in names], "{:.2f}".format),
            Column.of(
                "paper's rank", [float(rows[n]["mean_rank"]) for n in names], "{:.2f}".format
            ),
            Column.of("p", p_values, p_value_text),
            Column.of("paper's p", [_number(rows[n]["holm_p"]) for n in names], p_value_text),
            Column.of("win/tie/loss", counts),
            Column.of("paper's win/tie/loss", theirs),
        )
        friedman = next(iter(rows.values()))["friedman_p"]
        note = f"{test.friedman.sentence()}; the paper's p = {friedman}"
        tables.append(Table(f"Holm at {missing} % missing labels", columns, note))
    return Section("Comparison with the paper: significance", (), tuple(tables))


def _times(study: Study, published: Published) -> Section:
    tables, figures = [], []
    for level in study.missing:
        ours = study.training_times(level)
        seconds = {
            (row["dataset"], row["aggregator"]): float(row["seconds_mean"])
            for row in published.training_time
            if int(row["missing"]) / 100 == level
        }
        datasets = [name for name in ours.datasets if (name, ours.methods[0]) in seconds]
        if len(datasets) < 2:
            continue
        rows = [ours.datasets.index(name) for name in datasets]
        theirs = np.array([[seconds[name, method] for method in ours.methods] for name in datasets])
        columns = [Column.of("dataset", datasets)]
        for j, method in enumerate(ours.methods):
            ratio = theirs[:, j] / ours.values[rows, j]
            columns.append(Column.of(method, ratio, "{:.0f}".format))
        share = f"{100 * level:g} % missing labels"
        tables.append(Table(f"The paper's seconds divided by ours at {share}", tuple(columns)))
        table = ScoreTable(ours.values[rows], datasets, ours.methods, higher_is_better=False)
        reference = dict(
            zip(datasets, theirs[:, list(ours.methods).index("borda")].tolist(), strict=True)
        )
        title = f"Training seconds at {share}, with the paper's Borda"
        figures.append(Figure(title, partial(_draw_times, table, reference), (9.0, 4.6)))
    text = "The times are from different machines; only their orders of magnitude are comparable."
    return Section(
        "Comparison with the paper: training times",
        (text,),
        tuple(tables[:1]),
        tuple(figures),
        tuple(tables[1:]),
    )


def _draw_times(table: ScoreTable, reference: dict[str, float], ax: Any) -> None:
    plot_training_times(table, reference=reference, reference_name="borda, paper", ax=ax)


def _printed_counts(row: Row) -> str | None:
    return f"{row['win']}/{row['tie']}/{row['loss']}" if row["win"] else None


def _number(text: str) -> float | None:
    return float(text) if text else None
