"""Comparisons of two labels per row."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._optional import import_pandas
from bucketrank._read_only import ReadOnlyArrays
from bucketrank.comparisons.outcomes import OUTCOME_NAMES
from bucketrank.tables import pluralize

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Comparisons"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(ReadOnlyArrays):
    """Comparisons of two labels, one per row, as arrays of indices.

    Made by :func:`bucketrank.from_comparisons`; the arrays are read-only. A row takes nine bytes for any number of
    labels, and more with a weight, a group or covariates.

    Attributes
    ----------
    labels : list
        Names of the labels, in ascending order.
    first, second : ndarray of shape (n_comparisons,)
        Indices of the labels, in the order in which they were shown.
    outcome : ndarray of shape (n_comparisons,)
        0 when the first label won, 1 for a tie, 2 when the second label won.
    weight : ndarray of shape (n_comparisons,) or None
        Weights; None for weights of 1.
    group : ndarray of shape (n_comparisons,) or None
        Indices of the groups, such as voters, whose rows may depend on each other; None without groups.
    groups : list
        Names of the groups.
    covariates : ndarray of shape (n_comparisons, n_covariates)
        Covariates, such as the length of an answer: for each row, the value of the first label minus that of the
        second. May have no columns.
    covariate_names : list of str
        Names of the covariates.

    Examples
    --------
    >>> from bucketrank import from_comparisons
    >>> games = from_comparisons(["ada", "bob"], ["bob", "cyd"], ["first", "tie"])
    >>> len(games)
    2
    """

    labels: list[Hashable]
    first: NDArray[np.uint32]
    second: NDArray[np.uint32]
    outcome: NDArray[np.uint8]
    weight: NDArray[np.float64] | None
    group: NDArray[np.uint32] | None
    groups: list[Hashable]
    covariates: NDArray[np.float64]
    covariate_names: list[str]

    def __post_init__(self) -> None:
        self._freeze_arrays()

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        parts = [pluralize(len(self.labels), "label")]
        if self.weight is not None:
            parts.append("weights")
        if self.group is not None:
            parts.append(pluralize(len(self.groups), "group"))
        if self.covariate_names:
            parts.append(pluralize(len(self.covariate_names), "covariate"))
        return f"Comparisons({pluralize(len(self), 'row', spec=',')}, {', '.join(parts)})"

    def to_pandas(self) -> DataFrame:
        """Return one row per comparison, with names instead of indices; needs pandas."""
        names = np.empty(len(self.labels), dtype=object)
        names[:] = self.labels
        columns: list[tuple[str, Any]] = [
            ("first", names[self.first]),
            ("second", names[self.second]),
            ("outcome", np.array(OUTCOME_NAMES, dtype=object)[self.outcome]),
        ]
        if self.weight is not None:
            columns.append(("weight", self.weight))
        if self.group is not None:
            groups = np.empty(len(self.groups), dtype=object)
            groups[:] = self.groups
            columns.append(("group", groups[self.group]))
        columns += zip(self.covariate_names, self.covariates.T, strict=True)
        by_index = {index: column for index, (_, column) in enumerate(columns)}
        frame: DataFrame = import_pandas("to_pandas").DataFrame(by_index)
        # Named afterwards, because a covariate can have the name of another column, such as "weight".
        frame.columns = [name for name, _ in columns]
        return frame

    def _input(self) -> dict[str, Any]:
        """Return the arrays as the core reads them."""
        return {
            "labels": len(self.labels),
            "first": self.first,
            "second": self.second,
            "outcomes": self.outcome,
            "weights": self.weight,
            "groups": self.group,
            "covariates": self.covariates,
        }
