"""A report as a single self-contained HTML page."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from itertools import count

from bucketrank import __version__
from bucketrank.experiments.report.document import Document, Figure, Section
from bucketrank.experiments.report.svg import to_svg
from bucketrank.tables import Table, escape_html

__all__ = ["to_html"]

_SORT_BUTTON = '<button type="button">{}</button>'
"""Content of table headings, which sort their column."""


def to_html(document: Document) -> str:
    """Render a report as a complete HTML page.

    It follows the light or dark mode of the browser; tables can be sorted and copied.
    """
    figure_numbers = count(1)
    names = [f"section-{number}" for number in range(1, len(document.sections) + 1)]
    links = "".join(
        f'<li><a href="#{name}">{escape_html(section.title)}</a></li>'
        for name, section in zip(names, document.sections, strict=True)
    )
    warning = f'<p class="warning" role="status">{escape_html(document.warning)}</p>'
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        # Forbid all network requests, even if a name in the data contains markup.
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">",
        '<link rel="icon" href="data:,">',
        f"<title>{escape_html(document.title)}</title>",
        f"<style>\n{_asset('page.css')}</style>",
        "</head>",
        "<body>",
        "<header>",
        f"<h1>{escape_html(document.title)}</h1>",
        f'<p class="subtitle">{escape_html(document.subtitle)}</p>',
        warning if document.warning else "",
        "</header>",
        "<main>",
        '<section class="summary" aria-labelledby="summary">',
        '<h2 id="summary">Summary</h2>',
        *(f"<p>{escape_html(paragraph)}</p>" for paragraph in document.summary),
        "</section>",
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>',
    ]
    for name, section in zip(names, document.sections, strict=True):
        parts.append(_section(name, section, figure_numbers))
    parts += [
        "</main>",
        f"<footer>Written by bucketrank {__version__}.</footer>",
        f"<script>\n{_asset('page.js')}</script>",
        "</body>",
        "</html>",
    ]
    return "\n".join(filter(None, parts)) + "\n"


def _section(name: str, section: Section, figure_numbers: count[int]) -> str:
    parts = [f'<section id="{name}">', f"<h2>{escape_html(section.title)}</h2>"]
    parts += [f"<p>{escape_html(paragraph)}</p>" for paragraph in section.paragraphs]
    parts += [_figure(figure, f"f{next(figure_numbers)}") for figure in section.figures]
    parts += map(_table, section.tables)
    if section.more:
        word = "table" if len(section.more) == 1 else "tables"
        parts.append(f"<details><summary>{len(section.more)} more {word}</summary>")
        parts += map(_table, section.more)
        parts.append("</details>")
    parts.append("</section>")
    return "\n".join(parts)


def _figure(figure: Figure, prefix: str) -> str:
    caption = f"<figcaption>{escape_html(figure.title)}</figcaption>"
    kind = "narrow drawing" if figure.is_narrow else "drawing"
    return f'<figure>\n<div class="{kind}" tabindex="0">{to_svg(figure, prefix)}</div>\n{caption}\n</figure>'


def _table(table: Table) -> str:
    remarks = table.remarks("Shaded")
    note = f'<p class="note">{escape_html(remarks)}</p>' if remarks else ""
    return "\n".join(
        [
            '<div class="table">',
            f'<div class="heading"><h3>{escape_html(table.title)}</h3>'
            '<span><button type="button" class="copy" data-copy="csv">Copy CSV</button> '
            '<button type="button" class="copy" data-copy="latex">Copy LaTeX</button></span></div>',
            f'<div class="scroll" tabindex="0">{table.to_html(_SORT_BUTTON)}</div>',
            note,
            f'<template class="csv">{escape(table.to_csv(), quote=False)}</template>',
            f'<template class="latex">{escape(table.to_latex(), quote=False)}</template>',
            "</div>",
        ]
    )


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
