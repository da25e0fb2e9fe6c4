"""Run a single job (one learner on one fold of one dataset): the data of the fold, and the results of the learner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bucketrank import _core
from bucketrank._validation import zeros_to_nan
from bucketrank.aggregation import get_aggregator
from bucketrank.aggregation.base import Spec
from bucketrank.datasets import Dataset
from bucketrank.estimators.beta_search import with_default_beta
from bucketrank.estimators.tree_parameters import tree_options
from bucketrank.experiments.learners import Fold, Learner, Outcome, RankerLearner, TreeLearner
from bucketrank.experiments.plan import Job

FinishedCallback = Callable[[Job, list[Outcome]], None]
"""Callback that receives the results of a finished job, one per method of its learner."""


class JobError(RuntimeError):
    """A job of a study failed; the message names the job. Results of finished jobs stay in the store, if there is one.

    Examples
    --------
    >>> from bucketrank.experiments import JobError
    >>> issubclass(JobError, RuntimeError)
    True
    """


def job_error(job: Job, reason: object) -> JobError:
    """Return the error for a failed job."""
    return JobError(f"job failed ({job}): {reason}")


def run_job(data: Dataset, job: Job, learner: Learner, n_folds: int, seed: int) -> list[Outcome]:
    """Run one job and return its results. `seed` is the seed of the dataset."""
    if isinstance(learner, RankerLearner):
        return learner.evaluate(training_fold(data, job, n_folds, seed))
    results: list[list[Outcome]] = []
    engine = TreeJobs(learner, n_folds)
    engine.add(data, job, seed)
    engine.run(1, lambda _job, outcomes: results.append(outcomes))
    return results[0]


def training_fold(data: Dataset, job: Job, n_folds: int, seed: int) -> Fold:
    """Return the data of a job, with the same rows and the same missing labels as the Rust engine uses for trees."""
    folds = _core.fold_of_rows(data.n_samples, n_folds, seed, job.repeat)
    held_out = folds == job.fold
    missing_seed, learner_seed = _core.split_seeds(seed, job.missing, job.repeat, job.fold)
    Y = data.Y[~held_out]
    if job.missing > 0:
        # The core writes 0 for dropped labels.
        Y = np.asarray(
            zeros_to_nan(_core.drop_labels(Y, job.missing, missing_seed)), dtype=np.float64
        )
    test_rows = np.flatnonzero(held_out)
    return Fold(data.X[~held_out], Y, data.X[test_rows], data.Y[test_rows], test_rows, learner_seed)


class TreeJobs:
    """Jobs of a tree learner in the format of the Rust engine: jobs refer to data and parameters by index."""

    def __init__(self, learner: TreeLearner, n_folds: int) -> None:
        self.learner = learner
        self.n_folds = n_folds
        self.jobs: list[Job] = []
        # Per job: index of the problem, missing, repeat, fold, index of the tree, and index of the aggregators.
        self.tasks: list[tuple[int, float, int, int, int, int]] = []
        # Per name of a dataset: its index, and the dataset as the engine holds it (a problem).
        self.problems: dict[str, tuple[int, _core.Problem]] = {}
        # Per shape of the training data: the index and the options of the tree.
        self.trees: dict[tuple[int, int, int], tuple[int, Any]] = {}
        # One list of aggregators for all jobs if these are the same on every fold, else one list per job.
        self.aggregators: list[list[Spec]] = []
        if learner.has_fixed_aggregators:
            self.aggregators.append(learner.specs_for(None))

    def add(self, data: Dataset, job: Job, seed: int) -> None:
        """Add a job. `seed` is the seed of the dataset."""
        if job.dataset not in self.problems:
            problem = _core.Problem(data.X, data.Y, None, seed)
            self.problems[job.dataset] = (len(self.problems), problem)
        # If the folds cannot be equally large, the first ones have one row more.
        has_extra_row = job.fold < data.n_samples % self.n_folds
        size = (data.n_samples - data.n_samples // self.n_folds - has_extra_row, *data.X.shape[1:])
        key = (*size, data.n_labels)
        if key not in self.trees:
            options = tree_options(self.learner.tree, size, data.n_labels)
            self.trees[key] = (len(self.trees), options)
        self.jobs.append(job)
        problem_index, tree_index = self.problems[job.dataset][0], self.trees[key][0]
        if not self.learner.has_fixed_aggregators:
            fold = training_fold(data, job, self.n_folds, seed)
            self.aggregators.append(self.learner.specs_for(fold))
        aggregators_index = len(self.aggregators) - 1
        split = (job.missing, job.repeat, job.fold)
        self.tasks.append((problem_index, *split, tree_index, aggregators_index))

    def run(self, n_jobs: int, finished: FinishedCallback) -> None:
        """Run the jobs with `n_jobs` threads, and call `finished` after each."""
        if not self.jobs:
            return
        failure = _core.cross_validate(
            [problem for _, problem in self.problems.values()],
            self.tasks,
            {
                "trees": [options for _, options in self.trees.values()],
                # A threshold for ties, beta, that is chosen from data has its default value while the tree grows.
                "tree_aggregator": with_default_beta(
                    get_aggregator(self.learner.tree.aggregator)
                )._spec(),
                "aggregators": self.aggregators,
            },
            self.n_folds,
            n_jobs,
            lambda index, row: finished(self.jobs[index], _outcomes(*row)),
        )
        if failure is not None:
            index, reason = failure
            raise job_error(self.jobs[index], reason)


def _outcomes(
    leaves: int,
    depth: int,
    tree_seconds: float,
    buckets_true: float,
    rows: list[tuple[float, float, float]],
) -> list[Outcome]:
    """Return one outcome per aggregator; `rows` holds tau_x, number of buckets and seconds of each."""
    return [
        Outcome(tau_x, buckets, buckets_true, leaves, depth, tree_seconds, seconds)
        for tau_x, buckets, seconds in rows
    ]
