"""What a study found, in words that follow from its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bucketrank.estimators.baseline import ALL_TIED
from bucketrank.experiments.cells import Cells
from bucketrank.experiments.report.words import counted, listed, percent
from bucketrank.statistics import HolmTest, ScoreTable, holm
from bucketrank.tables import p_value_text
from bucketrank.tables.rounding import as_printed

if TYPE_CHECKING:
    from bucketrank.experiments.study import Study

__all__ = ["findings", "unfinished_warning"]

_MOST_NAMES = 4
"""So many methods are named in a sentence; of more, only the first."""


def unfinished_warning(study: Study) -> str:
    """Return what to say about results that are not there yet; nothing for a finished study."""
    if study.is_complete:
        return ""
    cells = Cells.of(study, "tau_x")
    whole = [
        f"{counted(len(cells.finished(level)), 'dataset')} at {percent(share)}"
        for level, share in enumerate(cells.missing)
    ]
    return (
        f"This study is not finished: {len(study)} of {study.n_expected} results are there. Statistics "
        f"and means use the datasets that have all results: {listed(whole)} missing labels. "
        "Run the same comparison again to finish it."
    )


def findings(study: Study) -> tuple[str, ...]:
    """Return the main results of a study as sentences.

    Parameters
    ----------
    study : Study
        Finished or not.

    Returns
    -------
    tuple of str
        One paragraph a level of missing labels, then what holds across levels.
    """
    cells = Cells.of(study, "tau_x")
    said = [_level_sentence(cells, level) for level in range(len(cells.missing))]
    further = (
        _across_levels(cells.without_baseline()),
        _bucket_sentence(study),
        _time_sentence(study),
        _baseline_sentence(cells),
    )
    said += filter(None, further)
    return tuple(said)


def _level_sentence(cells: Cells, level: int) -> str:
    where = f"At {percent(cells.missing[level])} missing labels"
    rows = cells.finished(level)
    if not rows:
        return f"{where} no dataset is finished yet."
    if len(cells.methods) < 2:
        mean = cells.mean[level, rows].mean()
        return f"{where} {cells.methods[0]} reaches a mean τ_X of {mean:.3f} over {counted(len(rows), 'dataset')}."
    if len(rows) < 2:
        return f"{where}, on {cells.datasets[rows[0]]} alone, {_highest_mean(cells, level, rows)}."
    table = cells.finished_scores(level)
    if table is None:
        return f"{where} there are too few results to compare."
    return f"{where} {_verdict(holm(table))} {_mean_remark(table, holm(table))}"


def _verdict(test: HolmTest) -> str:
    ranks = test.friedman.ranks
    best = ranks[test.control]
    leaders = [name for name in ranks.ordered if ranks[name] == best]
    over = f"over {counted(ranks.n_datasets, 'dataset')}"
    if len(leaders) > 1:
        shared = f"{listed(leaders)} share the best average rank, {best:.2f} {over}"
    elif test.friedman.rejected:
        shared = f"{test.control} leads with an average rank of {best:.2f} {over}"
    else:
        shared = f"{test.control} has the best average rank, {best:.2f} {over}"
    p_value = p_value_text(test.friedman.p_value)
    if not test.friedman.rejected:
        return f"{shared}, but no method is shown to differ from another (Friedman p = {p_value})."
    others = [name for name in test.not_different if name not in leaders]
    if not test.different:
        return f"{shared}; the methods differ (Friedman p = {p_value}), but none significantly from {test.control}."
    behind = f"significantly ahead of {_which(test.different, len(test.methods))} (Holm, level {test.alpha:g})"
    if not others:
        return f"{shared}, {behind}."
    close = listed(_first_few(test, others))
    return f"{shared}: not significantly ahead of {close}, but {behind}."


def _first_few(test: HolmTest, names: list[str]) -> list[str]:
    """Return names with their p-values, and how many more there are when they are many."""
    shown = names if len(names) <= _MOST_NAMES else names[: _MOST_NAMES - 1]
    said = [f"{name} (p = {p_value_text(test.adjusted_p_value(name))})" for name in shown]
    return said if shown == names else [*said, f"{len(names) - len(shown)} more"]


def _which(names: tuple[str, ...], of: int) -> str:
    if len(names) == of:
        return "all others" if of > 1 else names[0]
    return listed(names) if len(names) <= 3 else f"the other {len(names)} methods"


def _mean_remark(table: ScoreTable, test: HolmTest) -> str:
    means = as_printed(table.values.mean(axis=0))
    highest = [table.methods[j] for j in np.flatnonzero(means == means.max())]
    value = f"{means.max():.3f}"
    if highest == [test.control]:
        return f"The mean τ_X of {test.control}, {value}, is the highest as well."
    if len(highest) == len(table.methods):
        return f"All methods have the same mean τ_X, {value}."
    if test.control in highest:
        return f"The highest mean τ_X, {value}, is that of {listed(highest)}."
    own = means[table.methods.index(test.control)]
    return f"The highest mean τ_X is that of {listed(highest)}, {value} against {own:.3f}."


def _highest_mean(cells: Cells, level: int, rows: list[int]) -> str:
    means = as_printed(cells.mean[level, rows[0]])
    highest = [cells.methods[j] for j in np.flatnonzero(means == means.max())]
    if len(highest) == len(cells.methods):
        return f"all methods reach the same mean τ_X, {means.max():.3f}"
    verb = "has" if len(highest) == 1 else "share"
    return (
        f"{listed(highest)} {verb} the highest mean τ_X, {means.max():.3f} "
        "(one dataset allows no test across datasets)"
    )


def _across_levels(cells: Cells) -> str:
    """Say who loses least when labels go missing, over the datasets that are finished at the ends."""
    first, last = int(np.argmin(cells.missing)), int(np.argmax(cells.missing))
    rows = sorted(set(cells.finished(first)) & set(cells.finished(last)))
    if first == last or not rows or len(cells.methods) < 2:
        return ""
    change = as_printed((cells.mean[last, rows] - cells.mean[first, rows]).mean(axis=0))
    span = f"From {percent(cells.missing[first])} to {percent(cells.missing[last])} missing labels"
    if change.min() == change.max():
        return f"{span} the mean τ_X of every method changes by {change.min():+.3f}."
    most = listed([cells.methods[j] for j in np.flatnonzero(change == change.max())])
    least = listed([cells.methods[j] for j in np.flatnonzero(change == change.min())])
    return (
        f"{span} the mean τ_X of {most} holds up best ({change.max():+.3f}) "
        f"and that of {least} worst ({change.min():+.3f})."
    )


def _bucket_sentence(study: Study) -> str:
    difference = study.columns["buckets_predicted"] - study.columns["buckets_true"]
    cells = Cells.of(study, "predicted - true buckets", difference).without_baseline()
    rows = cells.finished(0)
    if not rows or len(cells.methods) < 2:
        return ""
    means = cells.mean[0, rows].mean(axis=0)
    closest, farthest = int(np.argmin(np.abs(means))), int(np.argmax(np.abs(means)))
    return (
        f"At {percent(cells.missing[0])} missing labels {cells.methods[closest]} comes closest to the true "
        f"number of buckets ({_too_many(means[closest])} on average); {cells.methods[farthest]} is "
        f"farthest from it ({_too_many(means[farthest])})."
    )


def _too_many(difference: float) -> str:
    if abs(difference) < 0.005:
        return "as many"
    return f"{abs(difference):.2f} too {'many' if difference > 0 else 'few'}"


def _time_sentence(study: Study) -> str:
    cells = Cells.of(
        study, "seconds", study.columns["fit_seconds"] + study.columns["consensus_seconds"]
    ).without_baseline()
    rows = cells.finished(0)
    if not rows or len(cells.methods) < 2:
        return ""
    means = cells.mean[0, rows].mean(axis=0)
    quickest, slowest = int(np.argmin(means)), int(np.argmax(means))
    where = f"at {percent(cells.missing[0])} missing labels"
    if means[slowest] < 1.05 * means[quickest]:
        return (
            f"Training takes {_seconds(means.mean())} a fold on average with every method, {where}."
        )
    times = f", {means[slowest] / means[quickest]:.1f} times as long" if means[quickest] > 0 else ""
    return (
        f"Training takes from {_seconds(means[quickest])} ({cells.methods[quickest]}) to "
        f"{_seconds(means[slowest])} ({cells.methods[slowest]}) a fold on average{times}, {where}."
    )


def _baseline_sentence(cells: Cells) -> str:
    """Say what ties everywhere are worth at the first level, and which methods they beat on which datasets."""
    rows, level = cells.finished(0), f"at {percent(cells.missing[0])} missing labels"
    if ALL_TIED not in cells.methods or len(cells.methods) < 2 or not rows:
        return ""
    tied = as_printed(cells.mean[0, rows, cells.methods.index(ALL_TIED)])
    others = as_printed(cells.without_baseline().mean[0, rows])
    # A mean of printed numbers would not be the printed mean.
    mean = cells.mean[0, rows, cells.methods.index(ALL_TIED)].mean()
    said = f"Ties everywhere ({ALL_TIED}) have a mean τ_X of {mean:.3f} {level}"
    ahead = (tied[:, None] > others).all(axis=1)
    if ahead.any():
        where = listed([cells.datasets[rows[i]] for i in np.flatnonzero(ahead)])
        return f"{said}, and beat every method on {where}."
    beaten = (tied[:, None] > others).sum()
    if beaten == 0:
        return f"{said}, and beat no method on any dataset."
    return f"{said}, and beat a method in {beaten} of {others.size} results."


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.1 else f"{1000 * seconds:.3g} ms"
