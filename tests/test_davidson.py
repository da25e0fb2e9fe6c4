"""The aggregator Davidson: comparison with SciPy, invariants, invalid parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from bucketrank import Davidson, TauX, get_aggregator
from reference import latent
from strategies import integer_weights, profiles

NAN = math.nan


def negative_log_posterior(
    scores: np.ndarray, Y: np.ndarray, weights: np.ndarray, ridge: float
) -> float:
    """The negative logarithm of the posterior density, up to a constant."""
    likelihood = sum(
        w * latent.log_likelihood(scores.tolist(), y)
        for y, w in zip(Y.tolist(), weights, strict=True)
    )
    return float(ridge / 2 * (scores**2).sum() - likelihood)


@settings(max_examples=25, deadline=None)
@given(st.data(), profiles(max_labels=4, max_rows=6), st.sampled_from([0.05, 0.1, 1.0]))
def test_utilities_are_the_optimum_of_scipy(
    data: st.DataObject, rows: list[list[float]], ridge: float
) -> None:
    Y = np.array(rows)
    weights = np.array(data.draw(integer_weights(len(rows))), dtype=float)
    details = Davidson(ridge).explain(Y, weights).details
    found = np.concatenate([details["utilities"], details["tie_terms"]])
    start = np.zeros(2 * Y.shape[1])
    best = minimize(
        negative_log_posterior,
        start,
        args=(Y, weights, ridge),
        method="BFGS",
        options={"gtol": 1e-7},
    )
    assert negative_log_posterior(found, Y, weights, ridge) <= best.fun + 1e-9
    np.testing.assert_allclose(found, best.x, atol=1e-3)


def test_standard_errors_equal_the_inverse_hessian_at_the_optimum_of_scipy() -> None:
    Y = np.array([[1, 2, 2], [2, 1, 3], [1, 1, 2], [1, NAN, 2]], dtype=float)
    weights = np.array([1.0, 2.0, 1.0, 3.0])
    details = Davidson(0.2, errors="information").explain(Y, weights).details
    start = np.zeros(6)
    best = minimize(
        negative_log_posterior, start, args=(Y, weights, 0.2), method="BFGS", options={"gtol": 1e-7}
    )
    at = best.x
    step = 1e-3
    size = len(at)
    hessian = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            corners = [
                a
                * b
                * negative_log_posterior(
                    at + step * (a * np.eye(size)[i] + b * np.eye(size)[j]), Y, weights, 0.2
                )
                for a in (1, -1)
                for b in (1, -1)
            ]
            hessian[i, j] = sum(corners) / (4 * step**2)
    # Invert the Hessian on the subspace in which the utilities add up to 0.
    allowed = np.linalg.svd([[1, 1, 1, 0, 0, 0]])[2][1:].T
    inverse = allowed @ np.linalg.inv(allowed.T @ hessian @ allowed) @ allowed.T
    errors = np.sqrt(np.diag(inverse))
    found = np.concatenate([details["utilities"], details["tie_terms"]])
    np.testing.assert_allclose(found, at, atol=1e-5)
    found = np.concatenate([details["utility_errors"], details["tie_term_errors"]])
    np.testing.assert_allclose(found, errors, rtol=1e-4)


def test_standard_errors_vanish_with_much_data() -> None:
    # Every pair occurs before, tied and after, so that utilities stay bounded as the weight of the data grows.
    Y = np.array([[1, 2, 2], [2, 1, 3], [1, 1, 2], [3, 2, 1], [1, 2, 1], [2, NAN, 1]])
    few, many = (Davidson().explain(Y, np.full(6, w)).details for w in (1e3, 1e5))
    for name in ("utility_errors", "tie_term_errors"):
        np.testing.assert_allclose(many[name], few[name] / 10, rtol=0.01)
    with_unranked = Davidson(0.25).explain(np.column_stack([Y, np.full(6, NAN)])).details
    assert with_unranked["utility_errors"][3] == pytest.approx(2)
    assert max(with_unranked["utility_errors"][:3]) < 2


@given(st.data(), profiles(max_labels=5))
def test_relabelling_relabels_the_utilities(data: st.DataObject, rows: list[list[float]]) -> None:
    Y = np.array(rows)
    order = data.draw(st.permutations(range(Y.shape[1])))
    here = Davidson().explain(Y).details
    there = Davidson().explain(Y[:, order]).details
    for name in ("utilities", "tie_terms", "utility_errors"):
        np.testing.assert_allclose(there[name], here[name][order], atol=1e-9)


@given(st.data(), profiles(max_labels=5))
def test_a_weight_is_a_repetition(data: st.DataObject, rows: list[list[float]]) -> None:
    weights = data.draw(integer_weights(len(rows)))
    repeated = [row for row, w in zip(rows, weights, strict=True) for _ in range(w)]
    here, there = Davidson().explain(rows, weights), Davidson().explain(repeated)
    np.testing.assert_allclose(here.details["utilities"], there.details["utilities"], atol=1e-9)


def test_the_result_is_the_tau_x_consensus_of_the_fitted_shares() -> None:
    Y = [[1, 2, 2, 3], [2, 1, 1, 3], [1, 1, 2, 2], [3, 1, 2, 2]]
    explanation = Davidson().explain(Y)
    scores = [*explanation.details["utilities"], *explanation.details["tie_terms"]]
    shares = [latent.pair_shares(scores, u, v) for u in range(4) for v in range(u + 1, 4)]
    np.testing.assert_array_equal(explanation.positions, TauX().aggregate_pair_shares(shares))
    assert "utilities" in str(explanation)
    printed = [line.split()[1] for line in str(explanation).splitlines()[2:6]]
    assert printed == [str(u) for u in np.argsort(-explanation.details["utilities"])]
    assert set(explanation.to_dict()) >= {"utilities", "tie_terms", "utility_errors"}


def test_rankings_of_two_labels_are_enough() -> None:
    Y = [[1, 2, NAN, NAN], [NAN, 1, 2, NAN], [NAN, NAN, 1, 2]] * 10
    assert Davidson().aggregate(Y).tolist() == [1, 2, 3, 4]
    ties = [[1, 1, NAN], [NAN, 1, 1]] * 10
    assert Davidson().aggregate(ties).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("ridge", "error", "message"),
    [
        (0, ValueError, "ridge is 0.0; expected a number above 0"),
        (-1, ValueError, "ridge is -1.0; expected a number above 0"),
        (math.inf, ValueError, "ridge is inf"),
        (NAN, ValueError, "ridge is nan"),
        ("strong", TypeError, "ridge is 'strong'; expected a number"),
    ],
)
def test_bad_ridges(ridge: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Davidson(ridge)


def test_rankings_are_required() -> None:
    assert get_aggregator("davidson", ridge=2) == Davidson(2.0)
    with pytest.raises(ValueError, match="needs rankings"):
        Davidson().aggregate_pair_order([[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(ValueError, match="needs rankings"):
        Davidson().aggregate_pair_shares([[1.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="no scores to order labels by"):
        TauX(order=Davidson())
    with pytest.raises(ValueError, match="found 600 labels; expected at most 512"):
        Davidson().aggregate(np.ones((1, 600)))
