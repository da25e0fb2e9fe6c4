"""Tables: one type that renders as text, CSV, LaTeX, Markdown and HTML, with all names escaped."""

from __future__ import annotations

from bucketrank.tables.table import Column, Table, TabularResult, latex_text, p_value_text

__all__ = ["Column", "Table", "TabularResult", "latex_text", "p_value_text"]
