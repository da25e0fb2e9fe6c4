"""Standard errors of the linear model: comparison with finite differences, invariants, limits."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bucketrank import PartialLabelRankingLinear, load_model, save_model
from bucketrank.estimators.standard_errors import ERROR_NAMES, standard_errors
from test_linear import penalised_loss
from tree_data import Array, dense, random_data, with_missing_labels

RIDGE, INTERCEPT_RIDGE = 0.1, 0.001


def errors_of(linear: PartialLabelRankingLinear) -> Array:
    """All standard errors, inputs × scores, in the layout of the reference."""
    coefficients = np.vstack([linear.coef_standard_error_, linear.tie_coef_standard_error_])
    intercepts = [linear.intercept_standard_error_, linear.tie_intercept_standard_error_]
    return np.vstack([coefficients.T, np.concatenate(intercepts)])


def hessian(at: Array, *data: Array) -> Array:
    step = 1e-4
    rows = [
        (penalised_loss(at + step * unit, *data)[1] - penalised_loss(at - step * unit, *data)[1])
        / (2 * step)
        for unit in np.eye(len(at))
    ]
    return np.array(rows)


def scaled_inputs(X: Array, weights: Array) -> Array:
    mean = np.average(X, axis=0, weights=weights)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    standard = np.clip((X - mean) / scale, -6, 6) / np.sqrt(X.shape[1])
    return np.column_stack([standard, np.ones(len(X))])


def constrained_variances(matrix: Array, n_labels: int) -> Array:
    """Variances from the Hessian `matrix` if the utility coefficients of each input are constrained to the sum 0."""
    n_inputs = len(matrix) // (2 * n_labels)
    sums = np.kron(np.eye(n_inputs), np.r_[np.ones(n_labels), np.zeros(n_labels)])
    allowed = np.linalg.svd(sums)[2][n_inputs:].T
    inverse: Array = allowed @ np.linalg.inv(allowed.T @ matrix @ allowed) @ allowed.T
    return inverse.diagonal()


def two_labels_per_row(Y: Array, seed: int) -> Array:
    """Keep two labels of each row: every row is one comparison."""
    chosen = np.random.default_rng(seed).permuted(
        np.tile(np.arange(Y.shape[1]), (len(Y), 1)), axis=1
    )
    kept = np.full(Y.shape, np.nan)
    np.put_along_axis(kept, chosen[:, :2], np.take_along_axis(Y, chosen[:, :2], 1), axis=1)
    return dense(kept)


@pytest.mark.parametrize("seed", range(4))
def test_standard_errors_of_comparisons_equal_the_inverse_hessian(seed: int) -> None:
    rows, features, labels = 30, 2, 3
    X, Y = random_data(seed, rows=rows, features=features, labels=labels)
    X = X.astype(float)
    X[0, 1] = 1e3  # beyond the clip
    Y = two_labels_per_row(Y, seed)
    weights = np.random.default_rng(seed).integers(0, 4, rows).astype(float)
    weights[0] = 0.02
    linear = PartialLabelRankingLinear(tolerance=1e-9, standard_errors=True).fit(X, Y, weights)
    inputs = scaled_inputs(X, weights)
    assert np.abs(inputs).max() == pytest.approx(6 / np.sqrt(2))
    scores = np.vstack([linear.coef_, linear.tie_coef_]).T * np.sqrt(features)
    at = np.vstack([scores, np.r_[linear.intercept_, linear.tie_intercept_]]).ravel()
    assert np.abs(penalised_loss(at, inputs, Y, weights)[1]).max() < 1e-6
    matrix = hessian(at, inputs, Y, weights)
    variances = constrained_variances(matrix, labels)
    unit = np.r_[np.full(features, 1 / np.sqrt(features)), 1][:, None]
    expected = np.sqrt(variances).reshape(features + 1, 2 * labels) * unit
    np.testing.assert_allclose(errors_of(linear), expected, rtol=1e-5)
    # The full inverse also includes the variance of a common shift, which only the penalty determines.
    ridge = np.r_[np.full(features, RIDGE), INTERCEPT_RIDGE][:, None]
    common = np.where(np.arange(2 * labels) < labels, 1 / (labels * ridge), 0).ravel()
    whole = np.linalg.inv(matrix).diagonal()
    np.testing.assert_allclose(whole, variances + common, rtol=1e-5)


@pytest.mark.parametrize("has_integer_weights", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_standard_errors_of_rankings_are_robust(seed: int, has_integer_weights: bool) -> None:
    """The sandwich of the Hessian and the gradients of single rankings, all by the reference in NumPy."""
    rows, features, labels = 40, 2, 4
    X, Y = random_data(seed, rows=rows, features=features, labels=labels)
    X = X.astype(float)
    Y = with_missing_labels(Y, 0.2, seed)
    weights = np.random.default_rng(seed).integers(0, 4, rows) * (
        1.0 if has_integer_weights else 0.7
    )
    linear = PartialLabelRankingLinear(tolerance=1e-9, standard_errors=True).fit(X, Y, weights)
    inputs = scaled_inputs(X, weights)
    scores = np.vstack([linear.coef_, linear.tie_coef_]).T * np.sqrt(features)
    at = np.vstack([scores, np.r_[linear.intercept_, linear.tie_intercept_]]).ravel()
    matrix = hessian(at, inputs, Y, weights)
    # The gradient with one row of weight 1, minus that of the penalty, is the gradient of a single ranking.
    penalty = penalised_loss(at, inputs, Y, np.zeros(rows))[1]
    slopes = [penalised_loss(at, inputs, Y, unit)[1] - penalty for unit in np.eye(rows)]
    compared = (weights > 0) & (np.isfinite(Y).sum(axis=1) > 1)
    total = weights[compared].sum() if has_integer_weights else compared.sum()
    factors = weights if has_integer_weights else weights**2
    products = sum(f * np.outer(s, s) for f, s in zip(factors, slopes, strict=True))
    ridge = np.repeat(np.r_[np.full(features, RIDGE), INTERCEPT_RIDGE], 2 * labels)
    middle = total / (total - 1) * products + np.diag(ridge)
    n_inputs = features + 1
    sums = np.kron(np.eye(n_inputs), np.r_[np.ones(labels), np.zeros(labels)])
    allowed = np.linalg.svd(sums)[2][n_inputs:].T
    inverse = allowed @ np.linalg.inv(allowed.T @ matrix @ allowed) @ allowed.T
    variances = (inverse @ middle @ inverse).diagonal()
    unit = np.r_[np.full(features, 1 / np.sqrt(features)), 1][:, None]
    expected = np.sqrt(variances).reshape(n_inputs, 2 * labels) * unit
    np.testing.assert_allclose(errors_of(linear), expected, rtol=1e-5)


def test_integer_weights_equal_copies() -> None:
    X, Y = random_data(3, rows=30, labels=4)
    weights = np.arange(30) % 3
    options: dict[str, Any] = {"standard_errors": True, "tolerance": 1e-9}
    weighted = PartialLabelRankingLinear(**options).fit(X, Y, weights)
    copied = PartialLabelRankingLinear(**options).fit(
        *(np.repeat(a, weights, axis=0) for a in (X, Y))
    )
    np.testing.assert_allclose(errors_of(weighted), errors_of(copied), rtol=1e-5)


def test_one_ranking_has_no_standard_errors() -> None:
    with pytest.raises(ValueError, match=r"found 1 ranking of more than two labels; .* at least 2"):
        PartialLabelRankingLinear(standard_errors=True).fit([[1.0]], [[1, 2, 3]])


def test_twice_the_weight_and_penalty_is_half_the_variance() -> None:
    X, Y = random_data(1, rows=50)
    Y = two_labels_per_row(Y, 1)
    weights = 1.0 + np.arange(50) % 3
    options: dict[str, Any] = {"standard_errors": True, "tolerance": 1e-9}
    once = PartialLabelRankingLinear(ridge=0.3, intercept_ridge=0.02, **options)
    twice = PartialLabelRankingLinear(ridge=0.6, intercept_ridge=0.04, **options)
    found = [errors_of(once.fit(X, Y, weights)), errors_of(twice.fit(X, Y, 2 * weights))]
    np.testing.assert_allclose(found[0] ** 2, 2 * found[1] ** 2, rtol=1e-4)


def test_standard_errors_vanish_with_much_data() -> None:
    X, Y = random_data(1, rows=200)
    fit = PartialLabelRankingLinear(standard_errors=True, tolerance=1e-8).fit
    few, many = errors_of(fit(X, Y, np.full(200, 100.0))), errors_of(fit(X, Y, np.full(200, 1e4)))
    np.testing.assert_allclose(many, few / 10, rtol=0.02)


def test_standard_errors_cover_the_truth() -> None:
    """For data drawn from the model, about 95 % of the coefficients are within two standard errors of the truth."""
    rng = np.random.default_rng(0)
    truth = np.array([-1.0, 0.2, 0.8])
    hits = []
    for _ in range(40):
        X = rng.normal(size=(200, 1))
        # Two of three labels per row, so that the comparisons are independent, as in the model.
        pairs = np.array([(0, 1), (0, 2), (1, 2)])[rng.integers(3, size=200)]
        gap = (truth[pairs[:, 0]] - truth[pairs[:, 1]]) * X[:, 0]
        first = rng.random(200) < 1 / (1 + np.exp(-gap))
        Y = np.full((200, 3), np.nan)
        np.put_along_axis(Y, pairs, np.where(first[:, None], [1, 2], [2, 1]), axis=1)
        linear = PartialLabelRankingLinear(ridge=1e-3, standard_errors=True).fit(X, Y)
        per_unit = linear.coef_[:, 0] / linear.scale_[0]
        error = linear.coef_standard_error_[:, 0] / linear.scale_[0]
        hits.append(np.abs(per_unit - truth) < 2 * error)
    assert 0.88 < np.mean(hits) <= 1
    assert error.max() < 0.5


def test_standard_errors_of_rankings_cover_the_truth() -> None:
    """Pairs of a ranking depend on each other: standard errors that treat them as independent are too small.

    Labels are ranked by utilities with Gumbel noise, so each pair follows the model with the true coefficients.
    """
    rng = np.random.default_rng(0)
    truth = np.array([-1.2, -0.6, 0.0, 0.0, 0.6, 1.2])
    hits, naive, ratios = [], [], []
    for _ in range(40):
        X = rng.normal(size=(300, 1))
        utilities = X * truth + rng.gumbel(size=(300, 6))
        Y = (-utilities).argsort(axis=1).argsort(axis=1) + 1
        linear = PartialLabelRankingLinear(ridge=1e-3, standard_errors=True).fit(X, Y)
        distance = np.abs(linear.coef_[:, 0] / linear.scale_[0] - truth)
        options: Any = {
            "ridge": 1e-3,
            "intercept_ridge": INTERCEPT_RIDGE,
            "tolerance": 1e-5,
            "max_steps": 1000,
            "n_jobs": 1,
        }
        information, _ = linear.model_.information(X, Y.astype(float), None, options)
        independent = standard_errors(information, None, np.ones(6, bool), (1e-3, INTERCEPT_RIDGE))
        robust, wrong = (
            errors["coef_standard_error_"][:, 0] / linear.scale_[0]
            for errors in (vars(linear), independent)
        )
        hits.append(distance < 1.96 * robust)
        naive.append(distance < 1.96 * wrong)
        ratios.append(robust / wrong)
    assert 0.9 < np.mean(hits) < 0.99
    assert np.mean(naive) < 0.87
    assert 1.3 < np.mean(ratios) < 1.5


def test_labels_never_compared_and_constant_features_have_the_error_of_the_penalty() -> None:
    X, Y = random_data(0, rows=50, features=2, labels=3)
    X = np.column_stack([X, np.ones(50)])
    Y = dense(np.column_stack([Y, np.full(50, np.nan)]))
    linear = PartialLabelRankingLinear(standard_errors=True).fit(X, Y)
    assert linear.coef_standard_error_[3, 0] == pytest.approx(1 / np.sqrt(RIDGE * 3))
    assert linear.intercept_standard_error_[3] == pytest.approx(1 / np.sqrt(INTERCEPT_RIDGE))
    # With the sum constrained to 0, each of three coefficients has two thirds of the variance 1 / (RIDGE * 3).
    assert linear.coef_standard_error_[0, 2] == pytest.approx(np.sqrt(2 / 3 / (RIDGE * 3)))
    assert linear.tie_coef_standard_error_[0, 2] == pytest.approx(1 / np.sqrt(RIDGE * 3))
    alone = np.where(np.arange(3) == 1, 1.0, np.nan) * np.ones((5, 1))
    nothing = PartialLabelRankingLinear(standard_errors=True).fit(np.ones((5, 1)), alone)
    np.testing.assert_allclose(nothing.coef_standard_error_, 1 / np.sqrt(RIDGE))


def test_standard_errors_do_not_depend_on_threads() -> None:
    X, Y = random_data(1, rows=300, labels=5)
    fits = [PartialLabelRankingLinear(n_jobs=n, standard_errors=True).fit(X, Y) for n in (1, 2, 3)]
    for other in fits[1:]:
        np.testing.assert_array_equal(errors_of(other), errors_of(fits[0]))


def test_small_penalties_and_extreme_weights() -> None:
    X, Y = random_data(2, rows=60)
    tiny = PartialLabelRankingLinear(ridge=1e-9, intercept_ridge=1e-9, standard_errors=True)
    usual = PartialLabelRankingLinear(ridge=1e-3, intercept_ridge=1e-3, standard_errors=True)
    found = [errors_of(model.fit(X, Y, np.full(60, 50.0))) for model in (tiny, usual)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-2)
    for unit in (1e-300, 1e300):
        heavy = PartialLabelRankingLinear(standard_errors=True).fit(X, Y, np.full(60, unit))
        assert np.isfinite(errors_of(heavy)).all()


def test_standard_errors_are_optional(tmp_path: Path) -> None:
    X, Y = random_data(0, rows=40)
    linear = PartialLabelRankingLinear(standard_errors=True).fit(X, Y)
    assert linear.coef_standard_error_.shape == linear.coef_.shape == (4, 3)
    assert linear.tie_coef_standard_error_.shape == linear.tie_coef_.shape
    assert linear.intercept_standard_error_.shape == linear.tie_intercept_standard_error_.shape
    save_model(linear, tmp_path / "model.bin")
    for other in (pickle.loads(pickle.dumps(linear)), load_model(tmp_path / "model.bin")):
        np.testing.assert_array_equal(errors_of(other), errors_of(linear))
        assert other.standard_errors
    linear.set_params(standard_errors=False).fit(X, Y)
    assert not set(ERROR_NAMES) & set(vars(linear))


def test_too_many_coefficients_are_rejected_before_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bucketrank.estimators.linear._core", None)
    linear = PartialLabelRankingLinear(standard_errors=True)
    with pytest.raises(ValueError, match=r"= 4004 coefficients; standard_errors=True .* 4000"):
        linear.fit(np.zeros((3, 1000)), [[1, 2]] * 3)
    assert vars(linear) == vars(PartialLabelRankingLinear(standard_errors=True))


@pytest.mark.parametrize("value", [1, "yes", None])
def test_the_option_is_a_bool(value: Any) -> None:
    with pytest.raises(TypeError, match=r"standard_errors is .*; expected True or False"):
        PartialLabelRankingLinear(standard_errors=value).fit([[1], [2]], [[1, 2], [2, 1]])


def test_a_singular_matrix_is_an_error() -> None:
    compared = np.array([True, True])
    for information in (np.ones((8, 8)), np.full((8, 8), np.nan)):
        with pytest.raises(ValueError, match="no inverse in floating point"):
            standard_errors(information, None, compared, (0.1, 0.1))


def test_invalid_data_has_the_same_error_as_without_standard_errors() -> None:
    linear = PartialLabelRankingLinear(standard_errors=True)
    with pytest.raises(ValueError, match="X, row 0, column 0: inf"):
        linear.fit([[np.inf], [1.0]], [[1, 2], [2, 1]])
    with pytest.raises(ValueError, match="X has 2 rows but y has 1"):
        linear.fit([[0.0], [1.0]], [[1, 2]])
    assert not hasattr(linear, "coef_")
