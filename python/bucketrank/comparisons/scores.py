"""Rankings of items from a table of scores, with one row per item and one column per task."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._phrases import pluralize
from bucketrank._validation import (
    NUMBERS,
    as_flag,
    as_number_array,
    as_real,
    check_labels,
    is_frame,
)
from bucketrank.notation import LabelledRankings

__all__ = ["from_scores"]

_LONG_COLUMNS = ("item", "task", "score")
"""Columns of a long table, which has one row per score."""


def from_scores(
    table: Any, *, tie_within: float = 0.0, higher_is_better: bool = True
) -> LabelledRankings:
    """Rank items by their scores, once per task.

    The best item that has no position yet opens a bucket, and items whose score is within `tie_within` of it join.

    Parameters
    ----------
    table : DataFrame or array-like of shape (n_items, n_tasks)
        Scores, one row per item (named by the index) and one column per task; NaN where an item has no score. A
        DataFrame with the columns ``item``, ``task`` and ``score`` is a long table with one row per score.
    tie_within : float, default 0
        Largest difference from the best score of a bucket; not negative.
    higher_is_better : bool, default True
        Whether large scores are good.

    Returns
    -------
    LabelledRankings
        One ranking per task with NaN for missing items, and the names of the items.

    Examples
    --------
    >>> positions, labels = from_scores([[0.91, 0.70], [0.90, 0.75], [0.50, 0.74]], tie_within=0.015)
    >>> positions
    array([[1., 1., 2.],
           [2., 1., 1.]])
    """
    tolerance = as_real(tie_within, "tie_within")
    if not 0 <= tolerance < np.inf:
        raise ValueError(
            f"tie_within is {tolerance}; expected a finite number that is not negative"
        )
    sign = 1.0 if as_flag(higher_is_better, "higher_is_better") else -1.0
    scores, labels = _read(table)
    if np.isinf(scores).any():
        row, column = np.argwhere(np.isinf(scores))[0].tolist()
        raise ValueError(
            f"table, item {labels[row]!r:.60}, task {column}: {scores[row, column]}; expected a finite score or NaN"
        )
    positions = np.full(scores.T.shape, np.nan)
    for task_positions, task_scores in zip(positions, sign * scores.T, strict=True):
        _rank(task_scores, tolerance, task_positions)
    return LabelledRankings(positions, labels)


def _rank(scores: NDArray[np.float64], tolerance: float, positions: NDArray[np.float64]) -> None:
    """Write the positions of the items with a score to `positions`; larger scores are better."""
    order = [item for item in np.argsort(-scores, kind="stable") if not np.isnan(scores[item])]
    position, bucket_best = 0, np.inf
    for item in order:
        # As floats, 0.91 - 0.90 exceeds 0.01. The slack is relative to the scores, because they may be tiny.
        slack = (
            1e-12 * max(abs(bucket_best), abs(scores[item])) if np.isfinite(bucket_best) else 0.0
        )
        if not bucket_best - scores[item] <= tolerance + slack:
            position, bucket_best = position + 1, scores[item]
        positions[item] = position


def _read(table: Any) -> tuple[NDArray[np.float64], list[Any]]:
    """Return the scores, one row per item and one column per task, and the names of the items.

    The argument ``entries=NUMBERS`` of `as_number_array` chooses the words of its messages.
    """
    if is_frame(table) and set(_LONG_COLUMNS) == set(table.columns):
        return _read_long(table)
    array = np.asarray(as_number_array(table, "table", entries=NUMBERS), dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(
            f"table has {pluralize(array.ndim, 'dimension')}, shape {array.shape}; expected 2-D: one row per item, "
            "one column per task"
        )
    if array.shape[0] < 2 or array.shape[1] < 1:
        raise ValueError(
            f"table has {pluralize(array.shape[0], 'item')} and {pluralize(array.shape[1], 'task')}; "
            "expected at least 2 items and 1 task"
        )
    names = check_labels(list(table.index)) if hasattr(table, "index") and is_frame(table) else None
    return array, list(range(len(array))) if names is None else list(names)


def _read_long(table: Any) -> tuple[NDArray[np.float64], list[Any]]:
    from bucketrank.comparisons.names import factorise, sort_names

    columns = [factorise(table[name], name, f"the {name}") for name in _LONG_COLUMNS[:2]]
    indices_and_names = []
    for codes, names in columns:
        ordered = sort_names(names)
        index_of = {name: index for index, name in enumerate(ordered)}
        indices = np.array([index_of[name] for name in names])[codes]
        indices_and_names.append((indices, ordered))
    (items, labels), (tasks, task_names) = indices_and_names
    scores = np.full((len(labels), len(task_names)), np.nan)
    values = np.asarray(as_number_array(table["score"], "score", entries=NUMBERS), dtype=np.float64)
    cells = items * len(task_names) + tasks
    _, counts = np.unique(cells, return_counts=True)
    if (counts > 1).any():
        order = np.argsort(cells, kind="stable")
        row = int(order[1:][np.diff(cells[order]) == 0].min())
        raise ValueError(
            f"row {row}: a second score of item {labels[items[row]]!r:.60} in task {task_names[tasks[row]]!r:.60}; "
            "expected one"
        )
    scores[items, tasks] = values
    if len(labels) < 2:
        raise ValueError(f"table has {pluralize(len(labels), 'item')}; expected at least 2")
    return scores, labels
