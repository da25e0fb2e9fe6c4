"""Reciprocal rank fusion, Schulze's method and ranked pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bucketrank as br
from reference import voting as reference
from strategies import integer_weights, profiles


@given(st.data())
def test_results_equal_the_reference(data: st.DataObject) -> None:
    Y = data.draw(profiles(max_labels=5))
    weights = data.draw(st.none() | integer_weights(len(Y)))
    k = data.draw(st.sampled_from([0, 1, 60]))
    scores = reference.reciprocal_rank_scores(Y, k, weights)
    fusion = br.ReciprocalRankFusion(k).explain(Y, weights)
    np.testing.assert_allclose(fusion.details["scores"], [float(s) for s in scores], atol=1e-12)
    assert fusion.positions.tolist() == reference.dense(scores)
    assert br.Schulze().aggregate(Y, weights).tolist() == reference.schulze(Y, weights)
    assert br.RankedPairs().aggregate(Y, weights).tolist() == reference.ranked_pairs(Y, weights)


def test_the_published_election_of_45_voters() -> None:
    # Schulze (2011): E > A > C > B > D.
    ballots = ["acbed", "adecb", "bedac", "cabed", "caebd", "cbade", "dceba", "ebadc"]
    Y, labels = br.from_text([" > ".join(ballot) for ballot in ballots], labels=list("abcde"))
    counts = [5, 5, 8, 3, 7, 2, 7, 8]
    order = br.Schulze().aggregate(Y, counts)
    assert br.to_text(order, labels) == "e > a > c > b > d"


def test_ranked_pairs_lists_discarded_majorities() -> None:
    # A cycle of majorities; c > a is the weakest.
    Y = [[1, 2, 3]] * 4 + [[3, 1, 2]] * 3 + [[2, 3, 1]] * 2
    explanation = br.RankedPairs().explain(Y, labels=["a", "b", "c"])
    assert explanation.positions.tolist() == [1, 2, 3]
    assert explanation.details["discarded"] == [(2, 0)]
    assert "discarded: c > a" in str(explanation)
    assert explanation.to_dict()["discarded"] == [[2, 0]]


@pytest.mark.parametrize("k", [-1, float("nan"), float("inf")])
def test_bad_constants(k: float) -> None:
    with pytest.raises(ValueError, match=r"k is .*; expected a finite number"):
        br.ReciprocalRankFusion(k)
    with pytest.raises(TypeError, match=r"k is '60'"):
        br.ReciprocalRankFusion("60")  # type: ignore[arg-type]


def test_methods_that_need_only_a_pair_order_matrix() -> None:
    rng = np.random.default_rng(0)
    Y = [rng.permutation(6) + 1 for _ in range(7)]
    C: Any = br.pair_order_matrix(Y)
    for method in (br.Schulze(), br.RankedPairs()):
        np.testing.assert_array_equal(method.aggregate_pair_order(C), method.aggregate(Y))
    with pytest.raises(ValueError, match=r"ReciprocalRankFusion\(k=60.0\) needs rankings"):
        br.ReciprocalRankFusion().aggregate_pair_order(C)
