"""Colours of the nodes of a drawn tree: the hue shows the best label, pale colours mean mixed rankings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bucketrank.aggregation import TauX

if TYPE_CHECKING:
    from bucketrank.estimators.tree import PartialLabelRankingTree

__all__ = ["OTHER_LABELS", "NodeColours", "node_colours"]

# The palette of Okabe and Ito (2008) without black, on which text cannot be read.
_PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")
_GREY = "#888888"
_PALEST, _STRONGEST = 0.15, 0.75
"""Share of the hue in its mixture with white: in nodes at least as impure as the root, and in pure nodes."""

_MOST_TIED = 3
"""Largest number of labels tied for first whose hues are mixed."""

OTHER_LABELS = -1
"""Key of grey in `NodeColours.by_label`: labels without a colour of their own, or too many labels tied for first."""


class NodeColours(NamedTuple):
    """Fill colours of nodes, and the colour of each label at full strength."""

    by_node: dict[int, str]
    by_label: dict[int, str]


def node_colours(tree: PartialLabelRankingTree, nodes: NDArray[np.int64]) -> NodeColours:
    """Return the colours of nodes of a fitted tree.

    A node has the colour of the first label of its consensus, the bucket order that an aggregator makes of its
    rankings, or the mean colour of two or three labels that are tied
    for the first place; it is grey if more than three labels, or all, are tied. Inner nodes are aggregated by
    :class:`bucketrank.TauX`. The stronger the colour, the smaller the impurity compared with the root. Labels that
    are first in the most rows have their own colours; the others are grey.
    """
    node_arrays = tree.tree_.nodes()
    first = [_first_labels(row) for row in _consensus(tree, nodes)]
    rows_of_label: Counter[int] = Counter()
    for node, labels in zip(nodes.tolist(), first, strict=True):
        for label in labels:
            rows_of_label[label] += int(node_arrays["rows"][node])
    most_rows_first = sorted(rows_of_label, key=lambda label: (-rows_of_label[label], label))
    by_label = dict(zip(sorted(most_rows_first[: len(_PALETTE)]), _PALETTE, strict=False))
    impurity = node_arrays["impurity"]
    by_node = {}
    for node, labels in zip(nodes.tolist(), first, strict=True):
        strength = _strength(float(impurity[node]), float(impurity[0]))
        hues = [by_label.get(label, _GREY) for label in labels] or [_GREY]
        by_node[node] = _tint(hues, strength)
    if not all(labels and by_label.keys() >= set(labels) for labels in first):
        by_label[OTHER_LABELS] = _GREY
    return NodeColours(by_node, by_label)


def _first_labels(positions: NDArray[np.int64]) -> list[int]:
    """Return the labels in the first bucket; none if there are more than three, or if all labels are tied."""
    labels: list[int] = np.flatnonzero(positions == 1).tolist()
    return [] if len(labels) > _MOST_TIED or len(labels) == len(positions) else labels


def _strength(impurity: float, root_impurity: float) -> float:
    """Return the share of the hue in the colour of a node."""
    mixed = min(1.0, impurity / root_impurity) if root_impurity > 0 else 0.0
    return _PALEST + (_STRONGEST - _PALEST) * (1 - mixed)


def _consensus(tree: PartialLabelRankingTree, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of the labels in each node: as the tree predicts in a leaf, by TauX in an inner node."""
    positions = tree.tree_.consensus(tree.aggregator_._spec(), nodes, 1, tree._smoothing)
    inner = ~np.isin(nodes, tree.tree_.leaves())
    if inner.any():
        shares = tree.tree_.pair_shares(("none", 0.0), nodes[inner])
        positions[inner] = TauX().aggregate_pair_shares(shares)
    return positions


def _tint(hues: list[str], strength: float) -> str:
    """Return the mean of colours, mixed with white."""
    channels = np.array([[int(hue[i : i + 2], 16) for i in (1, 3, 5)] for hue in hues])
    mixed = 255 + strength * (channels.mean(axis=0) - 255)
    return "#" + "".join(f"{round(channel):02X}" for channel in mixed.tolist())
