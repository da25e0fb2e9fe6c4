"""Exceptions: their kinds, the attributes of RankingError, and how the command line prints them."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bucketrank import (
    Borda,
    PartialLabelRankingTree,
    RankingError,
    aggregate,
    drop_labels,
    from_buckets,
    from_text,
    kendall_tau,
    tau_x,
    to_dense_ranks,
)
from bucketrank.__main__ import main

NAN = math.nan
X = np.arange(4.0).reshape(2, 2)

Case = tuple[Callable[[], Any], int | None, int | None, Any, str]
CASES: dict[str, Case] = {
    "below one": (
        lambda: aggregate([[1, 2], [0, 1]]),
        1,
        0,
        0.0,
        "position 0; positions start at 1",
    ),
    "in a fit": (
        lambda: PartialLabelRankingTree().fit(X, [[1, 2], [-2, 2]]),
        1,
        0,
        -2.0,
        "position -2; positions start at 1",
    ),
    "in a set": (
        lambda: Borda().aggregate_many([[[1, 2]], [[1, 0]]]),
        0,
        1,
        0.0,
        "position 0; positions start at 1",
    ),
    "in an argument": (
        lambda: tau_x([[1, 2]], [[1, 0]]),
        0,
        1,
        0.0,
        "position 0; positions start at 1",
    ),
    "tied": (
        lambda: kendall_tau([[1, 2, 3]], [[1, 2, 2]]),
        0,
        1,
        None,
        "Y_pred, row 0: labels 1 and 2 are tied; expected total orders (no ties); tau_x and tau_b allow ties",
    ),
    "unrankable": (
        lambda: to_dense_ranks([[1.0, 2.0], [1.0, -math.inf]]),
        1,
        1,
        -math.inf,
        "-inf cannot be ranked",
    ),
    "weight": (
        lambda: aggregate([[1, 2], [2, 1]], sample_weight=[1, -2]),
        1,
        None,
        -2.0,
        "weight -2; expected a finite number that is not negative",
    ),
    "number of weights": (
        lambda: aggregate([[1, 2], [2, 1]], sample_weight=[1, 2, 3]),
        None,
        None,
        3,
        "found 3 weights for 2 rows",
    ),
    "no weight": (
        lambda: aggregate([[1, 2]], sample_weight=[0]),
        None,
        None,
        None,
        "the only weight is zero",
    ),
    "no rows": (lambda: aggregate(np.empty((0, 3))), None, None, 0, "found 0 rows"),
    "few labels": (lambda: aggregate([[1]]), None, None, 1, "found 1 label"),
    "nothing to compare": (
        lambda: tau_x([[1, NAN]], [[1, 2]], missing="ignore"),
        None,
        None,
        None,
        "none of 1 row has",
    ),
    "text": (
        lambda: from_text(["a > b", "a >"]),
        1,
        None,
        "a >",
        "'a >' lacks a label before or after '>' or '~'",
    ),
    "label twice": (
        lambda: from_text(["a > a"]),
        0,
        None,
        "a",
        "label 'a' appears twice in the ranking",
    ),
    "unknown label": (
        lambda: from_text(["a > b", "c"], labels=["a", "b"]),
        1,
        None,
        "c",
        "unknown label 'c'; expected one of 'a', 'b'",
    ),
    "empty bucket": (lambda: from_buckets([[["a"], []]]), 0, None, None, "a bucket is empty"),
    "one label as text": (lambda: from_text("a"), None, None, 1, "found 1 label"),
}


@pytest.mark.parametrize("kind", CASES)
def test_a_ranking_error_has_row_label_and_found(kind: str) -> None:
    provoke, row, label, found, reason = CASES[kind]
    with pytest.raises(RankingError) as caught:
        provoke()
    error = caught.value
    assert (error.row, error.label, error.found) == (row, label, found)
    assert error.reason.startswith(reason)
    assert str(error).endswith(error.reason)


def test_found_is_nan_for_a_missing_label() -> None:
    with pytest.raises(RankingError, match=r"Y_pred, row 0, label 1: position missing") as caught:
        tau_x([[1, 2]], [[1, NAN]])
    assert (caught.value.row, caught.value.label) == (0, 1)
    assert isinstance(caught.value.found, float)
    assert math.isnan(caught.value.found)


@pytest.mark.parametrize(
    "make_copy", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))]
)
def test_copies_and_pickles_keep_the_attributes(
    make_copy: Callable[[RankingError], RankingError],
) -> None:
    with pytest.raises(RankingError) as caught:
        aggregate([[1, 2, 3], [1, 2, -9]])
    again = make_copy(caught.value)
    assert type(again) is RankingError
    assert str(again) == str(caught.value)
    assert vars(again) == vars(caught.value)


@pytest.mark.parametrize(
    "provoke",
    [
        lambda: drop_labels([[1, 2]], 1.5, 0),
        lambda: Borda(beta=-1.0),
        lambda: PartialLabelRankingTree(min_samples_leaf=0).fit(X, [[1, 2], [2, 1]]),
        lambda: PartialLabelRankingTree().fit([[1.0], [math.inf]], [[1, 2], [2, 1]]),
    ],
)
def test_invalid_parameters_and_features_are_not_ranking_errors(provoke: Callable[[], Any]) -> None:
    with pytest.raises(ValueError) as caught:
        provoke()
    assert not isinstance(caught.value, RankingError)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,b,c\n\n1,2,3\n1,0,2\n",
            "line 4, column 2 (b): position 0; positions start at 1",
        ),
        ("a > b\n\na >\n", "line 3: 'a >' lacks a label before or after '>' or '~'"),
        ("a ~ a > b\n", "line 1: label 'a' appears twice in the ranking"),
    ],
)
def test_the_command_line_names_line_and_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    file = tmp_path / "rankings.csv"
    file.write_text(text)
    assert main(["aggregate", str(file)]) == 2
    assert f"{file}, {message}" in capsys.readouterr().err
