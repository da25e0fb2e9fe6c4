"""Tables: one type that renders as text, CSV, LaTeX, Markdown and HTML, with all names escaped."""

from __future__ import annotations

from bucketrank._phrases import join_names, percent, pluralize
from bucketrank.tables.escape import (
    escape_csv,
    escape_html,
    escape_latex,
    escape_markdown,
    escape_mathtext,
    escape_text,
    to_json_text,
)
from bucketrank.tables.notebook import notebook_html
from bucketrank.tables.table import (
    Column,
    Table,
    TabularResult,
    p_value_text,
    to_csv_text,
    to_latex_tabular,
)

__all__ = [
    "Column",
    "Table",
    "TabularResult",
    "escape_csv",
    "escape_html",
    "escape_latex",
    "escape_markdown",
    "escape_mathtext",
    "escape_text",
    "join_names",
    "notebook_html",
    "p_value_text",
    "percent",
    "pluralize",
    "to_csv_text",
    "to_json_text",
    "to_latex_tabular",
]
