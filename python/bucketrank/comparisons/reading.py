"""Reading of comparisons from lists, arrays, Series and data frames."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank import _core
from bucketrank._phrases import pluralize
from bucketrank._validation import NUMBERS, WEIGHTS, as_number_array, is_frame
from bucketrank.comparisons.data import Comparisons
from bucketrank.comparisons.names import factorise, sort_names
from bucketrank.comparisons.outcomes import read_outcomes

__all__ = ["from_comparisons"]

_MAX_ROWS = 2**32 - 1


def from_comparisons(
    first: Any,
    second: Any,
    outcome: Any,
    *,
    weight: Any = None,
    group: Any = None,
    covariates: Any = None,
    outcomes: Mapping[Any, str] | None = None,
    data: Any = None,
) -> Comparisons:
    """Read comparisons of two labels per row.

    Parameters
    ----------
    first, second : array-like of shape (n_comparisons,), or str with `data`
        Names of the labels (texts or numbers), in the order in which they were shown.
    outcome : array-like of shape (n_comparisons,), or str with `data`
        The winner. Known spellings, in any case: ``first``, ``model_a``, ``a``, ``left``, ``1``; ``second``,
        ``model_b``, ``b``, ``right``, ``0``; ``tie``, ``draw``, ``tie (bothbad)``, ``both_bad``, ``0.5``; and
        evalica's ``Winner``.
    weight : array-like of shape (n_comparisons,), optional
        Non-negative weights; weight k equals k copies of the row.
    group : array-like of shape (n_comparisons,), optional
        Voter, prompt or task of each row. Rows of a group may depend on each other: whole groups are resampled, and
        standard errors are robust against this dependence.
    covariates : array-like or DataFrame of shape (n_comparisons, n_covariates), mapping, or list of str, optional
        Numbers per row, such as a difference in length: the value of the first label minus that of the second.
    outcomes : mapping, optional
        From values of `outcome` to ``"first"``, ``"second"`` or ``"tie"``; for spellings that are not known.
    data : DataFrame, optional
        Table of the comparisons; `first`, `second`, `outcome`, `weight`, `group` and `covariates` are then names of
        its columns.

    Returns
    -------
    Comparisons

    Examples
    --------
    >>> from_comparisons(["tea", "milk"], ["milk", "juice"], ["tie", "first"])
    Comparisons(2 rows, 3 labels)
    >>> from_comparisons(["a", "b"], ["b", "a"], ["left", "home"])
    Traceback (most recent call last):
        ...
    ValueError: row 1: outcome 'home'; expected a known spelling (first: ...
    """
    if data is not None:
        columns = _FrameColumns(data)
        columns.check_different(first=first, second=second, outcome=outcome)
        first, second, outcome = map(columns.one, (first, second, outcome))
        weight, group = map(columns.one, (weight, group))
        covariates = columns.many(covariates)
    indices, labels = _read_labels(first, second)
    rows = len(indices) // 2
    codes = read_outcomes(outcome, outcomes)
    _check_length("outcome", len(codes), rows)
    numbers, names = _read_covariates(covariates, rows)
    group_indices, groups = _read_groups(group, rows)
    return Comparisons(
        labels,
        indices[:rows],
        indices[rows:],
        codes,
        _read_weights(weight, rows),
        group_indices,
        groups,
        numbers,
        names,
    )


class MissingColumnError(ValueError):
    """An argument names a column that the data frame does not have."""


class _FrameColumns:
    """Columns of a data frame by name."""

    def __init__(self, data: Any) -> None:
        if not is_frame(data):
            raise TypeError(f"data is of type {type(data).__name__}; expected a DataFrame")
        self.data = data

    def check_different(self, **names: Any) -> None:
        """Raise if two arguments name the same column, because labels that are read as outcomes give wrong results."""
        hashable = {
            argument: name for argument, name in names.items() if isinstance(name, Hashable)
        }
        for (argument, name), (other, same) in combinations(hashable.items(), 2):
            if name == same:
                raise ValueError(
                    f"{argument} and {other} are both the column {name!r:.60}; expected different columns"
                )

    def one(self, name: Any) -> Any:
        """Return the column with this name; None for None."""
        if name is None:
            return None
        if not isinstance(name, Hashable) or name not in list(self.data.columns):
            raise MissingColumnError(
                f"data has no column {name!r:.60}; expected one of {list(self.data.columns)}"
            )
        return self.data[name]

    def many(self, names: Any) -> Any:
        """Return the columns with these names as a dictionary; None for None."""
        if names is None:
            return None
        if isinstance(names, str):
            names = [names]
        return {name: self.one(name) for name in names}


def _read_labels(first: Any, second: Any) -> tuple[NDArray[np.uint32], list[Hashable]]:
    """Return the indices of all first labels followed by those of all second labels, and the sorted names."""
    columns = [factorise(first, "first", "a label"), factorise(second, "second", "a label")]
    rows = len(columns[0][0])
    _check_length("second", len(columns[1][0]), rows)
    if rows == 0:
        raise ValueError("found 0 comparisons; expected at least one")
    if rows > _MAX_ROWS:
        raise ValueError(f"found {rows} comparisons; expected at most {_MAX_ROWS}")
    labels = sort_names(list(dict.fromkeys([*columns[0][1], *columns[1][1]])))
    index_of = {name: index for index, name in enumerate(labels)}
    indices = np.concatenate(
        [
            np.array([index_of[name] for name in names], dtype=np.uint32)[codes]
            for codes, names in columns
        ]
    )
    same = indices[:rows] == indices[rows:]
    if same.any():
        row = int(np.argmax(same))
        raise ValueError(
            f"row {row}: {labels[int(indices[row])]!r:.60} is compared with itself; expected two different labels"
        )
    return indices, labels


def _read_weights(weight: Any, rows: int) -> NDArray[np.float64] | None:
    if weight is None:
        return None
    weights = as_number_array(weight, "weight", entries=WEIGHTS)
    if weights.ndim != 1:
        raise ValueError(
            f"weight has {pluralize(weights.ndim, 'dimension')}; expected 1: one weight per row"
        )
    _check_length("weight", len(weights), rows)
    numbers = np.array(weights, dtype=np.float64)
    _core.check_weights(numbers, rows)
    return numbers


def _read_groups(group: Any, rows: int) -> tuple[NDArray[np.uint32] | None, list[Hashable]]:
    if group is None:
        return None, []
    codes, names = factorise(group, "group", "a group")
    _check_length("group", len(codes), rows)
    groups = sort_names(names)
    index_of = {name: index for index, name in enumerate(groups)}
    return np.array([index_of[name] for name in names], dtype=np.uint32)[codes], groups


def _read_covariates(covariates: Any, rows: int) -> tuple[NDArray[np.float64], list[str]]:
    if covariates is None:
        return np.empty((rows, 0)), []
    if isinstance(covariates, Mapping):
        names: Sequence[Any] = list(covariates)
        columns = [
            as_number_array(column, f"covariate {name!r}", entries=WEIGHTS)
            for name, column in covariates.items()
        ]
        for name, column in zip(names, columns, strict=True):
            if column.ndim != 1:
                raise ValueError(
                    f"covariate {name!r} has {pluralize(column.ndim, 'dimension')}; expected 1: one number per row"
                )
            _check_length(f"covariate {name!r}", len(column), rows)
        numbers = np.column_stack(columns) if columns else np.empty((rows, 0))
    else:
        array = as_number_array(covariates, "covariates", entries=NUMBERS)
        numbers = array[:, np.newaxis] if array.ndim == 1 else array
        if numbers.ndim != 2:
            raise ValueError(
                f"covariates has {pluralize(numbers.ndim, 'dimension')}; expected 2-D: one row per comparison"
            )
        _check_length("covariates", len(numbers), rows)
        is_named = is_frame(covariates)
        names = list(covariates.columns) if is_named else list(range(numbers.shape[1]))
    result = np.array(numbers, dtype=np.float64)
    if not np.isfinite(result).all():
        row, column = np.argwhere(~np.isfinite(result))[0].tolist()
        raise ValueError(
            f"row {row}: covariate {names[column]!r} is {result[row, column]}; expected a finite number"
        )
    for index, name in enumerate(names):
        if len(result) > 1 and (result[:, index] == result[0, index]).all():
            raise ValueError(
                f"covariate {name!r} is {result[0, index]:g} in every row; expected a column that varies "
                "(Davidson(order_effect=True) has a constant advantage of the first label)"
            )
    return result, [str(name) for name in names]


def _check_length(name: str, found: int, rows: int) -> None:
    if found != rows:
        raise ValueError(
            f"{name} has {pluralize(found, 'entry', 'entries')} for {pluralize(rows, 'comparison')}; "
            "expected one per comparison"
        )
