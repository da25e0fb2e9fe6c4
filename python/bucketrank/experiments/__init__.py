"""Experiments: compare methods over datasets, missing labels and folds.

:func:`compare` runs a study; :func:`cross_validate` does the same for one dataset given as arrays. The result is a
:class:`Study`: a tidy table with summaries.
"""

from __future__ import annotations

from bucketrank.aggregation import PAPER_AGGREGATORS
from bucketrank.experiments.beta_recommender import BetaRecommender
from bucketrank.experiments.beta_study import BetaStudy, beta_study
from bucketrank.experiments.comparison import compare, cross_validate
from bucketrank.experiments.job import JobError
from bucketrank.experiments.store import StoreError
from bucketrank.experiments.study import Study
from bucketrank.experiments.summary import Summary

__all__ = [
    "PAPER_AGGREGATORS",
    "BetaRecommender",
    "BetaStudy",
    "JobError",
    "StoreError",
    "Study",
    "Summary",
    "beta_study",
    "compare",
    "cross_validate",
]
