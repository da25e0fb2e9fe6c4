"""Aggregators: comparison with the exact reference, and invariants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bucketrank as br
from reference import aggregators as reference
from reference import lottery, markov
from reference.pairs import pair_order
from reference.rankings import all_weak_orders
from strategies import Ranking, bucket_orders, integer_weights, profiles

PAPER_METHODS = [
    br.Borda(),
    br.Borda(0),
    br.Copeland(),
    br.Copeland(0),
    br.BucketPivot(),
    br.BucketPivot(0),
    *(br.MarkovChain(v) for v in (1, 2, 3, 4)),
    br.MaximalLottery(),
]
"""The paper's methods; those with a threshold β also with β = 0."""

OTHER_METHODS = [
    br.TauX(),
    br.TauX("local"),
    br.TauX("exact"),
    br.Kemeny(),
    br.Kemeny(ties=False),
    br.Schulze(),
    br.RankedPairs(),
    br.ReciprocalRankFusion(),
    br.Davidson(),
]
"""Methods beyond the paper."""

EQUIVARIANT = [a for a in PAPER_METHODS if not isinstance(a, br.BucketPivot)]
betas = st.sampled_from([0.0, 0.1, 0.25, 0.4, 0.5, 0.9, 1.3])


def by_reference(aggregator: br.Aggregator, Y: list[Ranking], weights: Any = None) -> list[int]:
    C = pair_order(Y, weights)
    if isinstance(aggregator, br.Borda):
        return reference.borda(C, float(aggregator.beta))
    if isinstance(aggregator, br.Copeland):
        return reference.copeland(C, float(aggregator.beta))
    if isinstance(aggregator, br.BucketPivot):
        return reference.bucket_pivot(C, float(aggregator.beta))
    if isinstance(aggregator, br.MarkovChain):
        return markov.markov_chain(markov.transition_matrix(Y, aggregator.variant, weights))
    return lottery.lottery_ranking(lottery.maximal_lottery(C))


@given(profiles(max_labels=6), betas)
def test_scoring_methods_equal_the_reference(Y: list[Ranking], beta: float) -> None:
    for kind in (br.Borda, br.Copeland, br.BucketPivot):
        aggregator = kind(beta)
        assert aggregator.aggregate(Y).tolist() == by_reference(aggregator, Y)


@given(st.data())
def test_weighted_methods_equal_the_reference(data: st.DataObject) -> None:
    Y = data.draw(profiles(max_labels=5))
    weights = data.draw(integer_weights(len(Y)))
    for aggregator in PAPER_METHODS:
        if not isinstance(aggregator, br.MaximalLottery):
            assert aggregator.aggregate(Y, weights).tolist() == by_reference(aggregator, Y, weights)


@given(profiles(max_labels=6), st.sampled_from([1, 2, 3, 4]))
def test_stationary_distributions_equal_exact_ones(Y: list[Ranking], variant: int) -> None:
    aggregator = br.MarkovChain(variant)
    explanation = aggregator.explain(Y)
    exact = markov.stationary(markov.transition_matrix(Y, variant))
    computed = explanation.details["stationary"]
    np.testing.assert_allclose(computed, np.array(exact, dtype=float), atol=1e-12)
    assert explanation.details["residual"] <= 1e-12
    assert explanation.positions.tolist() == by_reference(aggregator, Y)


@settings(max_examples=60)
@given(profiles(max_labels=4, max_rows=6))
def test_lotteries_equal_exact_ones(Y: list[Ranking]) -> None:
    C = pair_order(Y)
    explanation = br.MaximalLottery().explain(Y)
    exact = np.array(lottery.maximal_lottery(C), dtype=float)
    np.testing.assert_allclose(explanation.details["probabilities"], exact, atol=1e-9)
    assert explanation.details["unique"] == lottery.is_unique(C)


@given(profiles(max_labels=9, max_rows=12))
def test_lotteries_are_maximal(Y: list[Ranking]) -> None:
    C = br.pair_order_matrix(Y)
    details = br.MaximalLottery().explain(Y).details
    p = details["probabilities"]
    margins = p @ (C - C.T)
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert margins.min() >= -1e-9
    assert details["margin"] == pytest.approx(margins.min(), abs=1e-12)


@given(profiles(max_labels=9, max_rows=12))
def test_results_are_bucket_orders_of_all_labels(Y: list[Ranking]) -> None:
    for aggregator in PAPER_METHODS:
        positions = aggregator.aggregate(Y)
        assert positions.dtype == np.int64
        assert sorted(set(positions.tolist())) == list(range(1, positions.max() + 1))
        np.testing.assert_array_equal(positions, aggregator.explain(Y).positions)


@given(st.data())
def test_relabelling_relabels_the_result(data: st.DataObject) -> None:
    Y = np.array(data.draw(profiles(max_labels=7)))
    order = data.draw(st.permutations(range(Y.shape[1])))
    for aggregator in EQUIVARIANT:
        expected = aggregator.aggregate(Y)[order]
        np.testing.assert_array_equal(aggregator.aggregate(Y[:, order]), expected, str(aggregator))


@given(st.data())
def test_interchangeable_labels_are_tied(data: st.DataObject) -> None:
    Y = np.array(data.draw(profiles(max_labels=6)))
    u, v = data.draw(st.permutations(range(Y.shape[1])))[:2]
    order = list(range(Y.shape[1]))
    order[u], order[v] = v, u
    symmetric = np.vstack([Y, Y[:, order]])
    for aggregator in EQUIVARIANT:
        positions = aggregator.aggregate(symmetric)
        assert positions[u] == positions[v], aggregator


@given(st.integers(2, 8).flatmap(bucket_orders), st.integers(1, 4), betas)
def test_unanimous_complete_rankings_are_the_consensus(
    row: Ranking, copies: int, beta: float
) -> None:
    Y = [row] * copies
    methods: list[br.Aggregator] = [br.Borda(min(beta, 0.9))]
    if beta < 0.5:
        methods += [br.Copeland(beta), br.BucketPivot(beta)]
    for aggregator in methods:
        np.testing.assert_array_equal(aggregator.aggregate(Y), row)


@given(profiles(), betas)
def test_reversing_the_rankings_reverses_borda_and_copeland(Y: list[Ranking], beta: float) -> None:
    backward = br.to_dense_ranks(-np.array(Y))
    for kind in (br.Borda, br.Copeland):
        forward = kind(beta).aggregate(Y)
        expected = forward.max() + 1 - forward
        np.testing.assert_array_equal(kind(beta).aggregate(backward), expected)


@given(st.integers(2, 8).flatmap(bucket_orders), st.integers(1, 4))
def test_other_methods_keep_unanimous_rankings(row: Ranking, copies: int) -> None:
    for aggregator in OTHER_METHODS:
        if aggregator == br.Davidson():
            # It fits a model of ties, in which many ties make further ties probable.
            continue
        found = aggregator.aggregate([row] * copies)
        if aggregator == br.Kemeny(ties=False):
            assert len(set(found)) == len(row)
            # The order is strict: it breaks all ties and keeps the order of labels that are not tied.
            assert all(np.diff(np.array(row)[np.argsort(found)]) >= 0)
        else:
            np.testing.assert_array_equal(found, row)


@given(profiles(max_labels=6))
def test_reversing_the_rankings_reverses_other_methods(Y: list[Ranking]) -> None:
    backward = br.to_dense_ranks(-np.array(Y))
    for aggregator in (br.Schulze(), br.RankedPairs()):
        forward = aggregator.aggregate(Y)
        expected = forward.max() + 1 - forward
        np.testing.assert_array_equal(aggregator.aggregate(backward), expected)
    for optimum in (br.TauX("exact"), br.Kemeny(), br.Kemeny(ties=False)):
        found, other = (optimum.explain(each) for each in (Y, backward))
        key = "distance" if isinstance(optimum, br.Kemeny) else "expected_tau_x"
        assert found.details[key] == pytest.approx(other.details[key], abs=1e-9)
        assert found.details["unique"] == other.details["unique"]
        if found.details["unique"]:
            expected = found.positions.max() + 1 - found.positions
            np.testing.assert_array_equal(other.positions, expected)
    cuts = (br.TauX().explain(each).details["expected_tau_x"] for each in (Y, backward))
    assert next(cuts) == pytest.approx(next(cuts), abs=1e-9)
    utilities = [br.Davidson().explain(each).details["utilities"] for each in (Y, backward)]
    np.testing.assert_allclose(utilities[0], -utilities[1], atol=1e-6)


@given(st.data())
def test_weight_k_equals_k_copies(data: st.DataObject) -> None:
    Y = data.draw(profiles())
    weights = data.draw(integer_weights(len(Y)))
    copies = np.repeat(Y, weights, axis=0)
    for aggregator in (*PAPER_METHODS, *OTHER_METHODS):
        np.testing.assert_array_equal(
            aggregator.aggregate(Y, weights), aggregator.aggregate(copies)
        )


@given(profiles())
def test_large_thresholds_tie_everything(Y: list[Ranking]) -> None:
    for aggregator in (br.Borda(1e6), br.Copeland(0.5), br.Copeland(7), br.BucketPivot(0.5)):
        assert aggregator.aggregate(Y).max() == 1


@given(profiles(complete=True, min_labels=3))
def test_without_a_threshold_the_methods_are_the_classical_ones(Y: list[Ranking]) -> None:
    # For complete rankings Borda's order is the order of the mean fractional ranks.
    ranks = [[sum(q < p for q in row) + (row.count(p) + 1) / 2 for p in row] for row in Y]
    expected = br.to_dense_ranks(np.round([np.mean(ranks, axis=0)], 9))[0]
    np.testing.assert_array_equal(br.Borda(0).aggregate(Y), expected)
    C = br.pair_order_matrix(Y)
    wins = (C > 0.5 + 1e-9).sum(axis=1) + ((abs(C - 0.5) <= 1e-9).sum(axis=1) - 1) / 2
    np.testing.assert_array_equal(br.Copeland(0).aggregate(Y), br.to_dense_ranks([-wins])[0])


@given(st.data())
def test_a_condorcet_winner_is_first(data: st.DataObject) -> None:
    Y = np.array(data.draw(profiles(complete=True, max_labels=6, max_rows=9)))
    winner = data.draw(st.integers(0, Y.shape[1] - 1))
    # A majority of the rows places the winner alone at the first position.
    majority = np.vstack([Y, Y[:1]])
    majority[:, winner] = 0
    Y = np.vstack([Y, br.to_dense_ranks(majority)])
    for aggregator in (br.Copeland(0), br.MarkovChain(4), br.MaximalLottery()):
        positions = aggregator.aggregate(Y).tolist()
        assert positions[winner] == 1
        assert positions.count(1) == 1


@settings(max_examples=25)
@given(profiles(min_labels=4, max_labels=5, max_rows=6))
def test_bucket_pivot_reports_its_distance_and_never_beats_the_optimum(Y: list[Ranking]) -> None:
    C = br.pair_order_matrix(Y)

    def distance(positions: Any) -> float:
        p = np.asarray(positions)
        B = np.where(p[:, None] < p, 1.0, np.where(p[:, None] == p, 0.5, 0.0))
        return float(abs(C - B).sum())

    explanation = br.BucketPivot().explain(Y)
    assert explanation.details["distance"] == pytest.approx(distance(explanation.positions))
    best = min(map(distance, all_weak_orders(C.shape[0])))
    assert explanation.details["distance"] >= best - 1e-12


@given(profiles(max_labels=6), betas)
def test_explanations_equal_the_reference(Y: list[Ranking], beta: float) -> None:
    C = pair_order(Y)
    for kind, scores in (
        (br.Borda, reference.borda_scores(C)),
        (br.Copeland, reference.copeland_scores(C, beta)),
    ):
        computed = kind(beta).explain(Y).details["scores"]
        np.testing.assert_allclose(computed, np.array(scores, dtype=float), atol=1e-12)
    details = br.BucketPivot(beta).explain(Y).details
    np.testing.assert_allclose(
        details["indecision"], np.array(reference.indecision(C), dtype=float), atol=1e-12
    )
    assert list(details["pivots"]) == list(reference.bucket_pivot_trace(C, beta))


@given(profiles(max_labels=6))
def test_aggregating_a_pair_order_matrix_equals_aggregating_rankings(Y: list[Ranking]) -> None:
    C = br.pair_order_matrix(Y)
    for aggregator in PAPER_METHODS:
        if not (isinstance(aggregator, br.MarkovChain) and aggregator.variant < 4):
            expected = aggregator.aggregate(Y)
            np.testing.assert_array_equal(aggregator.aggregate_pair_order(C), expected)
            many = aggregator.aggregate_pair_order(np.stack([C, C]), n_jobs=2)
            np.testing.assert_array_equal(many, [expected, expected])


@pytest.mark.parametrize("aggregator", PAPER_METHODS, ids=str)
def test_many_sets_equal_one_by_one_for_every_number_of_threads(aggregator: br.Aggregator) -> None:
    rng = np.random.default_rng(0)
    sets = [
        br.drop_labels(br.to_dense_ranks(rng.integers(0, 5, (rows, 8))), 0.3, seed=rows)
        for rows in rng.integers(1, 40, 300).tolist()
    ]
    expected = [aggregator.aggregate(Y) for Y in sets]
    for n_jobs in (None, 1, 2, 3, -1):
        np.testing.assert_array_equal(aggregator.aggregate_many(sets, n_jobs=n_jobs), expected)
    cube = br.to_dense_ranks(rng.integers(0, 5, (60, 8))).reshape(3, 20, 8)
    np.testing.assert_array_equal(
        aggregator.aggregate_many(cube), [aggregator.aggregate(Y) for Y in cube]
    )


NAN = math.nan
DEGENERATE: dict[str, Any] = {
    "a label never ranked": [[1, 2, NAN], [2, 1, NAN]],
    "a pair never seen": [[1, NAN, 2], [NAN, 1, 2]],
    "one label per row": [[1, NAN, NAN], [NAN, 1, NAN]],
    "no label at all": [[NAN, NAN, NAN]],
    "all tied": [[1, 1, 1]] * 3,
    "two labels": [[1, 2], [1, 2], [2, 1]],
    "a top-k list": [[1, math.inf, math.inf], [2, 1, math.inf]],
}


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("aggregator", PAPER_METHODS, ids=str)
def test_degenerate_rankings_equal_the_reference(aggregator: br.Aggregator, case: str) -> None:
    Y = DEGENERATE[case]
    assert aggregator.aggregate(Y).tolist() == by_reference(aggregator, Y)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("aggregator", PAPER_METHODS, ids=str)
def test_huge_and_tiny_weights(aggregator: br.Aggregator, scale: float) -> None:
    Y = [[1, 2, 3], [1, 3, 2], [2, 1, 1]]
    weights = np.array([3.0, 2.0, 1.0])
    expected = aggregator.aggregate(Y, weights)
    np.testing.assert_array_equal(aggregator.aggregate(Y, weights * scale), expected)


def stationary_by_elimination(P: Any) -> Any:
    """Stationary vector of an irreducible chain by GTH elimination, which never subtracts."""
    A = np.array(P, dtype=float)
    n = len(A)
    for k in range(n - 1, 0, -1):
        A[:k, k] /= A[k, :k].sum()
        A[:k, :k] += np.outer(A[:k, k], A[k, :k])
    p = np.zeros(n)
    p[0] = 1
    for k in range(1, n):
        p[k] = p[:k] @ A[:k, k]
    return p / p.sum()


def test_two_almost_disconnected_groups() -> None:
    # Each group is ranked by its own rows; one row of weight 1e-9 ranks both.
    rng = np.random.default_rng(3)
    Y = np.full((41, 100), NAN)
    Y[:20, :50] = br.to_dense_ranks(rng.integers(0, 9, (20, 50)))
    Y[20:40, 50:] = br.to_dense_ranks(rng.integers(0, 9, (20, 50)))
    Y[40] = br.to_dense_ranks(rng.integers(0, 9, (1, 100)))[0]
    weights = np.ones(41)
    weights[40] = 1e-9
    at_least_as_high = np.zeros((100, 100))
    for row, weight in zip(Y, weights, strict=True):
        with np.errstate(invalid="ignore"):
            at_least_as_high += weight * (row[:, None] <= row)
    P1 = at_least_as_high.T / at_least_as_high.T.sum(axis=1, keepdims=True)
    P3 = at_least_as_high.T / (np.diag(at_least_as_high)[:, None] * 100)
    np.fill_diagonal(P3, 0)
    np.fill_diagonal(P3, 1 - P3.sum(axis=1))
    for variant, P in ((1, P1), (3, P3)):
        details = br.MarkovChain(variant).explain(Y, weights).details
        np.testing.assert_allclose(details["stationary"], stationary_by_elimination(P), atol=1e-12)


@pytest.mark.parametrize("aggregator", PAPER_METHODS, ids=str)
def test_two_hundred_labels_and_a_million_rows(aggregator: br.Aggregator) -> None:
    rng = np.random.default_rng(5)
    wide = br.to_dense_ranks(rng.integers(0, 200, (30, 200)))
    assert aggregator.aggregate(wide).shape == (200,)
    long = np.tile(br.to_dense_ranks(rng.integers(0, 4, (1000, 4))), (1000, 1))
    np.testing.assert_array_equal(aggregator.aggregate(long), aggregator.aggregate(long[:1000]))


def test_lotteries_have_the_value_that_linear_programming_finds() -> None:
    from scipy.optimize import linprog

    rng = np.random.default_rng(11)
    for n_labels in (3, 8, 20):
        for _ in range(10):
            Y = br.to_dense_ranks(rng.integers(0, n_labels, (9, n_labels)))
            C = br.pair_order_matrix(Y)
            A = C - C.T
            # The largest v with p^T A >= v; the game is symmetric, so it is 0.
            best = linprog(
                np.r_[np.zeros(n_labels), -1],
                A_ub=np.c_[-A.T, np.ones(n_labels)],
                b_ub=np.zeros(n_labels),
                A_eq=np.r_[np.ones(n_labels), 0].reshape(1, -1),
                b_eq=[1],
                bounds=[(0, 1)] * n_labels + [(None, None)],
            )
            assert best.fun == pytest.approx(0, abs=1e-9)
            assert br.MaximalLottery().explain(Y).details["margin"] >= -1e-9


def test_stationary_distributions_are_left_eigenvectors() -> None:
    rng = np.random.default_rng(13)
    for _ in range(20):
        Y = br.to_dense_ranks(rng.integers(0, 6, (15, 10)))
        P = np.array(markov.transition_matrix(Y.tolist(), 2), dtype=float)
        values, vectors = np.linalg.eig(P.T)
        vector = np.real(vectors[:, np.argmin(abs(values - 1))])
        np.testing.assert_allclose(
            br.MarkovChain(2).explain(Y).details["stationary"], vector / vector.sum(), atol=1e-10
        )
