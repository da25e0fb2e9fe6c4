"""How figures look: colours that most people can tell apart, and shapes for those who print in grey."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bucketrank._optional import pyplot
from bucketrank.aggregation import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Look", "looks", "new_axes"]

# The palette of Okabe and Ito (2008), without the yellow that vanishes on paper; grey is the eighth. None is the
# colour of text, so that the line is seen on a dark ground too.
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
"""The measure of agreement, as matplotlib writes formulas."""


@dataclass(frozen=True)
class Look:
    """How one method is drawn: no two methods of a figure share colour, marker and line all at once.

    Attributes
    ----------
    colour : str or None
        None is the colour of text.
    marker : str
        A marker of matplotlib.
    line : str or tuple
        A line style of matplotlib.
    """

    colour: str | None
    marker: str
    line: Any

    def options(self) -> dict[str, Any]:
        """Return the look as what matplotlib's plot takes."""
        from matplotlib import rcParams

        colour = rcParams["text.color"] if self.colour is None else self.colour
        return {"color": colour, "marker": self.marker, "linestyle": self.line, "linewidth": 1.4}


def looks(names: Iterable[str]) -> dict[str, Look]:
    """Return a look for each method.

    The aggregators look the same in every figure; other names take what is left, in their order.

    Parameters
    ----------
    names : iterable of str
        Names of methods.

    Returns
    -------
    dict of str to Look

    Examples
    --------
    >>> looks(["borda"])["borda"] == looks(["mc1", "borda"])["borda"]
    True
    >>> len(set(looks(map(str, range(40))).values()))
    40
    """
    wanted = list(dict.fromkeys(names))
    known = {name: number for number, name in enumerate(METHODS)}
    taken = {known[name] for name in wanted if name in known}
    free = iter(i for i in range(len(taken) + len(wanted)) if i not in taken)
    return {name: _look(known[name] if name in known else next(free)) for name in wanted}


def _look(number: int) -> Look:
    # 8 colours, 12 markers and 5 lines repeat together only after 120 methods.
    return Look(
        _COLOURS[number % len(_COLOURS)],
        _MARKERS[number % len(_MARKERS)],
        _LINES[number % len(_LINES)],
    )


def new_axes(ax: Axes | None, size: tuple[float, float], wanted_by: str) -> Axes:
    """Return the axes to draw on: those given, or those of a new figure of a size in inches."""
    module = pyplot(wanted_by)
    if ax is None:
        _, ax = module.subplots(figsize=size, layout="constrained")
    if not hasattr(ax, "plot"):
        raise TypeError(f"ax is {ax!r:.60}; expected matplotlib axes")
    axes: Axes = ax
    return axes


def height_for(methods: int, least: float) -> float:
    """Return a height in inches that leaves room for a legend of so many methods beside the axes."""
    return max(least, 0.6 + 0.21 * methods)


def legend_above(ax: Axes) -> None:
    """Put the legend above the axes, two entries a line."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, ncols=2, handlelength=3)


def legend_beside(ax: Axes) -> None:
    """Put the legend to the right of the axes, where it hides nothing."""
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, handlelength=3.2)


def light_grid(ax: Axes) -> None:
    """Draw horizontal lines behind the data, and only the two spines that carry numbers."""
    ax.grid(axis="y", alpha=0.25, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
