"""Aggregators as objects: parameters, equality, pickling, explanations, and invalid input."""

from __future__ import annotations

import copy
import json
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bucketrank as br

EXAMPLES = [
    br.Borda(0.5),
    br.Copeland(0.1),
    br.BucketPivot(0.3),
    br.MarkovChain(2),
    br.MaximalLottery(),
    br.TauX("local", order=br.Copeland(0.1)),
]
Y = [[1, 2, 3], [1, 3, 2], [2, 1, 3]]


@pytest.mark.parametrize("aggregator", EXAMPLES, ids=str)
def test_aggregators_are_immutable_values(aggregator: br.Aggregator) -> None:
    for other in (
        eval(repr(aggregator), vars(br)),
        pickle.loads(pickle.dumps(aggregator)),
        copy.deepcopy(aggregator),
        clone(aggregator),
        aggregator.set_params(),
    ):
        assert other == aggregator
        assert hash(other) == hash(aggregator)
    assert aggregator != br.Borda(0.123)
    with pytest.raises(AttributeError):
        aggregator.beta = 1.0  # type: ignore[attr-defined]


def test_parameters() -> None:
    assert br.Borda().get_params() == {"beta": 0.9}
    assert br.Borda().set_params(beta=2) == br.Borda(beta=2.0)
    assert br.MarkovChain(np.int64(3)) == br.MarkovChain(3)  # type: ignore[arg-type]
    assert br.MaximalLottery().get_params() == {}
    assert repr(br.BucketPivot()) == "BucketPivot(beta=0.25)"
    with pytest.raises(ValueError, match=r"Borda has no parameter 'gamma'; known: \['beta'\]"):
        br.Borda().set_params(gamma=1)


@pytest.mark.parametrize("kind", [br.Borda, br.Copeland, br.BucketPivot])
@pytest.mark.parametrize(
    ("beta", "error"),
    [
        (-0.1, ValueError),
        (math.nan, ValueError),
        (math.inf, ValueError),
        ("0.5", TypeError),
        (None, TypeError),
        (True, TypeError),
        ([0.5], TypeError),
    ],
)
def test_bad_betas(kind: Any, beta: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"beta is .*; expected"):
        kind(beta)


@pytest.mark.parametrize(("variant", "error"), [(0, ValueError), (5, ValueError), (1.0, TypeError)])
def test_bad_variants(variant: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"variant is .*; expected 1, 2, 3 or 4"):
        br.MarkovChain(variant)


def test_names() -> None:
    expected = {
        "borda": br.Borda(0.9),
        "copeland": br.Copeland(0.4),
        "bucket_pivot": br.BucketPivot(0.25),
        "mc1": br.MarkovChain(1),
        "mc2": br.MarkovChain(2),
        "mc3": br.MarkovChain(3),
        "mc4": br.MarkovChain(4),
        "maximal_lottery": br.MaximalLottery(),
    }
    for name, aggregator in expected.items():
        assert br.get_aggregator(name) == aggregator
        np.testing.assert_array_equal(br.aggregate(Y, name), aggregator.aggregate(Y))
    assert br.aggregate(Y, "borda", beta=0.5).tolist() == [1, 2, 3]
    assert br.aggregate(Y, br.Borda(0.5)).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match=r"unknown method 'copland'; known: copeland, "):
        br.aggregate(Y, "copland")
    with pytest.raises(TypeError, match=r"method is 3; expected a name or an aggregator"):
        br.aggregate(Y, 3)  # type: ignore[arg-type]


def test_frames_give_labelled_series() -> None:
    frame = pd.DataFrame(Y, columns=["a", "b", "c"])
    consensus = br.Borda(0.5).aggregate(frame)
    assert isinstance(consensus, pd.Series)
    assert consensus.to_dict() == {"a": 1, "b": 2, "c": 3}
    assert consensus.dtype == np.int64
    assert br.to_text(consensus) == "a > b > c"
    by_matrix = br.Borda(0.5).aggregate_pair_order(br.pair_order_matrix(frame))
    pd.testing.assert_series_equal(by_matrix, consensus)
    assert br.Borda(0.5).explain(frame).labels == ["a", "b", "c"]


@pytest.mark.parametrize("aggregator", EXAMPLES, ids=str)
def test_explanations_print_and_convert_to_json(aggregator: br.Aggregator) -> None:
    explanation = aggregator.explain(Y, labels=["tea", "coffee", "orange juice"])
    text = str(explanation)
    assert text.startswith(repr(aggregator) + "\nposition  label")
    assert all(label in text for label in ("tea", "coffee", "orange juice"))
    as_dict = json.loads(json.dumps(explanation.to_dict()))
    assert as_dict["positions"] == aggregator.aggregate(Y).tolist()
    assert as_dict["labels"] == ["tea", "coffee", "orange juice"]
    assert as_dict["buckets"] == br.to_buckets(as_dict["positions"], as_dict["labels"])


@pytest.mark.parametrize("variant", [1, 2, 3])
def test_chains_that_need_rankings_reject_pair_order_matrices(variant: int) -> None:
    with pytest.raises(ValueError, match=r"needs rankings.*Borda, Copeland.*MaximalLottery"):
        br.MarkovChain(variant).aggregate_pair_order([[0.5, 1], [0, 0.5]])


@pytest.mark.parametrize(
    ("C", "error", "message"),
    [
        ([[0.5, 1.0]], ValueError, r"shape \(1, 2\); expected a square"),
        ([[0.5, 0.7], [0.7, 0.5]], ValueError, r"C\[0\]\[1\] \+ C\[1\]\[0\] = 1.4; expected 1"),
        ([[0.5, 1.2], [-0.2, 0.5]], ValueError, r"row 0, column 1: 1.2; expected a share"),
        ([[0.5, math.nan], [0.5, 0.5]], ValueError, r"row 0, column 1: NaN; expected a share"),
        (
            [[0.4, 0.5], [0.5, 0.5]],
            ValueError,
            r"row 0, column 0: 0.4; expected 0.5 on the diagonal",
        ),
        ([0.5, 0.5], ValueError, r"C has 1 dimension"),
        ([[0.5]], ValueError, r"found 1 label"),
        ([["a", "b"], ["c", "d"]], TypeError, r"C has dtype"),
    ],
)
@pytest.mark.parametrize(
    "aggregator", [br.Borda(), br.MarkovChain(4), br.MaximalLottery()], ids=str
)
def test_bad_pair_order_matrices(
    aggregator: br.Aggregator, C: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        aggregator.aggregate_pair_order(C)


def test_frames_with_different_columns_are_rejected() -> None:
    frames = [pd.DataFrame([[1, 2, 3]], columns=list(names)) for names in ("abc", "cba")]
    with pytest.raises(ValueError, match=r"set 0 has the columns .* but set 1 has"):
        br.Borda().aggregate_many(frames)
    with pytest.raises(ValueError, match=r"set 1 has the columns .* but set 2 has"):
        br.Borda().aggregate_many([np.array([[1, 2, 3]]), *frames])
    C = pd.DataFrame(np.full((2, 2), 0.5), index=["b", "a"], columns=["a", "b"])
    with pytest.raises(ValueError, match=r"C has the rows \['b', 'a'\] but the columns"):
        br.Borda().aggregate_pair_order(C)
    with pytest.raises(ValueError, match=r"found 0 pair order matrices"):
        br.Borda().aggregate_pair_order(np.zeros((0, 3, 3)))
    with pytest.raises(TypeError, match=r"expected a list of 2-D arrays"):
        br.Borda().aggregate_many(frames[0])


def test_names_of_any_type_convert_to_json() -> None:
    labels = [np.int64(1), pd.Timestamp("2020-01-01"), "c"]
    text = json.dumps(br.Borda().explain(Y, labels=labels).to_dict())
    assert json.loads(text)["labels"] == [1, "2020-01-01 00:00:00", "c"]


@pytest.mark.parametrize("variant", [1, 2, 3, 4])
@pytest.mark.parametrize("spread", [1e-155, 1e-200, 1e-300])
def test_weights_of_very_different_size(variant: int, spread: float) -> None:
    rankings = [[2, 1, 2, 1], [math.nan, 1, 2, 2]]
    details = br.MarkovChain(variant).explain(rankings, [spread, 1]).details
    assert details["stationary"].sum() == pytest.approx(1)
    assert details["residual"] < 1e-12


def test_bad_batches() -> None:
    borda = br.Borda()
    with pytest.raises(ValueError, match=r"set 1 has 2 labels but set 0 has 3"):
        borda.aggregate_many([Y, [[1, 2]]])
    with pytest.raises(ValueError, match=r"set 1: row 0, label 1: position -7"):
        borda.aggregate_many([Y, [[1, -7, 2]]])
    with pytest.raises(ValueError, match=r"set 0 has 1 dimension"):
        borda.aggregate_many([[1, 2, 3]])
    with pytest.raises(ValueError, match=r"found 0 sets"):
        borda.aggregate_many([])
    with pytest.raises(ValueError, match=r"sets has 2 dimension"):
        borda.aggregate_many(np.array(Y))
    with pytest.raises(TypeError, match=r"sets is 3; expected a list"):
        borda.aggregate_many(3)
    bad = np.full((2, 2, 2), 0.5)
    bad[1, 0, 1] = 0.9
    with pytest.raises(ValueError, match=r"matrix 1: pair order matrix, rows 0 and 1"):
        borda.aggregate_pair_order(bad)


@pytest.mark.parametrize(("n_jobs", "error"), [(0, ValueError), (1.5, TypeError), ("2", TypeError)])
def test_bad_numbers_of_threads(n_jobs: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"n_jobs is .*; expected"):
        br.Borda().aggregate_many([Y], n_jobs=n_jobs)


def test_threads_work_in_a_forked_child() -> None:
    import multiprocessing

    sets = [np.tile(Y, (50, 1))] * 2000
    expected = br.MarkovChain(1).aggregate_many(sets, n_jobs=2)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        result = pool.apply_async(br.MarkovChain(1).aggregate_many, (sets, 2))
        np.testing.assert_array_equal(result.get(timeout=60), expected)


def test_explanations_are_read_only() -> None:
    explanation = br.BucketPivot().explain([[1, 2, 3], [2, 1, 3]])
    before = explanation.to_dict()
    explanation.details["pivots"].append(7)
    explanation.details["distance"] = 0.0
    explanation.details.clear()
    with pytest.raises(ValueError, match="read-only"):
        explanation.positions[0] = 9
    with pytest.raises(ValueError, match="read-only"):
        explanation.details["indecision"][0] = 9
    assert explanation.to_dict() == before
    assert pickle.loads(pickle.dumps(explanation)).to_dict() == before


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_first_bad_set_is_named_in_lists_and_arrays(n_jobs: int) -> None:
    sets = np.tile([[1, 2, 3], [2, 1, 3]], (40, 1, 1))
    sets[[17, 30], 1, 2] = -8
    for many in (sets, sets.astype(float), list(sets), [sets[0].tolist(), *sets[1:]]):
        with pytest.raises(ValueError, match=r"^set 17: row 1, label 2: position -8"):
            br.Borda().aggregate_many(many, n_jobs=n_jobs)


def test_one_array_of_sets_equals_their_list_for_every_type_and_order() -> None:
    Y = br.to_dense_ranks(np.random.default_rng(0).integers(0, 4, (60, 5))).reshape(12, 5, 5)
    expected = [br.Borda(0.1).aggregate(set_) for set_ in Y]
    incomplete = Y.astype(float)
    incomplete[:, :, 4] = np.where(Y[:, :, 4] == Y.max(axis=2), np.nan, Y[:, :, 4])
    for sets in (Y, Y.astype(float), Y.astype(">i2"), np.asfortranarray(Y), Y[::-1][::-1]):
        np.testing.assert_array_equal(br.Borda(0.1).aggregate_many(sets), expected)
        np.testing.assert_array_equal(br.Borda(0.1).aggregate_many(list(sets)), expected)
    dense = [br.to_dense_ranks(set_) for set_ in incomplete]
    np.testing.assert_array_equal(
        br.Borda(0.1).aggregate_many(np.stack([np.asarray(d, float) for d in dense])),
        [br.Borda(0.1).aggregate(d) for d in dense],
    )


def test_unusual_arrays_in_a_list_are_read_like_plain_ones() -> None:
    plain = np.array([[1, 2, 3], [2, 1, 2], [1, 1, 2]])
    masked = np.ma.masked_array(plain.astype(float), mask=plain == 3)
    packed = np.zeros(3, dtype=[("pad", "i1"), ("row", "i8", 3)])
    packed["row"] = plain
    assert not packed["row"].flags.aligned
    frozen = plain.copy()
    frozen.setflags(write=False)
    unusual = [
        masked, packed["row"], frozen, plain[:, ::-1], np.asfortranarray(plain), plain.astype(">i8"),
        plain.astype(np.int32), plain.view(np.matrix), plain.tolist(),
    ]  # fmt: skip
    expected = [br.Borda(0.1).aggregate(Y) for Y in (plain, *unusual)]
    np.testing.assert_array_equal(br.Borda(0.1).aggregate_many([plain, *unusual]), expected)
    for Y, own in zip(unusual, expected[1:], strict=True):
        found = br.Borda(0.1).aggregate_many([plain.copy(), Y])
        np.testing.assert_array_equal(found, [expected[0], own])
    with pytest.raises(ValueError, match="set 1 has 2 labels but set 0 has 3"):
        br.Borda().aggregate_many([plain, np.array([[1, 2]])])
