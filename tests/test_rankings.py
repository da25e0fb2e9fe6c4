"""Pair order matrix, dense ranks and dropped labels: comparison with the reference, and invariants."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bucketrank as br
from reference import pairs as reference
from reference.rankings import to_dense
from strategies import Ranking, incomplete_rankings, integer_weights, profiles, real_weights


@given(profiles())
def test_pair_order_matrix_equals_the_reference(Y: list[Ranking]) -> None:
    expected = np.array(reference.pair_order(Y), dtype=float)
    np.testing.assert_allclose(br.pair_order_matrix(Y), expected, atol=1e-15)


@given(st.data())
def test_weighted_pair_order_matrix_equals_the_reference(data: st.DataObject) -> None:
    Y = data.draw(profiles())
    weights = data.draw(real_weights(len(Y)))
    expected = np.array(reference.pair_order(Y, weights), dtype=float)
    np.testing.assert_allclose(br.pair_order_matrix(Y, weights), expected, atol=1e-12)


@given(profiles())
def test_opposite_entries_add_up_to_one(Y: list[Ranking]) -> None:
    C = br.pair_order_matrix(Y)
    np.testing.assert_allclose(C + C.T, 1.0, atol=1e-15)
    assert (np.diag(C) == 0.5).all()


@given(st.data())
def test_weight_k_equals_k_copies(data: st.DataObject) -> None:
    Y = data.draw(profiles())
    weights = data.draw(integer_weights(len(Y)))
    copies = br.pair_order_matrix(np.repeat(Y, weights, axis=0))
    np.testing.assert_array_equal(br.pair_order_matrix(Y, weights), copies)


@given(st.data())
def test_relabelling_permutes_the_matrix(data: st.DataObject) -> None:
    Y = np.array(data.draw(profiles()))
    order = data.draw(st.permutations(range(Y.shape[1])))
    permuted = br.pair_order_matrix(Y[:, order])
    np.testing.assert_array_equal(permuted, br.pair_order_matrix(Y)[np.ix_(order, order)])


@pytest.mark.parametrize("n_labels", [5, 125, 126, 300])
def test_many_rows_and_labels_equal_a_plain_count(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    Y = br.drop_labels(br.to_dense_ranks(rng.integers(0, 6, (2100, n_labels))), 0.3, seed=1)
    C = br.pair_order_matrix(Y)
    for u, v in [(0, 1), (1, n_labels - 1), (n_labels - 1, 0)]:
        both = ~np.isnan(Y[:, u]) & ~np.isnan(Y[:, v])
        a, b = Y[both, u], Y[both, v]
        assert C[u, v] == pytest.approx(((a < b).sum() + (a == b).sum() / 2) / both.sum())


values = st.floats(allow_nan=True, allow_infinity=False) | st.just(math.inf) | st.integers(-3, 3)


@given(st.integers(2, 6).flatmap(lambda n: st.lists(values, min_size=n, max_size=n)))
def test_dense_ranks_equal_the_reference_keep_the_order_and_are_idempotent(
    row: list[float],
) -> None:
    ranks = br.to_dense_ranks([[float(value) for value in row]])
    expected = [math.nan if p is None else p for p in to_dense(row)]
    np.testing.assert_array_equal(ranks[0], expected)
    np.testing.assert_array_equal(br.to_dense_ranks(ranks), ranks)
    for u, x in enumerate(row):
        for v, y in enumerate(row):
            if not math.isnan(x) and not math.isnan(y):
                assert (x < y) == (ranks[0, u] < ranks[0, v])


def test_large_integers_are_not_converted_to_floats() -> None:
    assert br.to_dense_ranks([[2**53 + 1, 2**53, 2**53 + 2]]).tolist() == [[2, 1, 3]]


@given(st.integers(2, 6).flatmap(incomplete_rankings), st.floats(0, 1), st.integers(0, 2**64 - 1))
def test_dropping_labels_keeps_the_order_of_the_others(
    row: Ranking, fraction: float, seed: int
) -> None:
    dropped = br.drop_labels([row], fraction, seed)[0]
    kept = [
        value if not math.isnan(new) else math.nan for value, new in zip(row, dropped, strict=True)
    ]
    expected = [math.nan if p is None else p for p in to_dense(kept)]
    np.testing.assert_array_equal(dropped, expected)


def test_the_share_of_dropped_labels_equals_the_fraction() -> None:
    Y = np.tile(np.arange(1, 21), (20_000, 1))
    share = np.isnan(br.drop_labels(Y, 0.3, seed=5)).mean()
    # Five standard deviations of 400,000 independent draws.
    assert share == pytest.approx(0.3, abs=5 * math.sqrt(0.3 * 0.7 / 400_000))


def test_a_seed_determines_the_dropped_labels() -> None:
    Y = np.tile(np.arange(1, 9), (2, 1))
    expected = np.array(
        [[np.nan, np.nan, 1, 2, 3, np.nan, np.nan, 4], [1, np.nan, np.nan, 2, *[np.nan] * 4]]
    )
    np.testing.assert_array_equal(br.drop_labels(Y, 0.5, seed=42), expected)
    assert not np.array_equal(
        br.drop_labels(Y, 0.5, seed=1), br.drop_labels(Y, 0.5, seed=2), equal_nan=True
    )


def test_complete_rankings_stay_integers() -> None:
    assert br.drop_labels([[1, 2]], 0, seed=0).dtype == np.int64
    assert br.drop_labels([[1, 2]], 1, seed=0).dtype == np.float64
    assert br.to_dense_ranks([[0.5, 0.25]]).dtype == np.int64
