"""Missing values of features: the reference, scikit-learn, laws of all estimators, and the command line."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from bucketrank import (
    PartialLabelRanker,
    PartialLabelRankingBooster,
    PartialLabelRankingForest,
    PartialLabelRankingLinear,
    PartialLabelRankingTree,
    export_text,
    load_model,
    save_model,
)
from bucketrank.__main__ import main
from reference import tree as reference
from test_tree import flat, full_tree, improvement, preorder, structure, weights_of_kind
from tree_data import Array, pair_codes, random_data, with_missing_labels

ESTIMATORS: list[Any] = [
    PartialLabelRankingTree(min_samples_split=2),
    PartialLabelRankingTree("tau_x", shrinkage="path", routing="soft"),
    PartialLabelRankingTree(splitter="equal_frequency", criterion="distance", min_samples_split=2),
    PartialLabelRankingTree(splitter="random", random_state=3),
    PartialLabelRankingForest(n_estimators=8, random_state=1),
    PartialLabelRankingForest(n_estimators=8, variant="extra_trees", random_state=1),
    PartialLabelRankingBooster(rounds=8, random_state=1),
    PartialLabelRankingBooster(rounds=8, row_share=0.6, feature_share=0.5, random_state=1),
    PartialLabelRankingLinear(),
    PartialLabelRanker(n_estimators=8, rounds=8, random_state=0),
]
every_estimator = pytest.mark.parametrize("model", ESTIMATORS, ids=repr)


def with_missing_values(X: Array, share: float, seed: int, complete: int = 1) -> Array:
    """Drop values at random, except from the last `complete` columns."""
    dropped = np.random.default_rng(seed).random(X.shape) < share
    if complete:
        dropped[:, -complete:] = False
    return np.where(dropped, np.nan, X)


def incomplete_data(seed: int = 5, rows: int = 120) -> tuple[Array, Array]:
    X, Y = random_data(seed, rows=rows, features=4, labels=4, values=12)
    return with_missing_values(X, 0.3, seed), Y


@pytest.mark.parametrize("weights", ["none", "whole", "real"])
@pytest.mark.parametrize("labels_missing", [0.0, 0.3])
@pytest.mark.parametrize("share", [0.1, 0.4, 0.8])
def test_equals_the_reference(weights: str, labels_missing: float, share: float) -> None:
    splits_by_missingness = 0
    for seed in range(10):
        X, Y = random_data(seed, rows=8 + 6 * seed, labels=2 + seed % 4, features=1 + seed % 3)
        X = with_missing_values(X, share, seed, complete=seed % 2)
        Y = with_missing_labels(Y, labels_missing, seed)
        w = weights_of_kind(weights, len(X), seed)
        limits: dict[str, Any] = {
            "min_samples_split": 2 + seed % 3,
            "min_samples_leaf": 1 + seed % 3,
        }
        tree = PartialLabelRankingTree(**limits).fit(X, Y, sample_weight=w)
        listed = None if w is None else w.tolist()
        expected = list(flat(reference.grow(X.tolist(), Y.tolist(), listed, **limits)))
        nodes = tree.tree_.nodes()
        found = list(preorder(tree))
        assert len(found) == len(expected)
        for index, node in zip(found, expected, strict=True):
            feature = int(nodes["feature"][index])
            assert (feature if feature >= 0 else None) == node.feature
            thresholds = nodes["thresholds"][index]
            assert (thresholds[0] if thresholds else None) == node.threshold
            assert nodes["missing_left"][index] == (-1 if feature < 0 else node.missing_left)
            assert sorted(tree.tree_.node_rows(index).tolist()) == node.rows
            splits_by_missingness += node.threshold == np.inf
        leaves = tree.apply(X)
        for row, x in enumerate(X.tolist()):
            rows = reference.leaf_of(expected[0], x).rows
            assert sorted(tree.leaf_rows(int(leaves[row])).tolist()) == rows
    assert splits_by_missingness > 0


def test_splits_are_as_good_as_sklearns() -> None:
    compared = 0
    for seed in range(12):
        X, Y = random_data(seed, rows=80, features=1 + seed % 4, labels=2 + seed % 4, values=9)
        X = with_missing_values(X, [0.1, 0.3, 0.6][seed % 3], seed, complete=0)
        tree = full_tree().fit(X, Y)
        codes = pair_codes(Y)
        for index in np.flatnonzero(tree.tree_.nodes()["feature"] >= 0).tolist():
            rows = tree.tree_.node_rows(index)
            own = codes[rows]
            mixed = own[:, (own != own[0]).any(axis=0)]
            stump = DecisionTreeClassifier(criterion="entropy", max_depth=1, random_state=0)
            result = stump.fit(X[rows], mixed).tree_
            share = result.weighted_n_node_samples / len(rows)
            best = (result.impurity[0] - (share * result.impurity)[1:].sum()) * mixed.shape[1]
            assert improvement(tree, index) == pytest.approx(best / codes.shape[1], abs=1e-12)
            compared += 1
    assert compared > 100


@pytest.mark.parametrize("criterion", ["entropy", "distance"])
def test_the_root_treats_missing_as_a_value_beyond_all_others(criterion: str) -> None:
    sides = set()
    for seed in range(30):
        X, Y = random_data(seed, rows=50, features=2, labels=3, values=8)
        X = with_missing_values(X, 0.3, seed)
        stump = full_tree(max_depth=1, criterion=criterion).fit(X, Y)
        nodes = stump.tree_.nodes()
        missing_left = bool(nodes["missing_left"][0])
        sides.add(missing_left)
        outside = np.where(np.isnan(X), -99.0 if missing_left else 99.0, X)
        other = full_tree(max_depth=1, criterion=criterion).fit(outside, Y)
        assert improvement(other, 0) == pytest.approx(improvement(stump, 0), abs=1e-12)
        worse = np.where(np.isnan(X), 99.0 if missing_left else -99.0, X)
        rival = full_tree(max_depth=1, criterion=criterion).fit(worse, Y)
        assert improvement(rival, 0) <= improvement(stump, 0) + 1e-12
        np.testing.assert_array_equal(stump.apply(X), other.apply(outside))
    assert sides == {False, True}


@pytest.mark.parametrize("params", [{}, {"max_features": 2}, {"splitter": "random"}])
def test_engines_agree(params: dict[str, Any]) -> None:
    for seed in range(6):
        X, Y = random_data(seed, rows=400, features=5, labels=4, values=20)
        X = with_missing_values(X, 0.3, seed)
        fast = full_tree(random_state=seed, **params).fit(X, Y)
        # Weights that are not whole numbers need the weighted engine; a common factor changes no split.
        weighted = full_tree(random_state=seed, **params).fit(X, Y, np.full(len(X), 0.5))
        assert [s[:2] for s in structure(fast)] == [s[:2] for s in structure(weighted)]
        np.testing.assert_array_equal(fast.apply(X), weighted.apply(X))
        sides = [tree.tree_.nodes()["missing_left"].tolist() for tree in (fast, weighted)]
        assert sides[0] == sides[1]


@pytest.mark.parametrize("splitter", ["best", "random", "equal_frequency", "equal_width"])
def test_training_rows_reach_their_leaves(splitter: str) -> None:
    X, Y = incomplete_data(rows=300)
    tree = full_tree(splitter=splitter, random_state=0).fit(X, Y)
    assert tree.get_n_leaves() > 20
    for row, leaf in enumerate(tree.apply(X).tolist()):
        assert row in tree.leaf_rows(leaf)


def test_unseen_missing_values_go_to_the_heavier_side() -> None:
    X = np.arange(10.0).reshape(-1, 1)
    Y = np.where(X < 3, [[1, 2]], [[2, 1]])
    for model in (full_tree(), PartialLabelRankingBooster(rounds=20, min_samples_leaf=1)):
        model.fit(X, Y)
        assert model.predict([[np.nan]]).tolist() == [[2, 1]]
    heavy = np.where(X[:, 0] < 3, 9.0, 1.0)
    assert full_tree().fit(X, Y, heavy).predict([[np.nan]]).tolist() == [[1, 2]]


def test_a_constant_feature_with_missing_values_splits() -> None:
    X = np.array([[1.0], [np.nan], [1.0], [np.nan]])
    Y = np.array([[1, 2], [2, 1], [1, 2], [2, 1]])
    for splitter in ("best", "random", "equal_frequency", "equal_width"):
        tree = full_tree(splitter=splitter).fit(X, Y)
        assert tree.tree_.nodes()["thresholds"][0] == [np.inf]
        np.testing.assert_array_equal(tree.predict(X), Y)
    assert export_text(tree) == "|-- x0 is known: 0 > 1 (2 rows)\n|-- x0 is missing: 1 > 0 (2 rows)"
    nothing = full_tree().fit(np.full((4, 1), np.nan), Y)
    assert nothing.get_n_leaves() == 1


def test_text_says_where_missing_values_go() -> None:
    X = np.array([[0.0], [5.0], [6.0], [7.0], [np.nan]])
    Y = np.array([[1, 2], [2, 1], [2, 1], [2, 1], [1, 2]])
    assert "x0 <= 2.50 or missing: 0 > 1 (2 rows)" in export_text(full_tree().fit(X, Y))
    assert "missing" not in export_text(full_tree().fit(X[:4], Y[:4]))


def test_soft_routing_follows_the_learnt_side() -> None:
    X, Y = incomplete_data()
    soft = PartialLabelRankingTree(shrinkage="path", routing="soft").fit(X, Y)
    hard = clone(soft).set_params(routing="hard").fit(X, Y)
    nothing = np.full((1, X.shape[1]), np.nan)
    # Soft routing sends a missing value to one side only, so a row without values reaches a single leaf.
    np.testing.assert_allclose(
        soft.predict_pair_shares(nothing), hard.predict_pair_shares(nothing), atol=1e-12
    )


@every_estimator
def test_laws(model: Any, tmp_path: Path) -> None:
    X, Y = incomplete_data()
    fitted = clone(model).fit(X, Y)
    expected = fitted.predict(X)
    for jobs in (2, -1):
        np.testing.assert_array_equal(
            clone(model).set_params(n_jobs=jobs).fit(X, Y).predict(X), expected
        )
    one_by_one = np.vstack([fitted.predict(row[None]) for row in X[:30]])
    np.testing.assert_array_equal(one_by_one, expected[:30])
    for other in (pickle.loads(pickle.dumps(fitted)), save_and_load(fitted, tmp_path)):
        np.testing.assert_array_equal(other.predict(X), expected)
    columns = np.asfortranarray(X)
    np.testing.assert_array_equal(clone(model).fit(columns, Y).predict(columns), expected)
    np.testing.assert_array_equal(X, incomplete_data()[0])


def save_and_load(model: Any, folder: Path) -> Any:
    save_model(model, folder / "model.bin")
    return load_model(folder / "model.bin")


@pytest.mark.parametrize("model", [ESTIMATORS[0], ESTIMATORS[2], ESTIMATORS[8]], ids=repr)
def test_row_order_labels_and_weights(model: Any) -> None:
    X, Y = incomplete_data()
    expected = clone(model).fit(X, Y).predict(X)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(clone(model).fit(X[order], Y[order]).predict(X), expected)
    labels = [2, 0, 3, 1]
    np.testing.assert_array_equal(clone(model).fit(X, Y[:, labels]).predict(X), expected[:, labels])
    weights = np.arange(len(X)) % 3
    copies = np.repeat(np.arange(len(X)), weights)
    np.testing.assert_array_equal(
        clone(model).fit(X, Y, weights).predict(X),
        clone(model).fit(X[copies], Y[copies]).predict(X),
    )


@every_estimator
def test_complete_rows_do_not_depend_on_the_other_rows(model: Any) -> None:
    X, Y = incomplete_data()
    fitted = clone(model).fit(X, Y)
    complete = ~np.isnan(X).any(axis=1)
    np.testing.assert_array_equal(fitted.predict(X)[complete], fitted.predict(X[complete]))


@every_estimator
def test_infinite_values_are_rejected(model: Any) -> None:
    X, Y = incomplete_data()
    X[7, 2] = -np.inf
    with pytest.raises(ValueError, match="X, row 7, column 2: -inf; expected a finite number"):
        clone(model).fit(X, Y)
    fitted = clone(model).fit(X[8:], Y[8:])
    with pytest.raises(ValueError, match="X, row 7, column 2: -inf; expected a finite number"):
        fitted.predict(X)


def test_missing_values_carry_information() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    hidden = rng.random(400) < 0.4
    X[hidden, 1] = np.nan
    Y = np.where(hidden[:, None], [[3, 1, 2]], [[1, 2, 3]])
    for model in ESTIMATORS:
        assert clone(model).fit(X[:300], Y[:300]).score(X[300:], Y[300:]) > 0.95, model


def test_linear_model_imputes_the_mean_and_adds_an_indicator() -> None:
    X, Y = incomplete_data()
    linear = PartialLabelRankingLinear().fit(X, Y)
    assert linear.missing_indicators_.tolist() == [0, 1, 2]
    assert linear.coef_.shape == (4, 4)
    assert linear.missing_coef_.shape == (4, 3)
    np.testing.assert_allclose(linear.mean_, np.nanmean(X, axis=0))
    np.testing.assert_allclose(linear.scale_, np.nanstd(X, axis=0))
    standard = (np.where(np.isnan(X), linear.mean_, X) - linear.mean_) / linear.scale_
    missing = np.isnan(X[:, :3])
    indicators = (missing - missing.mean(axis=0)) / missing.std(axis=0)
    expected = linear.intercept_ + standard @ linear.coef_.T + indicators @ linear.missing_coef_.T
    np.testing.assert_allclose(linear.predict_utilities(X), expected, atol=1e-9)
    errors = PartialLabelRankingLinear(standard_errors=True).fit(X, Y)
    assert errors.coef_standard_error_.shape == (4, 4)
    assert linear.feature_importances_.sum() == pytest.approx(1)
    # A value that was never missing in training becomes the mean.
    unseen = X[:1].copy()
    unseen[0, 3] = np.nan
    unseen[0, :3] = 1.0
    mean = np.array([[1.0, 1.0, 1.0, linear.mean_[3]]])
    np.testing.assert_allclose(linear.predict_utilities(unseen), linear.predict_utilities(mean))


def test_command_line_reads_blanks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"{age},{age % 7},{1 + (age > 30)},{2 - (age > 30)}\n" for age in range(10, 60))
    blanks = ",3,2,1\nNA,4,2,1\n?,,2,1\n" * 6
    table = tmp_path / "survey.csv"
    table.write_text("age,visits,tea,coffee\n" + rows + blanks)
    out = str(tmp_path / "model.bin")
    assert (
        main(["fit", str(table), "--labels", "tea", "coffee", "--method", "tree", "--out", out])
        == 0
    )
    assert "68 rows, 2 features" in capsys.readouterr().out
    asked = b"age,visits\n12,3\n,3\nnan,\n55,\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(asked)))
    assert main(["predict", out, "-"]) == 0
    assert capsys.readouterr().out == "tea,coffee\n1,2\n2,1\n2,1\n2,1\n"


@pytest.mark.parametrize("model", [ESTIMATORS[0], *ESTIMATORS[4:9]], ids=repr)
def test_shap_values_add_up(model: Any) -> None:
    X, Y = incomplete_data()
    fitted = clone(model).fit(X, Y)
    total = fitted.shap_values(X[:30]).sum(axis=1) + fitted.shap_base_values()
    np.testing.assert_allclose(total, fitted.predict_label_scores(X[:30]), atol=1e-9)
