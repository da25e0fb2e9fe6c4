"""Sections of the report of a study: paragraphs, tables and figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bucketrank.experiments.means import MeanCube, bucket_difference_means, training_time_means
from bucketrank.experiments.report.agreement import agreement_section, methods_section
from bucketrank.experiments.report.document import Document, Figure, Section
from bucketrank.experiments.report.few_data import few_data_warning
from bucketrank.experiments.report.findings import findings, unfinished_warning
from bucketrank.figures import (
    plot_bucket_differences,
    plot_critical_difference,
    plot_training_times,
)
from bucketrank.figures.style import height_for
from bucketrank.statistics import (
    ScoreTable,
    holm,
    nemenyi,
    wilcoxon,
    win_tie_loss,
)
from bucketrank.tables import Column, Table, join_names, percent, pluralize
from bucketrank.tables.rounding import as_printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bucketrank.experiments.study import Study

__all__ = ["contents"]


def contents(study: Study, title: str | None = None, sections: Sequence[Section] = ()) -> Document:
    """Build the report of a study, finished or not; `sections` come before the settings."""
    size = (
        f"{pluralize(len(study.methods), 'method')} on {pluralize(len(study.datasets), 'dataset')}, "
        f"{pluralize(len(study.missing), 'level')} of missing labels, {study.settings['n_repeats']} × "
        f"{study.settings['n_folds']} folds, {pluralize(len(study), 'result')}"
    )
    all_sections = [
        agreement_section(study),
        methods_section(study),
        *(_tests(study, level) for level in range(len(study.missing))),
        _buckets(study),
        _times(study),
        *sections,
        _settings(study),
    ]
    return Document(
        title=title or "Comparison of methods for partial label ranking",
        subtitle=size,
        warning=" ".join(filter(None, (unfinished_warning(study), few_data_warning(study)))),
        summary=findings(study),
        sections=tuple(section for section in all_sections if section is not None),
    )


def _tests(study: Study, level: int) -> Section | None:
    scores = MeanCube.of(study, "tau_x").finished_scores(level)
    if scores is None:
        return None
    control_test, pair_test = holm(scores), nemenyi(scores)
    height = _diagram_height(scores)
    share = percent(study.missing[level])
    figures = (
        Figure(
            f"Average ranks at {share} missing labels; bars join methods that are not shown to differ (Nemenyi)",
            lambda ax: plot_critical_difference(pair_test, ax=ax),
            (11.0, height),
        ),
        Figure(
            f"Average ranks at {share} missing labels; the bar covers methods that are not shown to differ "
            f"from {control_test.control} (Holm)",
            lambda ax: plot_critical_difference(control_test, ax=ax),
            (11.0, height),
        ),
    )
    more = (pair_test.table(), wilcoxon(scores).table(), win_tie_loss(scores).table())
    title = f"Significance at {share} missing labels"
    return Section(title, (), (control_test.table(),), figures, more)


def _diagram_height(scores: ScoreTable) -> float:
    # Two columns of names, and rarely more than a few rows of bars.
    half = len(scores.methods) / 2
    return 1.6 + 0.3 * half + 0.14 * min(12.0, half)


def _buckets(study: Study) -> Section | None:
    cube = bucket_difference_means(study)
    true = _true_buckets(study)
    tables, figures = [], []
    for level, share in enumerate(study.missing):
        order = np.argsort(true[level], kind="stable")
        columns = [
            Column.of("dataset", [study.datasets[i] for i in order]),
            Column.of("true buckets", true[level, order], "{:.2f}".format),
        ]
        for j, method in enumerate(study.methods):
            values = cube.mean[level, order, j]
            nearest = _nearest(cube, level, order, j)
            columns.append(Column.of(method, values, _signed, best=nearest))
        title = f"Predicted − true number of buckets at {percent(share)} missing labels"
        tables.append(Table(title, tuple(columns), best_meaning="closest to 0"))
        scores = cube.without_baseline().finished_scores(level)
        if scores is not None:
            buckets = dict(zip(study.datasets, true[level].tolist(), strict=True))
            figures.append(
                Figure(
                    title,
                    partial(_draw_buckets, scores, buckets),
                    (11.0, height_for(len(scores.methods), 4.6)),
                )
            )
    text = (
        "A prediction with too many buckets orders labels that should be tied; one with too few ties labels that "
        "should be ordered. Datasets are sorted by their mean number of buckets."
    )
    return Section(
        "Number of buckets", (text,), tuple(tables[:1]), tuple(figures), tuple(tables[1:])
    )


def _signed(difference: float) -> str:
    # Round before the sign is chosen, because a value that rounds to 0 has none.
    rounded = round(difference, 2)
    return f"{rounded:+.2f}" if rounded else "0.00"


def _draw_buckets(scores: ScoreTable, buckets: dict[str, float], ax: Axes) -> None:
    plot_bucket_differences(scores, buckets, ax=ax)


def _draw_times(scores: ScoreTable, ax: Axes) -> None:
    plot_training_times(scores, ax=ax)


def _true_buckets(study: Study) -> NDArray[np.float64]:
    """Return the mean number of true buckets per level and dataset; NaN where no method has a result."""
    mean = MeanCube.of(study, "buckets_true").mean
    has_result = ~np.isnan(mean)
    count = has_result.sum(axis=2)
    total = np.where(has_result, mean, 0).sum(axis=2)
    result: NDArray[np.float64] = np.full(total.shape, np.nan)
    np.divide(total, count, out=result, where=count > 0)
    return result


def _nearest(cube: MeanCube, level: int, order: Any, method: int) -> Any:
    """Return, in the given order of the datasets, whether no other method is closer to 0 than this one."""
    distance = as_printed(np.abs(cube.mean[level, order]), 2)
    smallest = np.min(np.where(np.isnan(distance), np.inf, distance), axis=1)
    return distance[:, method] == smallest


def _times(study: Study) -> Section:
    cube = training_time_means(study)
    tables, figures = [], []
    for level, share in enumerate(study.missing):
        columns = [Column.of("dataset", study.datasets)]
        for j, method in enumerate(study.methods):
            columns.append(Column.of(method, 1000 * cube.mean[level, :, j], "{:.3g}".format))
        title = f"Training time in milliseconds at {percent(share)} missing labels"
        tables.append(Table(title, tuple(columns)))
        scores = cube.without_baseline().finished_scores(level, higher_is_better=False)
        if scores is not None and (scores.values > 0).all():
            caption = title.replace("milliseconds", "seconds")
            figures.append(
                Figure(
                    caption,
                    partial(_draw_times, scores),
                    (11.0, height_for(len(scores.methods), 4.6)),
                )
            )
    text = (
        "Time per fold: fitting the tree, which all aggregators share, and computing the consensus of its leaves; for "
        "other methods, fitting and predicting the held-out rows. Times depend on the machine and its load."
    )
    return Section("Training times", (text,), tuple(tables[:1]), tuple(figures), tuple(tables[1:]))


def _settings(study: Study) -> Section:
    entries = {**study.settings, **study.notes}
    hashes = entries.pop("datasets")
    entries.pop("methods", None)
    # Joined studies have separate learners; their other settings are equal.
    for part in entries.pop("joined", []):
        entries.pop("learners", None)
        entries[f"learners of {join_names(list(part['datasets']))}"] = part["learners"]
    facts = Table(
        "Settings and versions",
        (
            Column.of("setting", entries),
            Column.of("value", [_value_text(value) for value in entries.values()]),
        ),
    )
    data = Table(
        "Data",
        (Column.of("dataset", list(hashes)), Column.of("content hash", list(hashes.values()))),
    )
    text = (
        "The results depend only on these settings and on the data with these hashes; the same call gives the "
        "same numbers, except for times."
    )
    return Section("Settings", (text,), (facts, data))


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
