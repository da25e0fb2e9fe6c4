"""Figures of rankings and experiments, drawn with matplotlib (``pip install 'bucketrank[plot]'``).

Every function takes plain numbers, draws on the axes that it is given or on a new figure, and returns the axes. Colours
are those of Okabe and Ito, which most people can tell apart; markers and line styles carry the same information for
print in grey.
"""

from __future__ import annotations

from bucketrank.figures.by_dataset import plot_bucket_differences, plot_training_times
from bucketrank.figures.critical_difference import plot_critical_difference
from bucketrank.figures.curves import plot_accuracy, plot_beta_curves
from bucketrank.figures.pair_order import plot_pair_order

__all__ = [
    "plot_accuracy",
    "plot_beta_curves",
    "plot_bucket_differences",
    "plot_critical_difference",
    "plot_pair_order",
    "plot_training_times",
]
