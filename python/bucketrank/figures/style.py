"""Style of the figures: colour-blind safe colours, with markers and line styles for greyscale print."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bucketrank._optional import import_pyplot
from bucketrank.aggregation import METHODS
from bucketrank.tables import escape_mathtext

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Look", "legend_text", "looks", "name_text", "new_axes"]

# The palette of Okabe and Ito (2008) without yellow, which has too little contrast on paper; grey is the eighth. None
# is the text colour, so that the line is visible on a dark background, too.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", None, "#888888")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h")
_LINES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (5, 1.5, 1.5, 1.5)),
    (0, (8, 3)),
)

AGREEMENT = r"$\tau_X$"
"""Symbol of the rank correlation, in matplotlib's math notation."""

_LONGEST_NAME = 60
"""Longest name that is drawn in full by default: a longer one would leave no room for the figure."""


@dataclass(frozen=True)
class Look:
    """Colour, marker and line style of a method; the combination is unique in a figure.

    Attributes
    ----------
    colour : str or None
        A colour of matplotlib; None is the text colour.
    marker : str
        A marker of matplotlib.
    line : str or tuple
        A line style of matplotlib.
    """

    colour: str | None
    marker: str
    line: Any

    def options(self) -> dict[str, Any]:
        """Return the style as keyword arguments of matplotlib's plot."""
        from matplotlib import rcParams

        colour = rcParams["text.color"] if self.colour is None else self.colour
        return {"color": colour, "marker": self.marker, "linestyle": self.line, "linewidth": 1.4}


def looks(names: Iterable[str]) -> dict[str, Look]:
    """Return a style for each method, by its name.

    The aggregators of this package have the same style in every figure; other names get the remaining styles, in the
    given order.

    Examples
    --------
    >>> looks(["borda"])["borda"] == looks(["mc1", "borda"])["borda"]
    True
    >>> len(set(looks(map(str, range(40))).values()))
    40
    """
    wanted = list(dict.fromkeys(names))
    known = {name: index for index, name in enumerate(METHODS)}
    taken = {known[name] for name in wanted if name in known}
    free = iter(i for i in range(len(taken) + len(wanted)) if i not in taken)
    return {name: _look(known[name] if name in known else next(free)) for name in wanted}


def _look(index: int) -> Look:
    # 8 colours, 12 markers and 5 lines repeat together only after 120 indices.
    return Look(
        _COLOURS[index % len(_COLOURS)],
        _MARKERS[index % len(_MARKERS)],
        _LINES[index % len(_LINES)],
    )


def name_text(name: object, longest: int = _LONGEST_NAME) -> str:
    r"""Return a name as it is drawn: as text, never as a formula, and cut if it is very long.

    Examples
    --------
    >>> name_text("$x$"), name_text("esc\x1b")
    ('\\$x\\$', 'esc\\x1b')
    """
    text = str(name)
    return escape_mathtext(text if len(text) <= longest else f"{text[: longest - 3]}...")


def legend_text(name: object) -> str:
    r"""Return a name as it is drawn in a legend, from which matplotlib leaves out names that begin with an underscore.

    Examples
    --------
    >>> legend_text("borda"), legend_text("_own")
    ('borda', '$\\_$own')
    """
    text = name_text(name)
    return rf"$\_${text[1:]}" if text.startswith("_") else text


def new_axes(ax: Axes | None, size: tuple[float, float], caller: str) -> Axes:
    """Return `ax`, or the axes of a new figure of `size` inches."""
    module = import_pyplot(caller)
    if ax is None:
        _, ax = module.subplots(figsize=size, layout="constrained")
    if not hasattr(ax, "plot"):
        raise TypeError(f"ax is {ax!r:.60}; expected matplotlib axes")
    axes: Axes = ax
    return axes


def height_for(methods: int, least: float) -> float:
    """Return a figure height in inches, of at least `least`, that fits a legend of `methods` entries."""
    return max(least, 0.6 + 0.21 * methods)


def legend_above(ax: Axes) -> None:
    """Put the legend above the axes, with two columns."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, ncols=2, handlelength=3)


def legend_beside(ax: Axes) -> None:
    """Put the legend to the right of the axes."""
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, handlelength=3.2)


def light_grid(ax: Axes) -> None:
    """Draw horizontal grid lines behind the data, and remove the top and right spines."""
    ax.grid(axis="y", alpha=0.25, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
