"""Reliability diagrams of predicted pair shares.

The pair shares are the probabilities that the first label of a pair is before, tied with, or after the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bucketrank.calibration import ReliabilityCurve
from bucketrank.figures.style import (
    legend_above,
    legend_text,
    light_grid,
    looks,
    new_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_reliability"]


def plot_reliability(
    curves: ReliabilityCurve | Mapping[str, ReliabilityCurve], *, ax: Axes | None = None
) -> Axes:
    """Draw observed frequencies against predicted shares; the diagonal is perfect calibration.

    Parameters
    ----------
    curves : ReliabilityCurve or mapping of str to ReliabilityCurve
        Results of :func:`bucketrank.calibration.reliability_curve`, by name.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        One line per curve, with markers whose area grows with the weight of their bin. The legend gives the expected
        calibration error.

    Examples
    --------
    >>> from bucketrank.calibration import reliability_curve
    >>> shares = [[[0.8, 0.1, 0.1]], [[0.2, 0.2, 0.6]]]
    >>> axes = plot_reliability({"model": reliability_curve([[1, 2], [2, 1]], shares)})
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('predicted share', 'observed frequency')
    """
    named = {"": curves} if isinstance(curves, ReliabilityCurve) else dict(curves)
    if not named:
        raise ValueError("curves is empty; expected at least one curve")
    for name, curve in named.items():
        if not isinstance(curve, ReliabilityCurve):
            raise TypeError(f"curve {name!r} is {curve!r:.60}; expected a ReliabilityCurve")
    axes = new_axes(ax, (4.8, 4.8), "plot_reliability")
    axes.plot([0, 1], [0, 1], color="#888888", linewidth=1, label="_diagonal")
    for name, look in looks(named).items():
        curve = named[name]
        filled = curve.weight > 0
        options = look.options()
        marker = options.pop("marker")
        label = (
            f"{legend_text(name)}, error {curve.error:.3f}" if name else f"error {curve.error:.3f}"
        )
        axes.plot(curve.predicted[filled], curve.observed[filled], label=label, **options)
        sizes = 15 + 85 * curve.weight[filled] / curve.weight.max()
        axes.scatter(
            curve.predicted[filled],
            curve.observed[filled],
            s=sizes,
            color=options["color"],
            marker=marker,
            zorder=3,
        )
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    axes.set_xlabel("predicted share")
    axes.set_ylabel("observed frequency")
    light_grid(axes)
    legend_above(axes)
    return axes
