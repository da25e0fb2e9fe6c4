"""A heat map of a pair order matrix, with a consensus of its labels.

Entry (u, v) of the matrix is the share of rankings that place label u before label v, where ties count half.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bucketrank._validation import NUMBERS, as_number_array, is_pandas, label_names
from bucketrank.aggregation import Aggregator, get_aggregator
from bucketrank.figures.style import name_text, new_axes
from bucketrank.notation import to_display_text
from bucketrank.tables import escape_mathtext

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_pair_order"]

_MAX_LABELS_WITH_NUMBERS = 12
"""Largest number of labels for which every cell shows its number."""


def plot_pair_order(
    C: Any,
    consensus: str | Aggregator | Any = "borda",
    *,
    labels: Sequence[Hashable] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a pair order matrix as a heat map, sorted by a consensus.

    Parameters
    ----------
    C : array-like or DataFrame of shape (n_labels, n_labels)
        A pair order matrix; see :func:`bucketrank.pair_order_matrix`.
    consensus : str, Aggregator, or array-like of shape (n_labels,), default "borda"
        An aggregator that works from a pair order matrix, or positions of the labels.
    labels : sequence, optional
        Names of the labels; by default a data frame's columns, or 0, 1, ...
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Rows and columns are sorted by the consensus and its buckets are framed; the title is the consensus as text.

    Examples
    --------
    >>> from bucketrank import pair_order_matrix
    >>> C = pair_order_matrix([[1, 2, 3], [1, 3, 2], [2, 1, 3]])
    >>> axes = plot_pair_order(C, "copeland", labels=["tea", "coffee", "juice"])
    >>> [text.get_text() for text in axes.get_yticklabels()]
    ['tea', 'coffee', 'juice']
    """
    matrix = np.asarray(as_number_array(C, "C", entries=NUMBERS), dtype=np.float64)
    # Aggregating also validates the matrix, so it is done even when positions are given.
    aggregator = get_aggregator(consensus) if isinstance(consensus, (str, Aggregator)) else None
    computed = (aggregator or get_aggregator("borda")).aggregate_pair_order(matrix)
    positions = computed if aggregator is not None else np.asarray(consensus)
    if positions.shape != (len(matrix),):
        raise ValueError(
            f"consensus has shape {positions.shape}; expected a position for each of {len(matrix)} labels"
        )
    if positions.dtype.kind not in "iuf" or not np.isfinite(positions).all():
        raise ValueError(f"consensus is {positions.tolist()}; expected a finite number per label")
    names = label_names(C if is_pandas(C) else None, labels, len(matrix))
    given = list(getattr(consensus, "index", ())) if is_pandas(consensus) else names
    if is_pandas(C) and given != list(C.columns) and given != names:
        raise ValueError(
            f"consensus has the labels {given} but C has {list(C.columns)}; expected the same labels in the same order"
        )
    order = np.argsort(positions, kind="stable")
    side = min(9.0, 2.6 + 0.4 * len(matrix))
    axes = new_axes(ax, (side + 1, side), "plot_pair_order")
    image = axes.imshow(matrix[np.ix_(order, order)], cmap="cividis", vmin=0, vmax=1)
    texts = [name_text(names[i]) for i in order]
    axes.set_xticks(range(len(texts)), texts, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(texts)), texts)
    axes.set_xlabel("... before this label")
    axes.set_ylabel("this label ...")
    if len(matrix) <= _MAX_LABELS_WITH_NUMBERS:
        _write_numbers(axes, matrix[np.ix_(order, order)])
    _frame_buckets(axes, positions[order])
    axes.set_title(
        escape_mathtext(_shorten(to_display_text(positions, names))), fontsize="medium", pad=10
    )
    axes.figure.colorbar(image, ax=axes, label="share, ties counting half", shrink=0.8)
    return axes


def _write_numbers(axes: Axes, matrix: Any) -> None:
    for (i, j), share in np.ndenumerate(matrix):
        if i != j:
            # Dark text on light cells, light text on dark cells.
            ink = "black" if share > 0.5 else "white"
            axes.text(j, i, f"{share:.2f}", ha="center", va="center", color=ink, fontsize="small")


def _frame_buckets(axes: Axes, positions: Any) -> None:
    from matplotlib.patches import Rectangle

    for position in np.unique(positions):
        members = np.flatnonzero(positions == position)
        corner = (members[0] - 0.5, members[0] - 0.5)
        frame = Rectangle(
            corner, len(members), len(members), fill=False, edgecolor="#D55E00", linewidth=2.5
        )
        axes.add_patch(frame)


def _shorten(text: str) -> str:
    return text if len(text) <= 70 else text[:67] + "..."
