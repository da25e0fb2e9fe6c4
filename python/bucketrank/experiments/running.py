"""Doing the jobs of a plan on this machine: trees in the engine, other rankers through joblib."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bucketrank import _core
from bucketrank._tree_parameters import tree_options
from bucketrank._validation import with_missing
from bucketrank.datasets import Dataset
from bucketrank.experiments.learners import Fold, Learner, Outcome, RankerLearner, TreeLearner
from bucketrank.experiments.plan import Job, Plan

Finished = Callable[[Job, list[Outcome]], None]
"""Takes the results of a job, one for each method of its learner."""


class JobError(RuntimeError):
    """A job of a study failed; the message names it. Jobs that had been finished are kept in the store."""


def failed(job: Job, reason: object) -> JobError:
    """Return the error of a job."""
    return JobError(f"job failed ({job}): {reason}")


def run_here(plan: Plan, jobs: list[Job], n_jobs: int, finished: Finished) -> None:
    """Do the jobs with so many threads, or processes for rankers other than the tree."""
    for name, learner in plan.learners.items():
        own = [job for job in jobs if job.learner == name]
        if isinstance(learner, TreeLearner):
            _run_trees(plan, learner, own, n_jobs, finished)
        else:
            _run_rankers(plan, learner, own, n_jobs, finished)


def largest_first(plan: Plan, jobs: Iterable[Job]) -> list[Job]:
    """Return the jobs so that none of the long ones starts last."""
    sizes = {name: data.X.size * data.n_labels**2 for name, data in plan.datasets.items()}
    return sorted(jobs, key=lambda job: -sizes[job.dataset])


def run_job(data: Dataset, job: Job, learner: Learner, n_folds: int, seed: int) -> list[Outcome]:
    """Do one job, on any machine. `seed` is that of the dataset."""
    if isinstance(learner, RankerLearner):
        return learner.evaluate(training_fold(data, job, n_folds, seed))
    results: list[list[Outcome]] = []
    engine = _TreeJobs(learner, n_folds)
    engine.add(data, job, seed)
    engine.run(1, lambda _job, outcomes: results.append(outcomes))
    return results[0]


def training_fold(data: Dataset, job: Job, n_folds: int, seed: int) -> Fold:
    """Return the data of a job: the same rows and the same missing labels that the engine uses for trees."""
    folds = _core.fold_of_rows(data.n_samples, n_folds, seed, job.repeat)
    held_out = folds == job.fold
    missing_seed, learner_seed = _core.split_seeds(seed, job.missing, job.repeat, job.fold)
    Y = data.Y[~held_out]
    if job.missing > 0:
        Y = np.asarray(
            with_missing(_core.drop_labels(Y, job.missing, missing_seed)), dtype=np.float64
        )
    return Fold(data.X[~held_out], Y, data.X[held_out], data.Y[held_out], learner_seed)


def _run_trees(
    plan: Plan, learner: TreeLearner, jobs: list[Job], n_jobs: int, finished: Finished
) -> None:
    engine = _TreeJobs(learner, plan.n_folds)
    for job in jobs:
        engine.add(plan.datasets[job.dataset], job, plan.dataset_seed(job.dataset))
    engine.run(n_jobs, finished)


class _TreeJobs:
    """Jobs of a tree learner in the form that the engine takes: data and parameters once, jobs by index."""

    def __init__(self, learner: TreeLearner, n_folds: int) -> None:
        self.learner = learner
        self.n_folds = n_folds
        self.jobs: list[Job] = []
        self.tasks: list[tuple[int, float, int, int, int, int]] = []
        self.problems: dict[str, tuple[int, _core.Problem]] = {}
        self.trees: dict[tuple[int, int, int], tuple[int, Any]] = {}

    def add(self, data: Dataset, job: Job, seed: int) -> None:
        if job.dataset not in self.problems:
            problem = _core.Problem(data.X, data.Y, seed)
            self.problems[job.dataset] = (len(self.problems), problem)
        longer = job.fold < data.n_samples % self.n_folds
        size = (data.n_samples - data.n_samples // self.n_folds - longer, *data.X.shape[1:])
        key = (*size, data.n_labels)
        if key not in self.trees:
            options = tree_options(self.learner.tree, size, data.n_labels)
            self.trees[key] = (len(self.trees), options)
        self.jobs.append(job)
        problem_index, tree_index = self.problems[job.dataset][0], self.trees[key][0]
        self.tasks.append((problem_index, job.missing, job.repeat, job.fold, tree_index, 0))

    def run(self, n_jobs: int, finished: Finished) -> None:
        """Do the jobs, and say of each when it is finished."""
        if not self.jobs:
            return
        aggregators = [aggregator._spec() for aggregator in self.learner.aggregators.values()]
        failure = _core.cross_validate(
            [problem for _, problem in self.problems.values()],
            self.tasks,
            {
                "trees": [options for _, options in self.trees.values()],
                "tree_aggregator": _tree_aggregator(self.learner),
                "aggregators": [aggregators],
            },
            self.n_folds,
            n_jobs,
            lambda index, row: finished(self.jobs[index], _outcomes(*row)),
        )
        if failure is not None:
            index, reason = failure
            raise failed(self.jobs[index], reason)


def _tree_aggregator(learner: TreeLearner) -> tuple[str, float]:
    from bucketrank.aggregation import get_aggregator

    return get_aggregator(learner.tree.aggregator)._spec()


def _outcomes(
    leaves: int,
    depth: int,
    tree_seconds: float,
    buckets_true: float,
    rows: list[tuple[float, float, float]],
) -> list[Outcome]:
    return [
        Outcome(tau_x, buckets, buckets_true, leaves, depth, tree_seconds, seconds)
        for tau_x, buckets, seconds in rows
    ]


def _run_rankers(
    plan: Plan, learner: RankerLearner, jobs: list[Job], n_jobs: int, finished: Finished
) -> None:
    from joblib import Parallel, delayed

    if not jobs:
        return
    calls = (
        delayed(_attempt)(
            plan.datasets[job.dataset], job, learner, plan.n_folds, plan.dataset_seed(job.dataset)
        )
        for job in largest_first(plan, jobs)
    )
    for job, result in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(calls):
        if isinstance(result, Exception):
            raise failed(job, f"{type(result).__name__}: {result}") from result
        finished(job, result)


def _attempt(
    data: Dataset, job: Job, learner: Learner, n_folds: int, seed: int
) -> tuple[Job, list[Outcome] | Exception]:
    """Do a job and hand its error back with it: a bare exception would not say which job it was."""
    try:
        return job, run_job(data, job, learner, n_folds, seed)
    except Exception as error:
        return job, error
