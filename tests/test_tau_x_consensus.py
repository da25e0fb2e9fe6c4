"""TauX: the bucket order with the largest expected rank correlation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import bucketrank as br
from reference import tau_x as reference
from strategies import Ranking, bucket_orders, integer_weights, profiles

SEARCHES = ("cut", "local", "exact")
SCORERS = ("borda", "copeland", "mc1", "mc2", "mc3", "mc4", "maximal_lottery")
OTHERS = [
    *(br.get_aggregator(name) for name in br.PAPER_AGGREGATORS),
    *(br.TauX("local", order=name) for name in SCORERS),
]


def table(shares: reference.Shares, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The shares in the order of bucketrank's pair tables."""
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    return np.array([[float(share) for share in shares[pair]] for pair in pairs])


@given(st.data())
def test_the_cut_equals_the_reference(data: st.DataObject) -> None:
    Y = data.draw(profiles(max_labels=7))
    weights = data.draw(st.none() | integer_weights(len(Y)))
    shares = reference.pair_shares(Y, weights)
    n = len(Y[0])
    expected = reference.cut(shares, n)
    assert br.TauX().aggregate(Y, weights).tolist() == expected
    assert br.TauX().aggregate_pair_shares(table(shares, n)).tolist() == expected
    details = br.TauX().explain(Y, weights).details
    net = [float(s) for s in reference.net_preferences(shares, n)]
    np.testing.assert_allclose(details["scores"], net, atol=1e-12)
    value = float(reference.expected_tau_x(shares, expected))
    assert details["expected_tau_x"] == pytest.approx(value, abs=1e-12)


@settings(max_examples=40)
@given(profiles(max_labels=5))
def test_exact_equals_the_best_of_all_bucket_orders(Y: list[Ranking]) -> None:
    shares, n = reference.pair_shares(Y), len(Y[0])
    best = float(reference.largest_expected_tau_x(shares, n))
    details = br.TauX("exact").explain(Y).details
    assert details["expected_tau_x"] == pytest.approx(best, abs=1e-9)
    assert details["optimal"]
    assert details["upper_bound"] == details["expected_tau_x"]


@given(profiles(max_labels=7), st.floats(0, 2))
def test_a_more_thorough_search_never_lowers_the_expected_tau_x(
    Y: list[Ranking], beta: float
) -> None:
    shares = reference.pair_shares(Y)

    def expected(aggregator: br.Aggregator) -> float:
        return float(reference.expected_tau_x(shares, aggregator.aggregate(Y).tolist()))

    cut, local, exact = (expected(br.TauX(search)) for search in SEARCHES)
    assert exact >= local - 1e-9
    assert local >= cut - 1e-9
    assert cut >= expected(br.Borda(beta)) - 1e-8
    for other in OTHERS:
        assert exact >= expected(other) - 1e-9, other


@given(profiles(max_labels=7), st.sampled_from(SCORERS))
def test_the_order_of_another_method_is_cut_in_the_best_way(Y: list[Ranking], name: str) -> None:
    shares = reference.pair_shares(Y)
    own = br.aggregate(Y, name).tolist()
    # Without ties there is only one order to cut.
    assume(len(set(own)) == len(own))
    found = br.TauX(order=name).aggregate(Y).tolist()
    order = sorted(range(len(own)), key=own.__getitem__)
    assert found == reference.best_cut(shares, [[label] for label in order])


@given(st.integers(2, 8).flatmap(bucket_orders), st.integers(1, 30))
def test_unanimous_complete_rankings_are_the_consensus(row: Ranking, copies: int) -> None:
    for search in SEARCHES:
        np.testing.assert_array_equal(br.TauX(search).aggregate([row] * copies), row)


@given(profiles(max_labels=7, max_rows=6))
def test_mostly_tied_labels_are_all_tied(Y: list[Ranking]) -> None:
    n = len(Y[0])
    mostly = Y + [[1.0] * n] * 7
    for search in SEARCHES:
        assert br.TauX(search).aggregate(mostly).tolist() == [1] * n


@given(st.data())
def test_relabelling_relabels_the_result(data: st.DataObject) -> None:
    Y = np.array(data.draw(profiles(max_labels=7)))
    order = data.draw(st.permutations(range(Y.shape[1])))
    np.testing.assert_array_equal(br.TauX().aggregate(Y[:, order]), br.TauX().aggregate(Y)[order])
    for search in ("local", "exact"):
        found, again = (br.TauX(search).explain(y) for y in (Y, Y[:, order]))
        value = found.details["expected_tau_x"]
        assert again.details["expected_tau_x"] == pytest.approx(value, abs=1e-9)
        if found.details["unique"]:
            np.testing.assert_array_equal(again.positions, found.positions[order])


def test_many_sets_and_tables_do_not_depend_on_the_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    sets = [br.to_dense_ranks(rng.integers(0, 9, (5, 12)).astype(float)) for _ in range(800)]
    tables = rng.dirichlet(np.ones(3), (800, 66))
    for search in ("cut", "local"):
        aggregator = br.TauX(search)
        orders = aggregator.aggregate_many(sets)
        assert orders[7].tolist() == aggregator.aggregate(sets[7]).tolist()
        by_tables = aggregator.aggregate_pair_shares(tables)
        for n_jobs in (2, -1):
            np.testing.assert_array_equal(aggregator.aggregate_many(sets, n_jobs), orders)
            again = aggregator.aggregate_pair_shares(tables, n_jobs)
            np.testing.assert_array_equal(again, by_tables)


def test_boundaries_have_their_gain() -> None:
    Y = [[1, 2, 3], [1, 2, 3], [1, 3, 2], [1, 1, 2]]
    explanation = br.TauX().explain(Y)
    assert explanation.positions.tolist() == [1, 2, 3]
    # The gain of a boundary is the expected agreement of the separated pairs minus that of tying them, over 3 pairs.
    # Labels 0 and 1 are before in 3/4 and tied in 1/4 of the rankings: 3/4 - 1/4. Labels 1 and 2 are before in 3/4
    # and after in 1/4: (3/4 - 1/4) - 0.
    assert explanation.details["boundary_gains"] == pytest.approx([0.5 / 3, 0.5 / 3])
    assert "boundary_gains: 0.1667, 0.1667" in str(explanation)
    alone = br.TauX().explain([[1, 1, 1]])
    assert alone.details["boundary_gains"] == []
    assert "boundary_gains: none" in str(alone)


def test_orders_of_other_methods() -> None:
    Y = [[2, 3, 1, 4], [3, 2, 1, 4], [2, 3, 1, 4]]
    for name in SCORERS:
        assert br.TauX(order=name).aggregate(Y).tolist() == [2, 3, 1, 4], name
    assert br.TauX(order="mc1") == br.TauX(order=br.MarkovChain(1))
    assert br.get_aggregator("tau_x", search="local") == br.TauX("local")


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"search": "best"}, ValueError, r"search is 'best'; expected one of 'cut', 'local'"),
        ({"search": 3}, TypeError, r"search is 3; expected one of"),
        ({"order": "bucket_pivot"}, ValueError, r"'bucket_pivot', which has no scores"),
        ({"order": "tau_x"}, ValueError, r"which has no scores"),
        ({"order": "cop"}, ValueError, r"unknown method 'cop'"),
        ({"order": 1.0}, TypeError, r"expected a name or an aggregator"),
        ({"ties": 1}, TypeError, r"ties is 1; expected True or False"),
        ({"time_limit": -1}, ValueError, r"time_limit is -1"),
        ({"search": "exact", "order": "borda"}, ValueError, r"expected order=None"),
    ],
)
def test_bad_parameters(params: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        br.TauX(**params)


def test_a_pair_order_matrix_is_not_enough() -> None:
    with pytest.raises(ValueError, match=r"TauX\(.*needs the shares of before, tied and after"):
        br.TauX().aggregate_pair_order([[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(ValueError, match=r"needs rankings"):
        br.TauX(order="mc1").aggregate_pair_order([[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(ValueError, match=r"needs rankings, which shares of pairs"):
        br.TauX(order="mc1").aggregate_pair_shares([[1, 0, 0]])


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ([1, 0, 0], r"shares has 1 dimension"),
        (np.zeros((0, 3, 3)), r"found 0 tables"),
        ([[0.5, 0.5]], r"shape \(1, 2\); expected one row"),
        (np.zeros((2, 3)), r"shape \(2, 3\); expected one row for each"),
        ([[1.0, 0.5, 0.0]], r"table 0: pair 0: shares \[1.0, 0.5, 0.0\]; expected numbers"),
        ([[np.nan, 0.5, 0.5]], r"table 0: pair 0"),
    ],
)
def test_bad_shares(shares: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        br.TauX().aggregate_pair_shares(shares)


def test_the_exact_search_takes_many_labels_and_obeys_the_time_limit() -> None:
    order = list(range(1, 41))
    assert br.TauX("exact").aggregate([order, order[::-1], order]).tolist() == order
    rng = np.random.default_rng(0)
    Y = np.array([rng.permutation(40) + 1 for _ in range(5)])
    with pytest.warns(br.UnprovenOptimumWarning, match=r"ended before .* proven optimal"):
        br.TauX("exact", time_limit=0.05).aggregate(Y)
    details = br.TauX("exact", time_limit=0.05).explain(Y).details
    assert not details["optimal"]
    assert details["expected_tau_x"] < details["upper_bound"] <= 1


def test_strict_orders_have_no_ties() -> None:
    Y = [[1, 2, 2, 3], [2, 1, 1, 3], [1, 1, 1, 1]]
    for search in SEARCHES:
        strict = br.TauX(search, ties=False).aggregate(Y)
        assert sorted(strict) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "estimator",
    [
        br.PartialLabelRankingTree(),
        br.PartialLabelRankingTree(routing="soft", shrinkage="m-estimate"),
        br.PartialLabelRankingForest(n_estimators=5),
        br.PartialLabelRankingBooster(rounds=5),
        br.PartialLabelRankingLinear(),
        br.PartialLabelRanker(fast=True, n_estimators=5, rounds=5),
        br.PartialLabelRankingBaseline(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_every_estimator_predicts_strict_orders(estimator: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    # Many ties and missing labels: the usual prediction ties labels.
    Y = np.round(1 + (X[:, :1] * [1, 0.5, 0, -1]) + rng.normal(size=(60, 4)) / 2)
    Y = br.to_dense_ranks(np.where(rng.random(Y.shape) < 0.2, np.nan, Y - Y.min() + 1))
    usual = clone(estimator).fit(X, Y)
    strict = clone(estimator).set_params(aggregator=br.TauX(ties=False)).fit(X, Y)
    assert any(len(set(row)) < 4 for row in usual.predict(X).tolist())
    predicted = strict.predict(X)
    assert (np.sort(predicted, axis=1) == [1, 2, 3, 4]).all()
    assert br.kendall_tau(predicted, predicted) == 1
    for kemeny in (br.Kemeny(ties=False), br.TauX("exact", ties=False)):
        exact = clone(estimator).set_params(aggregator=kemeny).fit(X, Y).predict(X)
        assert (np.sort(exact, axis=1) == [1, 2, 3, 4]).all()
    br.save_model(strict, tmp_path / "model.bin")
    np.testing.assert_array_equal(br.load_model(tmp_path / "model.bin").predict(X), predicted)


def test_unsupported_orders_are_rejected() -> None:
    with pytest.raises(TypeError, match=r"order is 3; expected a name or an aggregator"):
        br.TauX(order=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"is chosen by a tree"):
        br.TauX(order=br.Borda(beta="auto"))
