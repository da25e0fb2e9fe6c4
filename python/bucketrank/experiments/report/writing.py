"""Write the report of a study in one of several formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bucketrank._files import write_file
from bucketrank.experiments.report.contents import contents
from bucketrank.experiments.report.document import Section
from bucketrank.experiments.report.html import to_html
from bucketrank.experiments.report.plain import to_latex, to_markdown

if TYPE_CHECKING:
    from bucketrank.experiments.study import Study

__all__ = ["FORMATS", "write_report"]

_WRITERS = {"html": to_html, "latex": to_latex, "markdown": to_markdown}

FORMATS = tuple(_WRITERS)
"""Formats of reports."""


def write_report(
    study: Study,
    path: str | Path | None = None,
    *,
    format: str = "html",  # noqa: A002 (the word that people look for)
    title: str | None = None,
    sections: Sequence[Section] = (),
) -> str:
    """Write the report of a study.

    Parameters
    ----------
    study : Study
        Finished or not; the report says what is missing.
    path : str or Path, optional
        Where to write it.
    format : {"html", "latex", "markdown"}, default "html"
        HTML is one self-contained page with figures, which needs matplotlib (``pip install 'bucketrank[plot]'``);
        the others have words and tables.
    title : str, optional
        Heading of the report.
    sections : sequence of Section, optional
        More sections, which come before the settings.

    Returns
    -------
    str
        The report.
    """
    if format not in _WRITERS:
        known = ", ".join(map(repr, FORMATS))
        raise ValueError(f"format is {format!r}; expected one of {known}")
    text = _WRITERS[format](contents(study, title, sections))
    if path is not None:
        write_file(path, text)
    return text
