"""Mean and standard deviation of each method on each dataset, as text, CSV, JSON and LaTeX."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._optional import import_pandas
from bucketrank.experiments.means import MeanCube
from bucketrank.tables import (
    Column,
    Table,
    escape_latex,
    escape_text,
    notebook_html,
    percent,
    to_csv_text,
    to_latex_tabular,
)

if TYPE_CHECKING:
    from pandas import DataFrame

_COLUMNS = ["dataset", "missing", "method", "tau_x_mean", "tau_x_sd", "best", "near_best"]
"""Columns of the CSV text and the data frame; ``missing`` is the level, the share of dropped labels."""

_TERMINAL = 80
"""Width of a terminal in characters; methods that do not fit are continued in further blocks."""

_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


@dataclass(frozen=True, eq=False)
class Summary(MeanCube):
    r"""Mean and standard deviation of :math:`\tau_X` over repeats and folds.

    Attributes
    ----------
    datasets, methods : list of str
        Names of rows and columns.
    missing : list of float
        Levels of missing labels, one table per level.
    mean, sd : ndarray of shape (n_levels, n_datasets, n_methods)
        NaN where there is no result. The deviation divides by n - 1.

    Examples
    --------
    The baseline ``"all_tied"`` is compared by default.

    >>> from bucketrank.experiments import compare
    >>> summary = compare(["iris"], ["borda"], missing=0, n_repeats=1, n_folds=5).summary()
    >>> summary.methods, summary.mean.shape
    (['borda', 'all_tied'], (1, 1, 2))
    """

    def to_text(self, *, colour: bool = False) -> str:
        """Return one table per level for a terminal: a row per dataset, a column per method.

        Parameters
        ----------
        colour : bool, default False
            Whether to print the best method in bold and methods far from the best dimmed, with terminal escape codes.

        Returns
        -------
        str
            The best of a row is marked ``*``; ``~`` marks methods whose interval, mean ± 1.96 standard deviations,
            overlaps the interval of the best.
        """
        return "\n\n".join(self._level_text(level, colour) for level in range(len(self.missing)))

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """Return the tables of all levels for a notebook."""
        return notebook_html(*self._tables())

    def _tables(self) -> list[Table]:
        """Return one table per level: a row per dataset, a column per method."""
        tables = []
        for level, missing in enumerate(self.missing):
            columns = (
                Column.with_spread(method, *(cells[level, :, k] for cells in self._cells()))
                for k, method in enumerate(self.methods)
            )
            tables.append(
                Table(
                    f"tau_x ± standard deviation, {percent(missing)} of the training labels missing",
                    (Column.of("dataset", self.datasets), *columns),
                    # The legend: what a marked cell and a cell in bold mean.
                    meaning="interval overlaps that of the best",
                    best_meaning="best of the dataset",
                )
            )
        return tables

    def _cells(self) -> tuple[NDArray[Any], ...]:
        """Return the arguments of `Column.with_spread` for all cells: mean, spread, is marked, is best."""
        return self.mean, self.sd, self.near_best, self.best

    def to_dict(self) -> dict[str, Any]:
        """Return levels, datasets and methods as nested dictionaries of mean and sd, for JSON."""
        return {
            f"{level:.9g}": {
                dataset: {
                    method: {
                        "mean": _json_number(self.mean[i, j, k]),
                        "sd": _json_number(self.sd[i, j, k]),
                    }
                    for k, method in enumerate(self.methods)
                }
                for j, dataset in enumerate(self.datasets)
            }
            for i, level in enumerate(self.missing)
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2)

    def to_csv(self) -> str:
        """Return one line per dataset, level and method."""
        return to_csv_text([_COLUMNS, *self._rows()])

    def to_pandas(self) -> DataFrame:
        """Return one row per dataset, level and method; needs pandas.

        Returns
        -------
        pandas.DataFrame
        """
        frame: DataFrame = import_pandas("to_pandas").DataFrame(
            list(self._rows()), columns=_COLUMNS
        )
        return frame

    def to_latex(self) -> str:
        """Return one ``tabular`` per level, in the style of ``booktabs``.

        Returns
        -------
        str
            A cell is bold if its interval, mean ± 1.96 standard deviations, overlaps the interval of the best method.
            Cells without results are empty.
        """
        return "\n\n".join(self._level_latex(level) for level in range(len(self.missing)))

    def _rows(self) -> list[tuple[Any, ...]]:
        best, near = self.best, self.near_best
        return [
            (
                dataset,
                level,
                method,
                float(self.mean[i, j, k]),
                float(self.sd[i, j, k]),
                bool(best[i, j, k]),
                bool(near[i, j, k]),
            )
            for i, level in enumerate(self.missing)
            for j, dataset in enumerate(self.datasets)
            for k, method in enumerate(self.methods)
        ]

    def _level_text(self, level: int, colour: bool) -> str:
        best, near = self.best[level], self.near_best[level]
        width = max(
            10, *(len(part) for method in self.methods for part in _heading(escape_text(method)))
        )
        names = [escape_text(dataset) for dataset in self.datasets]
        first = max(7, *map(len, names))
        heads = [_heading(escape_text(method)) for method in self.methods]
        title = f"tau_x, {percent(self.missing[level])} of the training labels missing"
        blocks = []
        # Two spaces before each column.
        per_block = max(1, (_TERMINAL - first) // (width + 2))
        for start in range(0, len(self.methods), per_block):
            block = range(start, min(start + per_block, len(self.methods)))
            lines = [
                " " * first + "".join(f"  {heads[k][line]:>{width}}" for k in block)
                for line in range(2)
                if any(heads[k][line] for k in block)
            ]
            for j, dataset in enumerate(names):
                cells = ""
                for k in block:
                    mark = "*" if best[j, k] else "~" if near[j, k] else " "
                    text = f"{_cell(self.mean[level, j, k], self.sd[level, j, k])}{mark}"
                    cells += "  " + _paint(f"{text:>{width}}", best[j, k], near[j, k], colour)
                lines.append(f"{dataset:<{first}}{cells}".rstrip())
            if len(self.datasets) > 1:
                means = self.mean[level].mean(axis=0)
                cells = "".join(f"  {_decimals(means[k]) + '     ':>{width}}" for k in block)
                lines.append(f"{'mean':<{first}}{cells}".rstrip())
            blocks.append("\n".join(lines))
        return "\n".join((title, "\n\n".join(blocks)))

    def _level_latex(self, level: int) -> str:
        near = self.near_best[level]
        rows = [["dataset", *(rf"\textsc{{{escape_latex(method)}}}" for method in self.methods)]]
        for j, dataset in enumerate(self.datasets):
            row = [escape_latex(dataset)]
            for k in range(len(self.methods)):
                cell = _latex_cell(self.mean[level, j, k], self.sd[level, j, k])
                row.append(rf"$\mathbf{{{cell}}}$" if near[j, k] else cell and f"${cell}$")
            rows.append(row)
        tabular = to_latex_tabular("l" + "r" * len(self.methods), rows)
        return f"% tau_x, {percent(self.missing[level])} of the training labels missing\n{tabular}"


def _heading(method: str) -> tuple[str, str]:
    """Break a long name in two, so that a table of eight methods fits a terminal."""
    if len(method) <= 10 or "_" not in method:
        return ("", method)
    head, _, tail = method.rpartition("_")
    return (f"{head}_", tail)


def _cell(mean: float, sd: float) -> str:
    if np.isnan(mean):
        return "-"
    return _decimals(mean) + ("     " if np.isnan(sd) else f"±{_decimals(sd)}")


def _latex_cell(mean: float, sd: float) -> str:
    if np.isnan(mean):
        return ""
    return f"{mean:.3f}" + ("" if np.isnan(sd) else rf" \pm {sd:.3f}")


def _decimals(value: float) -> str:
    """Format with three decimals and without the leading zero, as is usual for correlations."""
    return f"{value:.3f}".replace("0.", ".", 1) if not np.isnan(value) else "-"


def _paint(text: str, best: bool, near: bool, colour: bool) -> str:
    """Return a cell in bold if it is the best, and dimmed if it is not near the best either."""
    if not colour or (near and not best):
        return text
    return f"{_BOLD if best else _DIM}{text}{_PLAIN}"


def _json_number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
