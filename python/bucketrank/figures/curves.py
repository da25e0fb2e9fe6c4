"""Curves of mean τ_X against β, the threshold for ties, and against the share of missing labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank._exact_numbers import unmasked
from bucketrank.figures.style import (
    AGREEMENT,
    height_for,
    legend_above,
    legend_beside,
    legend_text,
    light_grid,
    looks,
    name_text,
    new_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_accuracy", "plot_beta_curves"]


def plot_beta_curves(
    betas: ArrayLike,
    curves: Mapping[str, ArrayLike],
    *,
    missing: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw mean τ_X against β, the threshold for ties, with a marker at each maximum.

    Parameters
    ----------
    betas : array-like of shape (n_betas,)
        Increasing values of β.
    curves : mapping of str to array-like of shape (n_betas,) or (n_levels, n_betas)
        Mean τ_X per aggregator, for one or several shares of missing labels.
    missing : array-like of shape (n_levels,), optional
        Increasing shares of missing labels, from 0 to 1; needed when a curve has several levels.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Lines fade from the first level to the last; a marker shows the best β of each line.

    Examples
    --------
    >>> axes = plot_beta_curves([0, 0.5, 1], {"borda": [0.70, 0.74, 0.72], "copeland": [0.69, 0.71, 0.40]})
    >>> axes.get_xlabel()
    'β'
    """
    grid = _increasing(betas, "betas")
    levels = None if missing is None else _increasing(missing, "missing")
    rows = {
        name: _as_rows(name, values, len(grid), levels) for name, values in _named(curves).items()
    }
    axes = new_axes(ax, (7.2, 4.2), "plot_beta_curves")
    for name, look in looks(rows).items():
        options = look.options()
        marker = options.pop("marker")
        for level, values in enumerate(rows[name]):
            # Fading distinguishes the levels of an aggregator while its colour and line style stay the same.
            opacity = 1 - 0.65 * level / max(1, len(rows[name]) - 1)
            best = int(np.argmax(values))
            suffix = "" if levels is None else f" at {100 * levels[0]:.0f} % missing"
            label = f"{legend_text(name)}, best β {grid[best]:g}{suffix}" if level == 0 else None
            axes.plot(
                grid,
                values,
                alpha=opacity,
                label=label,
                marker=marker,
                markevery=[best],
                **options,
            )
    if levels is not None and len(levels) > 1:
        _name_levels(axes, grid, next(iter(rows.values())), levels)
    axes.set_xlabel("β")
    axes.set_ylabel(f"mean {AGREEMENT}")
    light_grid(axes)
    legend_above(axes)
    return axes


def plot_accuracy(
    missing: ArrayLike,
    curves: Mapping[str, ArrayLike],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw mean τ_X against the share of missing labels.

    Parameters
    ----------
    missing : array-like of shape (n_levels,)
        Increasing shares of missing labels, from 0 to 1.
    curves : mapping of str to array-like of shape (n_levels,)
        Mean τ_X per method.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        One line per method, or per group of methods whose curves are equal to three decimals; the legend is sorted by
        the mean of the line, best first.

    Examples
    --------
    >>> axes = plot_accuracy([0, 0.3, 0.6], {"borda": [0.77, 0.75, 0.70], "mc4": [0.70, 0.66, 0.61]})
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['borda', 'mc4']
    """
    levels = _increasing(missing, "missing")
    rows = {
        name: _as_rows(name, values, len(levels), None)[0]
        for name, values in _named(curves).items()
    }
    axes = new_axes(ax, (7.2, height_for(len(rows), 4.2)), "plot_accuracy")
    look_of = looks(rows)
    for names in _group_equal_curves(rows):
        look = look_of[names[0]].options()
        axes.plot(
            100 * levels,
            rows[names[0]],
            label=", ".join([legend_text(names[0]), *map(name_text, names[1:])]),
            markersize=6,
            **look,
        )
    axes.set_xlabel("missing labels (%)")
    axes.set_ylabel(f"mean {AGREEMENT}")
    axes.set_xticks(100 * levels)
    light_grid(axes)
    legend_beside(axes)
    return axes


def _group_equal_curves(rows: Mapping[str, NDArray[np.float64]]) -> list[list[str]]:
    """Return groups of names whose curves are equal to three decimals, the highest mean first."""
    groups: dict[tuple[float, ...], list[str]] = {}
    for name in sorted(rows, key=lambda name: -rows[name].mean()):
        groups.setdefault(tuple(rows[name].round(3).tolist()), []).append(name)
    return list(groups.values())


def _name_levels(
    axes: Axes, grid: NDArray[np.float64], rows: NDArray[np.float64], levels: NDArray[np.float64]
) -> None:
    """Write the share of missing labels next to the start of the first and the last line."""
    for level in (0, len(levels) - 1):
        axes.annotate(
            f"{100 * levels[level]:.0f} % missing",
            (grid[0], rows[level, 0]),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize="small",
        )
    room = (grid[-1] - grid[0]) * 0.16
    axes.set_xlim(grid[0] - room, grid[-1] + 0.02 * (grid[-1] - grid[0]))


def _named(curves: Any) -> Mapping[str, ArrayLike]:
    if not isinstance(curves, Mapping):
        raise TypeError(f"curves is {curves!r:.60}; expected a mapping from names to values")
    if not curves:
        raise ValueError("found 0 curves; expected at least one")
    return curves


def _increasing(values: Any, name: str) -> NDArray[np.float64]:
    array = np.asarray(unmasked(values), dtype=np.float64)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"{name} has shape {array.shape}; expected one dimension, not empty")
    if not np.isfinite(array).all() or (np.diff(array) <= 0).any():
        raise ValueError(f"{name} is {array.tolist()}; expected finite, increasing numbers")
    return array


def _as_rows(
    name: str, values: Any, points: int, levels: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    array = np.atleast_2d(np.asarray(unmasked(values), dtype=np.float64))
    expected = (1 if levels is None else len(levels), points)
    if array.shape != expected:
        raise ValueError(f"curve {name!r} has shape {array.shape}; expected {expected}")
    if not np.isfinite(array).all():
        level, point = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(
            f"curve {name!r}, level {level}, point {point}: {array[level, point]}; expected a finite number"
        )
    return array
