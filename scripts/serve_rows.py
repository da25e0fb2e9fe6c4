"""Serve single rows from a saved model in one long-lived process, and report time and memory.

    python scripts/serve_rows.py model.bin rows.csv --calls 100000 --threads 8

Loads the model, warms it up with one prediction, and lets all threads predict single rows at once. Every result is
compared with the prediction of all rows in one batch. Prints as JSON: the number of calls, the number of wrong results,
the growth of memory after the first tenth of the calls, the median time per call of one thread, and for forests the
part of it outside the Rust core.
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank import load_model

TIMED_CALLS = 500


def resident_kilobytes() -> int | None:
    """Memory of this process; None if the system does not provide it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1])


def predict_in_threads(model: Any, rows: NDArray[np.float64], calls: int, threads: int) -> int:
    """Predict single rows from several threads at once; return the number of results that differ from the batch."""
    expected = model.predict(rows)
    wrong = [0] * threads
    errors: list[BaseException] = []

    def serve(thread: int) -> None:
        try:
            for call in range(thread, calls, threads):
                row = call % len(rows)
                found = model.predict(rows[row : row + 1])
                wrong[thread] += not np.array_equal(found[0], expected[row])
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=serve, args=(thread,)) for thread in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    return sum(wrong)


def median_seconds(call: Any) -> float:
    times = []
    for _ in range(TIMED_CALLS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def python_seconds(model: Any, row: NDArray[np.float64]) -> tuple[float, float]:
    """Median time of one prediction, and the part of it outside the Rust core; NaN for models other than forests."""
    whole = median_seconds(lambda: model.predict(row))
    if not hasattr(model, "forest_"):
        return whole, float("nan")
    spec = model.aggregator_._spec()
    strength = model.shrinkage_strength_
    core = median_seconds(lambda: model.forest_.consensus(spec, row, strength, False, 1))
    return whole, whole - core


def measure(path: Path, rows: NDArray[np.float64], calls: int, threads: int) -> dict[str, Any]:
    model = load_model(path)
    if hasattr(model, "n_jobs"):
        model.n_jobs = 1
    model.predict(rows[:1])
    wrong = predict_in_threads(model, rows, calls // 10, threads)
    before = resident_kilobytes()
    wrong += predict_in_threads(model, rows, calls - calls // 10, threads)
    after = resident_kilobytes()
    whole, python = python_seconds(model, rows[:1])
    return {
        "calls": calls,
        "threads": threads,
        "wrong": wrong,
        "growth_kilobytes": None if before is None or after is None else after - before,
        "microseconds_per_call": whole * 1e6,
        "microseconds_in_python": python * 1e6,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("rows", type=Path, help="features as CSV with one line of names")
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=8)
    options = parser.parse_args()
    rows = np.loadtxt(options.rows, delimiter=",", skiprows=1, ndmin=2)
    print(json.dumps(measure(options.model, rows, options.calls, options.threads)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
