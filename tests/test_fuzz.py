"""Random calls, texts and files: each returns, or raises an error that is meant for users.

A normal run tries a few fixed examples. ``make fuzz SECONDS=600`` tries new examples for 600 seconds.
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
from bucketrank._estimator_state import pack_estimator, unpack_estimator
from bucketrank.csv_reader import CsvTable
from bucketrank.preflib import parse_preflib
from crafted_models import craft, use_all
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
AGGREGATORS += [br.Kemeny(), br.Kemeny(0, ties=False), br.Kemeny(1, n_buckets=2), br.Schulze()]
AGGREGATORS += [br.RankedPairs(), br.ReciprocalRankFusion(), br.TauX(ties=False)]


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
@given(tables(), tables(), tables(), st.sampled_from(["error", "ignore", "x", None]))
def test_agreement(left: Any, right: Any, weights: Any, missing: Any) -> None:
    for metric in (br.kendall_distance, br.tau_b, br.rbo):
        for given_weights in (None, weights):
            value = attempt(
                lambda metric=metric, w=given_weights: metric(left, right, w, missing=missing)  # type: ignore[misc]
            )
            assert value is None or math.isnan(value) or value >= -1 - 1e-12
    for ties in ("average", "a", "b", "w"):
        attempt(lambda ties=ties: br.rbo(left, right, p=0.5, ties=ties))  # type: ignore[misc]
    value = attempt(lambda: br.kendall_w(left))
    assert value is None or math.isnan(value) or -1e-12 <= value <= 1 + 1e-12


NAMES = st.sampled_from(
    ["a", "b", "c", "", "tie", "first", 0, 1, 2.5, None, math.nan, ("a", 1), [1]]
)
OUTCOMES = st.one_of(
    st.sampled_from(["first", "second", "tie", "win", 1, 0, 0.5, -1, True, None, math.nan]), NUMBERS
)


@st.composite
def columns(draw: st.DrawFn, entries: Any) -> Any:
    """Columns of a table of comparisons: lists, arrays, single values."""
    values = draw(st.lists(entries, max_size=6))
    kind = draw(st.sampled_from(["list", "list", "list", "tuple", "object", "single"]))
    if kind == "single":
        return draw(entries)
    if kind == "object":
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return values if kind == "list" else tuple(values)


@st.composite
def games(draw: st.DrawFn) -> Any:
    """Comparisons of valid columns, or None if `from_comparisons` refuses them."""
    rows = draw(st.integers(1, 8))
    pairs = [draw(st.permutations(["a", "b", "c", "d"]))[:2] for _ in range(rows)]
    outcomes = [draw(st.sampled_from(["first", "second", "tie"])) for _ in range(rows)]
    weights = [draw(st.sampled_from([1.0, 2.0, 0.5, 0.0, 1e300])) for _ in range(rows)]
    firsts, seconds = zip(*pairs, strict=True)
    return attempt(lambda: br.from_comparisons(firsts, seconds, outcomes, weight=weights))


@fuzz
@given(columns(NAMES), columns(NAMES), columns(OUTCOMES), columns(NUMBERS), st.booleans())
def test_comparisons(first: Any, second: Any, outcome: Any, weight: Any, weighted: bool) -> None:
    data = attempt(
        lambda: br.from_comparisons(first, second, outcome, weight=weight if weighted else None)
    )
    if data is not None:
        counts = attempt(lambda: br.PairCounts.of(data))
        assert counts is None or (counts.before >= 0).all()
        check_orders(attempt(lambda: br.Davidson().aggregate(data)))


@fuzz
@given(games(), tables(), st.sampled_from(AGGREGATORS))
def test_pair_counts(data: Any, table: Any, aggregator: Any) -> None:
    counts = attempt(lambda: br.PairCounts.of(data)) if data is not None else None
    if counts is not None:
        check_orders(attempt(lambda: aggregator.aggregate(counts)))
        attempt(lambda: str(aggregator.explain(counts)))
        both = attempt(lambda: counts + counts)
        assert both is None or (both.before == 2 * counts.before).all()
    others = attempt(lambda: br.PairCounts.of(table))
    if others is not None:
        check_orders(attempt(lambda: aggregator.aggregate_counts(others)))
        attempt(lambda: others.update(table))


@fuzz
@given(
    st.one_of(games(), tables()),
    st.sampled_from(["davidson", "borda", br.Davidson(), "copeland", "x"]),
    st.sampled_from([2, 5, 0, -1, 2.5, True]),
    st.sampled_from([0.95, 0.5, 0, 1, -1, math.nan, "x"]),
    st.sampled_from([None, "row", "pair", "x"]),
    st.booleans(),
)
def test_leaderboards(
    data: Any, method: Any, resamples: Any, confidence: Any, unit: Any, simultaneous: bool
) -> None:
    board = attempt(
        lambda: br.leaderboard(
            data,
            method,
            n_resamples=resamples,
            confidence=confidence,
            unit=unit,
            simultaneous=simultaneous,
            progress=False,
        )
    )
    if board is not None:
        assert sorted(board.order().tolist()) == list(range(len(board.labels)))
        assert (board.rank_low <= board.rank_high).all()
        assert isinstance(f"{board}{board.to_csv()}", str)


@fuzz
@given(tables(), tables(), st.sampled_from(MODELS))
def test_estimators(features: Any, rankings: Any, model: Any) -> None:
    fitted = attempt(lambda: model.fit(features, rankings))
    if fitted is not None:
        check_orders(fitted.predict(features))


PREFLIB = st.lists(
    st.sampled_from(
        [
            *("# NUMBER ALTERNATIVES: 3", "# ALTERNATIVE NAME 1: a", "# ALTERNATIVE NAME 2: b"),
            *(
                "# ALTERNATIVE NAME 3: c",
                "# DATA TYPE: toc",
                "# DATA TYPE: soc",
                "# DATA TYPE: cat",
            ),
            *("# NUMBER VOTERS: 2", "# ALTERNATIVE NAME 3: a", "# NUMBER ALTERNATIVES: 9999999999"),
            *(
                "1: 1,2,3",
                "2: {1,2},3",
                "2: 3",
                "1: {1,{2}},3",
                "1: 1,1",
                "0: 1,2",
                "-1: 2,1",
                "1e9: 1",
            ),
            *(
                "1: {}",
                "1: 1,2,3,4",
                "x: 1",
                ": 1",
                "1:",
                "1: 2,{3,1",
                "",
                "#",
                "1: \u0661",
                "1.5: 1,2",
            ),
        ]
    ),
    max_size=9,
)


@fuzz
@given(PREFLIB, st.text(max_size=8))
def test_preflib(lines: list[str], noise: str) -> None:
    for text in ("\n".join(lines), "\n".join([*lines, noise])):
        read = attempt(lambda text=text: parse_preflib("f.toc", text))  # type: ignore[misc]
        if read is not None:
            check_orders(attempt(lambda read=read: br.Borda().aggregate(read[0])))  # type: ignore[misc]


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
        use_all(model)


@fuzz
@given(st.integers(0, 2**32 - 1))
def test_crafted_files(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = craft(saved_models(), int(rng.integers(100)), rng)
    try:
        model = unpack_estimator(data, "model")
    except ValueError:
        return
    use_all(model)
