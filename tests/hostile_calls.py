"""Calls that try to end the interpreter.

``python tests/hostile_calls.py [WORD ...]`` runs all calls, or those whose names contain a word. It imports everything,
limits its address space to 4 GB, and forks a child process per call. It prints one line of JSON per call: name, outcome
(``returned``, the name of an exception, ``timeout`` or ``signal N``) and message.
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
from bucketrank import calibration, datasets, experiments, inspection, statistics
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
SHARES = np.full((30, 3, 3), 1 / 3)


class Liar:
    """An object with a false shape and length, whose conversion to an array returns or raises `answer`."""

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


def further_table_calls() -> Iterator[tuple[str, Call]]:
    """All hostile tables as the data of functions that are not in :func:`table_calls`."""
    forest = ESTIMATORS["forest"]
    functions: dict[str, Callable[[Any], Any]] = {
        "leaderboard": partial(br.leaderboard, n_resamples=2, progress=False),
        "from_scores": br.from_scores,
        "kendall_w": br.kendall_w,
        "rbo": lambda table: br.rbo(table, table),
        "Kemeny.aggregate": br.Kemeny().aggregate,
        "forest.shap_values": lambda table: forest.fit(X, Y).shap_values(table),
        "reliability_curve": lambda table: calibration.reliability_curve(table, SHARES),
        "pair_log_loss(shares)": lambda table: calibration.pair_log_loss(Y, table),
        "partial_dependence": lambda table: inspection.partial_dependence(
            forest.fit(X, Y), table, [0], grid_resolution=3
        ),
        "tree.fit(X)": lambda table: ESTIMATORS["tree"].fit(table, Y),
    }
    for name, make in TABLES.items():
        for function, call in functions.items():
            yield f"{function}({name})", partial(apply_to, call, make)


def category_calls() -> Iterator[tuple[str, Call]]:
    """Unusual columns of categories, and invalid values of `categorical_features`."""
    columns: dict[str, Callable[[], Any]] = {
        "objects": lambda: [object() for _ in range(30)],
        "unhashable": lambda: [[1] for _ in range(30)],
        "NaN": lambda: [np.nan] * 30,
        "mixed": lambda: ["a", 1, None] * 10,
        "recursive": lambda: [recursive()] * 30,
        "long names": lambda: ["x" * 10**6, "y"] * 15,
        "surrogates": lambda: ["\ud800", "\0"] * 15,
        "all different": lambda: list(map(str, range(30))),
        "no categories": lambda: pd.Categorical([np.nan] * 30, categories=[]),
        "many unused": lambda: pd.Categorical(
            ["a"] * 30, categories=["a", *map(str, range(10**6))]
        ),
    }
    for name, make in columns.items():
        for model in ("tree", "linear"):
            yield (
                f"{model}: categories {name}",
                partial(fit_categories, ESTIMATORS[model], make, "from_dtype"),
            )
    features: list[Any] = [
        [10**9],
        [-5],
        "x",
        ["nope"],
        [0, 0],
        [True] * 10**6,
        3,
        [np.nan],
        [None],
    ]
    for value in features:
        yield (
            f"categorical_features={value!r:.20}",
            partial(fit_with, ESTIMATORS["tree"], "categorical_features", value),
        )


def fit_categories(model: Any, make: Callable[[], Any], features: Any) -> Any:
    values = make()
    if isinstance(values, pd.Categorical):
        table: Any = pd.DataFrame({"a": values})
    else:
        table = np.empty((30, 1), dtype=object)
        table[:, 0] = values
    return model.set_params(categorical_features=features).fit(table, Y).predict(table[::-1])


def explanation_calls() -> Iterator[tuple[str, Call]]:
    rows = np.broadcast_to(np.array([[1.0]]), (MANY, 1))
    wide = np.broadcast_to(np.array([[1.0]]), (3, MANY))
    for name in ("tree", "forest", "booster", "linear"):
        model = ESTIMATORS[name]
        yield f"{name}.shap_values(many rows)", partial(shap_of, model, rows)
        yield f"{name}.shap_values(wide)", partial(shap_of, model, wide)
        yield f"{name}.shap_values(infinite)", partial(shap_of, model, np.full((2, 1), np.inf))
    ranker = ESTIMATORS["ranker"]
    counts: list[Any] = [10**9, 10**20, 0, -1, 2.5, "x", None]
    for count in counts:
        yield (
            f"ranker.shap_values(n_permutations={count!r})",
            partial(shap_of, ranker, X[:1], X[:2], n_permutations=count),
        )
    yield "ranker.shap_values(no background)", partial(shap_of, ranker, X[:1], X[:0])
    yield "ranker.shap_values(many background rows)", partial(shap_of, ranker, X[:1], rows)
    features: list[Any] = [[10**9], [-1], "x", [], [[0, 0, 0]], None, [np.nan]]
    for value in features:
        yield f"partial_dependence(features={value!r})", partial(dependence_of, features=value)
    for key, value in (
        ("grid_resolution", 10**9),
        ("grid_resolution", -1),
        ("percentiles", (2, 3)),
        ("response_method", "x"),
        ("sample_weight", [np.nan] * 30),
    ):
        options = {"features": [0], key: value}
        yield f"partial_dependence({key}={value!r:.20})", partial(dependence_of, **options)


def shap_of(model: Any, *arguments: Any, **options: Any) -> Any:
    return model.fit(X, Y).shap_values(*arguments, **options)


def dependence_of(**options: Any) -> Any:
    return inspection.partial_dependence(ESTIMATORS["tree"].fit(X, Y), X, **options)


def calibration_calls() -> Iterator[tuple[str, Call]]:
    shares: dict[str, Callable[[], Any]] = {
        "NaN": lambda: np.full((30, 3, 3), np.nan),
        "negative": lambda: np.full((30, 3, 3), -1.0),
        "infinite": lambda: np.full((30, 3, 3), np.inf),
        "wrong shape": lambda: np.ones((30, 4, 3)),
        "many rows": lambda: np.broadcast_to(np.full((1, 3, 3), 1 / 3), (MANY, 3, 3)),
    }
    functions = (
        calibration.pair_log_loss,
        calibration.pair_brier_score,
        calibration.reliability_curve,
    )
    for function in functions:
        for name, make in shares.items():
            yield f"{function.__name__}(shares {name})", partial(apply_second, function, make)
    bins: list[Any] = [10**9, 10**20, 0, -1, 2.5, "x", None]
    for count in bins:
        yield (
            f"reliability_curve(n_bins={count!r})",
            partial(calibration.reliability_curve, Y, SHARES, n_bins=count),
        )


def apply_second(function: Callable[[Any, Any], Any], make: Callable[[], Any]) -> Any:
    return function(Y, make())


def comparison_calls() -> Iterator[tuple[str, Call]]:
    """Leaderboards, comparisons and counts of pairs."""
    for key in ("n_resamples", "confidence", "random_state", "n_jobs", "unit", "method"):
        for value in (10**9, 10**20, -1, 2.5, np.nan, "x", [1]):
            if (key, value) != ("n_resamples", 10**9):
                yield f"leaderboard({key}={value!r})", partial(board_with, key, value)
    wide = np.tile(np.arange(1, 8194), (3, 1))
    yield "leaderboard(wide)", partial(board_of, wide)
    yield "leaderboard(wide, borda)", partial(board_of, wide, "borda")
    yield "leaderboard(resamples)", partial(board_of, wide[:, :2000], "borda", n_resamples=10**9)
    columns: dict[str, tuple[Any, Any, Any]] = {
        "empty": ([], [], []),
        "self": (["a"], ["a"], ["first"]),
        "lengths": (["a", "b"], ["c"], ["first"]),
        "NaN": ([np.nan], ["b"], ["first"]),
        "unhashable": ([[1]], [[2]], ["first"]),
        "outcome": (["a"], ["b"], ["x"]),
        "outcome 7": (["a"], ["b"], [7]),
        "none": (None, None, None),
        "texts": ("abc", "bcd", "xyz"),
        "many labels": (list(range(70_000)), list(range(1, 70_001)), ["first"] * 70_000),
    }
    for name, (first, second, outcome) in columns.items():
        yield f"comparisons({name})", partial(compared, first, second, outcome)
    for name, weight in (("NaN", np.nan), ("negative", -1.0), ("infinite", np.inf), ("zero", 0.0)):
        yield (
            f"comparisons(weight {name})",
            partial(compared, ["a"], ["b"], ["first"], weight=[weight]),
        )
    tables: dict[str, Callable[[], Any]] = {
        "NaN": lambda: np.full((2, 2, 3), np.nan),
        "flat": lambda: np.ones(3),
        "negative": lambda: np.full((1, 3), -1.0),
        "infinite": lambda: np.full((1, 3), np.inf),
        "many pairs": lambda: np.broadcast_to(np.ones((1, 3)), (MANY, 3)),
        "none": lambda: None,
    }
    for name, make in tables.items():
        yield f"PairCounts({name})", partial(counts_of, make)


def board_of(data: Any, method: Any = "davidson", **options: Any) -> Any:
    return br.leaderboard(data, method, **{"n_resamples": 2, "progress": False, **options})


def board_with(key: str, value: Any) -> Any:
    return br.leaderboard(Y, progress=False, **{"n_resamples": 2, key: value})


def compared(first: Any, second: Any, outcome: Any, **options: Any) -> Any:
    found = br.from_comparisons(first, second, outcome, **options)
    return br.Davidson().aggregate(found)


def counts_of(make: Callable[[], Any]) -> Any:
    return br.Davidson().aggregate_counts(br.PairCounts(["a", "b", "c"], make(), [True] * 3))


def kemeny_calls() -> Iterator[tuple[str, Call]]:
    values: dict[str, list[Any]] = {
        "penalty": [-1, 2, np.nan, np.inf, "x", None],
        "n_buckets": [0, -1, 10**20, (3, 1), (1, 2, 3), 2.5, "x"],
        "search": ["x", None, 3],
        "time_limit": [-1, np.nan, np.inf, 1e-300, "x"],
        "label_weights": [(1.0,), (np.nan,) * 3, (-1.0,) * 3, (0.0,) * 3, (1e308,) * 3, "abc", 3],
    }
    for key, options in values.items():
        for value in options:
            yield f"Kemeny({key}={value!r})", partial(kemeny_with, Y, **{key: value})
    order = np.arange(1, 61)
    cycle = np.array([np.roll(order, shift) for shift in range(60)])
    yield "Kemeny(60 labels)", partial(kemeny_with, cycle, search="exact", time_limit=1)
    yield "Kemeny(wide)", partial(kemeny_with, np.tile(np.arange(1, 8194), (3, 1)), search="local")


def kemeny_with(rankings: Any, **params: Any) -> Any:
    return br.Kemeny(**params).aggregate(rankings)


PREFLIB = """# FILE NAME: f.soc
# DATA TYPE: {kind}
# NUMBER ALTERNATIVES: {count}
# ALTERNATIVE NAME 1: a
# ALTERNATIVE NAME 2: b
{ballots}
"""


def preflib_calls(folder: Path) -> Iterator[tuple[str, Call]]:
    ballots = [
        "1: 1,2",
        "0: 1,2",
        "-1: 1,2",
        "nan: 1,2",
        "1e400: 1,2",
        f"{'9' * 5000}: 1,2",
        f"1: {'9' * 5000}",
        "1: 1,1",
        "1: 3",
        "1: {1,2",
        "1: }1{",
        f"1: {'{' * 10**5}",
        "1: " + "1," * 10**5,
        "",
        "\0",
    ]
    for kind in ("soc", "toi", "cat", "x"):
        for number, ballot in enumerate(ballots):
            path = folder / f"{kind}{number}.{kind}"
            path.write_text(PREFLIB.format(kind=kind, count=2, ballots=ballot))
            yield f"read_preflib({kind}, {ballot[:12]!r}, {number})", partial(br.read_preflib, path)
    for count in ("0", "-1", "10" * 50, "1000000000", "2.5", "x", "9" * 5000):
        path = folder / f"count{len(count)}{count[:12]}.soc"
        path.write_text(PREFLIB.format(kind="soc", count=count, ballots="1: 1,2"))
        yield f"read_preflib(count={count[:12]})", partial(br.read_preflib, path)
    out = folder / "out.toc"
    weights: list[Any] = [[np.nan] * 30, [-1] * 30, [2.5] * 30, [10**400] * 30, [1], "x"]
    for value in weights:
        yield (
            f"write_preflib(weights={value!r:.20})",
            partial(br.write_preflib, out, Y, weights=value),
        )
    labels: list[Any] = [["a"], ["a", "a", "a"], [[1], [2], [3]], ["\n", "\0", "# X: y"], 3]
    for value in labels:
        yield f"write_preflib(labels={value!r})", partial(br.write_preflib, out, Y, labels=value)


def all_calls(folder: Path) -> dict[str, Call]:
    parts = (
        table_calls(),
        estimator_calls(),
        aggregator_calls(),
        file_calls(folder),
        other_calls(),
        further_table_calls(),
        category_calls(),
        explanation_calls(),
        calibration_calls(),
        comparison_calls(),
        kemeny_calls(),
        preflib_calls(folder),
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
