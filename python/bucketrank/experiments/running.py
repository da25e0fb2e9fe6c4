"""Doing the jobs of a plan on this machine: trees in the engine, other rankers in processes of joblib."""

from __future__ import annotations

from bucketrank.estimators.baseline import PartialLabelRankingBaseline
from bucketrank.experiments.executors import run_on
from bucketrank.experiments.job import Finished, JobError, TreeJobs, failed, run_job
from bucketrank.experiments.learners import RankerLearner, TreeLearner
from bucketrank.experiments.plan import Job, Plan


def run_here(plan: Plan, jobs: list[Job], n_jobs: int, finished: Finished) -> None:
    """Do the jobs with so many threads, or processes for rankers other than the tree."""
    others = []
    for name, learner in plan.learners.items():
        own = [job for job in jobs if job.learner == name]
        if isinstance(learner, TreeLearner) and learner.is_fixed:
            _run_trees(plan, learner, own, n_jobs, finished)
        else:
            others += own
    # Baselines take less time than a process takes to start.
    quick = [job for job in others if n_jobs == 1 or _is_baseline(plan, job)]
    _run_in_turn(plan, quick, finished)
    slow = [] if n_jobs == 1 else [job for job in others if not _is_baseline(plan, job)]
    if slow:
        # A pool of its own: joblib's shared one belongs to the user's own calls of joblib.
        from joblib.externals.loky import ProcessPoolExecutor

        with ProcessPoolExecutor(max_workers=n_jobs) as executor:
            run_on(executor, plan, slow, finished)


def _is_baseline(plan: Plan, job: Job) -> bool:
    learner = plan.learners[job.learner]
    return isinstance(learner, RankerLearner) and isinstance(
        learner.ranker, PartialLabelRankingBaseline
    )


def _run_trees(
    plan: Plan, learner: TreeLearner, jobs: list[Job], n_jobs: int, finished: Finished
) -> None:
    engine = TreeJobs(learner, plan.n_folds)
    for job in jobs:
        engine.add(plan.datasets[job.dataset], job, plan.dataset_seed(job.dataset))
    engine.run(n_jobs, finished)


def _run_in_turn(plan: Plan, jobs: list[Job], finished: Finished) -> None:
    for job in jobs:
        learner, seed = plan.learners[job.learner], plan.dataset_seed(job.dataset)
        try:
            outcomes = run_job(plan.datasets[job.dataset], job, learner, plan.n_folds, seed)
        except JobError:
            raise
        except Exception as error:
            raise failed(job, f"{type(error).__name__}: {error}") from error
        finished(job, outcomes)
