"""Calls that try to end the interpreter.

``python tests/hostile_calls.py`` runs each in a child process of its own: it imports everything, limits its address
space to 4 GB, forks once per call, and prints one line of JSON per call: name, outcome (``returned``, the name of an
exception, ``timeout`` or ``signal N``) and message.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import bucketrank as br
from bucketrank import datasets, experiments, statistics
from bucketrank.csv_reader import CsvTable

ADDRESS_SPACE = 4 << 30
SECONDS = 20
"""Time limit of a call."""

Call = Callable[[], Any]

X = np.arange(30.0).reshape(-1, 1)
Y = np.where(X < 15, [[1, 2, 2]], [[3, 1, 2]])
ESTIMATORS: dict[str, Any] = {
    "baseline": br.PartialLabelRankingBaseline(),
    "tree": br.PartialLabelRankingTree(),
    "forest": br.PartialLabelRankingForest(n_estimators=3),
    "booster": br.PartialLabelRankingBooster(rounds=3),
    "linear": br.PartialLabelRankingLinear(),
    "ranker": br.PartialLabelRanker(n_estimators=3, rounds=3, n_parts=2),
}
AGGREGATORS: list[Any] = [
    br.Borda(),
    br.Copeland(),
    br.BucketPivot(),
    br.MarkovChain(4),
    br.MaximalLottery(),
    br.TauX(),
    br.Davidson(),
]
MANY = 10**9


class Liar:
    """An object whose conversion to an array fails or lies."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.shape = (10**12, 10**6)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def __len__(self) -> int:
        return 10**15


def recursive() -> list[Any]:
    values: list[Any] = []
    values.append(values)
    return values


TABLES: dict[str, Callable[[], Any]] = {
    "empty": lambda: np.empty((0, 0)),
    "no rows": lambda: np.empty((0, 3)),
    "no columns": lambda: np.empty((3, 0)),
    "scalar": lambda: 3,
    "vector": lambda: np.ones(3),
    "cube": lambda: np.ones((2, 2, 2)),
    "none": lambda: None,
    "text": lambda: "abc",
    "texts": lambda: [["a", "b"]],
    "ragged": lambda: [[1, 2], [1]],
    "recursive": recursive,
    "object": lambda: np.array([[object(), 1]], dtype=object),
    "complex": lambda: np.ones((2, 2), complex),
    "bool": lambda: np.ones((2, 2), bool),
    "dates": lambda: np.zeros((2, 2), "M8[s]"),
    "structured": lambda: np.zeros(3, [("a", float), ("b", int)]),
    "sparse": lambda: sparse.eye(3).tocsr(),
    "masked": lambda: np.ma.MaskedArray(np.ones((2, 2)), mask=True),
    "all NaN": lambda: np.full((3, 3), np.nan),
    "infinite": lambda: np.full((3, 3), np.inf),
    "minus infinite": lambda: np.full((3, 3), -np.inf),
    "largest": lambda: np.full((3, 3), np.finfo(float).max),
    "smallest": lambda: np.full((3, 3), 5e-324),
    "negative": lambda: np.full((3, 3), -(2**63)),
    "huge integers": lambda: [[10**400, 1]],
    "unsigned": lambda: np.full((2, 2), 2**64 - 1, np.uint64),
    "set": lambda: {1, 2},
    "mapping": lambda: {"a": [1, 2]},
    "generator": lambda: (i for i in range(3)),
    "frame of objects": lambda: pd.DataFrame({"a": ["x"], "b": [1]}),
    "empty frame": lambda: pd.DataFrame(),
    "liar": lambda: Liar(np.ones((2, 2))),
    "raiser": lambda: Liar(RuntimeError("no")),
    "broadcast rows": lambda: np.broadcast_to(np.array([[1, 2, 3]]), (MANY, 3)),
    "broadcast floats": lambda: np.broadcast_to(np.array([[1.0, 2, 3]]), (MANY, 3)),
    "broadcast columns": lambda: np.broadcast_to(np.array([[1]]), (3, MANY)),
    "many labels": lambda: np.tile(np.arange(1, 8194), (3, 1)),
    "too many labels": lambda: np.ones((2, 70_000), int),
}


def apply_to(call: Callable[[Any], Any], make: Callable[[], Any]) -> Any:
    return call(make())


def fit_with(model: Any, key: str, value: Any) -> Any:
    return model.set_params(**{key: value}).fit(X, Y)


def predict_of(model: Any, rows: Any) -> Any:
    return model.fit(X, Y).predict(rows)


def compare_with(data: Any, key: str, value: Any) -> Any:
    return experiments.compare([data], progress=False, **{key: value})


def read_text(text: str) -> Any:
    return CsvTable("f", text).read([], [0])


def table_calls() -> Iterator[tuple[str, Call]]:
    functions: dict[str, Callable[[Any], Any]] = {
        "to_dense_ranks": br.to_dense_ranks,
        "pair_order_matrix": br.pair_order_matrix,
        "tau_x": lambda table: br.tau_x(table, table),
        "aggregate": lambda table: br.aggregate(table, "tau_x"),
        "aggregate_pair_order": br.Copeland().aggregate_pair_order,
        "ranker.fit": lambda table: ESTIMATORS["ranker"].fit(X, table),
        "tree.predict": lambda table: predict_of(ESTIMATORS["tree"], table),
    }
    for name, make in TABLES.items():
        for function, call in functions.items():
            yield f"{function}({name})", partial(apply_to, call, make)


def estimator_calls() -> Iterator[tuple[str, Call]]:
    labels = np.tile(np.arange(1, 8194), (3, 1))
    rows = np.broadcast_to(np.array([[1.0]]), (MANY, 1))
    orders = np.broadcast_to(np.array([[1, 2, 3]]), (MANY, 3))
    weights = np.broadcast_to(1.0, (MANY,))
    for name, model in ESTIMATORS.items():
        yield f"{name}: many labels", partial(model.fit, np.ones((3, 1)), labels)
        yield f"{name}: broadcast fit", partial(model.fit, rows, orders)
        yield f"{name}: broadcast predict", partial(predict_of, model, rows)
        yield f"{name}: broadcast weights", partial(model.fit, X, Y, weights)
    values: list[Any] = [10**9, 2**31, 10**20, 10**400, 0, -1, 2.5, np.nan, np.inf, "x", None, True]
    for name, key in (("forest", "n_estimators"), ("booster", "rounds"), ("tree", "max_depth")):
        for value in values:
            yield f"{name}({key}={value!r:.12})", partial(fit_with, ESTIMATORS[name], key, value)
    for value in values:
        for key in ("n_estimators", "n_parts"):
            model = ESTIMATORS["ranker"]
            yield f"ranker({key}={value!r:.12})", partial(fit_with, model, key, value)


def aggregator_calls() -> Iterator[tuple[str, Call]]:
    sets = np.broadcast_to(np.array([[[1, 2, 3]]]), (MANY, 1, 3))
    matrices = np.broadcast_to(np.full((3, 3), 0.5), (MANY, 3, 3))
    shares = np.broadcast_to(np.full((3, 3), 1 / 3), (MANY, 3, 3))
    wide = np.tile(np.arange(1, 70_001), (2, 1))
    for aggregator in AGGREGATORS:
        yield f"{aggregator}: sets", partial(aggregator.aggregate_many, sets)
        yield f"{aggregator}: matrices", partial(aggregator.aggregate_pair_order, matrices)
        yield f"{aggregator}: shares", partial(aggregator.aggregate_pair_shares, shares)
        yield f"{aggregator}: wide", partial(aggregator.aggregate, wide)
        yield f"{aggregator}: threads", partial(aggregator.aggregate_many, [Y], n_jobs=10**30)


def file_calls(folder: Path) -> Iterator[tuple[str, Call]]:
    contents = {"empty": b"", "zeros": bytes(1 << 20), "text": b"hello" * 1000}
    for name, content in contents.items():
        path = folder / name
        path.write_bytes(content)
        yield f"load_model({name})", partial(br.load_model, path)
        yield f"Study.load({name})", partial(experiments.Study.load, path)
        yield f"read_csv({name})", partial(datasets.read_csv, path)
    for place in ("/dev/zero", "/dev/null", str(folder), "/nonexistent", "a\0b", ""):
        yield f"load_model({place!r})", partial(br.load_model, place)
        yield f"Study.load({place!r})", partial(experiments.Study.load, place)


def other_calls() -> Iterator[tuple[str, Call]]:
    texts = ["a > " * 10**5, "~" * 10**6, "a" * 10**7, "\0", "(" * 10**5, "a > a", "a, b\nc"]
    for text in texts:
        yield f"from_text({text[:10]!r})", partial(br.from_text, [text])
        yield f"csv({text[:10]!r})", partial(read_text, text)
    sizes: list[Any] = [10**9, 10**20, -1, 0, 2.5, None]
    for size in sizes:
        yield f"make_rankings({size})", partial(datasets.make_rankings, size)
        yield f"make_rankings(labels={size})", partial(datasets.make_rankings, 9, 2, size)
    data = datasets.make_rankings(20, 2, 3)
    values: list[Any] = [10**9, 10**20, -1, "x", np.nan]
    for key in ("n_repeats", "n_folds", "seed", "n_jobs", "missing"):
        for value in values:
            yield f"compare({key}={value!r})", partial(compare_with, data, key, value)
    tables: list[Any] = [[[]], [[np.nan, 1], [1, 2]], [["a", "b"]] * 2, np.ones((10**3, 2)), None]
    for table in tables:
        yield f"friedman({table!r:.20})", partial(statistics.friedman, table)
        yield f"wilcoxon({table!r:.20})", partial(statistics.wilcoxon, table)


def all_calls(folder: Path) -> dict[str, Call]:
    parts = (
        table_calls(),
        estimator_calls(),
        aggregator_calls(),
        file_calls(folder),
        other_calls(),
    )
    return {name: call for part in parts for name, call in part}


def outcome_of(call: Call) -> tuple[str, str]:
    try:
        call()
    except BaseException as error:  # also a panic of the core
        return type(error).__name__, str(error)[:200]
    return "returned", ""


def run(call: Call) -> tuple[str, str]:
    """Run a call in a child process; return the outcome and the message."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(writer, json.dumps(outcome_of(call)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return ("timeout" if number == signal.SIGALRM else f"signal {number}"), ""
    outcome, message = json.loads(text)
    return outcome, message


def main() -> None:
    warnings.simplefilter("ignore")
    br.PartialLabelRanker(n_estimators=1, rounds=1, n_parts=2).fit(X, Y).predict(X)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    with tempfile.TemporaryDirectory() as folder:
        for name, call in all_calls(Path(folder)).items():
            if len(sys.argv) < 2 or any(word in name for word in sys.argv[1:]):
                print(json.dumps([name, *run(call)]), flush=True)


if __name__ == "__main__":
    main()
