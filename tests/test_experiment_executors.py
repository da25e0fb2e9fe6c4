"""Studies on executors: local pools, and a Dask cluster of processes connected by TCP."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from bucketrank.datasets import Dataset, make_rankings
from bucketrank.experiments import JobError, compare
from bucketrank.experiments.executors import _CACHE, DatasetFile
from test_experiment_store import count
from test_experiments import numbers, small

SETTINGS: dict[str, Any] = {"missing": [0, 0.3], "n_repeats": 2, "n_folds": 4}


def test_threads_and_processes() -> None:
    data = [small("a", 1), small("b", 2)]
    expected = numbers(compare(data, **SETTINGS))
    with ThreadPoolExecutor(2) as threads:
        assert numbers(compare(data, executor=threads, **SETTINGS)) == expected
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        assert numbers(compare(data, executor=processes, **SETTINGS)) == expected


def test_workers_without_access_to_the_files_get_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    data = [small("a", 1)]
    expected = numbers(compare(data, **SETTINGS))
    monkeypatch.setattr(DatasetFile, "load", lambda _self: None)
    with ThreadPoolExecutor(2) as threads:
        assert numbers(compare(data, executor=threads, **SETTINGS)) == expected


class Failing(BaseEstimator):
    """Raises in the worker."""

    def fit(self, _X: Any, _Y: Any) -> Failing:
        raise ArithmeticError("the sum of the parts")

    def predict(self, X: Any) -> Any:
        return X


def test_an_exception_on_a_worker_names_the_job() -> None:
    with (
        ThreadPoolExecutor(2) as threads,
        pytest.raises(JobError, match=r"a, .* % missing.*, bad\): ArithmeticError: the sum"),
    ):
        compare([small("a", 1)], tree=None, rankers={"bad": Failing()}, executor=threads)


class TestDask:
    """A cluster of two worker processes connected by TCP."""

    @pytest.fixture
    def client(self) -> Iterator[Any]:
        pytest.importorskip("distributed", reason="needs the extra bucketrank[distributed]")
        import dask
        from distributed import Client, LocalCluster

        with (
            dask.config.set({"distributed.worker.daemon": False}),
            LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=2,
                threads_per_worker=1,
                processes=True,
                protocol="tcp://",
                host="127.0.0.1",
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,  # type: ignore[no-untyped-call]
        ):
            yield client

    @pytest.mark.filterwarnings("ignore")
    def test_the_same_numbers_and_data_sent_once(
        self, client: Any, capsys: pytest.CaptureFixture[str]
    ) -> None:
        data = make_rankings(3000, 20, 6, random_state=0)
        data = Dataset("big", data.X, data.Y)
        settings: dict[str, Any] = {"missing": [0, 0.3], "n_repeats": 1, "n_folds": 10}
        expected = numbers(compare([data], **settings))
        executor = client.get_executor()
        sizes, workers = record(executor)
        study = compare([data], executor=executor, **settings)
        assert numbers(study) == expected
        whole = len(pickle.dumps(data))
        with capsys.disabled():
            print(
                f"\nDask: {len(sizes)} jobs on worker processes {sorted(set(workers))}; "
                f"{max(sizes)} bytes per job at most, {whole} bytes of data"
            )
        assert len(set(workers)) >= 2
        assert os.getpid() not in workers
        assert max(sizes) < 20_000 < whole

    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
    def test_a_killed_worker_does_not_change_the_results(self, client: Any, tmp_path: Path) -> None:
        data = [small("a", 1, rows=300), small("b", 2, rows=200)]
        settings: dict[str, Any] = {"missing": [0, 0.3], "n_repeats": 2, "n_folds": 10}
        expected = numbers(compare(data, rankers={"slow": SlowRanker(0)}, **settings))
        killed: list[int] = []

        store = tmp_path / "study.db"

        def kill_one() -> None:
            deadline = time.monotonic() + 60
            while (not store.exists() or count(store) < 20) and time.monotonic() < deadline:
                time.sleep(0.01)
            victim = next(iter(client.run(os.getpid).values()))
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

        killer = threading.Thread(target=kill_one)
        killer.start()
        study = compare(
            data,
            rankers={"slow": SlowRanker(0.05)},
            executor=client.get_executor(),
            store=store,
            **settings,
        )
        killer.join()
        assert killed
        assert numbers(study) == expected


class SlowRanker(BaseEstimator):
    """Sleeps in fit, so that a worker can be killed during a job."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def fit(self, _X: Any, Y: Any) -> SlowRanker:
        time.sleep(self.seconds)
        self.n_labels_ = np.shape(Y)[1]
        return self

    def predict(self, X: Any) -> Any:
        return np.ones((len(X), self.n_labels_), dtype=int)


def record(executor: Executor) -> tuple[list[int], list[int]]:
    """Record the size of the data sent per job, and the process that ran it."""
    sizes: list[int] = []
    workers: list[int] = []
    plain = executor.submit

    def submit(function: Any, *arguments: Any) -> Future[Any]:
        sizes.append(len(pickle.dumps((function, arguments))))
        inner = plain(with_process_id, function, *arguments)
        outer: Future[Any] = Future()

        def hand_on(done: Future[Any]) -> None:
            if done.cancelled():
                outer.cancel()
                return
            if error := done.exception():
                outer.set_exception(error)
                return
            worker, result = done.result()
            workers.append(worker)
            outer.set_result(result)

        inner.add_done_callback(hand_on)
        return outer

    executor.submit = submit  # type: ignore[method-assign, assignment]
    return sizes, workers


def with_process_id(function: Any, *arguments: Any) -> tuple[int, Any]:
    return os.getpid(), function(*arguments)


class Cancelling(Executor):
    """Cancels every job."""

    def submit(self, *_arguments: Any, **_options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_jobs_that_are_cancelled_again_are_an_error() -> None:
    with pytest.raises(
        JobError, match=r"a, .* % missing.*: the executor cancelled it after a resubmission"
    ):
        compare([small("a", 1)], ["borda"], executor=Cancelling(), **SETTINGS)


def test_threads_do_not_keep_the_data_after_a_study() -> None:
    data = small("a", 1)
    with ThreadPoolExecutor(2) as threads:
        compare([data], ["borda"], executor=threads, **SETTINGS)
    assert data.content_hash not in _CACHE
