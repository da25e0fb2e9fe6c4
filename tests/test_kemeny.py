"""Kemeny: the bucket order with the smallest total distance."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bucketrank as br
from reference import kemeny as reference
from strategies import Ranking, integer_weights, profiles

PENALTIES = (Fraction(1, 2), Fraction(1, 4), Fraction(3, 4), Fraction(1))


@settings(max_examples=60)
@given(st.data())
def test_the_distance_is_that_of_brute_force(data: st.DataObject) -> None:
    Y = data.draw(profiles(max_labels=5))
    n = len(Y[0])
    weights = data.draw(st.none() | integer_weights(len(Y)))
    penalty = data.draw(st.sampled_from(PENALTIES))
    label_weights = data.draw(st.none() | st.lists(st.integers(1, 3), min_size=n, max_size=n))
    buckets = data.draw(st.none() | st.integers(1, n) | st.just("strict"))
    expected = reference.smallest_distance(
        Y,
        penalty,
        weights,
        None if label_weights is None else list(map(Fraction, label_weights)),
        (n, n) if buckets == "strict" else None if buckets is None else (1, int(buckets)),
    )
    aggregator = br.Kemeny(
        float(penalty),
        ties=buckets != "strict",
        n_buckets=(1, buckets) if isinstance(buckets, int) else None,
        label_weights=None if label_weights is None else tuple(map(float, label_weights)),
    )
    found = aggregator.explain(Y, weights)
    assert found.details["distance"] == pytest.approx(float(expected), abs=1e-9)
    assert found.details["optimal"]
    assert found.details["gap"] == 0
    assert found.details["lower_bound"] == found.details["distance"]
    assert sum(found.details["components"]) == n
    own = reference.total_distance(
        Y,
        found.positions.tolist(),
        penalty,
        weights,
        None if label_weights is None else list(map(Fraction, label_weights)),
    )
    assert float(own) == pytest.approx(found.details["distance"], abs=1e-9)


@given(profiles(max_labels=6, complete=True))
def test_on_complete_rankings_it_is_the_consensus_of_tau_x(Y: list[Ranking]) -> None:
    np.testing.assert_array_equal(br.Kemeny().aggregate(Y), br.TauX("exact").aggregate(Y))


def mallows(n: int, phi: float, seed: int, rows: int = 50) -> Any:
    """Rankings around 0 < 1 < ... with ties and missing labels, by repeated insertion."""
    rng = np.random.default_rng(seed)
    table = np.full((rows, n), np.nan)
    for row in table:
        order: list[int] = []
        for label in range(n):
            weights = phi ** (label - np.arange(label + 1.0))
            order.insert(rng.choice(label + 1, p=weights / weights.sum()), label)
        row[order] = 1 + np.cumsum(rng.random(n) > 0.3)
        row[rng.random(n) < 0.1] = np.nan
    return br.to_dense_ranks(table)


@pytest.mark.parametrize(("n", "phi"), [(30, 0.8), (30, 0.9), (100, 0.8)])
def test_agreeing_rankings_of_many_labels_are_proven_optimal(n: int, phi: float) -> None:
    Y = mallows(n, phi, seed=1)
    for aggregator in (br.Kemeny(search="exact", time_limit=30), br.TauX("exact", time_limit=30)):
        assert aggregator.explain(Y).details["optimal"]
    local = br.Kemeny(search="local").explain(Y).details
    exact = br.Kemeny().explain(Y).details
    assert exact["distance"] <= local["distance"] + 1e-9
    assert local["lower_bound"] <= exact["distance"]
    assert local["gap"] == pytest.approx(local["distance"] - local["lower_bound"])


def test_an_early_end_is_announced() -> None:
    rng = np.random.default_rng(0)
    Y = [rng.permutation(40) + 1 for _ in range(7)]
    hasty = br.Kemeny(search="exact", time_limit=0.05)
    with pytest.warns(br.UnprovenOptimumWarning, match=r"distance .*, at least .*time_limit"):
        hasty.aggregate(Y)
    details = hasty.explain(Y).details
    assert details["gap"] > 0
    assert details["unique"] is None
    assert "unique: unknown" in str(hasty.explain(Y))
    json.dumps(hasty.explain(Y).to_dict())


def test_shares_of_models_have_a_consensus() -> None:
    shares = [[0.7, 0.2, 0.1], [0.5, 0.5, 0.0], [0.4, 0.4, 0.2]]
    found = br.Kemeny().aggregate_pair_shares(shares)
    assert found.tolist() == br.TauX("exact").aggregate_pair_shares(shares).tolist()
    with pytest.raises(ValueError, match=r"Kemeny\(.*needs the shares of before"):
        br.Kemeny().aggregate_pair_order([[0.5, 0.5], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"penalty": 2}, ValueError, r"penalty is 2.0; expected a number from 0 to 1"),
        ({"penalty": "a"}, TypeError, r"penalty is 'a'"),
        ({"search": "best"}, ValueError, r"search is 'best'; expected one of 'auto'"),
        ({"n_buckets": 0}, ValueError, r"n_buckets is 0; expected a whole number"),
        ({"n_buckets": (3, 2)}, ValueError, r"n_buckets is \(3, 2\)"),
        ({"n_buckets": (1, 2, 3)}, ValueError, r"a minimum and a maximum"),
        ({"n_buckets": 2, "ties": False}, ValueError, r"n_buckets is 2 with ties=False"),
        ({"time_limit": float("nan")}, ValueError, r"time_limit is nan"),
        ({"label_weights": [1, -1]}, ValueError, r"label_weights has -1.0"),
        ({"label_weights": [1, 1e200]}, ValueError, r"label_weights has 1e\+200; expected 0 or"),
        ({"label_weights": [1, 1e-200]}, ValueError, r"label_weights has 1e-200; expected 0 or"),
        ({"label_weights": [0, 0]}, ValueError, r"label_weights are all zero"),
        ({"label_weights": 3}, TypeError, r"label_weights is 3; expected one number per label"),
    ],
)
def test_bad_parameters(params: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        br.Kemeny(**params)


def test_parameters_that_do_not_fit_the_labels() -> None:
    with pytest.raises(ValueError, match=r"n_buckets is 4, but there are 3 labels"):
        br.Kemeny(n_buckets=4).aggregate([[1, 2, 3]])
    weighted = br.Kemeny(label_weights=(1.0, 2.0))
    with pytest.raises(ValueError, match=r"found 2 label weights for 3 labels"):
        weighted.aggregate([[1, 2, 3]])
    with pytest.raises(ValueError, match=r"label_weights has 2 weights for 3 labels"):
        br.PartialLabelRankingTree(weighted).fit([[1.0], [2.0]], [[1, 2, 3], [2, 1, 3]])
