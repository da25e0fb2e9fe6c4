"""Reading of comparisons and of tables of scores."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bucketrank import (
    Borda,
    Davidson,
    RankingError,
    from_comparisons,
    from_scores,
    leaderboard,
)
from bucketrank.datasets import load
from bucketrank.statistics import ScoreTable


class Winner(IntEnum):
    """The outcomes of evalica."""

    Draw = 0
    X = 1
    Y = 2


@pytest.mark.parametrize(
    "outcome",
    [
        ["first", "second", "tie"],
        ["model_a", "model_b", "tie (bothbad)"],
        ["model_a", "model_b", "both_bad"],
        ["Left", " right ", "DRAW"],
        ["a", "b", "tie"],
        [1, 0, 0.5],
        ["1", "0", "0.5"],
        ["1.0", "0.0", "0.5"],
        np.array([1.0, 0.0, 0.5]),
        [Winner.X, Winner.Y, Winner.Draw],
        pd.Series(["model_a", "model_b", "tie"], dtype="category"),
    ],
)
def test_known_spellings(outcome: Any) -> None:
    read = from_comparisons(["p", "q", "r"], ["q", "r", "p"], outcome)
    assert read.outcome.tolist() == [0, 2, 1]
    assert read.labels == ["p", "q", "r"]
    assert (read.first.tolist(), read.second.tolist()) == ([0, 1, 2], [1, 2, 0])


def test_own_spellings_and_columns_of_a_frame() -> None:
    frame = pd.DataFrame(
        {
            "home": ["x", "y"],
            "away": ["y", "z"],
            "result": ["H", "tie"],
            "n": [2, 3],
            "who": ["v1", "v0"],
            "length": [0.5, -1.0],
        }
    )
    read = from_comparisons(
        "home",
        "away",
        "result",
        data=frame,
        weight="n",
        group="who",
        covariates=["length"],
        outcomes={"H": "first"},
    )
    assert repr(read) == "Comparisons(2 rows, 3 labels, weights, 2 groups, 1 covariate)"
    assert read.group is not None
    assert (read.group.tolist(), read.groups) == ([1, 0], ["v0", "v1"])
    back = read.to_pandas()
    assert back.columns.tolist() == ["first", "second", "outcome", "weight", "group", "length"]
    assert back["outcome"].tolist() == ["first", "tie"]
    with pytest.raises(ValueError, match="read-only"):
        read.first[0] = 1


def test_labels_are_sorted_and_of_any_type() -> None:
    assert from_comparisons([3, 1], [1, 2], ["a", "b"]).labels == [1, 2, 3]
    mixed = from_comparisons(["b", 3], [3, "a"], ["tie", "tie"])
    assert mixed.labels == [3, "a", "b"]
    strange = from_comparisons(["<b>", ""], ["", "\x1b[2J"], ["tie", "tie"])
    assert len(strange.labels) == 3


A, B, O = ["a", "b"], ["b", "c"], ["tie", "first"]  # noqa: E741


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((A, B, ["tie", "home"]), {}, ValueError, r"row 1: outcome 'home'; expected a known"),
        ((A, B, [1, 2]), {}, ValueError, r"row 1: outcome 2; expected a known"),
        ((A, B, ["tie", None]), {}, ValueError, r"row 1: outcome is None; expected an outcome"),
        ((A, ["b", "b"], O), {}, ValueError, r"row 1: 'b' is compared with itself"),
        ((["a", None], B, O), {}, ValueError, r"row 1: first is None; expected a label"),
        (
            ([1.0, np.nan], [2.0, 1.0], O),
            {},
            ValueError,
            r"row 1: first is .*nan.*; expected a label",
        ),
        ((A, ["b"], O), {}, ValueError, r"second has 1 entry for 2 comparisons"),
        ((A, B, ["tie"]), {}, ValueError, r"outcome has 1 entry for 2 comparisons"),
        (([], [], []), {}, ValueError, r"found 0 comparisons; expected at least one"),
        (("a", "b", "tie"), {}, TypeError, r"first is 'a'; expected a list"),
        ((A, B, O), {"weight": [1, -1]}, RankingError, r"row 1: weight -1"),
        ((A, B, O), {"weight": [np.nan, 1]}, RankingError, r"row 0: weight NaN"),
        ((A, B, O), {"weight": [0, 0]}, RankingError, r"weight"),
        ((A, B, O), {"weight": [1.0]}, ValueError, r"weight has 1 entry for 2"),
        ((A, B, O), {"group": ["g"]}, ValueError, r"group has 1 entry for 2 comparisons"),
        ((A, B, O), {"group": ["g", None]}, ValueError, r"row 1: group is None"),
        ((A, B, O), {"covariates": [[1.0]]}, ValueError, r"covariates has 1 entry"),
        ((A, B, O), {"covariates": [1.0, np.inf]}, ValueError, r"row 1: covariate 0 is inf"),
        ((A, B, O), {"covariates": {"x": [2, 2]}}, ValueError, r"covariate 'x' is 2 in every row"),
        ((A, B, O), {"outcomes": {"tie": "equal"}}, ValueError, r"outcomes maps 'tie' to 'equal'"),
        ((A, B, O), {"outcomes": ["tie"]}, TypeError, r"expected a mapping"),
        (("a", "b", "c"), {"data": pd.DataFrame({"a": A})}, ValueError, r"data has no column 'b'"),
        (
            ("a", "b", "b"),
            {"data": pd.DataFrame({"a": A, "b": B})},
            ValueError,
            r"second and outcome are both the column 'b'; expected different columns",
        ),
        ((A, B, O), {"data": 3}, TypeError, r"data is of type int; expected a DataFrame"),
    ],
)
def test_bad_comparisons(
    arguments: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        from_comparisons(*arguments, **options)


def test_scores_become_rankings() -> None:
    table = pd.DataFrame(
        {"t1": [0.91, 0.90, 0.895, 0.5], "t2": [1.0, np.nan, 3.0, 2.0]}, index=list("abcd")
    )
    positions, labels = from_scores(table, tie_within=0.01)
    assert labels == list("abcd")
    # 0.895 is within 0.01 of 0.90, but not of 0.91, the best of the bucket.
    np.testing.assert_array_equal(positions, [[1, 1, 2, 3], [3, np.nan, 1, 2]])
    low, _ = from_scores(table, higher_is_better=False)
    np.testing.assert_array_equal(low, [[4, 3, 2, 1], [1, np.nan, 3, 2]])
    cells = [(item, task, table.loc[item, task]) for item in table.index for task in table.columns]
    long = pd.DataFrame(cells, columns=["item", "task", "score"])
    again, names = from_scores(long, tie_within=0.01)
    assert names == labels
    np.testing.assert_array_equal(again, positions)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ([[1.0, 2.0]], {}, "table has 1 item and 2 tasks"),
        ([1.0, 2.0], {}, "expected 2-D"),
        ([[1.0], [np.inf]], {}, "item 1, task 0: inf"),
        ([[1.0], [2.0]], {"tie_within": -1}, "tie_within is -1.0"),
        (
            pd.DataFrame({"item": ["a", "b", "a"], "task": ["t"] * 3, "score": [1, 2, 3]}),
            {},
            "row 2: a second score of item 'a' in task 't'",
        ),
    ],
)
def test_bad_scores(table: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_scores(table, **options)


def test_frames_keep_covariates_named_like_other_columns() -> None:
    covariates = {"first": [1, 2], "weight": [3, 5]}
    games = from_comparisons(["a", "b"], ["b", "a"], [1, 0], weight=[2, 2], covariates=covariates)
    frame = games.to_pandas()
    assert list(frame.columns) == ["first", "second", "outcome", "weight", "first", "weight"]
    assert frame.iloc[:, 0].tolist() == ["a", "b"]
    assert frame.iloc[:, 3:].to_numpy().tolist() == [[2, 1, 3], [2, 2, 5]]


@pytest.mark.parametrize("values", [["a", "b"], [1, 2], [1.5, 2.5]])
def test_masked_entries_are_missing(values: list[Any]) -> None:
    masked = np.ma.array(values, mask=[False, True])
    with pytest.raises(ValueError, match=r"row 1: second is .*nan.*; expected a label"):
        from_comparisons(["x", "y"], masked, ["tie", "tie"])
    with pytest.raises(ValueError, match=r"row 1: group is .*nan.*; expected a group"):
        from_comparisons(["x", "y"], ["y", "x"], ["tie", "tie"], group=masked)
    with pytest.raises(ValueError, match=r"row 1: outcome is .*nan.*; expected an outcome"):
        from_comparisons(["x", "y"], ["y", "x"], np.ma.array([1, 0], mask=[False, True]))


@pytest.mark.parametrize("values", [[1, 0, 2], ["1", "0", "2"], [1.0, 0.0, 2.0]])
@pytest.mark.parametrize("keys", [[1, 0, 2], ["1", "0", "2"]])
def test_a_mapping_of_outcomes_holds_for_numbers_and_texts(values: Any, keys: Any) -> None:
    outcomes = dict(zip(keys, ["second", "first", "tie"], strict=True))
    games = from_comparisons(["a"] * 3, ["b"] * 3, values, outcomes=outcomes)
    assert games.outcome.tolist() == [2, 0, 1]
    exact = {"1": "tie", 1: "second"}
    games = from_comparisons(["a"] * 2, ["b"] * 2, [1, "1"], outcomes=exact)
    assert games.outcome.tolist() == [2, 1]


@pytest.mark.parametrize("number", [0.4999999, 0.9999999, 1e-320, 10**400])
def test_numbers_close_to_an_outcome_are_unknown(number: float) -> None:
    with pytest.raises(ValueError, match=r"row 0: outcome .*; expected a known spelling"):
        from_comparisons(["a"], ["b"], [number])


@pytest.mark.parametrize("column", [[[1, 2], [3, 4]], 5])
def test_covariates_of_a_mapping_have_one_dimension(column: Any) -> None:
    with pytest.raises(ValueError, match=r"covariate 'z' has . dimensions?; expected 1"):
        from_comparisons(["a", "b"], ["b", "a"], [1, 0], covariates={"z": column})


@pytest.mark.parametrize("scale", [1e-300, 1e-13, 1.0, 1e300])
def test_ties_of_scores_do_not_depend_on_their_scale(scale: float) -> None:
    scores = scale * np.array([[0.91], [0.90], [0.5], [0.0]])
    assert from_scores(scores).positions.tolist() == [[1, 2, 3, 4]]
    assert from_scores(scores, tie_within=0.01 * scale).positions.tolist() == [[1, 1, 2, 3]]


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
def test_copies_are_read_only(duplicate: Callable[[Any], Any]) -> None:
    games = from_comparisons(["a", "b"] * 3, ["b", "a"] * 3, [1, 0, 1, 0.5, 0, 1])
    board = duplicate(leaderboard(games, n_resamples=10))
    fit = duplicate(Davidson().explain(games))
    arrays = [
        duplicate(games).outcome,
        board.scores,
        board.ahead,
        duplicate(ScoreTable(np.eye(2))).values,
        duplicate(Borda().explain(games)).details["scores"],
        fit.positions,
        fit.covariance,
        *(getattr(duplicate(load("iris")), name) for name in ("X", "Y")),
    ]
    assert not any(array.flags.writeable for array in arrays)


def test_missing_values_of_pandas_in_a_list_name_the_row() -> None:
    with pytest.raises(ValueError, match="row 1: first is <NA>; expected a label"):
        from_comparisons(["a", pd.NA], ["b", "a"], ["tie", "tie"])


@pytest.mark.parametrize(
    "first",
    [
        pd.array([1, None], dtype="Int64"),
        pd.array(["a", None], dtype="string"),
        pd.Categorical(["a", None]),
    ],
)
def test_missing_values_in_arrays_of_pandas_name_the_row(first: Any) -> None:
    with pytest.raises(ValueError, match=r"row 1: first is (<NA>|nan); expected a label"):
        from_comparisons(first, [2, 1], ["tie", "tie"])
