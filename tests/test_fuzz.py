"""Random calls, texts and files: each returns, or raises an error that is meant for users.

A normal run takes a short slice with fixed examples. ``make fuzz SECONDS=600`` takes new examples for that long.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import bucketrank as br
import containers
from bucketrank._estimator_state import pack_estimator
from bucketrank.csv_reader import CsvTable
from test_saving_fuzz import MODELS, X, Y

EXAMPLES = int(os.environ.get("BUCKETRANK_FUZZ_EXAMPLES", "60"))
fuzz = settings(
    max_examples=EXAMPLES,
    derandomize="BUCKETRANK_FUZZ_EXAMPLES" not in os.environ,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)

NUMBERS = st.one_of(
    st.floats(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, 2, 3, math.nan, math.inf, -math.inf, 1e308, 5e-324, 0.5, 2**53 + 1]),
)
POSITIONS = st.one_of(st.integers(1, 4), st.sampled_from([math.nan, math.inf, 0, 2.5, -1]))
DTYPES = st.sampled_from(
    ["f2", "f4", "f8", "i1", "i8", "u1", "u8", ">f8", "?", "c16", "O", "M8[s]", "U3"]
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """Arrays of any type and shape, lists, frames, masked and strided arrays."""
    kind = draw(st.sampled_from(["array", "list", "positions", "frame", "masked", "strided"]))
    if kind == "array":
        return draw(hnp.arrays(draw(DTYPES), draw(SHAPES)))
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    entries = NUMBERS if kind == "list" else POSITIONS
    cells = [[draw(entries) for _ in range(columns)] for _ in range(rows)]
    if kind in ("list", "positions"):
        return cells
    if kind == "frame":
        return pd.DataFrame(cells).convert_dtypes()
    array = np.array(cells, dtype=float)
    if kind == "masked":
        return np.ma.MaskedArray(array, mask=draw(hnp.arrays(bool, array.shape)))
    return np.repeat(array, 2, axis=0)[::-2]


AGGREGATORS = [br.Borda(), br.Copeland(), br.BucketPivot(), br.MarkovChain(1), br.MarkovChain(4)]
AGGREGATORS += [br.MaximalLottery(), br.TauX(), br.TauX("local"), br.TauX("exact"), br.Davidson()]


def attempt(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or None when it raises an error for users."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except (ValueError, TypeError, MemoryError):
            return None


def check_orders(result: Any) -> None:
    """Check that results are dense positions of all labels."""
    if result is not None:
        for row in np.atleast_2d(np.asarray(result)):
            assert set(row.tolist()) == set(range(1, int(row.max()) + 1))


@fuzz
@given(tables(), tables(), st.sampled_from(AGGREGATORS))
def test_aggregators(values: Any, weights: Any, aggregator: Any) -> None:
    check_orders(attempt(lambda: aggregator.aggregate(values)))
    check_orders(attempt(lambda: aggregator.aggregate(values, weights)))
    check_orders(attempt(lambda: aggregator.aggregate_pair_order(values)))
    check_orders(attempt(lambda: aggregator.aggregate_pair_shares(values)))


@fuzz
@given(tables(), tables())
def test_functions(left: Any, right: Any) -> None:
    for metric in (br.tau_x, br.kendall_tau):
        value = attempt(lambda metric=metric: metric(left, right))  # type: ignore[misc]
        assert value is None or -1 - 1e-12 <= value <= 1 + 1e-12
    ranked = attempt(lambda: br.to_dense_ranks(left))
    if ranked is not None:
        assert attempt(lambda: br.pair_order_matrix(ranked)) is not None
        np.testing.assert_array_equal(np.asarray(br.to_dense_ranks(ranked)), np.asarray(ranked))
    attempt(lambda: br.to_text(left))


@fuzz
@given(tables(), tables(), st.sampled_from(MODELS))
def test_estimators(features: Any, rankings: Any, model: Any) -> None:
    fitted = attempt(lambda: model.fit(features, rankings))
    if fitted is not None:
        check_orders(fitted.predict(features))


TEXT = st.text(alphabet="ab01239.,;:>~=\"'\n\r\t -+eEinfaN?\0é", max_size=60)


@fuzz
@given(TEXT, st.integers(0, 3))
def test_texts(text: str, columns: int) -> None:
    table = attempt(lambda: CsvTable("f.csv", text))
    if table is not None:
        attempt(lambda: table.read([], range(min(columns, len(table.header)))))
    read = attempt(lambda: CsvTable("f.csv", f"a,b\n{text}\n").read([0], [1]))
    if read is not None:
        assert np.isfinite(read[0]).all()
    parsed = attempt(lambda: br.from_text(text.split("\n")))
    if parsed is not None:
        attempt(lambda: br.to_text(parsed.positions, parsed.labels))


@cache
def saved_models() -> list[bytes]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [pack_estimator(model.fit(X, Y)) for model in MODELS]


@fuzz
@given(st.data())
def test_saved_files(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    content = bytearray(data.draw(st.sampled_from(saved_models())))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(12, len(content) - 5))] ^= data.draw(st.integers(1, 255))
    path = Path(tmp_path_factory.getbasetemp()) / "fuzzed.model"
    path.write_bytes(containers.repair(bytes(content)))
    model = attempt(lambda: br.load_model(path))
    if model is not None:
        attempt(lambda: model.predict(X))
