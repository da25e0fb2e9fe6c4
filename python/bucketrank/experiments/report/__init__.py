"""Reports of a study as HTML, LaTeX and Markdown, with tables, figures and a summary in words."""

from __future__ import annotations

from bucketrank.experiments.report.contents import contents
from bucketrank.experiments.report.document import Document, Figure, Section
from bucketrank.experiments.report.html import to_html
from bucketrank.experiments.report.plain import to_latex, to_markdown

__all__ = ["RENDERERS", "Document", "Figure", "Section", "contents"]

RENDERERS = {"html": to_html, "latex": to_latex, "markdown": to_markdown}
"""Functions from a document to its text, by format."""
