"""The linear model: comparison with SciPy, invariants, degenerate data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from bucketrank import PartialLabelRankingLinear
from bucketrank._core import LinearModel
from reference import latent
from strategies import profiles
from tree_data import dense, random_data, with_missing_labels


def penalised_loss(
    flat: np.ndarray, inputs: np.ndarray, Y: np.ndarray, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """Penalty minus log-likelihood, and its gradient, computed by the plain Python reference."""
    columns = inputs.shape[1]
    W = flat.reshape(columns, -1)
    ridge = np.full((columns, 1), 0.1)
    ridge[-1] = 0.001
    value = float((ridge / 2 * W**2).sum())
    gradient = ridge * W
    for row, scores, weight, z in zip(Y, inputs @ W, weights, inputs, strict=True):
        value -= weight * latent.log_likelihood(scores.tolist(), row.tolist())
        gradient = gradient - weight * np.outer(
            z, latent.derivatives(scores.tolist(), row.tolist())[0]
        )
    return value, gradient.ravel()


@pytest.mark.parametrize("seed", range(3))
def test_the_model_is_the_optimum_of_scipy(seed: int) -> None:
    X, Y = random_data(seed, rows=25, features=2, labels=3)
    Y = with_missing_labels(Y, 0.2, seed)
    weights = np.random.default_rng(seed).integers(1, 4, 25).astype(float)
    linear = PartialLabelRankingLinear(tolerance=1e-9).fit(X, Y, weights)
    mean = np.average(X, axis=0, weights=weights)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    np.testing.assert_allclose(linear.mean_, mean)
    np.testing.assert_allclose(linear.scale_, scale)
    standard = np.clip((X - mean) / scale, -6, 6) / np.sqrt(2)
    inputs = np.column_stack([standard, np.ones(25)])
    best = minimize(
        penalised_loss,
        np.zeros(3 * 6),
        args=(inputs, Y, weights),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-8},
    )
    W = best.x.reshape(3, 6)
    np.testing.assert_allclose(linear.coef_, W[:2, :3].T / np.sqrt(2), atol=1e-5)
    np.testing.assert_allclose(linear.tie_coef_, W[:2, 3:].T / np.sqrt(2), atol=1e-5)
    np.testing.assert_allclose(linear.intercept_, W[2, :3], atol=1e-4)
    np.testing.assert_allclose(linear.tie_intercept_, W[2, 3:], atol=1e-4)
    scores = np.hstack([linear.predict_utilities(X), linear.predict_tie_terms(X)])
    np.testing.assert_allclose(scores, np.clip(inputs @ W, -25, 25), atol=1e-4)


def test_coefficients_are_the_change_by_one_deviation() -> None:
    X, Y = random_data(1, rows=60)
    linear = PartialLabelRankingLinear().fit(X, Y)
    at_mean = linear.predict_utilities(linear.mean_[None])[0]
    np.testing.assert_allclose(at_mean, linear.intercept_, atol=1e-12)
    moved = linear.mean_.copy()
    moved[1] += linear.scale_[1]
    change = linear.predict_utilities(moved[None])[0] - at_mean
    np.testing.assert_allclose(change, linear.coef_[:, 1], atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(profiles(max_labels=5, max_rows=12))
def test_any_profile_can_be_learned(Y: list[list[float]]) -> None:
    X = np.arange(2.0 * len(Y)).reshape(-1, 2) ** 2
    linear = PartialLabelRankingLinear().fit(X, Y)
    assert linear.converged_
    shares = linear.predict_pair_shares(X)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=2), 1, atol=1e-12)


def test_the_model_does_not_depend_on_threads() -> None:
    X, Y = random_data(1, rows=900, labels=5)
    saved = [PartialLabelRankingLinear(n_jobs=n).fit(X, Y).model_.to_bytes() for n in (1, 2, 3)]
    assert saved[0] == saved[1] == saved[2]


def test_a_weight_is_a_repetition() -> None:
    X, Y = random_data(2, rows=40)
    weights = np.arange(40) % 3
    weighted = PartialLabelRankingLinear(tolerance=1e-9).fit(X, Y, weights)
    copies = np.repeat(np.arange(40), weights)
    repeated = PartialLabelRankingLinear(tolerance=1e-9).fit(X[copies], Y[copies])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


def test_separable_data_and_outliers_stay_finite() -> None:
    X = np.arange(50.0).reshape(-1, 1)
    Y = np.where(X < 25, [[1, 2]], [[2, 1]])
    linear = PartialLabelRankingLinear(ridge=1e-6, intercept_ridge=1e-6).fit(X, Y)
    assert linear.score(X, Y) == 1
    utilities = linear.predict_utilities([[1e308], [-1e308]])
    assert (np.abs(utilities) <= 25).all()


def test_constant_features_and_one_row() -> None:
    linear = PartialLabelRankingLinear().fit(np.ones((3, 2)), [[1, 2, 2]] * 3)
    assert linear.scale_.tolist() == [0, 0]
    np.testing.assert_array_equal(linear.predict([[5.0, -5.0]]), [[1, 2, 2]])
    one = PartialLabelRankingLinear().fit([[1.0]], [[1, 2]])
    assert np.isfinite(one.predict_pair_shares([[2.0]])).all()


def test_a_label_without_rankings_is_predicted() -> None:
    X, Y = random_data(0, rows=50)
    Y = dense(np.column_stack([Y, np.full(50, np.nan)]))
    linear = PartialLabelRankingLinear().fit(X, Y)
    np.testing.assert_allclose(linear.predict_pair_shares(X)[:, [3, 6, 8, 9]], 1 / 3)


def test_rankings_without_pairs_have_no_effect() -> None:
    Y = np.full((20, 3), np.nan)
    Y[:, 0] = 1
    linear = PartialLabelRankingLinear().fit(np.arange(20.0).reshape(-1, 1), Y)
    assert not linear.coef_.any()
    np.testing.assert_allclose(linear.predict_pair_shares([[3.0]]), 1 / 3)


def test_too_few_steps_are_reported() -> None:
    X, Y = random_data(0, rows=50)
    with pytest.warns(ConvergenceWarning, match="did not reach the tolerance 1e-05 in 2 steps"):
        linear = PartialLabelRankingLinear(max_steps=2).fit(X, Y)
    assert (linear.n_iter_, linear.converged_) == (2, False)


def test_saved_models_are_checked() -> None:
    X, Y = random_data(0, rows=20)
    saved = PartialLabelRankingLinear().fit(X, Y).model_.to_bytes()
    assert LinearModel.from_bytes(saved).to_bytes() == saved
    for place in range(len(saved)):
        damaged = bytearray(saved)
        damaged[place] ^= 0x40
        with pytest.raises(ValueError, match="saved linear model"):
            LinearModel.from_bytes(bytes(damaged))
