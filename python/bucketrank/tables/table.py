"""A table that renders as text, CSV, LaTeX, Markdown and a pandas data frame."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bucketrank._optional import pandas
from bucketrank.tables.escape import escape_csv, escape_latex, escape_markdown, escape_text

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Column", "Table", "TabularResult", "p_value_text"]


@dataclass(frozen=True)
class Column:
    """A column: what it holds, how that is written, and which cells stand out.

    Attributes
    ----------
    name : str
        Heading.
    values : tuple
        What the cells hold: numbers, strings, or None for an empty cell.
    texts : tuple of str
        How the cells are written.
    marked : tuple of bool
        Which cells stand out: the best, or those that are not worse.
    spread : tuple or None
        Standard deviations of the values, which the texts show as well; None if there are none.
    best : tuple of bool
        Which of the marked cells are the very best; empty where this is not said.
    """

    name: str
    values: tuple[Any, ...]
    texts: tuple[str, ...]
    marked: tuple[bool, ...]
    spread: tuple[Any, ...] | None = None
    best: tuple[bool, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        values: Iterable[Any],
        text: Callable[[Any], str] = str,
        marked: Iterable[bool] | None = None,
    ) -> Column:
        """Make a column from its values, written by `text`; None and NaN are empty cells."""
        cells = tuple(_plain(value) for value in values)
        texts = tuple("" if value is None else text(value) for value in cells)
        marks = (False,) * len(cells) if marked is None else tuple(bool(mark) for mark in marked)
        return cls(name, cells, texts, marks)

    @classmethod
    def with_spread(
        cls,
        name: str,
        values: Iterable[Any],
        spread: Iterable[Any],
        marked: Iterable[bool],
        best: Iterable[bool],
    ) -> Column:
        """Make a column of means and standard deviations, written with three decimals."""
        column = cls.of(name, values, "{:.3f}".format, marked)
        deviations = tuple(_plain(value) for value in spread)
        texts = tuple(
            text if deviation is None else f"{text} ± {deviation:.3f}"
            for text, deviation in zip(column.texts, deviations, strict=True)
        )
        highest = tuple(bool(is_best) for is_best in best)
        return cls(name, column.values, texts, column.marked, deviations, highest)

    @property
    def is_numeric(self) -> bool:
        """Whether all cells that are not empty hold numbers."""
        filled = [value for value in self.values if value is not None]
        return bool(filled) and all(isinstance(value, (int, float)) for value in filled)


@dataclass(frozen=True)
class Table:
    """Columns of equal length with a title and a note.

    Attributes
    ----------
    title : str
        One line above the table.
    columns : tuple of Column
        The columns, all of the same length.
    note : str
        What a reader must know below the table; may be empty.
    meaning : str
        What the cells that stand out have in common; may be empty.

    Examples
    --------
    >>> table = Table("ranks", (Column.of("method", ["a", "b"]), Column.of("rank", [1.25, 1.75])))
    >>> print(table)
    ranks
    method  rank
    a       1.25
    b       1.75
    >>> print(table.to_markdown())
    | method | rank |
    |---|---:|
    | a | 1.25 |
    | b | 1.75 |
    """

    title: str
    columns: tuple[Column, ...]
    note: str = ""
    meaning: str = ""

    @property
    def remarks(self) -> str:
        """What stands below the table where cells stand out in bold."""
        bold = f"Bold: {self.meaning}." if self.meaning else ""
        return " ".join(filter(None, (bold, self.note)))

    def __str__(self) -> str:
        # A star sets marked cells apart; columns without one need no room for it.
        blocks = []
        for column in self.columns:
            starred = any(column.marked)
            cells = [
                escape_text(text) + ("*" if mark else " " if starred else "")
                for text, mark in zip(column.texts, column.marked, strict=True)
            ]
            head = escape_text(column.name) + (" " if starred and column.is_numeric else "")
            width = max(len(head), *(len(cell) for cell in cells)) if cells else len(head)
            align = str.rjust if column.is_numeric else str.ljust
            blocks.append([align(cell, width) for cell in (head, *cells)])
        lines = ["  ".join(cells).rstrip() for cells in zip(*blocks, strict=True)]
        star = f"* {self.meaning}" if self.meaning else ""
        return "\n".join(
            filter(
                None, (escape_text(self.title), *lines, escape_text(star), escape_text(self.note))
            )
        )

    def to_csv(self) -> str:
        """Return the values, not their texts, with a line of headings; deviations have columns of their own."""
        named = []
        for column in self.columns:
            named.append((column.name, column.values))
            if column.spread is not None:
                named.append((f"{column.name} sd", column.spread))
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(escape_csv(name) for name, _ in named)
        rows = zip(*(values for _, values in named), strict=True)
        writer.writerows([escape_csv(value) for value in row] for row in rows)
        return stream.getvalue()

    def to_latex(self) -> str:
        """Return a ``tabular`` for the package ``booktabs``; marked cells are bold."""
        align = "".join("r" if column.is_numeric else "l" for column in self.columns)
        lines = [f"\\begin{{tabular}}{{{align}}}", "\\toprule"]
        lines.append(_latex_row(escape_latex(column.name) for column in self.columns))
        lines.append("\\midrule")
        rows = zip(*(_latex_cells(column) for column in self.columns), strict=True)
        lines += map(_latex_row, rows)
        lines += ["\\bottomrule", "\\end{tabular}"]
        return "\n".join(lines)

    def to_markdown(self) -> str:
        """Return a table for Markdown; marked cells are bold."""
        lines = [_markdown_row(escape_markdown(column.name) for column in self.columns)]
        rules = ("---:" if column.is_numeric else "---" for column in self.columns)
        lines.append("|" + "|".join(rules) + "|")
        rows = zip(*(_markdown_cells(column) for column in self.columns), strict=True)
        lines += map(_markdown_row, rows)
        return "\n".join(lines)

    def to_pandas(self) -> DataFrame:
        """Return the values as a data frame; needs pandas."""
        frame: DataFrame = pandas("to_pandas").DataFrame(
            {column.name: list(column.values) for column in self.columns}
        )
        return frame


class TabularResult:
    """What results with a table have in common: they print as it, and hand it on in other forms."""

    def table(self) -> Table:
        """Return the result as a table."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.table())

    def to_pandas(self) -> DataFrame:
        """Return the table as a data frame; needs pandas."""
        return self.table().to_pandas()

    def to_latex(self) -> str:
        """Return the table as LaTeX, for the package ``booktabs``."""
        return self.table().to_latex()

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        return self.table().to_markdown()

    def to_csv(self) -> str:
        """Return the table as CSV."""
        return self.table().to_csv()


def p_value_text(p_value: float) -> str:
    """Write a p-value: three decimals from 0.001 on, with an exponent below.

    Examples
    --------
    >>> p_value_text(0.0421), p_value_text(3.2391e-9)
    ('0.042', '3.24e-09')
    """
    return f"{p_value:.3f}" if p_value >= 0.001 else f"{p_value:.2e}"


def _latex_cells(column: Column) -> list[str]:
    return [
        f"\\textbf{{{escape_latex(text)}}}" if mark else escape_latex(text)
        for text, mark in zip(column.texts, column.marked, strict=True)
    ]


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + " \\\\"


def _markdown_cells(column: Column) -> list[str]:
    return [
        f"**{escape_markdown(text)}**" if mark else escape_markdown(text)
        for text, mark in zip(column.texts, column.marked, strict=True)
    ]


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _plain(value: Any) -> Any:
    """Return NumPy's numbers as Python's, and None for what is not a number."""
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and math.isnan(plain) else plain
