"""Forests: averages of trees, out-of-bag scores, scikit-learn's conventions."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import bucketrank as br
from bucketrank import _core
from bucketrank.experiments import compare
from tree_data import load, random_data, with_missing_labels

Forest = br.PartialLabelRankingForest
VARIANTS = ("mixed", "bootstrap", "extra_trees")
MASK = 2**64 - 1


def child_seed(parent: int, child: int) -> int:
    """The seed of tree number `child`: the finaliser of SplitMix64."""
    z = (parent + 0x9E3779B97F4A7C15 + child) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def data(missing: float = 0.0, rows: int = 60) -> tuple[Any, Any]:
    X, Y = random_data(5, rows=rows)
    return X, with_missing_labels(Y, missing, 5) if missing else Y


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_a_forest_is_the_average_of_its_trees(missing: float) -> None:
    X, Y = data(missing)
    weights = np.arange(len(X)) % 4
    forest = Forest(variant="extra_trees", n_estimators=5, random_state=3).fit(X, Y, weights)
    seed = int(np.random.RandomState(3).randint(2**31 - 1))
    options = {
        "criterion": "entropy",
        "splitter": "random",
        "max_splits": 2,
        "max_depth": None,
        "min_samples_split": 2,
        "min_samples_leaf": 1,
        "max_features": None,
        "n_jobs": 1,
        "soft": False,
    }
    expected = np.zeros_like(forest.predict_pair_shares(X))
    for index in range(5):
        tree = _core.Tree.fit(
            X,
            Y,
            weights.astype(float),
            ("borda", 0.9),
            {**options, "seed": child_seed(seed, index)},  # type: ignore[typeddict-item]
        )
        leaves = tree.apply(X)
        np.testing.assert_array_equal(forest.apply(X)[:, index], leaves)
        expected += tree.pair_shares(("m-estimate", 0.5), leaves) / 5
    shares = forest.predict_pair_shares(X)
    np.testing.assert_allclose(shares, expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(forest.predict(X), br.TauX().aggregate_pair_shares(shares))
    C = forest.predict_pair_order(X)
    first, second = np.triu_indices(Y.shape[1], 1)
    np.testing.assert_allclose(C[:, first, second], shares[..., 0] + shares[..., 1] / 2)


@pytest.mark.parametrize("variant", VARIANTS)
def test_threads_and_warm_start_do_not_change_a_forest(variant: str) -> None:
    X, Y = data(0.3)
    whole = Forest(variant=variant, n_estimators=12, random_state=1).fit(X, Y)
    shares = whole.predict_pair_shares(X)
    parallel = clone(whole).set_params(n_jobs=3).fit(X, Y)
    np.testing.assert_array_equal(parallel.predict_pair_shares(X), shares)
    assert parallel.forest_.to_bytes() == whole.forest_.to_bytes()
    warm = clone(whole).set_params(n_estimators=4, warm_start=True).fit(X, Y)
    assert warm.forest_.n_trees == 4
    warm.set_params(n_estimators=12).fit(X, Y)
    np.testing.assert_array_equal(warm.predict_pair_shares(X), shares)
    other = clone(whole).set_params(random_state=2).fit(X, Y)
    assert other.forest_.to_bytes() != whole.forest_.to_bytes()
    again = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(again.predict_pair_shares(X), shares)


@pytest.mark.parametrize("variant", ["mixed", "bootstrap"])
def test_out_of_bag_predictions_come_from_trees_without_the_row(variant: str) -> None:
    X, Y = data(rows=80)
    # Every row is in a separate leaf: trees trained with a row predict its ranking.
    X = np.column_stack([X, np.arange(len(X))])
    forest = Forest(variant=variant, n_estimators=40, random_state=0, oob_score=True).fit(X, Y)
    inside, outside = forest.predict_pair_shares(X), forest.predict_oob_pair_shares(X)
    covered = forest.forest_.out_of_bag_counts() > 0
    assert covered.all()
    np.testing.assert_allclose(outside.sum(axis=2), 1)
    predicted = br.TauX().aggregate_pair_shares(outside)
    assert forest.oob_score_ == pytest.approx(br.tau_x(Y, predicted))
    training_score = br.tau_x(Y, br.TauX().aggregate_pair_shares(inside))
    assert forest.oob_score_ < training_score - 0.1
    # The score is weighted; rows of weight 0 have no out-of-bag votes and do not enter it.
    weights = (np.arange(len(X)) % 2).astype(float)
    weighted = clone(forest).fit(X, Y, weights)
    kept = weighted.forest_.out_of_bag_counts() > 0
    assert not kept[::2].any()
    predicted = br.TauX().aggregate_pair_shares(weighted.predict_oob_pair_shares(X)[kept])
    assert weighted.oob_score_ == pytest.approx(br.tau_x(Y[kept], predicted, weights[kept]))


def test_the_out_of_bag_guard_changes_the_shrinkage_only_where_it_helps() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((150, 3))
    noise = br.to_dense_ranks(rng.integers(0, 4, (150, 5)).astype(float))
    mostly_tied = np.where(rng.random((150, 1)) < 0.5, 1, noise)
    guarded = Forest(n_estimators=30, random_state=0, oob_guard=True).fit(X, mostly_tied)
    plain = clone(guarded).set_params(oob_guard=False, oob_score=True).fit(X, mostly_tied)
    assert plain.shrinkage_strength_ == 0.5
    assert guarded.shrinkage_strength_ in (4.0, 16.0, 64.0)
    assert guarded.oob_score_ > plain.oob_score_ + 0.01
    clear = br.to_dense_ranks(np.column_stack([X[:, 0], 1 - X[:, 0], X[:, 1]]).round(1))
    kept = clone(guarded).fit(X, clear)
    assert kept.shrinkage_strength_ == 0.5


def test_a_forest_without_out_of_bag_rows_warns() -> None:
    with pytest.warns(UserWarning, match="no out-of-bag score; more trees leave out more rows"):
        forest = Forest(n_estimators=1, oob_score=True).fit([[0.0]], [[1, 2]])
    assert np.isnan(forest.oob_score_)


def test_every_compatible_aggregator_predicts() -> None:
    X, Y = data()
    forest = Forest(n_estimators=10, random_state=0).fit(X, Y)
    need_rankings = ("mc1", "mc2", "mc3", "davidson", "reciprocal_rank_fusion")
    names = [name for name in br.METHODS if name not in need_rankings]
    for name, predicted in zip(names, forest.predict_many(X, names), strict=True):
        np.testing.assert_array_equal(forest.with_aggregator(name).predict(X), predicted)
    for name in need_rankings:
        with pytest.raises(ValueError, match=r"needs rankings, but a forest averages shares"):
            forest.with_aggregator(name)
        with pytest.raises(ValueError, match=r"needs rankings, but a forest averages shares"):
            Forest(name).fit(X, Y)


def test_forests_are_scikit_learn_estimators() -> None:
    X, Y = data()
    forest = Forest(n_estimators=5, random_state=0)
    assert len(cross_val_score(forest, X, Y, cv=3)) == 3
    grid = GridSearchCV(forest, {"aggregator": ["borda"], "aggregator__beta": [0.1, 0.9]}, cv=2)
    assert grid.fit(X, Y).best_params_["aggregator"] == "borda"
    frame = pd.DataFrame(X, columns=list("abc"))
    labels = pd.DataFrame(Y, columns=list("pqrs"))
    fitted = forest.set_output(transform="pandas").fit(frame, labels)
    assert list(fitted.predict(frame).columns) == list("pqrs")
    assert fitted.feature_importances_.sum() == pytest.approx(1)
    assert fitted.get_depth() > 1
    assert fitted.get_n_leaves() > 5
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame[["b", "a", "c"]])


def test_the_feature_that_matters_is_important() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((80, 4))
    Y = br.to_dense_ranks(np.outer(X[:, 2] > 0.4, [3, 2, 1]) + np.arange(3.0))
    for variant in VARIANTS:
        forest = Forest(n_estimators=10, variant=variant, random_state=0).fit(X, Y)
        assert forest.feature_importances_[2] > 0.7


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"n_estimators": 0}, ValueError, r"n_estimators is 0; expected .* at least 1"),
        ({"n_estimators": 2.5}, TypeError, r"n_estimators is 2.5; expected a whole number"),
        ({"variant": "rotated"}, ValueError, r"variant is 'rotated'; expected one of 'mixed'"),
        ({"shrinkage_strength": 0}, ValueError, r"shrinkage_strength is 0.0; expected a finite"),
        ({"max_features": 9}, ValueError, r"max_features is 9; expected at most 3"),
        ({"oob_score": True, "variant": "extra_trees"}, ValueError, r"whose trees use all rows"),
        ({"aggregator": br.Borda("auto")}, ValueError, r"expected a number for a forest"),
    ],
)
def test_bad_parameters(params: dict[str, Any], error: type[Exception], message: str) -> None:
    X, Y = data()
    with pytest.raises(error, match=message):
        Forest(**params).fit(X, Y)


def test_bad_input() -> None:
    X, Y = data()
    bad = X.copy()
    bad[2, 1] = np.inf
    with pytest.raises(ValueError, match=r"X, row 2, column 1: inf"):
        Forest(n_estimators=2).fit(bad, Y)
    with pytest.raises(ValueError, match=r"X has 59 rows but y has 60"):
        Forest(n_estimators=2).fit(X[1:], Y)
    warm = Forest(n_estimators=3, warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match=r"n_estimators is 2, but the forest already has 3 trees"):
        warm.set_params(n_estimators=2).fit(X, Y)
    with pytest.raises(ValueError, match=r"expected the same data with warm_start"):
        warm.set_params(n_estimators=5).fit(X[:30], Y[:30])
    with pytest.raises(ValueError, match=r"X has 5 rows but y has 60"):
        warm.predict_oob_pair_shares(X[:5])
    assert warm.forest_.n_trees == 3
    five_labels = np.column_stack([Y, np.full(len(Y), Y.shape[1] + 1)])
    for name, other in (
        ("X", (X + 1, Y, None)),
        ("y", (X, Y[:, ::-1], None)),
        ("y", (X, five_labels, None)),
        ("sample_weight", (X, Y, np.arange(len(X)) % 2)),
    ):
        with pytest.raises(ValueError, match=rf"^{name} differs from the first fit of the forest"):
            warm.fit(*other)
    assert warm.set_params(n_estimators=5).fit(X, Y, np.ones(len(X))).forest_.n_trees == 5


def test_a_refit_removes_the_earlier_score() -> None:
    X, Y = random_data(1)
    forest = Forest(n_estimators=5, oob_score=True).fit(X, Y)
    assert np.isfinite(forest.oob_score_)
    assert not hasattr(forest.set_params(oob_score=False).fit(X, Y), "oob_score_")


@pytest.mark.parametrize("name", ["oob_score", "oob_guard", "warm_start"])
def test_flags_must_be_booleans(name: str) -> None:
    X, Y = random_data(1)
    with pytest.raises(TypeError, match=f"{name} is 'no'; expected True or False"):
        Forest(n_estimators=2).set_params(**{name: "no"}).fit(X, Y)


FORKS = """
import os, signal, threading, time
import numpy as np
import bucketrank as br

rng = np.random.default_rng(0)
X = rng.random((6000, 4))
Y = rng.permuted(np.tile(np.arange(1, 6), (6000, 1)), axis=1)
forest = br.PartialLabelRankingForest(n_estimators=40, random_state=0).fit(X, Y)
rows = X[:600]
thread = threading.Thread(target=forest.predict, args=(rows,))
thread.start()
children = []
while thread.is_alive() and len(children) < 5:
    time.sleep(0.02)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        forest.predict(rows)
        os._exit(0)
    children.append(child)
thread.join()
print([os.waitpid(child, 0)[1] for child in children])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_child_forked_during_the_first_prediction_predicts() -> None:
    program = [sys.executable, "-W", "ignore", "-c", FORKS]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=True)
    statuses = json.loads(done.stdout)
    assert statuses == [0] * len(statuses) != [], "14 is SIGALRM: the child waits for ever"


def test_a_forest_beats_a_tree(shared_dir: Path, count_comparisons: Any) -> None:
    X, Y = load(shared_dir, "vehicle")
    test = np.arange(len(X)) % 5 == 0
    for missing, least in ((0.0, 0.82), (0.6, 0.74)):
        train = br.drop_labels(Y[~test], missing, seed=2)
        forest = Forest(n_estimators=40, random_state=0).fit(X[~test], train)
        tree = br.PartialLabelRankingTree.paper().fit(X[~test], train)
        score = forest.score(X[test], Y[test])
        assert score > max(least, tree.score(X[test], Y[test]) + 0.02)
    count_comparisons("rows of vehicle", int(test.sum()))


def test_compare_includes_forests_and_shrunk_trees() -> None:
    X, Y = data()
    trees = {
        kind: br.PartialLabelRankingTree("tau_x", min_samples_split=2, shrinkage=kind)
        for kind in ("path", "m-estimate")
    }
    study = compare(
        {"small": (X, Y)},
        ["borda", "tau_x"],
        missing=[0, 0.3],
        n_repeats=1,
        n_folds=3,
        rankers={
            **trees,
            "forest": Forest(n_estimators=5),
            "all tied": br.PartialLabelRankingBaseline("all_tied"),
        },
        progress=False,
    )
    assert study.methods == ["borda", "tau_x", "path", "m-estimate", "forest", "all tied"]
    assert study.is_complete
    assert np.isfinite(study.columns["tau_x"]).all()
    shrunk = compare(
        {"small": (X, Y)},
        ["borda", "tau_x"],
        tree=trees["path"],
        missing=[0, 0.3],
        n_repeats=1,
        n_folds=3,
        progress=False,
    )
    # Both studies have the same folds and missing labels, and the ranker "path" of the first is the tree of the second
    # with the aggregator tau_x.
    expected = study.columns["tau_x"][study.columns["method"] == "path"]
    found = shrunk.columns["tau_x"][shrunk.columns["method"] == "tau_x"]
    np.testing.assert_array_equal(found, expected)
