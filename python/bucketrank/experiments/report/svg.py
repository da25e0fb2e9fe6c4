"""Figures as SVG inside a page: they take its text colour, and their names do not clash."""

from __future__ import annotations

import io
import re
from typing import Any

from bucketrank._optional import pyplot
from bucketrank.experiments.report.document import Figure
from bucketrank.tables import escape_html

_INK = "#010203"
"""Drawn where the page's text colour belongs: no figure uses this colour otherwise."""

_STYLE: Any = {
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "font.size": 10.5,
    # Letters as shapes: the page looks the same whatever fonts its reader has.
    "svg.fonttype": "path",
    # Without a salt the names of clipping paths are random, and equal studies would give different pages.
    "svg.hashsalt": "bucketrank",
}

_NAMES = re.compile(r'(\bid="|href="#|url\(#)')


def to_svg(figure: Figure, prefix: str) -> str:
    """Draw a figure and return it as an ``svg`` element.

    Parameters
    ----------
    figure : Figure
        What to draw.
    prefix : str
        Goes before every name inside, so that several figures can stand on one page.

    Returns
    -------
    str
    """
    pyplot("a report with figures").rcParams  # noqa: B018 (says what to install where matplotlib is missing)
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    with rc_context(_STYLE):
        canvas = Canvas(figsize=figure.size, layout="constrained")
        figure.draw(canvas.subplots())
        stream = io.StringIO()
        canvas.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    text = _NAMES.sub(rf"\g<1>{prefix}-", text)
    label = escape_html(figure.title)
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
