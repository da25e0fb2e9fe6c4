"""HTML of tables for notebooks, which have no style sheet of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bucketrank.tables.escape import escape_html

if TYPE_CHECKING:
    from bucketrank.tables.table import Table

__all__ = ["notebook_html"]

# Shades of grey that are visible on light and dark pages.
_STYLE = (
    "<style>.bucketrank td, .bucketrank th { text-align: left } "
    ".bucketrank .number { text-align: right } .bucketrank .best { font-weight: bold } "
    ".bucketrank .marked { background: rgba(127, 127, 127, 0.25) }</style>"
)


def notebook_html(*tables: Table, heading: str = "") -> str:
    """Return tables with their titles and remarks as one element; `heading` is a paragraph above them.

    Examples
    --------
    >>> from bucketrank.tables import Column, Table
    >>> html = notebook_html(Table("a < b", (Column.of("rank", [1, 2]),)), heading="Two ranks")
    >>> html.startswith('<div class="bucketrank">'), "<p>a &lt; b</p>" in html
    (True, True)
    """
    parts = [_paragraph(heading)]
    for table in tables:
        parts += [_paragraph(table.title), table.to_html(), _paragraph(table.remarks("Shaded"))]
    return "\n".join(filter(None, ('<div class="bucketrank">', _STYLE, *parts, "</div>")))


def _paragraph(text: str) -> str:
    """Return a paragraph with one line per line of the text, or nothing for an empty text."""
    lines = "<br>".join(map(escape_html, text.split("\n")))
    return f"<p>{lines}</p>" if lines else ""
