"""Escaping of text for each output format, so that names in data are shown and never interpreted."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from typing import Any

__all__ = [
    "escape_csv",
    "escape_html",
    "escape_latex",
    "escape_markdown",
    "escape_mathtext",
    "escape_text",
    "to_json_text",
]

# Bidirectional overrides and line separators reorder or break the text around them.
_INVISIBLE = {
    "\u2028",
    "\u2029",
    *map(chr, range(0x202A, 0x202F)),
    *map(chr, range(0x2066, 0x206A)),
}

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    # At the start of a row of a table, LaTeX would read these as arguments of the line break before it.
    "[": "{[}",
    "*": "{*}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "τ": r"$\tau$",
    "β": r"$\beta$",
    "χ": r"$\chi$",
    "²": r"$^2$",
    "×": r"$\times$",
    "−": "$-$",
    "–": "--",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}

_MARKDOWN = {
    **{letter: f"\\{letter}" for letter in "\\|*_`$#[]~"},
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
}

# Characters that json.dumps does not escape, although they control a terminal, reorder text or cannot be encoded.
_UNSAFE_IN_JSON = re.compile(f"[\x7f-\x9f\ud800-\udfff{''.join(_INVISIBLE)}]")

_FORMULA = re.compile(r"[=+\-@\t\r]")


def escape_text(text: str) -> str:
    r"""Replace control characters in `text` by visible escapes such as ``\x1b``, for terminals.

    Examples
    --------
    >>> escape_text("bucket_pivot"), escape_text("\x1b[2J")
    ('bucket_pivot', '\\x1b[2J')
    """
    if text.isprintable():
        return text
    return "".join(
        letter.encode("unicode_escape").decode("ascii")
        if letter in _INVISIBLE or unicodedata.category(letter) in ("Cc", "Cs")
        else letter
        for letter in text
    )


def to_json_text(value: Any) -> str:
    r"""Return `value` as indented JSON; letters stay readable, and characters that control a terminal are escaped.

    Examples
    --------
    >>> print(to_json_text(["é", "\u202e"]))
    [
      "é",
      "\u202e"
    ]
    """
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def escape_csv(value: Any) -> Any:
    """Return a CSV cell that spreadsheets read as text: formulas get a leading apostrophe, numbers stay.

    Examples
    --------
    >>> escape_csv("=1+1"), escape_csv(-1.5), escape_csv("-1.5"), escape_csv("iris")
    ("'=1+1", -1.5, '-1.5', 'iris')
    """
    if not isinstance(value, str):
        return value
    text = escape_text(value)
    return f"'{text}" if _FORMULA.match(value) and not _is_number(value) else text


def escape_latex(text: str) -> str:
    r"""Escape all LaTeX special characters in `text`; ``τ_X`` becomes the symbol.

    Examples
    --------
    >>> escape_latex("bucket_pivot, 30 %")
    'bucket\\_pivot, 30 \\%'
    """
    parts = escape_text(text).split("τ_X")
    return r"$\tau_X$".join(
        "".join(_LATEX.get(letter, letter) for letter in part) for part in parts
    )


def escape_markdown(text: str) -> str:
    r"""Escape Markdown markup and HTML in `text`.

    Examples
    --------
    >>> escape_markdown("<b>a_b</b>")
    '&lt;b&gt;a\\_b&lt;/b&gt;'
    """
    return "".join(_MARKDOWN.get(letter, letter) for letter in escape_text(text))


def escape_mathtext(text: str) -> str:
    r"""Escape dollar signs in `text`, which delimit formulas in figures of matplotlib.

    Examples
    --------
    >>> escape_mathtext("$x$")
    '\\$x\\$'
    """
    return escape_text(text).replace("$", r"\$")


def escape_html(text: str) -> str:
    """Escape HTML markup and both quotes in `text`.

    Examples
    --------
    >>> escape_html("<b>")
    '&lt;b&gt;'
    """
    return html.escape(escape_text(text), quote=True)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
