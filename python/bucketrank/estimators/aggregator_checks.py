"""Checks whether a tree or a forest can use an aggregator.

Without smoothing, the leaves of a tree keep rankings. After smoothing, and in a forest, only pair shares are left: for
each pair of labels, the shares of rankings that place the first before, tied with, or after the second.
"""

from __future__ import annotations

from bucketrank.aggregation import Aggregator
from bucketrank.aggregation.base import PAIR_SHARE_AGGREGATORS

__all__ = ["check_for_forest", "check_for_tree"]


def check_for_tree(aggregator: Aggregator, smoothing: tuple[str, float] | None) -> Aggregator:
    """Return the aggregator, or raise when it needs rankings and the leaves only have smoothed pair shares."""
    if smoothing is not None and aggregator._needs == "rankings":
        raise ValueError(
            f"{aggregator!r} needs rankings, but leaves with shrinkage or soft routing only have shares of before, "
            f"tied and after; expected {PAIR_SHARE_AGGREGATORS}"
        )
    return aggregator


def check_for_forest(aggregator: Aggregator) -> Aggregator:
    """Return the aggregator, or raise when it needs rankings: a forest only has averaged pair shares."""
    if aggregator._needs == "rankings":
        raise ValueError(
            f"{aggregator!r} needs rankings, but a forest averages shares of before, tied and after; "
            f"expected {PAIR_SHARE_AGGREGATORS}"
        )
    if getattr(aggregator, "beta", None) == "auto":
        raise ValueError(
            f"{aggregator!r} has beta 'auto', a threshold for ties that only a tree chooses; "
            "expected a number for a forest"
        )
    return aggregator
