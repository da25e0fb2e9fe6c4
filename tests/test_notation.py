"""Text and bucket forms of rankings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bucketrank as br
from strategies import Ranking, profiles

names = st.text(st.characters(exclude_characters=">~", exclude_categories=["Z", "C"]), min_size=1)


@given(st.data())
def test_text_and_buckets_round_trip(data: st.DataObject) -> None:
    Y: list[Ranking] = data.draw(profiles())
    n_labels = len(Y[0])
    labels = data.draw(st.lists(names, min_size=n_labels, max_size=n_labels, unique=True))
    for back in (
        br.from_text(br.to_text(Y, labels), labels),
        br.from_buckets(br.to_buckets(Y, labels), labels),
    ):
        np.testing.assert_array_equal(back.positions, Y)
        assert back.labels == labels


def test_one_ranking_and_several() -> None:
    assert br.to_text([1, 2, 2, 3], list("abcd")) == "a > b ~ c > d"
    assert br.to_text([[1, 2, 2, 3]], list("abcd")) == ["a > b ~ c > d"]
    assert br.to_buckets([2, 1, 1], list("abc")) == [["b", "c"], ["a"]]


def test_names_come_from_columns_an_index_or_an_argument() -> None:
    frame = pd.DataFrame([[1, 2], [1, 1]], columns=["tea", "milk"])
    assert br.to_text(frame) == ["tea > milk", "tea ~ milk"]
    assert br.to_text(frame.iloc[0]) == "tea > milk"
    assert br.to_text(frame, labels=["x", "y"]) == ["x > y", "x ~ y"]
    assert br.to_text([2, 1]) == "1 > 0"


def test_missing_labels_are_omitted_and_read_as_missing() -> None:
    assert br.to_text([2, np.nan, 1], list("abc")) == "c > a"
    assert br.to_text([np.nan, np.nan], list("ab")) == ""
    np.testing.assert_array_equal(
        br.from_text(["c > a", ""], list("abc")).positions, [[2, np.nan, 1], [np.nan] * 3]
    )


def test_a_top_k_list_shows_its_last_bucket() -> None:
    assert br.to_text([1, np.inf, np.inf], list("abc")) == "a > b ~ c"


def test_labels_default_to_the_order_of_appearance() -> None:
    assert br.from_text(["b > a", "c > b"]).labels == ["b", "a", "c"]
    assert br.from_buckets([[[3], [1]], [[2], [1]]]).labels == [3, 1, 2]


def test_non_string_labels_keep_their_type() -> None:
    Y, labels = br.from_text("2 > 1", labels=[1, 2])
    assert (Y.tolist(), labels) == ([[2, 1]], [1, 2])


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a > b", "a > x"], ["a", "b"], r"row 1: unknown label 'x'; expected one of 'a', 'b'"),
        (["a > b", "b > a > b"], None, r"row 1: label 'b' appears twice"),
        (["a > > b"], None, r"row 0: 'a > > b' lacks a label before or after"),
        (["~ a"], None, r"lacks a label before or after"),
        (["a"], None, r"found 1 label; expected at least 2"),
        ([], ["a", "b"], r"found 0 rankings"),
        (["a > b"], ["a", "a"], r"'a' appears twice \(labels 0 and 1\)"),
        (["a > b"], ["a", "b>c"], r"'b>c' cannot be written as text"),
    ],
)
def test_bad_texts(texts: list[str], labels: list[str] | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        br.from_text(texts, labels)


def test_bad_types() -> None:
    with pytest.raises(TypeError, match=r"row 1: found 3; expected a string"):
        br.from_text(["a > b", 3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"bucket 'ab' is a string"):
        br.from_buckets([["ab", "c"]])
    with pytest.raises(TypeError, match=r"labels is the string 'ab'"):
        br.to_text([1, 2], labels="ab")
    with pytest.raises(TypeError, match=r"labels is the string 'ab'"):
        br.from_text("a > b", labels="ab")
    with pytest.raises(ValueError, match=r"row 0: a bucket is empty"):
        br.from_buckets([[["a"], [], ["b"]]])
    with pytest.raises(ValueError, match=r"row 0: unknown label \['a'\]"):
        br.from_buckets([[[["a"]], ["b"]]], labels=["a", "b"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("function", "value", "message"),
    [
        (br.from_text, None, r"texts is None; expected a string such as 'a > b ~ c', or a list"),
        (br.from_text, {"a > b": 1}, r"texts is of type dict; expected a string"),
        (br.from_text, 7, r"texts is 7; expected a string"),
        (br.from_buckets, None, r"rankings is None; expected a list of rankings"),
        (br.from_buckets, "ab", r"rankings is 'ab'; expected a list of rankings"),
        (br.from_buckets, [[["a"]], None], r"row 1 is None; expected a list of buckets"),
        (br.from_buckets, [[["a"], 3]], r"row 0: a bucket is 3; expected a list of label"),
    ],
)
def test_errors_describe_values_that_are_not_rankings(
    function: Callable[[Any], Any], value: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        function(value)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (5, TypeError, r"labels is 5; expected a list of names"),
        (
            {"a", "b"},
            TypeError,
            r"labels is of type set, whose order is arbitrary; expected a list",
        ),
        ({"a": 1, "b": 2}, TypeError, r"labels is of type dict; expected a list of names"),
        (np.array([["a"], ["b"]]), ValueError, r"labels has 2 dimensions; expected 1"),
        (["a", ["b"]], TypeError, r"label 1 has the name \['b'\]; expected a string or a number"),
        ([pd.NA, "b"], TypeError, r"label 0 has the name <NA>; expected a string or a number"),
    ],
)
def test_errors_describe_values_that_are_not_lists_of_names(
    labels: Any, error: type[Exception], message: str
) -> None:
    for function in (
        lambda: br.to_text([[1, 2]], labels),
        lambda: br.to_buckets([[1, 2]], labels),
        lambda: br.from_text("a > b", labels),
        lambda: br.from_buckets([[["a"], ["b"]]], labels),
        lambda: br.Borda().explain([[1, 2]], labels=labels),
    ):
        with pytest.raises(error, match=message):
            function()


def test_sets_are_rejected() -> None:
    with pytest.raises(TypeError, match=r"texts is of type set, whose order is arbitrary"):
        br.from_text({"a > b", "b > a"})
    with pytest.raises(TypeError, match=r"row 0 is of type set, whose order is arbitrary"):
        br.from_buckets([{("a",), ("b",)}])
    with pytest.raises(TypeError, match=r"row 0: a bucket is of type set, whose order"):
        br.from_buckets([[{"a", "b"}, ["c"]]])
    # If the labels are given, a bucket may be a set.
    assert br.from_buckets([[{"a", "b"}, ["c"]]], list("abc")).positions.tolist() == [[1, 1, 2]]
    with pytest.raises(TypeError, match=r"row 1: a label has the name \[1\]; expected a string"):
        br.from_buckets([[["a"]], [[[1]]]])  # type: ignore[list-item]


def test_names_may_be_an_iterator() -> None:
    assert br.from_text("a > b", (name for name in "ab")).labels == ["a", "b"]  # type: ignore[arg-type]


def test_wrong_number_of_names() -> None:
    with pytest.raises(ValueError, match=r"found 3 label names for 2 labels"):
        br.to_text([[1, 2]], list("abc"))
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(ValueError, match=r"label name 'a' appears twice"):
        br.to_text(frame)
