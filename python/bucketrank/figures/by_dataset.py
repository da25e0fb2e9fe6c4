"""Figures with one marker per dataset and method: bucket count differences and training times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._exact_numbers import unmasked
from bucketrank._validation import is_pandas
from bucketrank.figures.style import (
    height_for,
    legend_beside,
    legend_text,
    light_grid,
    looks,
    name_text,
    new_axes,
)
from bucketrank.statistics import ScoreTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import Series

__all__ = ["plot_bucket_differences", "plot_training_times"]


def plot_bucket_differences(
    differences: Any,
    mean_buckets: Mapping[str, float] | Series[float] | Sequence[float],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the difference between predicted and true numbers of buckets, per dataset and method.

    Parameters
    ----------
    differences : ScoreTable, DataFrame, mapping or array-like of shape (n_datasets, n_methods)
        Mean number of predicted minus true buckets.
    mean_buckets : mapping of str to float, Series, or sequence of shape (n_datasets,)
        Mean number of true buckets of each dataset; the datasets are sorted by it.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> differences = {"iris": {"borda": 0.3, "mc4": 1.2}, "wine": {"borda": -0.1, "mc4": 0.8}}
    >>> axes = plot_bucket_differences(differences, {"iris": 2.4, "wine": 2.9})
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['borda', 'mc4']
    """
    table = ScoreTable.of(differences)
    buckets = _by_dataset(mean_buckets, table, "mean_buckets")
    order = np.argsort(buckets, kind="stable")
    axes = new_axes(ax, (8.4, height_for(len(table.methods), 4.4)), "plot_bucket_differences")
    axes.axhline(0, color=axes.spines["bottom"].get_edgecolor(), linewidth=1)
    _draw_methods(axes, table.values[order], table.methods)
    _name_datasets(axes, [f"{name_text(table.datasets[i])} ({buckets[i]:.1f})" for i in order])
    axes.set_xlabel("dataset (mean number of buckets)")
    axes.set_ylabel("predicted − true buckets")
    light_grid(axes)
    legend_beside(axes)
    return axes


def plot_training_times(
    times: Any,
    *,
    reference: Mapping[str, float] | Series[float] | Sequence[float] | None = None,
    reference_name: str = "reference",
    ax: Axes | None = None,
) -> Axes:
    """Draw training times on a logarithmic scale, with the datasets sorted from fastest to slowest.

    Parameters
    ----------
    times : ScoreTable, DataFrame, mapping or array-like of shape (n_datasets, n_methods)
        Times in seconds; positive.
    reference : mapping of str to float, Series, or sequence of shape (n_datasets,), optional
        Times to compare with, in seconds per dataset, drawn as a line; NaN where unknown.
    reference_name : str, default "reference"
        Name of the reference in the legend.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> axes = plot_training_times({"iris": {"tree": 0.01, "forest": 0.3}, "wine": {"tree": 0.2, "forest": 5.0}})
    >>> axes.get_yscale()
    'log'
    """
    table = ScoreTable.of(times, higher_is_better=False)
    if (table.values <= 0).any():
        i, j = np.argwhere(table.values <= 0)[0]
        raise ValueError(
            f"{table.methods[j]} on {table.datasets[i]} takes {table.values[i, j]} seconds; "
            "expected a positive number"
        )
    other = None if reference is None else _by_dataset(reference, table, "reference")
    order = np.argsort(table.values.mean(axis=1), kind="stable")
    axes = new_axes(ax, (8.4, height_for(len(table.methods), 4.4)), "plot_training_times")
    axes.set_yscale("log")
    if other is not None:
        axes.plot(
            np.arange(len(order)),
            other[order],
            color="#888888",
            linewidth=5,
            alpha=0.45,
            label=legend_text(reference_name),
            solid_capstyle="round",
        )
    _draw_methods(axes, table.values[order], table.methods)
    _name_datasets(axes, [name_text(table.datasets[i]) for i in order])
    axes.set_ylabel("seconds")
    light_grid(axes)
    legend_beside(axes)
    return axes


def _draw_methods(axes: Axes, values: NDArray[np.float64], methods: tuple[str, ...]) -> None:
    look_of = looks(methods)
    centres = np.arange(len(values))
    # Shift the methods of a dataset horizontally, so that equal values do not overlap.
    shifts = np.linspace(-0.28, 0.28, len(methods))
    for j, name in enumerate(methods):
        # No lines, because the horizontal axis is categorical.
        options = look_of[name].options() | {"linestyle": "none", "markersize": 6}
        axes.plot(centres + shifts[j], values[:, j], label=legend_text(name), **options)
    for centre in centres[1:]:
        axes.axvline(centre - 0.5, color="#888888", alpha=0.3, linewidth=0.7)


def _name_datasets(axes: Axes, names: list[str]) -> None:
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_xlim(-0.6, len(names) - 0.4)


def _by_dataset(given: Any, table: ScoreTable, name: str) -> NDArray[np.float64]:
    if is_pandas(given) and set(table.datasets) <= set(map(str, getattr(given, "index", ()))):
        # Match by name, because the rows of a Series may be in another order.
        given = {str(dataset): number for dataset, number in given.items()}
    if isinstance(given, Mapping):
        absent = [dataset for dataset in table.datasets if dataset not in given]
        if absent:
            raise ValueError(
                f"{name} has no value for {', '.join(absent)}; expected one per dataset"
            )
        given = [given[dataset] for dataset in table.datasets]
    array = np.asarray(unmasked(given), dtype=np.float64)
    if array.shape != (len(table.datasets),):
        raise ValueError(
            f"{name} has shape {array.shape}; expected a number for each of {len(table.datasets)} datasets"
        )
    return array
