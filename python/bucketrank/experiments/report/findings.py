"""Main results of a study as sentences computed from its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bucketrank.estimators.baseline import ALL_TIED
from bucketrank.experiments.means import MeanCube, bucket_error_means, training_time_means
from bucketrank.statistics import HolmTest, ScoreTable, holm
from bucketrank.tables import join_names, p_value_text, percent, pluralize
from bucketrank.tables.rounding import as_printed

if TYPE_CHECKING:
    from bucketrank.experiments.study import Study

__all__ = ["findings", "unfinished_warning"]

_MOST_NAMES = 4
"""Maximum number of methods named in a sentence; of more, only the first are named."""


def unfinished_warning(study: Study) -> str:
    """Return a warning about missing results; empty for a finished study."""
    if study.is_complete:
        return ""
    cube = MeanCube.of(study, "tau_x")
    whole = [
        f"{pluralize(len(cube.finished(level)), 'dataset')} at {percent(share)}"
        for level, share in enumerate(cube.missing)
    ]
    return (
        f"This study is not finished: {len(study)} of {study.n_expected} results are available. Statistics "
        f"and means use the datasets with all results: {join_names(whole)} missing labels. "
        "Run the same comparison again to finish it."
    )


def findings(study: Study) -> tuple[str, ...]:
    """Return the main results of a study in words: one paragraph per level of missing labels, then across levels."""
    cube = MeanCube.of(study, "tau_x")
    sentences = [_level_sentence(cube, level) for level in range(len(cube.missing))]
    further = (
        _across_levels(cube.without_baseline()),
        _bucket_sentence(study),
        _time_sentence(study),
        _baseline_sentence(cube),
    )
    sentences += filter(None, further)
    return tuple(sentences)


def _level_sentence(cube: MeanCube, level: int) -> str:
    where = f"At {percent(cube.missing[level])} missing labels"
    rows = cube.finished(level)
    if not rows:
        return f"{where} no dataset is finished yet."
    if len(cube.methods) < 2:
        mean = cube.mean[level, rows].mean()
        return f"{where} {cube.methods[0]} reaches a mean τ_X of {mean:.3f} over {pluralize(len(rows), 'dataset')}."
    if len(rows) < 2:
        return f"{where}, on {cube.datasets[rows[0]]} alone, {_highest_mean(cube, level, rows)}."
    table = cube.finished_scores(level)
    if table is None:
        return f"{where} there are too few results to compare."
    return f"{where} {_verdict(holm(table))} {_mean_remark(table, holm(table))}"


def _verdict(test: HolmTest) -> str:
    ranks = test.friedman.ranks
    best = ranks[test.control]
    leaders = [name for name in ranks.ordered if ranks[name] == best]
    over = f"over {pluralize(ranks.n_datasets, 'dataset')}"
    if len(leaders) > 1:
        shared = f"{join_names(leaders)} share the best average rank, {best:.2f} {over}"
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
    ahead = f"significantly ahead of {_which(test.different, len(test.methods))} (Holm, level {test.alpha:g})"
    if not others:
        return f"{shared}, {ahead}."
    close = join_names(_first_few(test, others))
    return f"{shared}: not significantly ahead of {close}, but {ahead}."


def _first_few(test: HolmTest, names: list[str]) -> list[str]:
    """Return names with their p-values, and the number of further names."""
    shown = names if len(names) <= _MOST_NAMES else names[: _MOST_NAMES - 1]
    texts = [f"{name} (p = {p_value_text(test.adjusted_p_value(name))})" for name in shown]
    return texts if shown == names else [*texts, f"{len(names) - len(shown)} more"]


def _which(names: tuple[str, ...], n_others: int) -> str:
    """Return the names of methods as words; if they are all others, or more than three, they are not listed."""
    if len(names) == n_others:
        return "all others" if n_others > 1 else names[0]
    return join_names(names) if len(names) <= 3 else f"the other {len(names)} methods"


def _mean_remark(table: ScoreTable, test: HolmTest) -> str:
    means = as_printed(table.values.mean(axis=0))
    highest = [table.methods[j] for j in np.flatnonzero(means == means.max())]
    value = f"{means.max():.3f}"
    if highest == [test.control]:
        return f"The mean τ_X of {test.control}, {value}, is the highest as well."
    if len(highest) == len(table.methods):
        return f"All methods have the same mean τ_X, {value}."
    if test.control in highest:
        return f"The highest mean τ_X, {value}, is that of {join_names(highest)}."
    own = means[table.methods.index(test.control)]
    return f"The highest mean τ_X is that of {join_names(highest)}, {value} against {own:.3f}."


def _highest_mean(cube: MeanCube, level: int, rows: list[int]) -> str:
    means = as_printed(cube.mean[level, rows[0]])
    highest = [cube.methods[j] for j in np.flatnonzero(means == means.max())]
    if len(highest) == len(cube.methods):
        return f"all methods reach the same mean τ_X, {means.max():.3f}"
    verb = "has" if len(highest) == 1 else "share"
    return (
        f"{join_names(highest)} {verb} the highest mean τ_X, {means.max():.3f} "
        "(one dataset allows no test across datasets)"
    )


def _across_levels(cube: MeanCube) -> str:
    """Compare how much of its mean each method loses from the lowest to the highest level of missing labels.

    Only datasets with all results at both levels are used, and only methods that are not worse than the best at the
    lowest level are compared: a method that predicts badly has little to lose.
    """
    first, last = int(np.argmin(cube.missing)), int(np.argmax(cube.missing))
    rows = sorted(set(cube.finished(first)) & set(cube.finished(last)))
    if first == last or not rows or len(cube.methods) < 2:
        return ""
    good = _not_worse(cube, first, rows)
    start, end = (cube.mean[level, rows].mean(axis=0)[good] for level in (first, last))
    if start.min() <= 0:
        return ""
    change = as_printed(100 * (end - start) / start, 1)
    span = f"From {percent(cube.missing[first])} to {percent(cube.missing[last])} missing labels"
    names = [cube.methods[j] for j in good]
    if change.min() == change.max():
        which = f"every one of {join_names(names)}" if len(good) > 1 else names[0]
        return f"{span} the mean τ_X of {which} changes by {change.min():+.1f} %."

    def methods_with(extreme: float) -> str:
        chosen = [j for j in range(len(good)) if change[j] == extreme]
        levels = join_names([f"{start[j]:.3f} to {end[j]:.3f}" for j in chosen])
        return f"{join_names([names[j] for j in chosen])} ({extreme:+.1f} %, {levels})"

    return (
        f"{span} the mean τ_X changes most favourably with {methods_with(change.max())} and least favourably with "
        f"{methods_with(change.min())}, among the {len(good)} methods that are not behind the best at "
        f"{percent(cube.missing[first])}."
    )


def _not_worse(cube: MeanCube, level: int, rows: list[int]) -> list[int]:
    """Return the methods that do not differ significantly from the best one.

    On a single dataset, these are the methods whose interval (mean ± 1.96 standard deviations over repeats and folds)
    overlaps the interval of the best one.
    """
    if len(rows) == 1:
        return np.flatnonzero(cube.near_best[level, rows[0]]).tolist()
    scores = ScoreTable(cube.mean[level, rows], [cube.datasets[i] for i in rows], cube.methods)
    behind = holm(scores).different
    return [j for j, name in enumerate(cube.methods) if name not in behind]


def _bucket_sentence(study: Study) -> str:
    """Compare the methods by the error of the mean number of buckets of a test fold.

    The error is the absolute difference between the predicted and the true mean, averaged over folds and datasets.
    """
    cube = bucket_error_means(study).without_baseline()
    rows = cube.finished(0)
    if not rows or len(cube.methods) < 2:
        return ""
    means = as_printed(cube.mean[0, rows].mean(axis=0), 2)
    where = f"At {percent(cube.missing[0])} missing labels"
    if means.min() == means.max():
        return f"{where} the mean number of buckets of a test fold is off by {means.min():.2f} with every method."
    closest, farthest = (
        join_names([cube.methods[j] for j in np.flatnonzero(means == extreme)])
        for extreme in (means.min(), means.max())
    )
    return (
        f"{where} the mean number of buckets of a test fold is closest to the true one with {closest} (off by "
        f"{means.min():.2f} on average) and farthest from it with {farthest} (off by {means.max():.2f})."
    )


def _time_sentence(study: Study) -> str:
    cube = training_time_means(study).without_baseline()
    rows = cube.finished(0)
    if not rows or len(cube.methods) < 2:
        return ""
    means = cube.mean[0, rows].mean(axis=0)
    quickest, slowest = int(np.argmin(means)), int(np.argmax(means))
    where = f"at {percent(cube.missing[0])} missing labels"
    if means[slowest] < 1.05 * means[quickest]:
        return f"Training takes {_seconds(means.mean())} per fold on average with every method, {where}."
    times = f", {means[slowest] / means[quickest]:.1f} times as long" if means[quickest] > 0 else ""
    return (
        f"Training takes from {_seconds(means[quickest])} ({cube.methods[quickest]}) to "
        f"{_seconds(means[slowest])} ({cube.methods[slowest]}) per fold on average{times}, {where}."
    )


def _baseline_sentence(cube: MeanCube) -> str:
    """Report the all-tied baseline at the first level of missing labels, and where it beats every method."""
    rows, level = cube.finished(0), f"at {percent(cube.missing[0])} missing labels"
    if ALL_TIED not in cube.methods or len(cube.methods) < 2 or not rows:
        return ""
    tied = as_printed(cube.mean[0, rows, cube.methods.index(ALL_TIED)])
    others = as_printed(cube.without_baseline().mean[0, rows])
    # The mean of unrounded values, because the mean of rounded values could round differently.
    mean = cube.mean[0, rows, cube.methods.index(ALL_TIED)].mean()
    score = f"The all-tied baseline ({ALL_TIED}) has a mean τ_X of {mean:.3f} {level}"
    ahead = (tied[:, None] > others).all(axis=1)
    if ahead.any():
        where = join_names([cube.datasets[rows[i]] for i in np.flatnonzero(ahead)])
        return f"{score}, and beats every method on {where}."
    beaten = (tied[:, None] > others).sum()
    if beaten == 0:
        return f"{score}, and beats no method on any dataset."
    return f"{score}, and beats a method in {beaten} of {others.size} results."


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.1 else f"{1000 * seconds:.3g} ms"
