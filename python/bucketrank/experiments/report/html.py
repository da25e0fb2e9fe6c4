"""A report as a single self-contained HTML page."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from itertools import count

from bucketrank import __version__
from bucketrank.experiments.report.document import Document, Figure, Section
from bucketrank.experiments.report.svg import to_svg
from bucketrank.tables import Column, Table, escape_html, escape_text

__all__ = ["to_html"]

_LONG = 40
"""Cells with more characters than this may wrap."""


def to_html(document: Document) -> str:
    """Write a report as a page.

    Parameters
    ----------
    document : Document
        The report.

    Returns
    -------
    str
        A complete HTML page. It follows the light or dark mode of the browser; tables can be sorted and copied.
    """
    numbers = count(1)
    names = [f"section-{number}" for number in range(1, len(document.sections) + 1)]
    links = "".join(
        f'<li><a href="#{name}">{_text(section.title)}</a></li>'
        for name, section in zip(names, document.sections, strict=True)
    )
    warning = f'<p class="warning" role="status">{_text(document.warning)}</p>'
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
        f"<title>{_text(document.title)}</title>",
        f"<style>\n{_asset('page.css')}</style>",
        "</head>",
        "<body>",
        "<header>",
        f"<h1>{_text(document.title)}</h1>",
        f'<p class="subtitle">{_text(document.subtitle)}</p>',
        warning if document.warning else "",
        "</header>",
        "<main>",
        '<section class="summary" aria-labelledby="summary">',
        '<h2 id="summary">Summary</h2>',
        *(f"<p>{_text(paragraph)}</p>" for paragraph in document.summary),
        "</section>",
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>',
    ]
    for name, section in zip(names, document.sections, strict=True):
        parts.append(_section(name, section, numbers))
    parts += [
        "</main>",
        f"<footer>Written by bucketrank {__version__}.</footer>",
        f"<script>\n{_asset('page.js')}</script>",
        "</body>",
        "</html>",
    ]
    return "\n".join(filter(None, parts)) + "\n"


def _section(name: str, section: Section, numbers: count[int]) -> str:
    parts = [f'<section id="{name}">', f"<h2>{_text(section.title)}</h2>"]
    parts += [f"<p>{_text(paragraph)}</p>" for paragraph in section.paragraphs]
    parts += [_figure(figure, f"f{next(numbers)}") for figure in section.figures]
    parts += map(_table, section.tables)
    if section.more:
        word = "table" if len(section.more) == 1 else "tables"
        parts.append(f"<details><summary>{len(section.more)} more {word}</summary>")
        parts += map(_table, section.more)
        parts.append("</details>")
    parts.append("</section>")
    return "\n".join(parts)


def _figure(figure: Figure, prefix: str) -> str:
    caption = f"<figcaption>{_text(figure.title)}</figcaption>"
    return f'<figure>\n<div class="drawing" tabindex="0">{to_svg(figure, prefix)}</div>\n{caption}\n</figure>'


def _table(table: Table) -> str:
    heads = "".join(
        f'<th scope="col"{_class(column, "")}><button type="button">{_breakable(column.name)}</button></th>'
        for column in table.columns
    )
    number = len(table.columns[0].texts)
    rows = "\n".join(
        f"<tr>{''.join(_cell(column, row) for column in table.columns)}</tr>"
        for row in range(number)
    )
    note = f'<p class="note">{_text(table.remarks)}</p>' if table.remarks else ""
    return "\n".join(
        [
            '<div class="table">',
            f'<div class="heading"><h3>{_text(table.title)}</h3>'
            '<span><button type="button" class="copy" data-copy="csv">Copy CSV</button> '
            '<button type="button" class="copy" data-copy="latex">Copy LaTeX</button></span></div>',
            f'<div class="scroll" tabindex="0"><table><thead><tr>{heads}</tr></thead>',
            f"<tbody>\n{rows}\n</tbody></table></div>",
            note,
            f'<template class="csv">{escape(table.to_csv(), quote=False)}</template>',
            f'<template class="latex">{escape(table.to_latex(), quote=False)}</template>',
            "</div>",
        ]
    )


def _cell(column: Column, row: int) -> str:
    value, text = column.values[row], column.texts[row]
    # The best cells have a background colour; cells that do not differ from the best are only bold.
    extra = " marked" if column.marked[row] else ""
    extra += " best" if (column.best or column.marked)[row] else ""
    extra += " long" if len(text) > _LONG else ""
    data = "" if value is None else f' data-value="{escape_html(str(value))}"'
    return f"<td{_class(column, extra)}{data}>{_text(text)}</td>"


def _class(column: Column, extra: str) -> str:
    classes = (("number" if column.is_numeric else "") + extra).strip()
    return f' class="{classes}"' if classes else ""


def _breakable(name: str) -> str:
    """Allow line breaks after underscores, so that wide tables fit."""
    return _text(name).replace("_", "_<wbr>")


def _text(text: str) -> str:
    return escape(escape_text(text), quote=False)


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
