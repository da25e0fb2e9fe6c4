"""Warnings about studies whose data are too few for what a report shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bucketrank.tables import pluralize

if TYPE_CHECKING:
    from bucketrank.experiments.study import Study

__all__ = ["few_data_warning"]

_FEW_RESULTS = 10
"""Below this many folds in total, the interval of a mean is wide and its width uncertain."""

_FEW_DATASETS = 5
"""Below this many datasets, tests across datasets have almost no power."""


def few_data_warning(study: Study) -> str:
    """Return a warning about few folds or few datasets; empty if there are enough."""
    repeats, folds = int(study.settings["n_repeats"]), int(study.settings["n_folds"])
    sentences = []
    if repeats * folds < _FEW_RESULTS:
        sentences.append(
            f"Every mean is over {pluralize(repeats * folds, 'fold')} only: intervals are wide, and differences may "
            "reverse with other folds."
        )
    if len(study.methods) > 1 and len(study.datasets) < _FEW_DATASETS:
        sentences.append(
            f"Tests across datasets have almost no power with {pluralize(len(study.datasets), 'dataset')}: that no "
            "difference is shown does not mean that there is none."
        )
    return " ".join(sentences)
