"""Errors of boosters and linear models for invalid data and parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from bucketrank import PartialLabelRankingBooster, PartialLabelRankingLinear
from tree_data import Array, changed, random_data

X, Y = random_data(0, rows=20)
QUICK: list[tuple[type[Any], dict[str, Any]]] = [
    (PartialLabelRankingBooster, {"rounds": 3, "min_samples_leaf": 2}),
    (PartialLabelRankingLinear, {"max_steps": 100}),
]
kinds = pytest.mark.parametrize(("kind", "quick"), QUICK)


@kinds
@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (changed(X, 3, 1, -np.inf), Y, "X, row 3, column 1: -inf; expected a finite number"),
        (changed(X, 19, 2, np.inf), Y, "X, row 19, column 2: inf; expected a finite number"),
        (X[:-1], Y, "X has 19 rows but y has 20; expected one ranking per row"),
        (X, Y[:5], "X has 20 rows but y has 5; expected one ranking per row"),
        (X[:0], Y[:0], r"Found array with 0 sample\(s\)"),
        (X, Y[:0], "found 0 rows; expected at least one ranking"),
        (X[:, :0], Y, r"Found array with 0 feature\(s\)"),
        (X[:, 0], Y, "Expected 2D array, got 1D array instead"),
        (X, Y[:, 0], "y has 1 dimension.*expected 2-D: one row per ranking"),
        (X, Y[:, :1], r"found 1 label; expected at least 2"),
        (X, changed(Y, 7, 2, 0), "row 7, label 2: position 0; positions start at 1"),
        (X, changed(Y, 7, 2, -1.5), "row 7, label 2: position -1.5; positions start at 1"),
        (X, None, "requires y to be passed, but the target y is None"),
    ],
)
def test_data(kind: type[Any], quick: dict[str, Any], x: Array, y: Any, message: str) -> None:
    model = kind(**quick)
    with pytest.raises(ValueError, match=message):
        model.fit(x, y)
    assert vars(model) == vars(kind(**quick))


@kinds
def test_a_failed_fit_leaves_the_earlier_one(kind: type[Any], quick: dict[str, Any]) -> None:
    model = kind(**quick).fit(X, Y)
    before = {**vars(model)}
    with pytest.raises(ValueError, match="row 3, column 1"):
        model.fit(changed(X, 3, 1, np.inf)[:, :2], Y)
    assert vars(model) == before


@kinds
@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (np.zeros(20), ValueError, "all 20 weights are zero; expected at least one positive"),
        (np.ones(19), ValueError, "found 19 weights for 20 rows"),
        (np.r_[np.ones(4), -2, np.ones(15)], ValueError, "row 4: weight -2"),
        (np.r_[np.ones(19), np.nan], ValueError, "row 19: weight NaN"),
        (["heavy"] * 20, TypeError, "sample_weight has dtype"),
    ],
)
def test_weights(
    kind: type[Any], quick: dict[str, Any], weights: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        kind(**quick).fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"aggregator": "tau"}, ValueError, "unknown method 'tau'; known: tau_x"),
        ({"aggregator": "mc1"}, ValueError, "MarkovChain.variant=1. needs rankings"),
        ({"rounds": 0}, ValueError, "rounds is 0; expected a whole number of at least 1"),
        ({"rounds": -5}, ValueError, "rounds is -5; expected a whole number of at least 1"),
        ({"rounds": 2.0}, TypeError, "rounds is 2.0; expected a whole number"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate is 0; expected a number above 0"),
        ({"learning_rate": -0.1}, ValueError, "learning_rate is -0.1; expected a number above 0"),
        ({"learning_rate": 1.1}, ValueError, "learning_rate is 1.1; expected .* up to 1"),
        ({"learning_rate": np.nan}, ValueError, "learning_rate is NaN; expected"),
        ({"learning_rate": "fast"}, TypeError, "learning_rate is 'fast'; expected a number"),
        ({"max_depth": 0}, ValueError, "max_depth is 0; expected a whole number of at least 1"),
        ({"max_depth": 65}, ValueError, "max_depth is 65; expected a whole number from 1 to 64"),
        ({"max_depth": None}, TypeError, "max_depth is None; expected a whole number"),
        ({"min_samples_leaf": 0}, ValueError, "min_samples_leaf is 0; expected .* at least 1"),
        ({"ridge": 0}, ValueError, "ridge is 0; expected a number above 0"),
        ({"ridge": -2}, ValueError, "ridge is -2; expected a number above 0"),
        ({"ridge": np.inf}, ValueError, "ridge is inf; expected a number above 0"),
        ({"row_share": 0}, ValueError, "row_share is 0; expected a number above 0 and up to 1"),
        ({"ridge": np.nan}, ValueError, "ridge is NaN; expected a number above 0"),
        ({"row_share": -0.5}, ValueError, "row_share is -0.5; expected a number above 0"),
        ({"row_share": np.nan}, ValueError, "row_share is NaN; expected a number above 0"),
        ({"row_share": None}, TypeError, "row_share is None; expected a number"),
        ({"row_share": 1.01}, ValueError, "row_share is 1.01; expected a number above 0"),
        ({"feature_share": 0.0}, ValueError, "feature_share is 0; expected a number above 0"),
        ({"feature_share": np.nan}, ValueError, "feature_share is NaN; expected a number above 0"),
        ({"feature_share": 2}, ValueError, "feature_share is 2; expected a number above 0"),
        ({"feature_share": "sqrt"}, TypeError, "feature_share is 'sqrt'; expected a number"),
        ({"max_bins": 1}, ValueError, "max_bins is 1; expected a whole number of at least 2"),
        ({"max_bins": 257}, ValueError, "max_bins is 257; expected a whole number from 2 to 256"),
        ({"thresholds": "few"}, ValueError, "thresholds is 'few'; expected one of 'all', 'spaced'"),
        ({"thresholds": None}, TypeError, "thresholds is None; expected one of 'all', 'spaced'"),
        ({"validation_share": 0.0}, ValueError, "validation_share is 0; expected .* below 1"),
        ({"validation_share": -1}, ValueError, "validation_share is -1; expected .* below 1"),
        ({"validation_share": np.nan}, ValueError, "validation_share is NaN; expected"),
        ({"validation_share": "half"}, TypeError, "validation_share is 'half'; expected a number"),
        ({"validation_share": 1}, ValueError, "validation_share is 1; expected .* below 1"),
        ({"patience": 0}, ValueError, "patience is 0; expected a whole number of at least 1"),
        ({"random_state": "x"}, ValueError, "'x' cannot be used to seed"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0; expected a positive number of threads"),
        ({"verbose": -1}, ValueError, "verbose is -1; expected a whole number of at least 0"),
    ],
)
def test_parameters_of_boosters(
    params: dict[str, Any], error: type[Exception], message: str
) -> None:
    booster = PartialLabelRankingBooster(**params)
    with pytest.raises(error, match=message):
        booster.fit(X, Y)
    assert not hasattr(booster, "booster_")


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"ridge": 0}, ValueError, "ridge is 0; expected a number above 0"),
        ({"ridge": -0.1}, ValueError, "ridge is -0.1; expected a number above 0"),
        ({"ridge": np.nan}, ValueError, "ridge is NaN; expected a number above 0"),
        ({"ridge": np.inf}, ValueError, "ridge is inf; expected a number above 0"),
        ({"intercept_ridge": 0}, ValueError, "intercept_ridge is 0; expected a number above 0"),
        ({"intercept_ridge": "no"}, TypeError, "intercept_ridge is 'no'; expected a number"),
        ({"tolerance": np.nan}, ValueError, "tolerance is NaN; expected a number above 0"),
        ({"ridge": None}, TypeError, "ridge is None; expected a number"),
        ({"intercept_ridge": -1}, ValueError, "intercept_ridge is -1; expected a number above 0"),
        ({"tolerance": 0}, ValueError, "tolerance is 0; expected a number above 0 and below 1"),
        ({"tolerance": 1}, ValueError, "tolerance is 1; expected a number above 0 and below 1"),
        ({"max_steps": 0}, ValueError, "max_steps is 0; expected a whole number of at least 1"),
        ({"max_steps": 1.5}, TypeError, "max_steps is 1.5; expected a whole number"),
        ({"n_jobs": "two"}, TypeError, "n_jobs is 'two'; expected a whole number or None"),
    ],
)
def test_parameters_of_linear_models(
    params: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        PartialLabelRankingLinear(**params).fit(X, Y)


def test_validation_needs_pairs() -> None:
    Y_alone = np.full((20, 4), np.nan)
    Y_alone[:, 1] = 1
    booster = PartialLabelRankingBooster(rounds=3, validation_share=0.25)
    with pytest.raises(ValueError, match="none of the 5 validation rows ranks two labels"):
        booster.fit(X, Y_alone)
    with pytest.raises(ValueError, match="none of the 0 training rows ranks two labels"):
        booster.set_params(validation_share=0.9).fit(X[:1], Y[:1])


@kinds
def test_predictions_check_their_features(kind: type[Any], quick: dict[str, Any]) -> None:
    model = kind(**quick)
    for call in (model.predict, model.predict_pair_shares, model.predict_utilities):
        with pytest.raises(NotFittedError):
            call(X)
    with pytest.raises(NotFittedError):
        model.with_aggregator("borda")
    model.fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="X, row 0, column 2: inf; expected a finite number"):
        model.predict(changed(X, 0, 2, np.inf))
    with pytest.raises(ValueError, match="unknown method"):
        model.with_aggregator("bordo")
    with pytest.raises(TypeError, match="expected a list of aggregators"):
        model.predict_many(X, "borda")


@kinds
def test_scores_of_other_labels_are_rejected(kind: type[Any], quick: dict[str, Any]) -> None:
    frame = pd.DataFrame(Y, columns=list("abcd"))
    model = kind(**quick).fit(X, frame)
    with pytest.raises(ValueError, match="was fitted on the labels"):
        model.score(X, frame[["b", "a", "c", "d"]])


@kinds
def test_extreme_weights_and_features(kind: type[Any], quick: dict[str, Any]) -> None:
    for unit in (1e-300, 1e300):
        model = kind(**quick).fit(X * unit, Y, np.full(20, unit / 100))
        assert np.isfinite(model.predict_pair_shares(X * unit)).all()
