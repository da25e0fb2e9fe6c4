"""Partial dependence of rankers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.inspection import PartialDependenceDisplay

import bucketrank as br
from bucketrank.inspection import LabelScores, partial_dependence
from tree_data import Array, random_data, with_missing_labels

MODELS: list[Any] = [
    br.PartialLabelRanker(n_estimators=5, rounds=5, n_parts=2, random_state=0),
    br.PartialLabelRankingBooster(rounds=8, random_state=0),
    br.PartialLabelRankingForest(n_estimators=10, random_state=0),
    br.PartialLabelRankingLinear(),
    br.PartialLabelRankingTree(),
    br.PartialLabelRankingTree(routing="soft", shrinkage="path", aggregator="tau_x"),
]
models = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@pytest.fixture
def data() -> tuple[Array, Array]:
    X, Y = random_data(4, rows=80)
    return X, with_missing_labels(Y, 0.2, 4)


def borda_by_hand(shares: Array, n_labels: int) -> Array:
    """Borda score of each label: the mean over all other labels of before + tied / 2, or of 1/2 without shares."""
    scores = np.zeros((len(shares), n_labels))
    pairs = [(u, v) for u in range(n_labels) for v in range(u + 1, n_labels)]
    for row, table in enumerate(shares):
        for (u, v), (before, tied, after) in zip(pairs, table, strict=True):
            known = before + tied + after > 0
            scores[row, u] += before + tied / 2 if known else 0.5
            scores[row, v] += after + tied / 2 if known else 0.5
    return scores / (n_labels - 1)


@models
@pytest.mark.parametrize("response", ["auto", "borda"])
def test_average_is_the_mean_of_predictions(
    model: Any, response: Any, data: tuple[Array, Array]
) -> None:
    X, y = data
    fitted = clone(model).fit(X, y)
    found = partial_dependence(fitted, X, [1], response_method=response, grid_resolution=4)
    (grid,) = found.grid_values
    assert found.average.shape == (4, len(grid))
    for place, value in enumerate(grid):
        changed = X.copy()
        changed[:, 1] = value
        if response == "auto" and hasattr(fitted, "predict_utilities"):
            scores = fitted.predict_utilities(changed)
            scores = scores - scores.mean(axis=1, keepdims=True)
        else:
            scores = borda_by_hand(fitted.predict_pair_shares(changed), 4)
        np.testing.assert_allclose(found.average[:, place], scores.mean(axis=0), atol=1e-12)


@models
def test_options_are_passed_on(model: Any, data: tuple[Array, Array]) -> None:
    X, y = data
    fitted = clone(model).fit(X, y)
    found = partial_dependence(fitted, X, [(0, 2)], grid_resolution=3, kind="average")
    assert found.average.shape == (4, 3, 3)
    single = partial_dependence(fitted, X, [0], kind="individual", grid_resolution=3)
    assert single.individual.shape == (4, len(X), 3)
    weights = np.r_[1, np.zeros(len(X) - 1)]
    weighted = partial_dependence(fitted, X, [0], sample_weight=weights, grid_resolution=3)
    np.testing.assert_allclose(weighted.average, single.individual[:, 0], atol=1e-12)


def test_columns_by_name(data: tuple[Array, Array]) -> None:
    X = pd.DataFrame(data[0], columns=["a", "b", "c"])
    forest = clone(MODELS[2]).fit(X, data[1])
    named = partial_dependence(forest, X, ["b"], grid_resolution=3)
    numbered = partial_dependence(forest, X, [1], grid_resolution=3)
    np.testing.assert_array_equal(named.average, numbered.average)


def test_label_scores_are_arrays_for_every_output_container(data: tuple[Array, Array]) -> None:
    linear = br.PartialLabelRankingLinear().set_output(transform="pandas").fit(*data)
    assert isinstance(LabelScores(linear).predict(data[0]), np.ndarray)


def test_display(data: tuple[Array, Array]) -> None:
    pyplot.switch_backend("agg")  # works without a display
    forest = clone(MODELS[2]).fit(*data)
    shown = PartialDependenceDisplay.from_estimator(
        LabelScores(forest), data[0], [0, 1], target=2, grid_resolution=5
    )
    expected = partial_dependence(forest, data[0], [1], grid_resolution=5).average[2]
    np.testing.assert_allclose(shown.lines_[0, 1].get_ydata(), expected)
    pyplot.close("all")


def test_bad_input(data: tuple[Array, Array]) -> None:
    X, y = data
    forest = clone(MODELS[2]).fit(X, y)
    with pytest.raises(NotFittedError):
        partial_dependence(clone(forest), X, [0])
    with pytest.raises(ValueError, match="PartialLabelRankingForest has no utilities"):
        partial_dependence(forest, X, [0], response_method="utilities")
    with pytest.raises(ValueError, match="response_method is 'median'; expected one of 'auto'"):
        partial_dependence(forest, X, [0], response_method="median")  # type: ignore[arg-type]
    baseline = br.PartialLabelRankingBaseline().fit(X, y)
    with pytest.raises(TypeError, match="PartialLabelRankingBaseline; expected an estimator"):
        partial_dependence(baseline, X, [0])
    with pytest.raises(TypeError, match="ranker is of type int"):
        partial_dependence(3, X, [0])


def test_missing_values_are_not_in_the_grid() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"city": rng.choice(["Bern", "Oslo"], 150), "age": rng.uniform(0, 9, 150)})
    Y = np.where((X["city"] == "Oslo").to_numpy()[:, None], [[1, 2]], [[2, 1]])
    X.loc[::7, "city"] = None
    X.loc[::5, "age"] = np.nan
    forest = br.PartialLabelRankingForest(n_estimators=20, random_state=0).fit(X, Y)
    found = partial_dependence(forest, X, ["age"], grid_resolution=6)
    assert found.average.shape == (2, 6)
    assert np.all(np.diff(found["grid_values"][0]) > 0)
    found = partial_dependence(forest, X, "city")
    assert found["grid_values"][0].tolist() == ["Bern", "Oslo"]
    assert found.average[0, 1] > found.average[0, 0] + 0.3
