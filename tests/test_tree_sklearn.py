"""The tree with scikit-learn's tools."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RepeatedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bucketrank import (
    Borda,
    Copeland,
    PartialLabelRankingTree,
    drop_labels,
    tau_x,
    tau_x_scorer,
    to_text,
)
from tree_data import Array, random_data, with_missing_labels


@pytest.fixture
def data() -> tuple[Array, Array]:
    X, Y = random_data(4, rows=80)
    return X, with_missing_labels(Y, 0.2, 4)


@pytest.fixture
def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    X, Y = random_data(5, rows=60, features=2, labels=3)
    index = [f"row {i}" for i in range(len(X))]
    return (
        pd.DataFrame(X, columns=["width", "height"], index=index),
        pd.DataFrame(Y.astype(int), columns=["tea", "juice", "water"], index=index),
    )


def test_clone_copies_only_parameters(data: tuple[Array, Array]) -> None:
    tree = PartialLabelRankingTree(Borda(0.3), max_depth=2, n_jobs=2).set_output(transform="pandas")
    other = clone(tree.fit(*data))
    assert other.get_params() == tree.get_params()
    assert not hasattr(other, "tree_")
    assert isinstance(other.fit(*data).predict(data[0]), pd.DataFrame)


def test_nested_parameters_replace_the_aggregator() -> None:
    tree = PartialLabelRankingTree("borda")
    assert tree.set_params(aggregator__beta=0.25).aggregator == Borda(0.25)
    assert tree.get_params()["aggregator__beta"] == 0.25
    shared = Copeland(0.1)
    trees = [PartialLabelRankingTree(shared) for _ in range(2)]
    trees[0].set_params(aggregator__beta=0.3, max_depth=3)
    assert (trees[0].aggregator, trees[0].max_depth) == (Copeland(0.3), 3)
    assert trees[1].aggregator is shared
    assert shared == Copeland(0.1)
    tree.set_params(aggregator="copeland", aggregator__beta=0.2)
    assert tree.aggregator == Copeland(0.2)
    with pytest.raises(ValueError, match="Copeland has no parameter 'gamma'"):
        tree.set_params(aggregator__gamma=1)
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        tree.set_params(depth=1)


def test_grid_search_in_a_pipeline(data: tuple[Array, Array]) -> None:
    X, Y = data
    pipeline = make_pipeline(StandardScaler(), PartialLabelRankingTree())
    grid = {
        "partiallabelrankingtree__aggregator__beta": [0.0, 0.5, 0.9],
        "partiallabelrankingtree__max_depth": [1, None],
    }
    search = GridSearchCV(pipeline, grid, cv=KFold(3, shuffle=True, random_state=0)).fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert len(set(scores.tolist())) > 3
    assert search.predict(X).shape == Y.shape
    assert search.score(X, Y) == search.best_estimator_.score(X, Y)
    step = search.best_estimator_[-1]
    assert step.aggregator == Borda(
        search.best_params_["partiallabelrankingtree__aggregator__beta"]
    )


def test_search_over_aggregators(data: tuple[Array, Array]) -> None:
    grid = {"aggregator": ["borda", "mc4", Copeland(0.2)]}
    search = GridSearchCV(PartialLabelRankingTree(), grid, cv=2).fit(*data)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_cross_validation_with_missing_labels(data: tuple[Array, Array]) -> None:
    X, Y = data
    folds = RepeatedKFold(n_splits=5, n_repeats=2, random_state=0)
    scores = cross_val_score(PartialLabelRankingTree(), X, Y, cv=folds)
    assert scores.shape == (10,)
    for score, (train, test) in zip(scores, folds.split(X), strict=True):
        predicted = PartialLabelRankingTree().fit(X[train], Y[train]).predict(X[test])
        assert score == tau_x(Y[test], predicted, missing="ignore")
    assert cross_val_predict(PartialLabelRankingTree(), X, Y, cv=3).shape == Y.shape


def test_scorer_agrees_with_score() -> None:
    X, Y = random_data(4, rows=60)
    tree = PartialLabelRankingTree()
    own = cross_val_score(tree, X, Y, cv=4)
    np.testing.assert_array_equal(own, cross_val_score(tree, X, Y, cv=4, scoring=tau_x_scorer))
    partial = drop_labels(Y, 0.3, seed=0)
    own = cross_val_score(tree, X, partial, cv=4)
    assert np.isfinite(own).all()
    np.testing.assert_array_equal(
        own, cross_val_score(tree, X, partial, cv=4, scoring=tau_x_scorer)
    )


def test_threads_and_processes_of_joblib(data: tuple[Array, Array]) -> None:
    X, Y = data
    tree = PartialLabelRankingTree()
    serial = cross_val_score(tree, X, Y, cv=4)
    for backend in ("threading", "loky"):
        with joblib.parallel_backend(backend, n_jobs=2):
            np.testing.assert_array_equal(cross_val_score(tree, X, Y, cv=4), serial)


def test_copies_predict_the_same(data: tuple[Array, Array], tmp_path: Path) -> None:
    X, Y = data
    tree = PartialLabelRankingTree("mc2").fit(X, Y, np.arange(len(X)))
    joblib.dump(tree, tmp_path / "tree.joblib")
    copies = [
        *(pickle.loads(pickle.dumps(tree, protocol)) for protocol in range(2, 6)),
        copy.copy(tree),
        copy.deepcopy(tree),
        joblib.load(tmp_path / "tree.joblib"),
    ]
    for other in copies:
        assert other.tree_.to_bytes() == tree.tree_.to_bytes()
        assert other.get_params() == tree.get_params()
        np.testing.assert_array_equal(other.predict(X), tree.predict(X))
        np.testing.assert_array_equal(
            other.leaf_rankings(int(tree.apply(X)[0])), tree.leaf_rankings(int(tree.apply(X)[0]))
        )


def test_names_come_from_data_frames(frames: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    X, Y = frames
    tree = PartialLabelRankingTree().fit(X, Y)
    assert tree.feature_names_in_.tolist() == ["width", "height"]
    assert tree.label_names_in_.tolist() == ["tea", "juice", "water"]
    assert (tree.n_features_in_, tree.n_labels_in_) == (2, 3)
    array = tree.predict(X)
    assert isinstance(array, np.ndarray)
    frame = tree.set_output(transform="pandas").predict(X)
    assert list(frame.columns) == ["tea", "juice", "water"]
    assert list(frame.index) == list(X.index)
    np.testing.assert_array_equal(frame.to_numpy(), array)
    assert to_text(frame)[0].replace("~", ">").count(">") == 2
    assert tree.score(X, Y) == tau_x(Y, frame)
    assert isinstance(tree.set_output(transform="default").predict(X), np.ndarray)
    assert tree.set_output(transform=None) is tree
    with pytest.raises(ValueError, match="transform is 'arrow'"):
        tree.set_output(transform="arrow")


def test_arrays_have_generated_names(data: tuple[Array, Array]) -> None:
    tree = PartialLabelRankingTree().fit(*data)
    assert not hasattr(tree, "feature_names_in_")
    assert tree.label_names_in_.tolist() == [0, 1, 2, 3]
    assert list(tree.set_output(transform="pandas").predict(data[0]).columns) == [0, 1, 2, 3]


def test_lists_and_memory_layouts_give_the_same_result(data: tuple[Array, Array]) -> None:
    X, Y = data
    tree = PartialLabelRankingTree(min_samples_split=2).fit(X.tolist(), Y.tolist())
    expected = tree.predict(X.tolist())
    wide = np.repeat(X, 2, axis=1)
    for same in (np.ascontiguousarray(X), np.asfortranarray(X), wide[:, ::2], X.astype(">f8")):
        other = PartialLabelRankingTree(min_samples_split=2).fit(same, Y)
        assert other.n_features_in_ == X.shape[1]
        assert other.tree_.to_bytes() == tree.tree_.to_bytes()
        np.testing.assert_array_equal(other.predict(same), expected)
        np.testing.assert_array_equal(tree.predict(same), expected)
    with pytest.raises(ValueError, match="features"):
        tree.predict(np.ascontiguousarray(wide))
    with pytest.raises(ValueError, match="0 sample"):
        tree.predict(np.empty((0, X.shape[1])))


def test_a_refit_removes_earlier_names(
    frames: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    X, Y = frames
    tree = PartialLabelRankingTree().fit(X, Y)
    with pytest.warns(UserWarning, match="feature names"):
        tree.predict(X.to_numpy(dtype=float))
    tree.fit(X.to_numpy(dtype=float), Y)
    assert not hasattr(tree, "feature_names_in_")


def test_apply_and_decision_path_agree(data: tuple[Array, Array]) -> None:
    X, Y = data
    tree = PartialLabelRankingTree(min_samples_split=2).fit(X, Y)
    paths = tree.decision_path(X)
    leaves = tree.apply(X)
    nodes = tree.tree_.nodes()
    assert paths.shape == (len(X), len(nodes["parent"]))
    np.testing.assert_array_equal(np.asarray(paths.sum(axis=1)).ravel(), nodes["depth"][leaves] + 1)
    for row, leaf in enumerate(leaves.tolist()):
        path = paths[[row]].indices
        assert (path[0], path[-1]) == (0, leaf)
        assert nodes["parent"][path[1:]].tolist() == path[:-1].tolist()
    assert tree.get_depth() == nodes["depth"].max()
    assert tree.get_n_leaves() == len(set(leaves.tolist()))
    assert tree.feature_importances_.sum() == pytest.approx(1)


def test_importing_the_package_does_not_import_sklearn() -> None:
    code = "import sys, bucketrank; sys.exit('sklearn' in sys.modules or 'scipy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
