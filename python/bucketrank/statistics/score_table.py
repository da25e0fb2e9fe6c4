"""The class ScoreTable, the input of all tests: one score per dataset and method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._exact_numbers import unmasked
from bucketrank._phrases import pluralize
from bucketrank._read_only import ReadOnlyArrays
from bucketrank._validation import as_flag, is_frame, is_pandas
from bucketrank.tables import Column, Table, TabularResult
from bucketrank.tables.rounding import as_decimals, as_printed, three_digits

__all__ = ["ScoreTable"]

_MAX_LISTED = 5
"""Largest number of cells that a message lists."""


@dataclass(frozen=True, eq=False)
class ScoreTable(ReadOnlyArrays, TabularResult):
    """Scores of methods on datasets: complete, finite, at least 2 × 2.

    Parameters
    ----------
    values : array-like of shape (n_datasets, n_methods)
        Scores.
    datasets : sequence of str, optional
        Names of the rows; by default ``dataset 1``, ``dataset 2``, ...
    methods : sequence of str, optional
        Names of the columns; by default ``method 1``, ``method 2``, ...
    higher_is_better : bool, default True
        False for times and errors, which are printed with three significant digits instead of three decimals.
    zero_is_best : bool, default False
        True for differences: the score closer to 0 is better, and `higher_is_better` is ignored.
    measure : str, default "score"
        Name of the measure, for titles.

    Examples
    --------
    >>> scores = ScoreTable([[0.9, 0.8], [0.7, 0.75], [0.6, 0.5]], methods=["borda", "mc4"])
    >>> scores.shape
    (3, 2)
    >>> print(scores)
    score
    dataset    borda     mc4
    dataset 1  0.900*  0.800
    dataset 2  0.700   0.750*
    dataset 3  0.600*  0.500
    * best
    """

    values: NDArray[np.float64]
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    higher_is_better: bool = True
    measure: str = "score"
    zero_is_best: bool = False

    def __init__(
        self,
        values: Any,
        datasets: Sequence[Hashable] | None = None,
        methods: Sequence[Hashable] | None = None,
        *,
        higher_is_better: bool = True,
        zero_is_best: bool = False,
        measure: str = "score",
    ) -> None:
        array = _numbers(values, "values")
        if array.ndim != 2:
            raise ValueError(
                f"values has {pluralize(array.ndim, 'dimension')}, shape {array.shape}; "
                "expected 2-D: one row per dataset, one column per method"
            )
        as_flag(higher_is_better, "higher_is_better")
        as_flag(zero_is_best, "zero_is_best")
        row_names = _names(datasets, "dataset", array.shape[0])
        column_names = _names(methods, "method", array.shape[1])
        for kind, names in (("method", column_names), ("dataset", row_names)):
            if len(names) < 2:
                raise ValueError(
                    f"found {pluralize(len(names), kind)}; expected at least 2 to compare"
                )
        _check_finite(array, row_names, column_names)
        object.__setattr__(self, "values", array)
        object.__setattr__(self, "datasets", row_names)
        object.__setattr__(self, "methods", column_names)
        object.__setattr__(self, "higher_is_better", bool(higher_is_better))
        object.__setattr__(self, "zero_is_best", bool(zero_is_best))
        object.__setattr__(self, "measure", str(measure))
        self._freeze_arrays()

    @classmethod
    def of(cls, scores: Any, *, higher_is_better: bool = True) -> ScoreTable:
        """Return scores of any accepted form as a table.

        Parameters
        ----------
        scores : ScoreTable, DataFrame, mapping or array-like
            A data frame has one row per dataset, named by the index of pandas, and one column per method. A mapping is
            ``{dataset: {method: score}}``. A :class:`ScoreTable` is returned unchanged.
        higher_is_better : bool, default True
            False for times and errors. Ignored for a :class:`ScoreTable`, which has this attribute.

        Returns
        -------
        ScoreTable

        Examples
        --------
        >>> ScoreTable.of({"iris": {"a": 1, "b": 2}, "wine": {"a": 3, "b": 4}}).methods
        ('a', 'b')
        """
        if isinstance(scores, ScoreTable):
            return scores
        if isinstance(scores, Mapping):
            return cls._from_nested(scores, higher_is_better)
        if is_frame(scores):
            names = list(scores.index) if is_pandas(scores) else None, list(scores.columns)
            return cls(scores, *names, higher_is_better=higher_is_better)
        return cls(scores, higher_is_better=higher_is_better)

    @classmethod
    def from_tidy(
        cls,
        columns: Any,
        *,
        dataset: str = "dataset",
        method: str = "method",
        score: str = "score",
        higher_is_better: bool = True,
    ) -> ScoreTable:
        """Create a table from tidy columns; rows of the same dataset and method, such as folds, are averaged.

        Parameters
        ----------
        columns : mapping of str to array-like, or DataFrame
            Columns of equal length.
        dataset, method, score : str
            Names of the columns to use.
        higher_is_better : bool, default True
            False for times and errors.

        Returns
        -------
        ScoreTable
            Datasets and methods are in order of first appearance. Every cell must have the same number of rows; the
            error lists incomplete cells.

        Examples
        --------
        >>> runs = {"dataset": ["x", "x", "y", "y"], "method": ["a", "b"] * 2, "score": [1, 2, 4, 3]}
        >>> ScoreTable.from_tidy(runs).values.tolist()
        [[1.0, 2.0], [4.0, 3.0]]
        """
        found = {name: _column(columns, name) for name in (dataset, method, score)}
        lengths = {name: len(column) for name, column in found.items()}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"the columns have lengths {lengths}; expected equal lengths")
        datasets, row_of = _unique_names(found[dataset])
        methods, column_of = _unique_names(found[method])
        cell_of = (row_of, column_of)
        totals, counts = np.zeros((2, len(datasets), len(methods)))
        np.add.at(totals, cell_of, _numbers(found[score], f"column {score!r}"))
        np.add.at(counts, cell_of, 1)
        most = counts.max(initial=1)
        short = [
            f"{methods[j]} on {datasets[i]} ({counts[i, j]:.0f} of {most:.0f} rows)"
            for i, j in zip(*np.nonzero(counts < most), strict=True)
        ]
        if short:
            raise ValueError(
                f"incomplete results, {pluralize(len(short), 'cell')} without rows: {_list_some(short)}; "
                "expected the same number of rows for every dataset and method"
            )
        return cls(
            totals / most, datasets, methods, higher_is_better=higher_is_better, measure=score
        )

    @classmethod
    def _from_nested(cls, scores: Mapping[Any, Any], higher_is_better: bool) -> ScoreTable:
        for name, row in scores.items():
            if not isinstance(row, Mapping):
                raise TypeError(
                    f"dataset {name!r} maps to {row!r:.60}; expected {{dataset: {{method: score}}}}, "
                    "or ScoreTable.from_tidy for tidy columns"
                )
        methods = list(dict.fromkeys(method for row in scores.values() for method in row))
        # An absent cell becomes NaN, which is reported below.
        rows = [[row.get(method, np.nan) for method in methods] for row in scores.values()]
        if not methods:
            raise ValueError(
                f"found 0 methods on {pluralize(len(rows), 'dataset')}; expected at least 2"
            )
        return cls(rows, list(scores), methods, higher_is_better=higher_is_better)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of datasets and of methods."""
        return len(self.datasets), len(self.methods)

    def column(self, method: str) -> NDArray[np.float64]:
        """Return the scores of a method."""
        return self.values[:, self.index(method)]

    def index(self, method: str) -> int:
        """Return the column of a method."""
        if method not in self.methods:
            raise ValueError(
                f"method {method!r} is not in the table; known: {', '.join(self.methods)}"
            )
        return self.methods.index(method)

    @property
    def merits(self) -> NDArray[np.float64]:
        """The scores, transformed so that higher is better."""
        if self.zero_is_best:
            return -np.abs(self.values)
        return self.values if self.higher_is_better else -self.values

    def select(self, methods: Iterable[str]) -> ScoreTable:
        """Return a table with these methods only, in this order."""
        if isinstance(methods, str):
            raise TypeError(f"methods is the string {methods!r}; expected a list of names")
        names = list(methods)
        return self._with(self.values[:, [self.index(name) for name in names]], names)

    def rounded(self, decimals: int = 3) -> ScoreTable:
        """Return a table with rounded scores: scores with equal printed values become equal."""
        return self._with(as_printed(self.values, as_decimals(decimals)), self.methods)

    def _with(self, values: NDArray[np.float64], methods: Sequence[str]) -> ScoreTable:
        return ScoreTable(
            values,
            self.datasets,
            methods,
            higher_is_better=self.higher_is_better,
            zero_is_best=self.zero_is_best,
            measure=self.measure,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain Python numbers, strings and lists, ready for JSON."""
        return {
            "measure": self.measure,
            "higher_is_better": self.higher_is_better,
            "zero_is_best": self.zero_is_best,
            "datasets": list(self.datasets),
            "methods": list(self.methods),
            "values": self.values.tolist(),
        }

    def table(self) -> Table:
        """Return the scores as a table in which the best score of each dataset is marked."""
        lower_is_better = not (self.higher_is_better or self.zero_is_best)
        text = three_digits if lower_is_better else _three_decimals
        printed = np.array([[float(text(value)) for value in row] for row in self.values.tolist()])
        merits = self._with(printed, self.methods).merits
        best = merits == merits.max(axis=1, keepdims=True)
        columns = [Column.of("dataset", self.datasets)]
        for j, name in enumerate(self.methods):
            columns.append(Column.of(name, self.values[:, j], text, best=best[:, j]))
        meaning = "closest to 0" if self.zero_is_best else "best"
        return Table(self.measure, tuple(columns), best_meaning=meaning)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScoreTable):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        # Adding 0 turns -0 into 0, which is equal.
        return hash((self.datasets, self.methods, (self.values + 0.0).tobytes()))


def _three_decimals(value: float) -> str:
    # A value that rounds to 0 has no sign.
    text = f"{value:.3f}"
    return "0.000" if text == "-0.000" else text


def _numbers(values: Any, name: str) -> NDArray[np.float64]:
    """Return a copy as an array of floats; strings and other non-numeric values are rejected."""
    try:
        array = np.asarray(unmasked(values))
    except ValueError as error:
        raise ValueError(f"{name} is not a table: its rows differ in length") from error
    if array.dtype.kind not in "iufO":
        raise TypeError(f"{name} has dtype {array.dtype}; expected numbers")
    if array.dtype.kind == "O":
        for value in array.ravel().tolist():
            if isinstance(value, (str, bytes, bool)):
                raise TypeError(f"{name}: found {value!r:.60}; expected numbers")
    try:
        # None, which some tables use for an empty cell, becomes NaN.
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: {error}; expected numbers") from None


def _unique_names(names: list[Any]) -> tuple[list[str], list[int]]:
    """Return the unique names in order of first appearance, and per entry the index of its name among them."""
    index_of: dict[str, int] = {}
    indices = [index_of.setdefault(str(name), len(index_of)) for name in names]
    return list(index_of), indices


def _names(given: Sequence[Hashable] | None, kind: str, expected: int) -> tuple[str, ...]:
    if given is None:
        return tuple(f"{kind} {i + 1}" for i in range(expected))
    if isinstance(given, str):
        raise TypeError(f"{kind}s is the string {given!r}; expected a list of names")
    names = tuple(map(str, given))
    if len(names) != expected:
        raise ValueError(
            f"found {pluralize(len(names), f'{kind} name')} for {pluralize(expected, kind)}"
        )
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"{kind} {name!r} appears {count} times; expected different names")
    return names


def _check_finite(
    values: NDArray[np.float64], datasets: tuple[str, ...], methods: tuple[str, ...]
) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        cells = [f"{methods[j]} on {datasets[i]} is {values[i, j]}" for i, j in bad.tolist()]
        raise ValueError(
            f"incomplete results, {pluralize(len(cells), 'cell')} without a finite score: {_list_some(cells)}; "
            "expected a score for every dataset and method"
        )


def _list_some(cells: list[str]) -> str:
    rest = len(cells) - _MAX_LISTED
    return ", ".join(cells[:_MAX_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def _column(columns: Any, name: str) -> list[Any]:
    known = list(getattr(columns, "columns", columns))
    if name not in known:
        raise ValueError(f"column {name!r} is missing; found {known}")
    return list(columns[name])
