"""Numbers are read exactly or refused: masks, dates, large integers, overflows and extreme weights."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bucketrank as br
from bucketrank.csv_reader import CsvTable
from bucketrank.csv_records import BadFileError
from bucketrank.datasets import Dataset, rank_scores
from bucketrank.statistics import ScoreTable, holm_adjusted, wilcoxon

NAN = np.nan
ODD = 2**53 + 1
"""The smallest positive integer that has no exact 64-bit float."""

X = np.arange(6.0).reshape(-1, 1)
Y = np.array([[1, 2], [2, 1]] * 3)


@pytest.mark.parametrize(
    "values",
    [
        pd.DataFrame({"a": [2**63 + 5], "b": [1]}, dtype="UInt64"),
        pd.DataFrame({"a": np.array([2**63 + 5], dtype="u8"), "b": [1]}),
        pd.DataFrame({"a": [ODD], "b": [2**53], "c": [None]}, dtype="Int64"),
        pd.DataFrame({"a": [ODD], "b": [2.0**53]}),
        [[ODD, 2**53, 0.5]],
        [[2**63, 2**63 + 1, -1]],
        np.ma.MaskedArray([[ODD, 2**53, 3]], mask=[[False, False, True]]),
        pytest.param(
            np.array([[np.longdouble("1e400"), np.longdouble("2e400")]]),
            marks=pytest.mark.skipif(
                np.finfo(np.longdouble).max == np.finfo(float).max,
                reason="long double is double on this machine: there is no larger number to refuse",
            ),
        ),
    ],
    ids=[
        "UInt64",
        "uint64 and int64",
        "NA",
        "mixed frame",
        "list",
        "signs",
        "masked",
        "longdouble",
    ],
)
def test_numbers_that_cannot_be_converted_exactly_are_refused(values: Any) -> None:
    with pytest.raises(ValueError, match=r"cannot be converted exactly|too large"):
        br.to_dense_ranks(values)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.DataFrame({"a": [2**63 - 1], "b": [2**63 - 2]}, dtype="UInt64"), [[2, 1]]),
        (pd.DataFrame({"a": np.array([ODD], dtype="u8"), "b": [2**53]}), [[2, 1]]),
        (pd.DataFrame({"a": [2**60], "b": [1.5]}), [[2, 1]]),
        (pd.DataFrame({"a": [3], "b": [1], "c": [None]}, dtype="UInt64"), [[2, 1, NAN]]),
        ([[ODD, 2**53]], [[2, 1]]),
        ([[2**60, 0.5]], [[2, 1]]),
        ([np.ma.MaskedArray([1, 2, 3], mask=[True, False, False])], [[NAN, 1, 2]]),
    ],
)
def test_numbers_that_can_be_compared_exactly_are_ranked(values: Any, expected: Any) -> None:
    np.testing.assert_array_equal(np.asarray(br.to_dense_ranks(values)), expected)


def test_masked_rows_of_different_lengths_are_reported() -> None:
    rows = [np.ma.MaskedArray([1, 2], mask=False), np.ma.MaskedArray([1], mask=False)]
    with pytest.raises(ValueError, match="row 1: 1 entry, but row 0 has 2"):
        br.to_dense_ranks(rows)


MASKED = np.ma.MaskedArray(X, mask=X == 3)


@pytest.mark.parametrize(
    "masked", [MASKED, list(MASKED), MASKED.astype(object), MASKED.astype(int)]
)
def test_masked_features_are_missing(masked: Any) -> None:
    tree = br.PartialLabelRankingTree()
    missing = np.where(X == 3, np.nan, X)
    assert tree.fit(masked, Y).tree_.to_bytes() == tree.fit(missing, Y).tree_.to_bytes()
    np.testing.assert_array_equal(tree.predict(masked), tree.predict(missing))
    np.testing.assert_array_equal(
        tree.fit(np.ma.MaskedArray(X, mask=False), Y).predict(X), tree.fit(X, Y).predict(X)
    )


def test_masked_datasets_and_scores_are_missing() -> None:
    np.testing.assert_array_equal(np.isnan(Dataset("a", MASKED, Y).X), X == 3)
    with pytest.raises(ValueError, match="method 2 on dataset 1 is nan"):
        ScoreTable(np.ma.MaskedArray([[1.0, 2], [3, 4]], mask=[[False, True], [False, False]]))
    with pytest.raises(ValueError, match="outside"):
        holm_adjusted(np.ma.MaskedArray([0.5, 0.1], mask=[True, False]))
    with pytest.raises(ValueError, match="cannot be converted exactly"):
        rank_scores([[ODD, 2**53]])


@pytest.mark.parametrize(
    "dates",
    [
        np.array(["2020-01-01", "NaT", *["2021-01-01"] * 4], dtype="M8[ns]").reshape(-1, 1),
        np.arange(6).astype("m8[s]").reshape(-1, 1),
        pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "NaT", *["2021-01-01"] * 4])}),
        pd.DataFrame({"x": X[:, 0], "when": pd.to_timedelta(range(6))}),
        [[np.datetime64("NaT")]] * 6,
        np.array([[np.datetime64("NaT")]] + [[1.0]] * 5, dtype=object),
    ],
    ids=["dates", "durations", "frame", "mixed frame", "list", "objects"],
)
def test_dates_are_no_features(dates: Any) -> None:
    with pytest.raises(TypeError, match=r"expected (a number|numbers|integers)"):
        br.PartialLabelRankingTree().fit(dates, Y)
    with pytest.raises(TypeError, match=r"expected (a number|numbers|integers)"):
        Dataset("a", dates, Y)


@pytest.mark.parametrize("number", ["1e400", "1" + 400 * "0", "9.9E+0999"])
def test_a_number_too_large_for_a_float_is_not_read_as_infinite(number: str) -> None:
    for text in (f"a,b\n1,{number}\n", f'a,b\n1,"{number}"\n', f"a,b\n1,inf\n1,{number}\n"):
        with pytest.raises(BadFileError, match=r"column 2 \(b\): .* is too large"):
            CsvTable("f.csv", text).read([], [0, 1])
    np.testing.assert_array_equal(
        CsvTable("f.csv", "a,b\n1,inf\nInfinity,1\n").read([], [0, 1])[1],
        [[1, 2], [2, 1]],
    )


@pytest.mark.parametrize("number", [f"{ODD}", f"+{ODD}.0", f"{2**60 + 1}", f"{ODD}.5"])
@pytest.mark.parametrize("cell", ["{}", '"{}"'])
def test_large_positions_of_csv_files_are_not_rounded(number: str, cell: str) -> None:
    text = f"a,b\n1,2\n{2**53},{cell.format(number)}\n"
    with pytest.raises(BadFileError, match=r"^f.csv, line 3, column 2 \(b\): .* read exactly"):
        CsvTable("f.csv", text).read([], [0, 1])
    exact = text.replace(number, f"{2**53 + 2}")
    np.testing.assert_array_equal(CsvTable("f.csv", exact).read([], [0, 1])[1], [[1, 2]] * 2)
    rounded_on_purpose = text.replace(number, "1e300")
    assert CsvTable("f.csv", rounded_on_purpose).read([], [0, 1])[1][1].tolist() == [1, 2]


def test_extreme_weights() -> None:
    large = [1e308, 7e307]
    assert br.bucket_count_difference([[1, 1, 1]] * 2, [[1, 2, 3], [1, 1, 1]], large) == (
        pytest.approx(2 / 1.7)
    )
    assert br.kendall_tau([[1, 2]] * 2, [[1, 2], [2, 1]], large) == pytest.approx(3 / 17)
    rows = [[1, 2, NAN], [NAN, 1, 2]]
    with pytest.raises(br.RankingError, match="row 1: weight 1e-250 is too small for"):
        br.pair_order_matrix(rows, [1e250, 1e-250])
    for small in (1e-300, 1e-200):
        assert br.pair_order_matrix(rows, [1.0, small])[1, 2] == 1


def test_equal_scores_are_left_out_of_wilcoxon_s_test() -> None:
    merits = np.array([0.1, 0.2, 0.35, 0.4, 0.55, 0.6, 0.7, 0.85])
    plain = wilcoxon(np.stack([merits, np.zeros(8)], axis=1)).p_values[0, 1]
    padded = np.concatenate([merits, np.zeros(6)])
    assert wilcoxon(np.stack([padded, np.zeros(14)], axis=1)).p_values[0, 1] == plain == 2 / 2**8


@pytest.mark.parametrize("name", ["n_estimators", "rounds"])
@pytest.mark.parametrize("value", [10**20, 2**31 + 1, 0, -1])
@pytest.mark.parametrize("fast", [True, False])
def test_invalid_counts_are_errors_of_the_ranker(name: str, value: int, fast: bool) -> None:
    ranker = br.PartialLabelRanker(fast=fast).set_params(**{name: value})
    with pytest.raises(ValueError, match=f"^{name} is {value}; expected"):
        ranker.fit(X, Y)
    kind = br.PartialLabelRankingForest if name == "n_estimators" else br.PartialLabelRankingBooster
    with pytest.raises(ValueError, match=f"^{name} is {value}; expected"):
        kind().set_params(**{name: value}).fit(X, Y)


def test_temporal_columns_of_polars_are_refused() -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    days = [date(2020, 1, day) for day in range(1, 7)]
    frame = pl.DataFrame({"number": range(6), "day": days})
    with pytest.raises(TypeError, match=r"X, column 'day': dtype Date; expected numbers"):
        br.PartialLabelRankingTree().fit(frame, Y)


@pytest.mark.parametrize("second", [None, 1.5])
def test_polars_frames_do_not_round_integers(second: float | None) -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = pl.DataFrame({"a": [2**53 + 1, 1], "b": [second, 1]}, strict=False)
    with pytest.raises(ValueError, match=r"entry \(0, 0\): 9007199254740993 cannot be converted"):
        br.to_dense_ranks(frame)
