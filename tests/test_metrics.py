"""Metrics: comparison with the reference, and invariants."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bucketrank as br
from reference import metrics as reference
from strategies import (
    Ranking,
    bucket_orders,
    incomplete_rankings,
    integer_weights,
    real_weights,
    row_pairs,
    total_orders,
)

Pair = tuple[list[Ranking], list[Ranking]]


@given(row_pairs())
def test_tau_x_equals_the_reference(rows: Pair) -> None:
    truth, predicted = rows
    assert br.tau_x(truth, predicted) == pytest.approx(
        float(reference.mean_tau_x(truth, predicted)), abs=1e-14
    )
    each = [float(reference.tau_x(a, b)) for a, b in zip(truth, predicted, strict=True)]
    np.testing.assert_allclose(br.tau_x_samples(truth, predicted), each, atol=1e-14)


@given(st.data())
def test_weighted_means_equal_the_reference(data: st.DataObject) -> None:
    truth, predicted = data.draw(row_pairs())
    weights = data.draw(real_weights(len(truth)))
    expected = float(reference.mean_tau_x(truth, predicted, weights))
    assert br.tau_x(truth, predicted, sample_weight=weights) == pytest.approx(expected, abs=1e-12)
    expected = float(reference.bucket_count_difference(truth, predicted, weights))
    assert br.bucket_count_difference(truth, predicted, weights) == pytest.approx(expected)


@given(st.data())
def test_missing_labels_can_be_left_out(data: st.DataObject) -> None:
    n_labels = data.draw(st.integers(2, 6))
    row = incomplete_rankings(n_labels)
    rows = data.draw(st.lists(st.tuples(row, row), min_size=1, max_size=8))
    truth, predicted = [a for a, _ in rows], [b for _, b in rows]
    weights = data.draw(real_weights(len(rows)))
    common = [sum(math.isfinite(p + q) for p, q in zip(a, b, strict=True)) > 1 for a, b in rows]
    each = br.tau_x_samples(truth, predicted, missing="ignore")
    assert np.isfinite(each).tolist() == common
    kept = [i for i, comparable in enumerate(common) if comparable]
    expected = [reference.tau_x(truth[i], predicted[i]) for i in kept]
    np.testing.assert_allclose(each[kept], [float(value) for value in expected], atol=1e-14)
    if sum(weights[i] for i in kept) > 0:
        mean = float(reference.weighted_mean(expected, [weights[i] for i in kept]))
        found = br.tau_x(truth, predicted, weights, missing="ignore")
        assert found == pytest.approx(mean, abs=1e-12)
    else:
        with pytest.raises(ValueError, match=f"none of {len(rows)} rows? has"):
            br.tau_x(truth, predicted, weights, missing="ignore")


@given(row_pairs())
def test_ignoring_missing_labels_changes_nothing_on_complete_rankings(rows: Pair) -> None:
    assert br.tau_x(*rows, missing="ignore") == br.tau_x(*rows)
    with pytest.raises(ValueError, match="missing is 'skip'; expected 'error' or 'ignore'"):
        br.tau_x(*rows, missing="skip")  # type: ignore[arg-type]


def test_invalid_positions_name_the_argument() -> None:
    good, bad = [[1, 2]], [[1, 0]]
    for metric in (br.tau_x, br.tau_x_samples):
        for missing in ("error", "ignore"):
            for name, arguments in (("Y_true", (bad, good)), ("Y_pred", (good, bad))):
                with pytest.raises(br.RankingError, match=rf"^{name}, row 0, label 1: position 0"):
                    metric(*arguments, missing=missing)


@pytest.mark.parametrize("n_labels", [127, 128, 1024, 1025])
def test_the_algorithms_for_many_labels_equal_the_definition(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    a, b = br.to_dense_ranks(rng.integers(0, n_labels // 2, (2, n_labels)))
    disagreeing = ((a[:, None] <= a) != (b[:, None] <= b)).sum()
    expected = 1 - 2 * disagreeing / (n_labels * (n_labels - 1))
    assert br.tau_x([a], [b]) == pytest.approx(expected, abs=1e-14)


@given(st.integers(20, 30).flatmap(lambda n: st.tuples(bucket_orders(n), bucket_orders(n))))
def test_medium_sized_rankings_equal_the_reference(
    rows: tuple[Ranking, Ranking],
) -> None:
    expected = float(reference.tau_x(*rows))
    assert br.tau_x([rows[0]], [rows[1]]) == pytest.approx(expected, abs=1e-14)


@given(row_pairs())
def test_tau_x_of_itself_range_and_symmetry(rows: Pair) -> None:
    truth, predicted = rows
    assert br.tau_x(truth, truth) == 1.0
    value = br.tau_x(truth, predicted)
    assert -1.0 <= value <= 1.0
    assert value == br.tau_x(predicted, truth)


@given(st.data())
def test_metrics_are_invariant_to_relabelling(data: st.DataObject) -> None:
    truth, predicted = (np.array(side) for side in data.draw(row_pairs()))
    order = data.draw(st.permutations(range(truth.shape[1])))
    assert br.tau_x(truth[:, order], predicted[:, order]) == br.tau_x(truth, predicted)


@given(st.integers(2, 9).flatmap(total_orders))
def test_a_total_order_and_its_reverse(order: Ranking) -> None:
    reverse = [len(order) + 1 - p for p in order]
    assert br.tau_x([order], [reverse]) == -1.0
    assert br.kendall_tau([order], [reverse]) == -1.0


@given(st.integers(2, 7).flatmap(lambda n: st.tuples(total_orders(n), total_orders(n))))
def test_kendall_tau_equals_the_reference(rows: tuple[Ranking, Ranking]) -> None:
    expected = float(reference.kendall_tau(*rows))
    assert br.kendall_tau([rows[0]], [rows[1]]) == pytest.approx(expected, abs=1e-14)


@given(st.data())
def test_weight_k_equals_k_copies(data: st.DataObject) -> None:
    truth, predicted = data.draw(row_pairs())
    weights = data.draw(integer_weights(len(truth)))
    weighted = br.tau_x(truth, predicted, sample_weight=weights)
    copies = br.tau_x(np.repeat(truth, weights, axis=0), np.repeat(predicted, weights, axis=0))
    assert weighted == pytest.approx(copies, abs=1e-14)


def test_a_block_boundary_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    for n_labels in (2, 26, 127, 128, 1025):
        values = rng.integers(0, 9, (2 * 130, n_labels))
        truth, predicted = br.to_dense_ranks(values).reshape(2, 130, n_labels)
        each = br.tau_x_samples(truth, predicted)
        for row in (0, 63, 64, 127, 128, 129):
            assert each[row] == br.tau_x(truth[[row]], predicted[[row]])


def test_top_k_lists_tie_the_remaining_labels_last() -> None:
    assert br.tau_x([[1, 2, math.inf, math.inf]], [[1, 2, 3, 3]]) == 1.0


def test_the_scorer_works_in_scikit_learn() -> None:
    from sklearn.dummy import DummyRegressor
    from sklearn.model_selection import cross_val_score

    X = np.zeros((6, 1))
    Y = np.array([[1, 2, 3]] * 6)
    scores = cross_val_score(DummyRegressor(strategy="median"), X, Y, scoring=br.tau_x_scorer, cv=3)
    assert scores.tolist() == [1.0, 1.0, 1.0]
