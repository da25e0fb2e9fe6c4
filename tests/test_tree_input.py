"""Errors of the tree for invalid data and parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from bucketrank import PartialLabelRankingTree
from tree_data import Array, changed, random_data

X, Y = random_data(0, rows=20)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (changed(X, 19, 2, np.inf), Y, "X, row 19, column 2: inf; expected a finite number"),
        (changed(X, 0, 0, -np.inf), Y, "X, row 0, column 0: -inf; expected a finite number"),
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
def test_data(x: Array, y: Any, message: str) -> None:
    tree = PartialLabelRankingTree()
    with pytest.raises(ValueError, match=message):
        tree.fit(x, y)
    assert vars(tree) == vars(PartialLabelRankingTree())


def test_a_failed_fit_leaves_the_earlier_one() -> None:
    tree = PartialLabelRankingTree().fit(X, Y)
    before = {**vars(tree)}
    with pytest.raises(ValueError, match="row 3, column 1"):
        tree.fit(changed(X, 3, 1, np.inf)[:, :2], Y)
    assert vars(tree) == before


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (np.zeros(20), ValueError, "all 20 weights are zero; expected at least one positive"),
        (np.ones(19), ValueError, "found 19 weights for 20 rows"),
        (np.ones((20, 1)), ValueError, "sample_weight has 2 dimension"),
        (np.r_[np.ones(4), -2, np.ones(15)], ValueError, "row 4: weight -2"),
        (np.r_[np.ones(19), np.nan], ValueError, "row 19: weight NaN"),
        (np.r_[np.inf, np.ones(19)], ValueError, "row 0: weight inf"),
        (["heavy"] * 20, TypeError, "sample_weight has dtype"),
    ],
)
def test_weights(weights: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        PartialLabelRankingTree().fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"aggregator": "bordo"}, ValueError, "unknown method 'bordo'; known: borda"),
        ({"aggregator": 3}, TypeError, "aggregator is 3; expected a name or an aggregator"),
        ({"criterion": "gini"}, ValueError, "criterion is 'gini'; expected one of 'entropy'"),
        ({"criterion": None}, TypeError, "criterion is None; expected one of 'entropy'"),
        ({"splitter": "worst"}, ValueError, "splitter is 'worst'; expected one of 'best'"),
        ({"splitter": 2}, TypeError, "splitter is 2; expected one of 'best'"),
        ({"max_splits": 1}, ValueError, "max_splits is 1; expected a whole number of at least 2"),
        ({"max_splits": 10**30}, ValueError, "max_splits is 10+; expected at most 1000"),
        ({"max_splits": 2.5}, TypeError, "max_splits is 2.5; expected a whole number"),
        ({"max_splits": None}, TypeError, "max_splits is None; expected a whole number"),
        ({"max_depth": 0}, ValueError, "max_depth is 0; expected .* at least 1 or None"),
        ({"max_depth": 1.0}, TypeError, "max_depth is 1.0; expected a whole number or None"),
        ({"max_depth": "2"}, TypeError, "max_depth is '2'; expected a whole number or None"),
        (
            {"min_samples_split": 1},
            ValueError,
            "is 1; expected a whole number of at least 2, or a fraction above 0 and up to 1, or 'paper'",
        ),
        ({"min_samples_split": 1.5}, ValueError, "min_samples_split is 1.5; expected a fraction"),
        ({"min_samples_split": 0.0}, ValueError, "min_samples_split is 0.0; expected a fraction"),
        ({"min_samples_split": np.nan}, ValueError, "min_samples_split is nan; expected a fract"),
        ({"min_samples_split": "2n"}, ValueError, "min_samples_split is '2n'; expected 'paper'"),
        ({"min_samples_split": None}, TypeError, "min_samples_split is None; expected 'paper'"),
        ({"min_samples_split": True}, TypeError, "min_samples_split is True; expected 'paper'"),
        ({"min_samples_leaf": 0}, ValueError, "is 0; .* at least 1, or a fraction above 0"),
        ({"min_samples_leaf": 1.2}, ValueError, "min_samples_leaf is 1.2; expected a fraction"),
        ({"min_samples_leaf": "1"}, TypeError, "min_samples_leaf is '1'; expected a whole number"),
        (
            {"max_features": 0},
            ValueError,
            "is 0; expected a whole number of at least 1, or a fraction above 0 and up to 1, or 'sqrt'",
        ),
        (
            {"max_features": 4},
            ValueError,
            "max_features is 4; expected at most 3, the number of features of X",
        ),
        ({"max_features": -0.5}, ValueError, "max_features is -0.5; expected a fraction"),
        ({"max_features": "all"}, ValueError, "max_features is 'all'; expected 'sqrt', 'log2'"),
        ({"max_features": [1]}, TypeError, r"max_features is \[1\]; expected 'sqrt', 'log2'"),
        ({"random_state": "x"}, ValueError, "'x' cannot be used to seed"),
        ({"random_state": -1}, ValueError, "Seed must be between"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0; expected a positive number of threads"),
        ({"n_jobs": 1.5}, TypeError, "n_jobs is 1.5; expected a whole number or None"),
    ],
)
def test_parameters(params: dict[str, Any], error: type[Exception], message: str) -> None:
    tree = PartialLabelRankingTree(**params)
    with pytest.raises(error, match=message):
        tree.fit(X, Y)
    assert not hasattr(tree, "tree_")


def test_numbers_beyond_the_data_are_fine() -> None:
    for params in (
        {"max_depth": 10**30},
        {"min_samples_split": 10**30},
        {"min_samples_leaf": 10**30},
    ):
        tree = PartialLabelRankingTree(**{"min_samples_split": 2, **params})  # type: ignore[arg-type]
        assert tree.fit(X, Y).predict(X).shape == Y.shape


@pytest.mark.parametrize(
    "call",
    [
        lambda tree: tree.predict(X),
        lambda tree: tree.predict_many(X, ["borda"]),
        lambda tree: tree.predict_pair_order(X),
        lambda tree: tree.score(X, Y),
        lambda tree: tree.apply(X),
        lambda tree: tree.decision_path(X),
        lambda tree: tree.leaf_rankings(0),
        lambda tree: tree.leaf_rows(0),
        lambda tree: tree.with_aggregator("borda"),
        lambda tree: tree.get_depth(),
        lambda tree: tree.get_n_leaves(),
    ],
)
def test_unfitted_trees_raise(call: Any) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        call(PartialLabelRankingTree())


def test_importances_do_not_exist_before_the_fit() -> None:
    assert not hasattr(PartialLabelRankingTree(), "feature_importances_")


def test_other_data_in_predict() -> None:
    tree = PartialLabelRankingTree().fit(X, Y)
    with pytest.raises(ValueError, match=r"X has 2 features.*expecting 3 features"):
        tree.predict(X[:, :2])
    with pytest.raises(ValueError, match="X, row 3, column 1: -inf; expected a finite number"):
        tree.predict(changed(X, 3, 1, -np.inf))
    with pytest.raises(ValueError, match="X, row 5, column 0: inf; expected a finite number"):
        tree.apply(changed(X, 5, 0, np.inf))
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        tree.predict(X[:0])


def test_other_columns_in_predict() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    tree = PartialLabelRankingTree().fit(frame, Y)
    for columns in (["a", "b", "d"], ["b", "a", "c"]):
        with pytest.raises(ValueError, match="feature names"):
            tree.predict(frame.set_axis(columns, axis=1))


def test_other_labels_in_score() -> None:
    names = list("pqrs")
    tree = PartialLabelRankingTree().fit(X, pd.DataFrame(Y, columns=names))
    with pytest.raises(
        ValueError, match=r"y has the columns \['s', 'r', 'q', 'p'\], but the estimator"
    ):
        tree.score(X, pd.DataFrame(Y, columns=names[::-1]))
    with pytest.raises(ValueError, match=r"y has 3 labels, but the estimator was fitted on 4"):
        tree.score(X, np.tile([1, 2, 3], (20, 1)))
    nothing = np.full(Y.shape, np.nan)
    with pytest.raises(ValueError, match=r"none of 20 rows has .* two labels"):
        tree.score(X, nothing)


def test_nodes_that_are_not_leaves() -> None:
    tree = PartialLabelRankingTree(min_samples_split=2).fit(X, Y)
    for index in (0, -1, 10**6):
        with pytest.raises(ValueError, match=f"node {index} is not a leaf"):
            tree.leaf_rankings(index)
    with pytest.raises(TypeError, match=r"leaf is 1.0; expected a whole number"):
        tree.leaf_rows(1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="aggregators is 'borda'; expected a list"):
        tree.predict_many(X, "borda")
    with pytest.raises(ValueError, match="unknown method 'x'"):
        tree.with_aggregator("x")
    with pytest.raises(TypeError, match="aggregator is 3; expected a name"):
        tree.with_aggregator(3)  # type: ignore[arg-type]


def test_duplicate_labels() -> None:
    with pytest.raises(ValueError, match="label name 'p' appears twice"):
        PartialLabelRankingTree().fit(X, pd.DataFrame(Y, columns=list("pqrp")))


def test_one_row_is_a_leaf() -> None:
    tree = PartialLabelRankingTree(min_samples_split=2).fit([[1.0]], [[2, 1, 1]])
    assert (tree.get_depth(), tree.get_n_leaves()) == (0, 1)
    np.testing.assert_array_equal(tree.with_aggregator("copeland").predict([[5.0]]), [[2, 1, 1]])
    assert tree.feature_importances_.tolist() == [0.0]


def test_without_any_label_everything_is_tied() -> None:
    tree = PartialLabelRankingTree(min_samples_split=2).fit(X, np.full(Y.shape, np.nan))
    assert tree.get_n_leaves() == 1
    assert (tree.predict_pair_order(X[:2]) == 0.5).all()
    for predicted in tree.predict_many(X, ["borda", "mc1", "mc4", "bucket_pivot", "copeland"]):
        assert (predicted == 1).all()


def test_top_k_lists_are_rankings() -> None:
    tree = PartialLabelRankingTree().fit([[0.0], [1.0]], [[1, np.inf, np.inf], [1, 2, np.inf]])
    np.testing.assert_array_equal(tree.leaf_rankings(0), [[1, 2, 2], [1, 2, 3]])
