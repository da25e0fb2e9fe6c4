"""Tables that render as text, CSV, LaTeX, Markdown, HTML and a pandas data frame."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bucketrank._optional import import_pandas
from bucketrank.tables.escape import (
    escape_csv,
    escape_html,
    escape_latex,
    escape_markdown,
    escape_text,
)
from bucketrank.tables.notebook import notebook_html

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Column", "Table", "TabularResult", "p_value_text", "to_csv_text", "to_latex_tabular"]

_TERMINAL = 80
"""Width of a terminal in characters; wider tables are broken into blocks of columns."""

_MANY_COLUMNS = 8
_WIDE = 100
"""Tables with more columns than `_MANY_COLUMNS` and more characters per row than `_WIDE` are denser in HTML."""

_LONG_TEXT = 40
"""Cells with longer text may break into several lines in HTML."""


@dataclass(frozen=True)
class Column:
    """A column of a table: values, formatted values and highlighted cells.

    Attributes
    ----------
    name : str
        Heading.
    values : tuple
        Numbers or strings; None for an empty cell.
    texts : tuple of str
        Formatted values.
    marked : tuple of bool
        Cells with the property that `Table.meaning` states, such as not differing from the best; shaded in HTML.
    spread : tuple or None
        Half-widths of intervals or standard deviations of the values, which the texts contain as well; None if there
        are none.
    best : tuple of bool
        The best cells; bold.

    Examples
    --------
    >>> Column.of("rank", [1.25, None], "{:.1f}".format).texts
    ('1.2', '')
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
        best: Iterable[bool] | None = None,
    ) -> Column:
        """Build a column from its values, formatted by `text`; None and NaN are empty cells."""
        cells = tuple(_plain(value) for value in values)
        texts = tuple("" if value is None else text(value) for value in cells)
        marks, bests = (
            (False,) * len(cells) if flags is None else tuple(bool(flag) for flag in flags)
            for flags in (marked, best)
        )
        return cls(name, cells, texts, marks, best=bests)

    @classmethod
    def with_spread(
        cls,
        name: str,
        values: Iterable[Any],
        spread: Iterable[Any],
        marked: Iterable[bool],
        best: Iterable[bool],
    ) -> Column:
        """Build a column of means with three decimals; `spread` are half-widths of intervals or standard deviations."""
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
        """Whether all cells except empty ones hold numbers."""
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
        Remark below the table; may be empty.
    meaning : str
        Meaning of marked cells; may be empty.
    best_meaning : str
        Meaning of the best cells; may be empty.
    n_footer : int
        Number of rows at the end that summarise the others; not sorted in HTML.

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
    best_meaning: str = ""
    n_footer: int = 0

    def remarks(self, mark: str = "*") -> str:
        """Return the remarks below a table; `mark` says how marked cells look; the best cells are bold."""
        meanings = (("Bold", self.best_meaning), (mark, self.meaning))
        sentences = [f"{look}: {meaning}." for look, meaning in meanings if meaning]
        return " ".join(filter(None, (*sentences, self.note)))

    def __str__(self) -> str:
        blocks = [_text_cells(column) for column in self.columns]
        parts = ["\n".join(_lines(part)) for part in _fit_terminal(blocks)]
        meaning = self.meaning or self.best_meaning
        star = f"* {meaning}" if meaning else ""
        title, *remarks = map(_wrapped, map(escape_text, (self.title, star, self.note)))
        return "\n".join(filter(None, (title, "\n\n".join(parts), *remarks)))

    def to_csv(self) -> str:
        """Return headings and unformatted values; the spread of a column follows as a column of half-widths."""
        named = []
        for column in self.columns:
            named.append((column.name, column.values))
            if column.spread is not None:
                named.append((f"{column.name} half-width", column.spread))
        rows = zip(*(values for _, values in named), strict=True)
        return to_csv_text([[name for name, _ in named], *rows])

    def to_latex(self) -> str:
        """Return a ``tabular`` for the package ``booktabs``; the best cells are bold, marked cells have a star."""
        columns = (_cells(column, escape_latex, "\\textbf{{{}}}") for column in self.columns)
        align = "".join("r" if column.is_numeric else "l" for column in self.columns)
        return to_latex_tabular(align, list(zip(*columns, strict=True)))

    def to_markdown(self) -> str:
        """Return a table for Markdown; the best cells are bold, marked cells have a star."""
        columns = (_cells(column, escape_markdown, "**{}**") for column in self.columns)
        head, *rows = (f"| {' | '.join(row)} |" for row in zip(*columns, strict=True))
        rules = ("---:" if column.is_numeric else "---" for column in self.columns)
        return "\n".join([head, f"|{'|'.join(rules)}|", *rows])

    def to_html(self, heading: str = "{}") -> str:
        """Return a ``table`` element.

        Parameters
        ----------
        heading : str, default "{}"
            Template of the content of each heading, such as ``"<b>{}</b>"``.

        Returns
        -------
        str
            Cells have the classes ``number``, ``marked``, ``best`` and ``long``, and values as ``data-value``; the
            table has the class ``dense`` if it has many columns and is wide.
        """
        heads = "".join(_html_heading(column, heading) for column in self.columns)
        columns = (_html_cells(column) for column in self.columns)
        rows = [f"<tr>{''.join(row)}</tr>" for row in zip(*columns, strict=True)]
        size = len(rows) - self.n_footer
        dense = ' class="dense"' if self._is_wide() else ""
        body = "\n".join(rows[:size])
        footer = "\n".join(rows[size:])
        below = f"\n<tfoot>\n{footer}\n</tfoot>" if footer else ""
        return f"<table{dense}><thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>{below}</table>"

    def _repr_html_(self) -> str:
        """Return the table with title and remarks for a notebook."""
        return notebook_html(self)

    def _is_wide(self) -> bool:
        widths = (max(map(len, (column.name, *column.texts))) for column in self.columns)
        return len(self.columns) > _MANY_COLUMNS and sum(min(w, _LONG_TEXT) for w in widths) > _WIDE

    def to_pandas(self) -> DataFrame:
        """Return the values as a data frame; needs pandas."""
        frame: DataFrame = import_pandas("to_pandas").DataFrame(
            {index: list(column.values) for index, column in enumerate(self.columns)}
        )
        # The columns are named afterwards, because a method can have the name of another column, such as "rank".
        frame.columns = [column.name for column in self.columns]
        return frame


class TabularResult:
    """Base of results that print as a table and convert it to other formats.

    Examples
    --------
    >>> from bucketrank.statistics import ScoreTable, average_ranks
    >>> scores = ScoreTable([[0.9, 0.8], [0.7, 0.6]], datasets=["x", "y"], methods=["a", "b"])
    >>> ranks = average_ranks(scores)
    >>> isinstance(ranks, TabularResult), ranks.to_markdown().splitlines()[0]
    (True, '| method | rank |')
    """

    def table(self) -> Table:
        """Return the result as a table."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        """Return the table with title and remarks for a notebook."""
        return notebook_html(self.table())

    def to_pandas(self) -> DataFrame:
        """Return the table as a data frame; needs pandas."""
        return self.table().to_pandas()

    def to_latex(self) -> str:
        """Return the table as LaTeX, for the package ``booktabs``."""
        return self.table().to_latex()

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        return self.table().to_markdown()

    def to_html(self) -> str:
        """Return the table as HTML."""
        return self.table().to_html()

    def to_csv(self) -> str:
        """Return the table as CSV."""
        return self.table().to_csv()


def p_value_text(p_value: float) -> str:
    """Format a p-value with three decimals, or with an exponent below 0.001.

    Examples
    --------
    >>> p_value_text(0.0421), p_value_text(3.2391e-9)
    ('0.042', '3.24e-09')
    """
    return f"{p_value:.3f}" if p_value >= 0.001 else f"{p_value:.2e}"


def to_csv_text(rows: Iterable[Iterable[Any]]) -> str:
    r"""Return rows as CSV with all cells escaped for spreadsheets.

    Examples
    --------
    >>> to_csv_text([["name", "x"], ["=1+1", -1.5]])
    "name,x\n'=1+1,-1.5\n"
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([escape_csv(value) for value in row] for row in rows)
    return stream.getvalue()


def to_latex_tabular(align: str, rows: Sequence[Iterable[str]]) -> str:
    r"""Return a heading and rows of LaTeX cells as a ``tabular`` for the package ``booktabs``.

    Examples
    --------
    >>> print(to_latex_tabular("lr", [["method", "rank"], ["borda", "1.5"]]))
    \begin{tabular}{lr}
    \toprule
    method & rank \\
    \midrule
    borda & 1.5 \\
    \bottomrule
    \end{tabular}
    """
    head, *body = (" & ".join(row) + r" \\" for row in rows)
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", head, r"\midrule", *body]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _fit_terminal(blocks: list[list[str]]) -> list[list[list[str]]]:
    """Divide padded columns into parts that fit a terminal; each begins with the first column."""
    first, *others = blocks
    parts: list[list[list[str]]] = []
    used = _TERMINAL
    for block in others:
        width = 2 + len(block[0])
        if used + width > _TERMINAL:
            parts.append([first])
            used = len(first[0])
        parts[-1].append(block)
        used += width
    return parts or [[first]]


def _wrapped(sentence: str) -> str:
    return textwrap.fill(sentence, _TERMINAL, break_long_words=False, break_on_hyphens=False)


def _lines(blocks: list[list[str]]) -> list[str]:
    return ["  ".join(cells).rstrip() for cells in zip(*blocks, strict=True)]


def _text_cells(column: Column) -> list[str]:
    """Return heading and cells padded to the same width; a star follows marked cells, or the best if none is marked."""
    marks = column.marked if any(column.marked) or not column.best else column.best
    starred = any(marks)
    cells = [escape_text(column.name) + (" " if starred and column.is_numeric else "")]
    for text, mark in zip(column.texts, marks, strict=True):
        # Columns without a star need no space for it.
        cells.append(escape_text(text) + ("*" if mark else " " if starred else ""))
    width = max(map(len, cells))
    align = str.rjust if column.is_numeric else str.ljust
    return [align(cell, width) for cell in cells]


def _cells(column: Column, escape: Callable[[str], str], bold: str) -> list[str]:
    """Return escaped heading and cells; the best are put into the template `bold`, marked cells have a star."""
    best = column.best or (False,) * len(column.texts)
    cells = (
        (bold.format(escape(text)) if is_best else escape(text)) + ("*" if is_marked else "")
        for text, is_marked, is_best in zip(column.texts, column.marked, best, strict=True)
    )
    return [escape(column.name), *cells]


def _html_heading(column: Column, template: str) -> str:
    # Long names may break at underscores, so that wide tables fit.
    name = escape_html(column.name).replace("_", "_<wbr>")
    return f'<th scope="col"{_html_class(column)}>{template.format(name)}</th>'


def _html_cells(column: Column) -> list[str]:
    cells = []
    best = column.best or (False,) * len(column.texts)
    rows = zip(column.values, column.texts, column.marked, best, strict=True)
    for value, text, is_marked, is_best in rows:
        flags = {"marked": is_marked, "best": is_best, "long": len(text) > _LONG_TEXT}
        names = _html_class(column, *(name for name, is_set in flags.items() if is_set))
        data = "" if value is None else f' data-value="{escape_html(str(value))}"'
        # A half-width may go to the next line, but not without its sign.
        shown = escape_html(text).replace(" ± ", " ±\N{NO-BREAK SPACE}")
        cells.append(f"<td{names}{data}>{shown}</td>")
    return cells


def _html_class(column: Column, *names: str) -> str:
    classes = " ".join((*(["number"] if column.is_numeric else []), *names))
    return f' class="{classes}"' if classes else ""


def _plain(value: Any) -> Any:
    """Convert NumPy numbers to Python numbers, and NaN to None."""
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and math.isnan(plain) else plain
