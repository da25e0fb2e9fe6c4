"""Conventions that all public estimators share: scikit-learn's checks, metadata routing, labelled output."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import bucketrank as br
from bucketrank.estimators.base import LabelRanker
from tree_data import Array, dense, random_data, with_missing_labels

CLASSES: list[Any] = [
    br.PartialLabelRanker,
    br.PartialLabelRankingBaseline,
    br.PartialLabelRankingBooster,
    br.PartialLabelRankingForest,
    br.PartialLabelRankingLinear,
    br.PartialLabelRankingTree,
]
# One estimator per class, with the default parameters except for the sizes.
SMALL: list[Any] = [
    br.PartialLabelRanker(n_estimators=3, rounds=4, n_parts=2, random_state=0),
    br.PartialLabelRankingBaseline(),
    br.PartialLabelRankingBooster(rounds=5, random_state=0),
    br.PartialLabelRankingForest(n_estimators=5, random_state=0),
    br.PartialLabelRankingLinear(),
    br.PartialLabelRankingTree(),
]
estimators = pytest.mark.parametrize("model", SMALL, ids=lambda model: type(model).__name__)

# Further parameters; except for the first estimator, a weight of 2 equals two copies of a row.
VARIANTS: list[Any] = [
    br.PartialLabelRanker(n_estimators=3, rounds=4, fast=True),
    br.PartialLabelRankingBaseline("all_tied"),
    br.PartialLabelRankingBooster(rounds=5, row_share=1.0, min_samples_leaf=1, feature_share=1.0),
    br.PartialLabelRankingForest(n_estimators=5, variant="extra_trees"),
    br.PartialLabelRankingTree(min_samples_split=2),
    br.PartialLabelRankingTree(min_samples_split=2, criterion="distance"),
    br.PartialLabelRankingTree(min_samples_split=2, splitter="equal_width"),
    br.PartialLabelRankingTree(min_samples_split=2, shrinkage="path", aggregator="tau_x"),
]
REASONS = {
    "PartialLabelRanker": "each copy of a row is drawn and assigned to a part separately",
    "PartialLabelRankingBooster": "rows are drawn for each round, and min_samples_leaf counts them",
    "PartialLabelRankingForest": "bootstrap samples draw each copy of a row separately",
    "PartialLabelRankingTree": "min_samples_split counts rows, not weights",
}
WEIGHTS_EQUAL_COPIES = [*VARIANTS[1:], SMALL[1], SMALL[4]]


def expected_failures(model: Any) -> dict[str, str]:
    """Reasons of expected failures by check; only the check that a weight of 2 equals two copies of a row may fail."""
    if any(model is other for other in WEIGHTS_EQUAL_COPIES):
        return {}
    return {"check_sample_weight_equivalence_on_dense_data": REASONS[type(model).__name__]}


def as_rankings(y: Any) -> tuple[Array, None]:
    """Turn a target of scikit-learn's checks into rankings of three labels, ordered by the number or class of the row.

    Replaces `LabelRanker._target`, through which every estimator reads y.
    """
    values = np.asarray(y)
    if values.dtype.kind not in "iuf":
        values = np.unique(values, return_inverse=True)[1].reshape(values.shape)
    first = values.reshape(len(values), -1)[:, 0].astype(float)
    zeros = np.zeros(len(first))
    return dense(np.column_stack([zeros, np.floor(first), zeros + 1])), None


@pytest.fixture
def rankings_of_any_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LabelRanker, "_target", staticmethod(as_rankings))


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


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_the_lists_are_complete() -> None:
    public = [getattr(br, name) for name in br.__all__]
    assert {c for c in public if isinstance(c, type) and hasattr(c, "fit")} == set(CLASSES)
    assert [type(model) for model in SMALL] == CLASSES


@parametrize_with_checks(SMALL + VARIANTS, expected_failed_checks=expected_failures)  # type: ignore[untyped-decorator]
@pytest.mark.usefixtures("rankings_of_any_target")
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    assert type(estimator) in CLASSES
    check(estimator)


@pytest.mark.usefixtures("rankings_of_any_target")
def test_the_rankings_of_the_checks_depend_on_the_target() -> None:
    X = np.arange(40.0).reshape(-1, 1)
    tree = br.PartialLabelRankingTree(min_samples_split=2).fit(X, np.repeat([-1, 0, 1, 2], 10))
    assert len(np.unique(tree.predict(X), axis=0)) == 4


@pytest.mark.parametrize("method", ["fit", "score"])
@pytest.mark.parametrize("estimator", CLASSES)
def test_the_target_is_named_y(estimator: Any, method: str) -> None:
    names = list(inspect.signature(getattr(estimator, method)).parameters)
    assert names == ["self", "X", "y", "sample_weight"]


@estimators
def test_arguments_can_be_passed_by_name(model: Any) -> None:
    X, y = [[0.0], [1.0], [2.0], [3.0]], [[1, 2], [1, 2], [2, 1], [2, 1]]
    fitted = clone(model).fit(X=X, y=y, sample_weight=[1, 1, 2, 2])
    assert -1 <= fitted.score(X=X, y=y, sample_weight=[1, 1, 2, 2]) <= 1
    with pytest.raises(TypeError, match="unexpected keyword argument 'Y'"):
        clone(model).fit(X, Y=y)
    with pytest.raises(TypeError, match=r"y has dtype .*\(row 0, label 0: 'a'\)"):
        clone(model).fit(X, y=[["a", "b"]] * 4)


@estimators
def test_tags_describe_the_target(model: Any) -> None:
    target = model.__sklearn_tags__().target_tags
    assert target.required
    assert target.two_d_labels
    assert target.multi_output
    assert not target.single_output


class TestRouting:
    """`sample_weight` reaches fit and score through scikit-learn's tools."""

    @pytest.fixture
    def weights(self, data: tuple[Array, Array]) -> Array:
        return np.random.default_rng(0).integers(0, 4, len(data[0])).astype(float)

    def requesting(self, model: Any) -> Any:
        asked = clone(model).set_fit_request(sample_weight=True)
        return asked.set_score_request(sample_weight=True)

    @estimators
    def test_cross_validation(
        self,
        model: Any,
        data: tuple[Array, Array],
        weights: Array,
        routing: None,  # noqa: ARG002
    ) -> None:
        X, y = data
        cv = KFold(3)
        params = {"sample_weight": weights}
        found = cross_validate(self.requesting(model), X, y, cv=cv, params=params)["test_score"]
        for score, (train, test) in zip(found, cv.split(X), strict=True):
            fitted = clone(model).fit(X[train], y[train], weights[train])
            assert score == fitted.score(X[test], y[test], weights[test])
        ignored = clone(model).set_fit_request(sample_weight=False)
        ignored = ignored.set_score_request(sample_weight=True)
        unweighted = cross_validate(ignored, X, y, cv=cv, params=params)["test_score"]
        for score, (train, test) in zip(unweighted, cv.split(X), strict=True):
            fitted = clone(model).fit(X[train], y[train])
            assert score == fitted.score(X[test], y[test], weights[test])

    @estimators
    def test_pipeline(
        self,
        model: Any,
        data: tuple[Array, Array],
        weights: Array,
        routing: None,  # noqa: ARG002
    ) -> None:
        X, y = data
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, self.requesting(model))
        pipeline.fit(X, y, sample_weight=weights)
        scaled = StandardScaler().fit_transform(X)
        expected = clone(model).fit(scaled, y, weights)
        np.testing.assert_array_equal(pipeline.predict(X), expected.predict(scaled))
        assert pipeline.score(X, y, sample_weight=weights) == expected.score(scaled, y, weights)

    @estimators
    def test_grid_search(
        self,
        model: Any,
        data: tuple[Array, Array],
        weights: Array,
        routing: None,  # noqa: ARG002
    ) -> None:
        X, y = data
        cv = KFold(3)
        grid = {"aggregator": ["borda", "copeland"]}
        search = GridSearchCV(self.requesting(model), grid, cv=cv)
        search.fit(X, y, sample_weight=weights)
        for number, aggregator in enumerate(grid["aggregator"]):
            for fold, (train, test) in enumerate(cv.split(X)):
                fitted = clone(model).set_params(aggregator=aggregator)
                fitted.fit(X[train], y[train], weights[train])
                found = search.cv_results_[f"split{fold}_test_score"][number]
                assert found == fitted.score(X[test], y[test], weights[test])

    @estimators
    def test_weights_without_a_request_are_an_error(
        self,
        model: Any,
        data: tuple[Array, Array],
        weights: Array,
        routing: None,  # noqa: ARG002
    ) -> None:
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
            cross_validate(clone(model), *data, params={"sample_weight": weights})


class TestImportances:
    """Features that matter are found on data whose rankings depend on the second of three features only."""

    @pytest.fixture
    def one_feature(self) -> tuple[Array, Array]:
        X = np.random.default_rng(0).normal(size=(300, 3))
        return X, np.where(X[:, [1]] < 0, [[1, 2, 3]], [[3, 1, 2]])

    @estimators
    def test_permutation_importance(self, model: Any, one_feature: tuple[Array, Array]) -> None:
        fitted = clone(model).fit(*one_feature)
        found = permutation_importance(fitted, *one_feature, n_repeats=3, random_state=0)
        if isinstance(model, br.PartialLabelRankingBaseline):
            assert (found.importances == 0).all()
        else:
            assert found.importances_mean.argmax() == 1
            assert found.importances_mean[1] > 0.3

    @estimators
    def test_feature_importances(self, model: Any, one_feature: tuple[Array, Array]) -> None:
        fitted = clone(model).fit(*one_feature)
        if isinstance(model, br.PartialLabelRankingBaseline):
            assert not hasattr(fitted, "feature_importances_")
            return
        assert fitted.feature_importances_.shape == (3,)
        assert fitted.feature_importances_.sum() == pytest.approx(1)
        assert fitted.feature_importances_.min() >= 0
        assert fitted.feature_importances_[1] > 0.5
        with pytest.raises(NotFittedError):
            clone(model).feature_importances_  # noqa: B018

    def test_a_mixture_weighs_its_components(self, data: tuple[Array, Array]) -> None:
        ranker = clone(SMALL[0]).fit(*data)
        expected = sum(
            weight * np.mean([m.feature_importances_ for m in ranker.components_[name]], axis=0)
            for name, weight in ranker.weights_.items()
        )
        np.testing.assert_allclose(ranker.feature_importances_, expected)
        ranker.weights_ = {"forest": 1.0, "booster": 0.0, "linear": 0.0}
        forest = ranker.components_["forest"][0].feature_importances_
        np.testing.assert_allclose(ranker.feature_importances_, forest)

    def test_the_scale_of_a_feature_does_not_matter(self, data: tuple[Array, Array]) -> None:
        X, y = data
        linear = br.PartialLabelRankingLinear(tolerance=1e-9)
        expected = clone(linear).fit(X, y).feature_importances_
        found = clone(linear).fit(X * [1, 1000, 0.01], y).feature_importances_
        np.testing.assert_allclose(found, expected, rtol=1e-4)
        constant = clone(linear).fit(np.ones((len(X), 2)), y)
        assert constant.feature_importances_.tolist() == [0, 0]


class TestOutput:
    """Predictions are data frames if `set_output` chooses them."""

    @estimators
    def test_pandas(self, model: Any, frames: tuple[pd.DataFrame, pd.DataFrame]) -> None:
        X, y = frames
        model = clone(model).fit(X, y)
        array = model.predict(X)
        assert isinstance(array, np.ndarray)
        found = model.set_output(transform="pandas").predict(X)
        assert list(found.columns) == ["tea", "juice", "water"]
        assert list(found.index) == list(X.index)
        np.testing.assert_array_equal(found.to_numpy(), array)
        assert isinstance(model.set_output(transform="default").predict(X), np.ndarray)
        assert model.set_output(transform=None) is model

    @estimators
    def test_polars(self, model: Any, frames: tuple[pd.DataFrame, pd.DataFrame]) -> None:
        pl = pytest.importorskip("polars", reason="polars is not installed")
        X = pl.DataFrame({name: frames[0][name].to_numpy() for name in frames[0]})
        y = pl.DataFrame({name: frames[1][name].to_numpy() for name in frames[1]})
        expected = clone(model).fit(*frames).predict(frames[0])
        model = clone(model).set_output(transform="polars").fit(X, y)
        assert model.feature_names_in_.tolist() == ["width", "height"]
        assert model.label_names_in_.tolist() == ["tea", "juice", "water"]
        found = model.predict(X)
        assert isinstance(found, pl.DataFrame)
        assert found.columns == ["tea", "juice", "water"]
        assert set(found.dtypes) == {pl.Int64}
        np.testing.assert_array_equal(found.to_numpy(), expected)
        assert model.score(X, y) == clone(model).fit(*frames).score(*frames)
        with pytest.raises(ValueError, match="y has the columns"):
            model.score(X, y.select("juice", "tea", "water"))
        many = model.predict_many(X, ["borda", "copeland"])
        assert [type(frame) for frame in many] == [pl.DataFrame, pl.DataFrame]

    def test_polars_reads_null_as_a_missing_label(self) -> None:
        pl = pytest.importorskip("polars", reason="polars is not installed")
        X, y = [[0.0], [1.0], [2.0]], [[1, 2, np.nan], [1, np.nan, 2], [2, 1, 3]]
        frame = pl.DataFrame({"a": [1, 1, 2], "b": [2, None, 1], "c": [None, 2, 3]})
        found, expected = (
            br.PartialLabelRankingTree("tau_x").fit(X, labels) for labels in (frame, y)
        )
        assert found.tree_.to_bytes() == expected.tree_.to_bytes()

    def test_labels_that_are_equal_as_text(self, data: tuple[Array, Array]) -> None:
        pytest.importorskip("polars", reason="polars is not installed")
        y = pd.DataFrame(data[1][:, :2], columns=[1, "1"])
        tree = br.PartialLabelRankingTree().set_output(transform="polars").fit(data[0], y)
        with pytest.raises(ValueError, match="labels 0 and 1 are both named '1' as text"):
            tree.predict(data[0])

    @pytest.mark.parametrize("method", ["predict_utilities", "predict_tie_terms"])
    @pytest.mark.parametrize("model", [SMALL[2], SMALL[4]], ids=lambda model: type(model).__name__)
    def test_utilities(
        self, model: Any, method: str, frames: tuple[pd.DataFrame, pd.DataFrame]
    ) -> None:
        X, y = frames
        model = clone(model).fit(X, y)
        array = getattr(model, method)(X)
        assert isinstance(array, np.ndarray)
        found = getattr(model.set_output(transform="pandas"), method)(X)
        pd.testing.assert_frame_equal(found, pd.DataFrame(array, X.index, y.columns))

    @estimators
    @pytest.mark.parametrize("container", ["pandas", "polars"])
    def test_the_choice_is_cloned_and_saved(
        self, model: Any, container: str, data: tuple[Array, Array], tmp_path: Any
    ) -> None:
        frames = pytest.importorskip(container, reason=f"{container} is not installed")
        fitted = clone(clone(model).set_output(transform=container)).fit(*data)
        br.save_model(fitted, tmp_path / "model.bin")
        for same in (fitted, br.load_model(tmp_path / "model.bin")):
            assert isinstance(same.predict(data[0]), frames.DataFrame)

    @estimators
    def test_an_unknown_container(self, model: Any) -> None:
        with pytest.raises(ValueError, match=r"transform is 'arrow'; expected one of 'default'"):
            clone(model).set_output(transform="arrow")
