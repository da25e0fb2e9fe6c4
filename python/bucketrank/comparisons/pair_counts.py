"""Counts of the outcomes of each pair of labels, which can be added, saved and aggregated."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank import _core
from bucketrank._files import write_file
from bucketrank._optional import import_pandas
from bucketrank._validation import (
    NUMBERS,
    WEIGHTS,
    as_number_array,
    as_positions,
    as_weights,
    at_least,
    check_labels,
    label_names,
)
from bucketrank.comparisons.data import Comparisons
from bucketrank.comparisons.names import is_sorted, sort_names
from bucketrank.notation import LabelledRankings
from bucketrank.preflib import WeightedRankings
from bucketrank.tables import pluralize

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["PairCounts"]

_MOST_LABELS = 8192


class PairCounts:
    """For each pair of labels, how often the first was before the second, tied with it, or after it.

    Counts of parts of the data can be added: data that is larger than memory, or spread over a cluster, is counted in
    parts and merged. With whole-number weights the sum equals the counts of one pass exactly.

    Parameters
    ----------
    labels : sequence
        Names of the labels.
    table : array-like of shape (n_pairs, 3)
        For each pair (0, 1), (0, 2), ..., (1, 2), ... of labels, the weights of the rows that place the first before,
        tied with, and after the second.
    ranked : array-like of shape (n_labels,)
        Weight of the rows that rank each label.
    largest_ranking : int, default 2
        Largest number of labels in a row. Above 2 the pairs of a row depend on each other.

    See Also
    --------
    PairCounts.of : Counts comparisons or rankings.

    Examples
    --------
    >>> from bucketrank import Borda, PairCounts, from_comparisons
    >>> monday = PairCounts.of(from_comparisons(["a", "b"], ["b", "c"], ["first", "tie"]))
    >>> tuesday = PairCounts.of(from_comparisons(["d", "a"], ["a", "c"], ["second", "first"]))
    >>> week = monday + tuesday
    >>> week
    PairCounts(4 labels, 4 comparisons)
    >>> week.labels
    ['a', 'b', 'c', 'd']
    >>> Borda(beta=0).aggregate_counts(week)
    array([1, 2, 2, 2])
    """

    def __init__(
        self,
        labels: Sequence[Hashable],
        table: ArrayLike,
        ranked: ArrayLike,
        largest_ranking: int = 2,
    ) -> None:
        names = check_labels(labels)
        counts = np.array(as_number_array(table, "table", entries=NUMBERS), dtype=np.float64)
        weights = np.array(as_number_array(ranked, "ranked", entries=WEIGHTS), dtype=np.float64)
        pairs = len(names) * (len(names) - 1) // 2
        if len(names) < 2:
            raise ValueError(f"found {pluralize(len(names), 'label')}; expected at least 2")
        if counts.shape != (pairs, 3) or weights.shape != (len(names),):
            raise ValueError(
                f"table has shape {counts.shape} and ranked {weights.shape}; expected ({pairs}, 3) and "
                f"({len(names)},) for {len(names)} labels"
            )
        self.labels = names
        self.table = counts
        self.ranked = weights
        self.largest_ranking = at_least(largest_ranking, "largest_ranking", 2)
        for values, name in ((counts, "table"), (weights, "ranked")):
            bad = ~((values >= 0) & (values < np.inf))
            if bad.any():
                index = np.argwhere(bad)[0].tolist()
                raise ValueError(
                    f"{name}, entry {index}: {values[tuple(index)]}; expected a count of 0 or more"
                )
            with np.errstate(over="ignore"):
                total = values.sum()
            if np.isinf(total):
                raise ValueError(f"{name} adds up to infinity; expected counts with a finite sum")

    @classmethod
    def of(
        cls,
        data: Any,
        sample_weight: ArrayLike | None = None,
        *,
        labels: Sequence[Hashable] | None = None,
    ) -> PairCounts:
        """Count the pairs of comparisons or rankings.

        Parameters
        ----------
        data : Comparisons, PairCounts, LabelledRankings, WeightedRankings, array-like or DataFrame
            Comparisons, counts (which are copied), or positions of shape (n_rankings, n_labels) with NaN for missing
            labels, or the result of :func:`bucketrank.from_text` or :func:`bucketrank.read_preflib`.
        sample_weight : array-like of shape (n_rankings,), optional
            Non-negative weights of rankings, by default the weights that `data` contains, or 1. An error for
            comparisons and counts, which contain their weights.
        labels : sequence, optional
            Names of the labels of rankings; by default a DataFrame's columns, or 0, 1, ...

        Returns
        -------
        PairCounts
        """
        if isinstance(data, (Comparisons, PairCounts)):
            if sample_weight is not None or labels is not None:
                raise TypeError(
                    f"{type(data).__name__} carry their own weights and labels; expected sample_weight and "
                    "labels only with rankings"
                )
            if isinstance(data, PairCounts):
                return cls(data.labels, data.table, data.ranked, data.largest_ranking)
            if len(data.labels) > _MOST_LABELS:
                raise ValueError(
                    f"found {len(data.labels)} labels; expected at most {_MOST_LABELS}"
                )
            table, ranked = _core.count_comparisons(data._input())
            return cls(data.labels, *_unscaled(table, ranked, data.weight))
        if isinstance(data, WeightedRankings) and sample_weight is None:
            sample_weight = data.weights
        if isinstance(data, (LabelledRankings, WeightedRankings)):
            data, labels = data.positions, data.labels if labels is None else labels
        positions = as_positions(data)
        names = label_names(data, labels, positions.shape[1])
        weights = as_weights(sample_weight)
        (table, ranked), largest = _core.count_rankings(positions, weights)
        return cls(names, *_unscaled(table, ranked, weights), max(largest, 2))

    def update(self, batch: Any, sample_weight: ArrayLike | None = None) -> PairCounts:
        """Add a batch of comparisons or rankings, or other counts, to these counts, and return this object."""
        merged = self + PairCounts.of(batch, sample_weight)
        self.__dict__.update(merged.__dict__)
        return self

    def __add__(self, other: Any) -> PairCounts:
        if not isinstance(other, PairCounts):
            return NotImplemented
        labels = _union(self.labels, other.labels)
        mine, theirs = self._with_labels(labels), other._with_labels(labels)
        largest = max(self.largest_ranking, other.largest_ranking)
        return PairCounts(labels, mine[0] + theirs[0], mine[1] + theirs[1], largest)

    def __radd__(self, other: Any) -> PairCounts:
        # Python's sum adds the first counts to 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PairCounts)
            and self.labels == other.labels
            and self.largest_ranking == other.largest_ranking
            and np.array_equal(self.table, other.table)
            and np.array_equal(self.ranked, other.ranked)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        total = self.table.sum()
        shown = f"{int(total):,}" if total.is_integer() and total <= 2**53 else f"{total:,.6g}"
        noun = "comparison" if total == 1 else "comparisons"
        return f"PairCounts({pluralize(len(self.labels), 'label')}, {shown} {noun})"

    @property
    def before(self) -> NDArray[np.float64]:
        """Matrix of the weights of the rows that place the row label before the column label."""
        return self._matrix(0) + self._matrix(2).T

    @property
    def tied(self) -> NDArray[np.float64]:
        """Symmetric matrix of the weights of the rows that tie two labels."""
        upper = self._matrix(1)
        return upper + upper.T

    def to_pandas(self) -> DataFrame:
        """Return one row per pair that was compared, with the columns first, second, before, tied and after.

        Returns
        -------
        pandas.DataFrame
        """
        first, second = np.triu_indices(len(self.labels), 1)
        seen = np.flatnonzero(self.table.sum(axis=1) > 0)
        names = np.empty(len(self.labels), dtype=object)
        names[:] = self.labels
        columns = {
            "first": names[first[seen]],
            "second": names[second[seen]],
            **{name: self.table[seen, k] for k, name in enumerate(("before", "tied", "after"))},
        }
        frame: DataFrame = import_pandas("to_pandas").DataFrame(columns)
        return frame

    def save(self, path: str | Path) -> None:
        """Write the counts to a file; labels must be texts or whole numbers.

        Parameters
        ----------
        path : str or Path
            File to write; an existing file is replaced.
        """
        labels = [_to_json_label(label) for label in self.labels]
        description = {"pair_counts": labels, "largest_ranking": self.largest_ranking}
        write_file(path, _core.pack(json.dumps(description), [self.table, self.ranked]))

    @classmethod
    def load(cls, path: str | Path) -> PairCounts:
        """Read counts that :meth:`save` wrote; a damaged or foreign file raises a ValueError.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        PairCounts
        """
        from bucketrank.saving import read_container

        data = read_container(path, "pair counts")
        try:
            text, parts = _core.unpack(data, "pair counts")
            description = json.loads(text)
            if not isinstance(description, dict) or "pair_counts" not in description:
                raise ValueError("the file holds another object, such as a model")
            table, ranked = parts
            return cls(
                description["pair_counts"], table, ranked, int(description["largest_ranking"])
            )
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{path}: cannot read the saved pair counts: {error}") from error

    def _input(self) -> dict[str, Any]:
        """Return the arrays as the core reads them."""
        return {"table": self.table, "ranked": self.ranked}

    def _matrix(self, column: int) -> NDArray[np.float64]:
        """Return a column of `table` (before, tied or after) as a matrix: pairs u < v above the diagonal, else 0."""
        n = len(self.labels)
        matrix = np.zeros((n, n))
        matrix[np.triu_indices(n, 1)] = self.table[:, column]
        return matrix

    def _with_labels(
        self, labels: list[Hashable]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return `table` and `ranked` for `labels`, which contain the labels of these counts in any order."""
        if labels == self.labels:
            return self.table, self.ranked
        index_of = {name: index for index, name in enumerate(labels)}
        indices = np.array([index_of[name] for name in self.labels])
        before, tied = np.zeros((2, len(labels), len(labels)))
        before[np.ix_(indices, indices)] = self.before
        tied[np.ix_(indices, indices)] = self.tied
        upper = np.triu_indices(len(labels), 1)
        ranked = np.zeros(len(labels))
        ranked[indices] = self.ranked
        return np.column_stack([before[upper], tied[upper], before.T[upper]]), ranked


def _to_json_label(label: Any) -> str | int:
    """Convert a label for JSON; other labels than texts and whole numbers are rejected."""
    if isinstance(label, str):
        return str(label)
    if isinstance(label, bool) or not isinstance(label, Integral):
        raise TypeError(
            f"label {label!r:.60} is of type {type(label).__name__}; expected texts or whole numbers to save"
        )
    return int(label)


def _unscaled(
    table: NDArray[np.float64], ranked: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Undo the scaling of counts by the core, which multiplies extreme weights by a power of two."""
    if weights is None:
        return table, ranked
    row = int(weights.argmax())
    largest = float(weights[row])
    scaled = float(_core.check_weights(weights, len(weights))[row])
    exponent = math.frexp(largest)[1] - math.frexp(scaled)[1]
    if exponent == 0:
        return table, ranked
    with np.errstate(over="ignore"):
        counts, totals = np.ldexp(table, exponent), np.ldexp(ranked, exponent)
        overflows = np.isinf(counts.sum()) or np.isinf(totals.sum())
    if overflows:
        raise ValueError(
            f"row {row}: weight {largest:g}; the counts of all pairs add up to infinity; expected smaller weights"
        )
    return counts, totals


def _union(left: list[Hashable], right: list[Hashable]) -> list[Hashable]:
    """Return all labels: sorted if both lists are sorted, else those of `left`, then those only in `right`."""
    if left == right:
        return left
    both = list(dict.fromkeys([*left, *right]))
    return sort_names(both) if is_sorted(left) and is_sorted(right) else both
