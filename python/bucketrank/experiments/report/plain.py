"""A report as LaTeX or Markdown: text and tables, without figures."""

from __future__ import annotations

from bucketrank.experiments.report.document import Document
from bucketrank.tables import Table, escape_latex, escape_markdown

__all__ = ["to_latex", "to_markdown"]

_PREAMBLE = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{booktabs}
\usepackage{float}
\usepackage{graphicx}
\usepackage[margin=2cm]{geometry}"""


def to_latex(document: Document) -> str:
    """Render a report as a LaTeX document of the class ``article``; wide tables are scaled down to the text width."""
    parts = [_PREAMBLE, rf"\title{{{escape_latex(document.title)}}}", r"\date{}"]
    parts += [r"\begin{document}", r"\maketitle", escape_latex(document.subtitle), ""]
    if document.warning:
        parts += [rf"\textbf{{{escape_latex(document.warning)}}}", ""]
    parts.append(r"\section*{Summary}")
    parts += [escape_latex(paragraph) + "\n" for paragraph in document.summary]
    for section in document.sections:
        parts.append(rf"\section*{{{escape_latex(section.title)}}}")
        parts += [escape_latex(paragraph) + "\n" for paragraph in section.paragraphs]
        parts += map(_latex_table, (*section.tables, *section.more))
    return "\n".join([*parts, r"\end{document}"]) + "\n"


def _latex_table(table: Table) -> str:
    lines = [
        # H: place the table here instead of letting it float.
        r"\begin{table}[H]",
        r"\centering",
        rf"\caption{{{escape_latex(table.title)}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        table.to_latex() + "}",
    ]
    if table.remarks():
        lines.append(rf"\par\smallskip{{\footnotesize {escape_latex(table.remarks())}}}")
    return "\n".join([*lines, r"\end{table}", ""])


def to_markdown(document: Document) -> str:
    """Render a report as Markdown."""
    parts = [f"# {escape_markdown(document.title)}", escape_markdown(document.subtitle)]
    if document.warning:
        parts.append(f"> **{escape_markdown(document.warning)}**")
    parts += ["## Summary", *map(escape_markdown, document.summary)]
    for section in document.sections:
        parts += [f"## {escape_markdown(section.title)}", *map(escape_markdown, section.paragraphs)]
        for table in (*section.tables, *section.more):
            parts += [f"### {escape_markdown(table.title)}", table.to_markdown()]
            if table.remarks():
                parts.append(escape_markdown(table.remarks()))
    return "\n\n".join(parts) + "\n"
