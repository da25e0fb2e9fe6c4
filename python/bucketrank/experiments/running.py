"""Run the jobs of a plan on this machine: trees with fixed aggregators on Rust threads, others in processes."""

from __future__ import annotations

import os
from concurrent.futures import BrokenExecutor
from contextlib import closing
from typing import Any

from joblib import Parallel, delayed

from bucketrank.datasets import Dataset
from bucketrank.estimators.baseline import PartialLabelRankingBaseline
from bucketrank.experiments.executors import DatasetFile, datasets_in_files, largest_first
from bucketrank.experiments.job import FinishedCallback, JobError, TreeJobs, job_error, run_job
from bucketrank.experiments.learners import Learner, Outcome, RankerLearner, TreeLearner
from bucketrank.experiments.plan import Job, Plan
from bucketrank.experiments.watchdog import exit_with_parent


def run_here(plan: Plan, jobs: list[Job], n_jobs: int, finished: FinishedCallback) -> None:
    """Run the jobs: trees with fixed aggregators on `n_jobs` threads, other learners in `n_jobs` processes.

    Fixed aggregators are the same on every fold. Baselines, and all jobs if `n_jobs` is 1, run in this process.
    """
    others = []
    for name, learner in plan.learners.items():
        learner_jobs = [job for job in jobs if job.learner == name]
        if isinstance(learner, TreeLearner) and learner.has_fixed_aggregators:
            _run_trees(plan, learner, learner_jobs, n_jobs, finished)
        else:
            others += learner_jobs
    # Fitting a baseline takes less time than starting a process.
    quick = [job for job in others if n_jobs == 1 or _is_baseline(plan, job)]
    _run_sequentially(plan, quick, finished)
    slow = [] if n_jobs == 1 else [job for job in others if not _is_baseline(plan, job)]
    if slow:
        _run_in_processes(plan, slow, n_jobs, finished)


def _is_baseline(plan: Plan, job: Job) -> bool:
    learner = plan.learners[job.learner]
    return isinstance(learner, RankerLearner) and isinstance(
        learner.ranker, PartialLabelRankingBaseline
    )


def _run_trees(
    plan: Plan, learner: TreeLearner, jobs: list[Job], n_jobs: int, finished: FinishedCallback
) -> None:
    engine = TreeJobs(learner, plan.n_folds)
    for job in jobs:
        engine.add(plan.datasets[job.dataset], job, plan.dataset_seed(job.dataset))
    engine.run(n_jobs, finished)


def _run_sequentially(plan: Plan, jobs: list[Job], finished: FinishedCallback) -> None:
    for job in jobs:
        learner, seed = plan.learners[job.learner], plan.dataset_seed(job.dataset)
        finished(*_attempt(plan.datasets[job.dataset], job, learner, plan.n_folds, seed))


def _run_in_processes(plan: Plan, jobs: list[Job], n_jobs: int, finished: FinishedCallback) -> None:
    # joblib instead of concurrent.futures: scripts need no `__main__` guard, and rankers defined in notebooks can
    # be sent.
    with datasets_in_files(plan) as files:
        calls = [
            delayed(_attempt_in_worker)(
                os.getpid(),
                files[job.dataset],
                job,
                plan.learners[job.learner],
                plan.n_folds,
                plan.dataset_seed(job.dataset),
            )
            for job in largest_first(plan, jobs)
        ]
        parallel = Parallel(n_jobs, backend="loky", return_as="generator_unordered")
        with closing(parallel(calls)) as results:
            try:
                for job, outcomes in results:
                    finished(job, outcomes)
            except BrokenExecutor as error:
                raise JobError(
                    f"a worker process ended before its job was finished: {error}"
                ) from error


def _attempt_in_worker(parent: int, *arguments: Any) -> tuple[Job, list[Outcome]]:
    """Run a job in a worker process, which ends with its parent."""
    exit_with_parent(parent)
    return _attempt(*arguments)


def _attempt(
    data: Dataset | DatasetFile, job: Job, learner: Learner, n_folds: int, seed: int
) -> tuple[Job, list[Outcome]]:
    """Run a job and return it with its outcomes; an error names the job."""
    try:
        loaded = data if isinstance(data, Dataset) else data.load()
        if loaded is None:
            raise FileNotFoundError(f"{data}: expected a readable file")
        return job, run_job(loaded, job, learner, n_folds, seed)
    except JobError:
        raise
    except Exception as error:
        raise job_error(job, f"{type(error).__name__}: {error}") from error
