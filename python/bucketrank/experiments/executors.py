"""Run the jobs of a plan on an executor of `concurrent.futures`, such as Dask's; a job is one learner on one fold.

Each dataset is sent to a worker once, not with every job. With Dask, the datasets are scattered to the workers. With
other executors, each dataset is written to a file that a worker process reads once; if a worker cannot read the file,
the job is submitted again together with the data.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor, Future, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bucketrank._files import write_file
from bucketrank.datasets import Dataset
from bucketrank.experiments.job import FinishedCallback, JobError, job_error, run_job
from bucketrank.experiments.learners import Learner, Outcome
from bucketrank.experiments.plan import Job, Plan


@dataclass(frozen=True)
class DatasetFile:
    """A pickled dataset, which a worker process reads at its first use."""

    path: str
    content_hash: str

    def load(self) -> Dataset | None:
        """Return the dataset, cached per process; None if the file cannot be read."""
        data = _CACHE.get(self.content_hash)
        if data is None:
            try:
                data = pickle.loads(Path(self.path).read_bytes())
            except OSError:
                return None
            _CACHE[self.content_hash] = data
        return data


_CACHE: dict[str, Dataset] = {}
"""Datasets that this process has read, by content hash."""


def run_on(executor: Executor, plan: Plan, jobs: list[Job], finished: FinishedCallback) -> None:
    """Run the jobs on the workers of `executor`; results are the same as on this machine."""
    if not hasattr(executor, "submit"):
        raise TypeError(
            f"executor is {executor!r}; expected an executor of concurrent.futures, such as "
            "client.get_executor() of Dask"
        )
    waiting: dict[Future[list[Outcome] | None], Job] = {}
    with _distributed_datasets(executor, plan) as data_for:

        def submit(job: Job, data: Any) -> Future[list[Outcome] | None]:
            learner, seed = plan.learners[job.learner], plan.dataset_seed(job.dataset)
            return executor.submit(_run_on_worker, data, job, learner, plan.n_folds, seed)

        try:
            for job in largest_first(plan, jobs):
                waiting[submit(job, data_for[job.dataset])] = job
            without_data = _collect(waiting, finished)
            waiting = {submit(job, plan.datasets[job.dataset]): job for job in without_data}
            for job in _collect(waiting, finished):
                raise job_error(job, "the executor cancelled it after a resubmission")
        finally:
            for future in waiting:
                future.cancel()


def largest_first(plan: Plan, jobs: list[Job]) -> list[Job]:
    """Sort the jobs by decreasing estimated cost, so that long jobs start first."""
    costs = {name: data.X.size * data.n_labels**2 for name, data in plan.datasets.items()}
    return sorted(jobs, key=lambda job: -costs[job.dataset])


def _collect(
    waiting: dict[Future[list[Outcome] | None], Job], finished: FinishedCallback
) -> list[Job]:
    """Pass the results of each job to `finished`; return the jobs whose data a worker lost or could not read."""
    without_data = []
    for future in as_completed(waiting):
        job = waiting[future]
        try:
            outcomes = future.result()
        except JobError:
            raise
        except CancelledError:
            # Dask cancels jobs whose data were lost with a worker.
            without_data.append(job)
            continue
        except Exception as error:
            raise job_error(job, f"{type(error).__name__}: {error}") from error
        if outcomes is None:
            without_data.append(job)
        else:
            finished(job, outcomes)
    return without_data


def _run_on_worker(
    data: Dataset | DatasetFile, job: Job, learner: Learner, n_folds: int, seed: int
) -> list[Outcome] | None:
    """Run a job on a worker; None if the worker cannot read the data."""
    loaded = data.load() if isinstance(data, DatasetFile) else data
    return None if loaded is None else run_job(loaded, job, learner, n_folds, seed)


@contextmanager
def _distributed_datasets(executor: Executor, plan: Plan) -> Iterator[dict[str, Any]]:
    """Send the datasets to the workers; yield, per name of a dataset, what to pass to its jobs in place of the data."""
    client: Any = getattr(executor, "_client", None)
    if hasattr(client, "scatter"):
        names = list(plan.datasets)
        # Send to every worker, because data of a single worker would be lost with it.
        handles = client.scatter([plan.datasets[name] for name in names], broadcast=True)
        yield dict(zip(names, handles, strict=True))
        return
    with datasets_in_files(plan) as files:
        yield dict(files)


@contextmanager
def datasets_in_files(plan: Plan) -> Iterator[dict[str, DatasetFile]]:
    """Write each dataset to a temporary file, and yield the files by name of the dataset."""
    with tempfile.TemporaryDirectory(prefix="bucketrank-") as folder:
        files = {}
        for index, (name, data) in enumerate(plan.datasets.items()):
            path = Path(folder) / f"{index}.pickle"
            write_file(path, pickle.dumps(data, protocol=pickle.HIGHEST_PROTOCOL))
            files[name] = DatasetFile(str(path), data.content_hash)
        try:
            yield files
        finally:
            # If the executor runs threads of this process, they have cached the datasets here.
            for file in files.values():
                _CACHE.pop(file.content_hash, None)
