"""Figures of rankings and experiments, drawn with matplotlib (``pip install 'bucketrank[plot]'``).

Every function draws on the given axes or on a new figure, and returns the axes. The colours are the colour-blind safe
palette of Okabe and Ito; markers and line styles distinguish the methods in greyscale print.
"""

from __future__ import annotations

from bucketrank.figures.board import plot_pair_outcomes, plot_score_intervals
from bucketrank.figures.by_dataset import plot_bucket_differences, plot_training_times
from bucketrank.figures.critical_difference import plot_critical_difference
from bucketrank.figures.curves import plot_accuracy, plot_beta_curves
from bucketrank.figures.label_effects import plot_label_effects
from bucketrank.figures.pair_order import plot_pair_order
from bucketrank.figures.reliability import plot_reliability

__all__ = [
    "plot_accuracy",
    "plot_beta_curves",
    "plot_bucket_differences",
    "plot_critical_difference",
    "plot_label_effects",
    "plot_pair_order",
    "plot_pair_outcomes",
    "plot_reliability",
    "plot_score_intervals",
    "plot_training_times",
]
