"""Figures as inline SVG, with the text colour of the page and unique identifiers."""

from __future__ import annotations

import io
import re
from typing import Any

from bucketrank._optional import import_pyplot
from bucketrank.experiments.report.document import Figure
from bucketrank.tables import escape_html

_INK = "#010203"
"""Placeholder that is replaced by the text colour of the page; no figure uses this colour otherwise."""

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
    # Text as paths: the page looks the same with any installed fonts.
    "svg.fonttype": "path",
    # Without a salt the ids of clipping paths are random, and equal studies would give different pages.
    "svg.hashsalt": "bucketrank",
}

_IDS = re.compile(r'(\bid="|href="#|url\(#)')


def to_svg(figure: Figure, prefix: str) -> str:
    """Draw a figure as an ``svg`` element. All ids get the prefix, so that a page can contain several figures."""
    import_pyplot("a report with figures").rcParams  # noqa: B018 (raises if matplotlib is missing)
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    with rc_context(_STYLE):
        canvas = Canvas(figsize=figure.size, layout="constrained")
        figure.draw(canvas.subplots())
        stream = io.StringIO()
        canvas.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    text = _IDS.sub(rf"\g<1>{prefix}-", text)
    label = escape_html(figure.title)
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
