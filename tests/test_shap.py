"""SHAP values: the definition over all coalitions, sums, threads, bad input and the figure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bucketrank as br
from bucketrank.figures import plot_label_effects
from reference.shapley import shapley_values, tree_game
from tree_data import random_data, with_missing_labels

EXACT: dict[str, Any] = {
    "tree": br.PartialLabelRankingTree(min_samples_split=2),
    "shrunken tree": br.PartialLabelRankingTree("tau_x", min_samples_split=2, shrinkage="path"),
    "multiway tree": br.PartialLabelRankingTree(splitter="equal_width", max_splits=4),
    "forest": br.PartialLabelRankingForest(n_estimators=12, random_state=0),
    "booster": br.PartialLabelRankingBooster(rounds=25, min_samples_leaf=3, random_state=0),
    "linear": br.PartialLabelRankingLinear(),
}


def data(rows: int = 80) -> tuple[Any, Any, Any]:
    """Features, rankings with missing labels, and weights with zeros."""
    X, Y = random_data(3, rows=rows, features=6, values=9)
    return X, with_missing_labels(Y, 0.2, 3), np.arange(rows) % 3 / 2


@pytest.mark.parametrize("name", EXACT)
def test_values_add_up_to_the_scores(name: str) -> None:
    X, Y, weights = data()
    model = EXACT[name].fit(X, Y, weights)
    rows = np.random.default_rng(0).uniform(-1, 4, (37, X.shape[1]))
    shap = model.shap_values(rows)
    assert shap.shape == (37, 6, 4)
    assert np.abs(shap).max() > 0.01
    total = shap.sum(axis=1) + model.shap_base_values()
    assert np.abs(total - model.predict_label_scores(rows)).max() < 1e-9


@pytest.mark.parametrize("name", EXACT)
def test_values_depend_neither_on_threads_nor_on_other_rows(name: str) -> None:
    X, Y, weights = data()
    model = EXACT[name].fit(X, Y, weights)
    rows = np.resize(X, (700, X.shape[1]))
    shap = model.shap_values(rows)
    model.n_jobs = 2
    assert np.array_equal(model.shap_values(rows), shap)
    assert np.array_equal(model.shap_values(rows[13:14]), shap[13:14])
    assert np.array_equal(model.shap_values(pd.DataFrame(rows[:20])), shap[:20])


@pytest.mark.parametrize("name", ["tree", "shrunken tree", "multiway tree"])
def test_a_tree_matches_the_definition(name: str) -> None:
    X, Y, weights = data()
    tree = EXACT[name].fit(X, Y, weights)
    nodes = tree.tree_.nodes()
    rows = np.random.default_rng(1).uniform(-1, 4, (6, X.shape[1]))
    scores = {}
    leaves = tree.apply(X)
    for leaf in np.unique(leaves[weights > 0]):
        order = tree.predict_pair_order(X[(leaves == leaf) & (weights > 0)][:1])[0]
        scores[int(leaf)] = order.sum(axis=1) - 0.5
    for row, found in zip(rows, tree.shap_values(rows), strict=True):
        expected = shapley_values(tree_game(nodes, scores, row), X.shape[1])
        assert np.abs(found - expected).max() < 1e-12


def test_scores_are_those_of_the_predictions() -> None:
    X, Y, _ = data()
    forest = EXACT["forest"].fit(X, Y)
    borda = forest.predict_pair_order(X).sum(axis=2) - 0.5
    assert np.abs(forest.predict_label_scores(X) - borda).max() < 1e-5
    for name in ("booster", "linear"):
        model = EXACT[name].fit(X, Y)
        utilities = model.predict_utilities(X)
        assert np.abs(model.predict_label_scores(X) - utilities).max() < 1e-5
    far = np.full((1, X.shape[1]), 1e6)
    linear = EXACT["linear"]
    total = linear.shap_values(far).sum(axis=1) + linear.shap_base_values()
    assert np.abs(total - linear.predict_label_scores(far)).max() < 1e-9


@pytest.mark.parametrize("name", EXACT)
def test_values_follow_the_labels(name: str) -> None:
    X, Y, _ = data()
    order = [2, 0, 3, 1]
    model, tolerance = clone(EXACT[name]), 1e-12
    if name == "booster":
        # Utilities of a booster have single precision, so their sums depend on the order of the labels. After many
        # rounds the rounding also decides between features that divide the rows of a node alike, see the next test.
        model, tolerance = model.set_params(rounds=10), 1e-6
    if name == "linear":
        # The solver stops at a gradient of this size; the penalty bounds the error of a coefficient.
        model, tolerance = model.set_params(tolerance=1e-9), 1e-5
    shap = model.fit(X, Y).shap_values(X)
    relabelled = model.fit(X, Y[:, order]).shap_values(X)
    assert np.abs(relabelled - shap[:, :, order]).max() < tolerance


def test_boosters_follow_the_labels_up_to_features_that_divide_the_rows_alike() -> None:
    X, Y, _ = data()
    order = [2, 0, 3, 1]
    # Every tree sees all rows: features that divide them alike give all rows the same scores.
    booster = br.PartialLabelRankingBooster(
        rounds=100, min_samples_leaf=3, row_share=1.0, random_state=0
    )
    scores = booster.fit(X, Y).predict_label_scores(X)
    relabelled = booster.fit(X, Y[:, order]).predict_label_scores(X)
    assert np.abs(relabelled - scores[:, order]).max() < 1e-5


def test_an_unused_feature_has_no_effect() -> None:
    X, Y, _ = data()
    constant = np.column_stack([X, np.ones(len(X))])
    for name in EXACT:
        shap = EXACT[name].fit(constant, Y).shap_values(constant)
        assert np.all(shap[:, -1] == 0)


def test_saved_models_keep_their_explanations(tmp_path: Any) -> None:
    X, Y, weights = data()
    for name in ("forest", "booster", "linear"):
        model = EXACT[name].fit(X, Y, weights)
        br.save_model(model, tmp_path / "model.bucketrank")
        loaded = br.load_model(tmp_path / "model.bucketrank")
        assert np.array_equal(loaded.shap_values(X), model.shap_values(X))


def test_values_of_a_mixture_add_up_for_any_number_of_permutations() -> None:
    X, Y, _ = data()
    ranker = br.PartialLabelRanker(n_estimators=6, rounds=10, n_parts=2, random_state=0).fit(X, Y)
    rows, background = X[:3] + 0.1, X[::9]
    base = ranker.shap_base_values(background)
    for count in (1, 3):
        shap = ranker.shap_values(rows, background, n_permutations=count, random_state=4)
        total = shap.sum(axis=1) + base
        assert np.abs(total - ranker.predict_label_scores(rows)).max() < 1e-9
    again = ranker.set_params(n_jobs=2).shap_values(
        rows[1:2], background, n_permutations=3, random_state=4
    )
    assert np.array_equal(again, shap[1:2])


def test_values_of_a_mixture_approach_the_definition() -> None:
    X, Y, _ = data()
    X = X[:, :4]
    ranker = br.PartialLabelRanker(fast=True, n_estimators=6, rounds=10, random_state=0).fit(X, Y)
    row, background = X[5] + 0.1, X[::16]

    def game(known: frozenset[int]) -> Any:
        mixed = background.copy()
        mixed[:, list(known)] = row[list(known)]
        return ranker.predict_label_scores(mixed).mean(axis=0)

    expected = shapley_values(game, X.shape[1])
    errors = [
        np.abs(
            ranker.shap_values([row], background, n_permutations=count, random_state=0)[0]
            - expected
        ).max()
        for count in (1, 300)
    ]
    assert errors[1] < 0.01
    assert errors[1] < errors[0]


def test_bad_input_is_refused() -> None:
    X, Y, _ = data()
    booster = EXACT["booster"].fit(X, Y)
    with pytest.raises(ValueError, match="5 features"):
        booster.shap_values(X[:, :5])
    with pytest.raises(ValueError, match="inf"):
        booster.shap_values(np.full((1, 6), np.inf))
    for method in ("shap_values", "predict_label_scores"):
        with pytest.raises(NotFittedError):
            getattr(br.PartialLabelRankingForest(), method)(X)
    with pytest.raises(NotFittedError):
        br.PartialLabelRankingLinear().shap_base_values()
    soft = br.PartialLabelRankingTree("tau_x", routing="soft", min_samples_split=2).fit(X, Y)
    with pytest.raises(ValueError, match="expected routing 'hard'"):
        soft.shap_values(X)
    ranker = br.PartialLabelRanker(fast=True, n_estimators=3, rounds=3, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="n_permutations"):
        ranker.shap_values(X[:1], X[:2], n_permutations=0)
    with pytest.raises(ValueError, match="5 features"):
        ranker.shap_values(X[:1], X[:2, :5])


SHAP = [[0.5, -0.5, 0.0], [-0.1, 0.1, 0.3], [0.0, 0.25, 0.0], [0.02, 0.0, 0.0]]


def widths(axes: Any) -> list[float]:
    return [bar.get_width() for bar in axes.patches]


def test_the_figure_shows_differences_sorted_by_size() -> None:
    axes = plot_label_effects(
        SHAP, "a", "b", labels=list("abc"), features=list("wxyz"), row=[1, 2.5, 3, 4]
    )
    texts = [text.get_text() for text in axes.get_yticklabels()]
    assert texts == ["w = 1", "y = 3", "x = 2.5", "z = 4"]
    assert np.allclose(widths(axes), [1.0, -0.25, -0.2, 0.02])
    assert "+0.57" in axes.get_title(loc="left")
    pyplot.close("all")


def test_the_figure_sums_the_other_features_and_adds_the_base() -> None:
    axes = plot_label_effects(SHAP, 2, 1, base=[0.0, 0.5, 0.1], max_features=2)
    texts = [text.get_text() for text in axes.get_yticklabels()]
    assert texts == ["0", "2", "2 other features", "no feature known"]
    assert np.allclose(widths(axes), [0.5, -0.25, 0.2, -0.4])
    pyplot.close("all")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot_label_effects([SHAP], 0, 1), "values of one row"),
        (lambda: plot_label_effects(SHAP, 0, 0), "two different labels"),
        (lambda: plot_label_effects(SHAP, 0, 7), "second is 7"),
        (lambda: plot_label_effects(SHAP, 0, 1, base=[1.0]), "base has shape"),
        (lambda: plot_label_effects(SHAP, 0, 1, row=[1.0]), "row has shape"),
        (lambda: plot_label_effects(SHAP, 0, 1, features=["a"]), "expected 4"),
        (lambda: plot_label_effects(SHAP, 0, 1, max_features=0), "max_features"),
    ],
)
def test_bad_figures_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_the_figure_shows_categories_and_missing_values() -> None:
    axes = plot_label_effects(SHAP, 0, 1, features=list("wxyz"), row=["Bern", None, np.nan, 4.0])
    texts = {text.get_text() for text in axes.get_yticklabels()}
    assert texts == {"w = Bern", "x = missing", "y = missing", "z = 4"}
    axes = plot_label_effects(SHAP, 0, 1, row=[pd.NA] * 4)
    assert all(text.get_text().endswith("= missing") for text in axes.get_yticklabels())
    pyplot.close("all")
