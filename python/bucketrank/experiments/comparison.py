"""The main job: methods compared on the same folds of the same data, with labels missing."""

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
from bucketrank.experiments.plan import Job, Plan, make_plan, surroundings
from bucketrank.experiments.progress import progress_bar
from bucketrank.experiments.running import run_here
from bucketrank.experiments.store import Row, Store, result_rows
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

    For each dataset, level of missing labels, repeat and fold one tree is grown, and every aggregator is asked for
    its leaves. All methods see the same folds and the same missing labels; rankings that are held out stay as they
    are. The result depends on the seed and on each dataset alone, not on `n_jobs`, `executor` or the other datasets.

    Parameters
    ----------
    datasets : list of Dataset or str, or dict
        Datasets, or names for :func:`bucketrank.datasets.load`; a dictionary gives names to datasets or to pairs
        ``(X, Y)``.
    aggregators : list of str or Aggregator, or dict from names to them, default the paper's eight
        Who makes bucket orders of the leaves. None: the predictions that `tree` makes by itself.
    missing : float or sequence of float, default (0, 0.3, 0.6)
        Probabilities with which each label of a training ranking is dropped.
    n_repeats, n_folds : int, default 5 and 10
        Repeats of the shuffled folds, and folds of each.
    tree : estimator, default PartialLabelRankingTree()
        What is fitted. Any ranker in scikit-learn's manner may stand here; it is asked through ``with_aggregator`` or
        ``predict_pair_order``, or only for its own predictions if it has neither. None: only `rankers`.
    rankers : dict of str to estimator, optional
        More methods, each named and predicting by itself, on the same folds and missing labels.
    baseline : bool, default True
        Whether ``"all_tied"`` is shown beside the others: what predicts ties everywhere can be hard to beat. False
        compares exactly the methods that were asked for.
    seed : int, default 0
        Seed of folds, missing labels and whatever the learners draw.
    n_jobs : int, optional
        Number of threads (processes for rankers other than the tree); None means 1, and -1 one for each core.
    store : str or Path, optional
        SQLite file to which every finished job is written. The same call resumes where it was stopped.
    progress : bool, default True
        Show a progress bar on terminals and in notebooks, if tqdm is installed.
    executor : concurrent.futures.Executor, optional
        Where to do the jobs instead, such as ``client.get_executor()`` of a Dask cluster. Data is sent to each worker
        once.

    Returns
    -------
    Study
        All results in a table, with summaries.

    Raises
    ------
    JobError
        When a job fails; the message names it. What was finished is kept in the store.

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
    threads = resolve_n_jobs(n_jobs)
    settings, notes = plan.settings(), surroundings()
    opened = nullcontext(None) if store is None else Store.open(store, settings)
    with opened as kept:
        rows: list[Row] = [] if kept is None else kept.rows()
        jobs = _unfinished(plan, rows)
        total = len(plan.jobs())
        if kept is not None and jobs:
            kept.note("surroundings", notes)
        with progress_bar(total, total - len(jobs), wanted=progress) as advance:

            def finished(job: Job, outcomes: list[Outcome]) -> None:
                methods = plan.learners[job.learner].methods
                if kept is None:
                    rows.extend(result_rows(job, methods, outcomes))
                else:
                    kept.add(job, methods, outcomes)
                advance()

            if executor is None:
                run_here(plan, jobs, threads, finished)
            else:
                run_on(executor, plan, jobs, finished)
        if kept is not None:
            # Read back, so that what another process has written meanwhile is what both show.
            rows = kept.rows()
            notes = kept.notes().get("surroundings", notes)
    return Study(rows, settings, notes)


def cross_validate(X: Any, Y: Any, *, name: str = "data", **settings: Any) -> Study:
    """Compare methods on one dataset given as arrays; otherwise as :func:`compare`.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Finite numbers.
    Y : array-like or DataFrame of shape (n_samples, n_labels)
        Positions; NaN for missing labels.
    name : str, default "data"
        What tables call the dataset.
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


def _unfinished(plan: Plan, rows: list[Row]) -> list[Job]:
    """Return the jobs that have no results yet. A job's results are written together: one of them tells for all."""
    done = {row[:5] for row in rows}
    return [
        job
        for job in plan.jobs()
        if (job.dataset, job.missing, plan.learners[job.learner].methods[0], job.repeat, job.fold)
        not in done
    ]
