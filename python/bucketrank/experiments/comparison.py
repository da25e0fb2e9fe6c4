"""Comparison of methods on the same folds and missing labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from bucketrank._validation import as_flag, resolve_n_jobs
from bucketrank.aggregation import PAPER_AGGREGATORS
from bucketrank.datasets import Dataset
from bucketrank.estimators.tree import PartialLabelRankingTree
from bucketrank.experiments.executors import run_on
from bucketrank.experiments.learners import Outcome
from bucketrank.experiments.plan import Job, Plan, environment, make_plan
from bucketrank.experiments.progress import progress_bar
from bucketrank.experiments.running import run_here
from bucketrank.experiments.store import KEYS, Row, Store, result_rows
from bucketrank.experiments.study import Study

_DEFAULT_TREE = PartialLabelRankingTree()


def compare(
    datasets: Any,
    aggregators: Any = PAPER_AGGREGATORS,
    missing: float | Sequence[float] = (0, 0.3, 0.6),
    n_repeats: int = 5,
    n_folds: int = 10,
    *,
    tree: Any = _DEFAULT_TREE,
    rankers: Mapping[str, Any] | None = None,
    baseline: bool = True,
    seed: int = 0,
    n_jobs: int | None = None,
    store: str | Path | None = None,
    progress: bool = True,
    executor: Executor | None = None,
) -> Study:
    r"""Compare methods by repeated cross-validation, with labels missing from the training rankings.

    For each dataset, level of missing labels, repeat and fold, one tree is fitted, and every aggregator is applied to
    its leaves. All methods use the same folds and the same missing labels; held-out rankings are unchanged. The results
    for a dataset depend only on the seed and that dataset, not on `n_jobs`, `executor` or the other datasets.

    Parameters
    ----------
    datasets : list of Dataset or str, or dict
        Datasets, or names for :func:`bucketrank.datasets.load`; a dictionary maps names to datasets or to pairs
        ``(X, Y)``.
    aggregators : list of str or Aggregator, or dict from names to them, default PAPER_AGGREGATORS
        Aggregators applied to the leaves; None uses the predictions of the tree.
    missing : float or sequence of float, default (0, 0.3, 0.6)
        Levels of missing labels: probabilities of dropping each label of a training ranking.
    n_repeats, n_folds : int, default 5 and 10
        Number of repeats of the cross-validation, and folds per repeat.
    tree : estimator, default PartialLabelRankingTree()
        The estimator to fit. Any scikit-learn compatible ranker is accepted: aggregators are applied by its method
        ``with_aggregator`` or ``predict_pair_order``; without either, its predictions are used, and `aggregators` must
        not be given. With None, only `rankers` are compared.
    rankers : dict of str to estimator, optional
        Further methods by name, each with its own predictions, on the same folds and missing labels.
    baseline : bool, default True
        Whether to add the baseline ``"all_tied"``, which ties all labels and can be hard to beat. False compares
        only the given methods.
    seed : int, default 0
        Seed of the folds, the missing labels and the learners.
    n_jobs : int, optional
        Number of threads (processes for rankers other than the tree); None means 1, and -1 one per core.
    store : str or Path, optional
        SQLite file to which every finished job is written. The same call resumes an interrupted study.
    progress : bool, default True
        Whether to show a progress bar on terminals and in notebooks, if tqdm is installed.
    executor : concurrent.futures.Executor, optional
        Executor to run the jobs on, such as ``client.get_executor()`` of a Dask cluster. The data are sent to each
        worker once.

    Returns
    -------
    Study
        All results in a table, with summaries.

    Raises
    ------
    JobError
        If a job fails; the message names the job. Results of finished jobs stay in the store.

    Examples
    --------
    >>> from bucketrank.experiments import compare
    >>> study = compare(["iris", "wine"], ["borda", "copeland"], missing=0.3, n_repeats=1, n_folds=5)
    >>> study.summary().mean.shape
    (1, 2, 3)
    """
    plan = make_plan(
        datasets,
        aggregators=aggregators,
        tree=tree,
        rankers=rankers,
        baseline=as_flag(baseline, "baseline"),
        missing=missing,
        n_repeats=n_repeats,
        n_folds=n_folds,
        seed=seed,
    )
    threads, show_progress = resolve_n_jobs(n_jobs), as_flag(progress, "progress")
    settings, notes = plan.settings(), environment()
    opened = nullcontext(None) if store is None else Store.open(store, settings)
    with opened as results:
        rows: list[Row] = [] if results is None else results.rows()
        jobs = _unfinished(plan, rows)
        total = len(plan.jobs())
        if results is not None and jobs:
            results.note("surroundings", notes)
        with progress_bar(total, total - len(jobs), wanted=show_progress) as advance:

            def finished(job: Job, outcomes: list[Outcome]) -> None:
                methods = plan.learners[job.learner].methods
                if results is None:
                    rows.extend(result_rows(job, methods, outcomes))
                else:
                    results.add(job, methods, outcomes)
                advance()

            if executor is None:
                run_here(plan, jobs, threads, finished)
            else:
                run_on(executor, plan, jobs, finished)
        if results is not None:
            # Read the store again: another process may have written results in the meantime.
            rows = results.rows()
            if jobs and len(rows) == _total_results(plan):
                results.note("finished", {"results": len(rows)})
            notes = results.notes().get("surroundings", notes)
    return Study(rows, settings, notes)


def cross_validate(X: Any, Y: Any, *, name: str = "data", **settings: Any) -> Study:
    """Compare methods on one dataset given as arrays; otherwise as :func:`compare`.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Numbers; NaN marks a missing value.
    Y : array-like or DataFrame of shape (n_samples, n_labels)
        Positions; NaN for missing labels.
    name : str, default "data"
        Name of the dataset in tables.
    **settings
        Parameters of :func:`compare`.

    Returns
    -------
    Study

    Examples
    --------
    >>> from bucketrank.datasets import load
    >>> from bucketrank.experiments import cross_validate
    >>> iris = load("iris")
    >>> study = cross_validate(iris.X, iris.Y, aggregators=["borda"], missing=0, n_repeats=1)
    >>> len(study)
    20
    """
    return compare([Dataset(name, X, Y)], **settings)


def _total_results(plan: Plan) -> int:
    """Return the number of results of a finished study."""
    return sum(len(plan.learners[job.learner].methods) for job in plan.jobs())


def _unfinished(plan: Plan, rows: list[Row]) -> list[Job]:
    """Return the jobs without results.

    All results of a job are written together, so only its first method is looked up.
    """
    done = {row[: len(KEYS)] for row in rows}
    return [
        job
        for job in plan.jobs()
        if (job.dataset, job.missing, plan.learners[job.learner].methods[0], job.repeat, job.fold)
        not in done
    ]
