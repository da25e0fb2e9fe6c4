"""The ranker: mixture weights, failing components, and scikit-learn conventions."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from bucketrank import (
    PartialLabelRanker,
    PartialLabelRankingBooster,
    PartialLabelRankingForest,
    PartialLabelRankingLinear,
    TauX,
    _core,
    load_model,
    save_model,
)
from bucketrank.estimators import ranker as ranker_module
from bucketrank.estimators.mixture import Evidence, choose
from reference import mixture
from strategies import profiles
from tree_data import Array, dense, random_data, with_missing_labels

QUICK: dict[str, Any] = {"n_estimators": 6, "rounds": 12, "n_parts": 3, "random_state": 0}


def fail(*_: Any) -> None:
    raise RuntimeError("out of luck")


@pytest.fixture(scope="module")
def data() -> tuple[Array, Array]:
    X, Y = random_data(4, rows=80)
    return X, with_missing_labels(Y, 0.2, 4)


@pytest.fixture(scope="module")
def ranker(data: tuple[Array, Array]) -> PartialLabelRanker:
    return PartialLabelRanker(**QUICK).fit(*data)


@given(st.data(), st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_weights_are_those_of_the_reference(data: st.DataObject, counts: list[int]) -> None:
    share = st.floats(0.001, 1)
    row = st.lists(share, min_size=3, max_size=3)
    shares = [data.draw(st.lists(row, min_size=n, max_size=n)) for n in counts]
    heavy = data.draw(st.lists(st.floats(0, 9), min_size=len(counts), max_size=len(counts)))
    start = [0.4, 0.4, 0.2]
    flat = np.array([pair for row in shares for pair in row]).reshape(-1, 3)
    found = _core.mixture_weights(
        np.ascontiguousarray(flat.T), np.array(counts), np.array(heavy), start
    )
    np.testing.assert_allclose(found, mixture.weights(shares, heavy, start), rtol=1e-9)
    assert found.sum() == pytest.approx(1)


def test_observed_shares_are_looked_up() -> None:
    Y = np.array([[1, 2, 2], [2, np.nan, 1]])
    tables = np.arange(18.0).reshape(2, 3, 3)
    assert _core.observed_counts(Y).tolist() == [3, 1]
    # Before, before, tied; then only the pair of labels 0 and 2, after.
    assert _core.observed_shares(Y, tables).tolist() == [0, 3, 7, 14]


def test_the_most_likely_stage_is_chosen() -> None:
    evidence = Evidence(np.array([[1.0, 2.0], [2.0, 1.0]]))
    tables = {
        "forest": np.array([[0.5, 0.5]]),
        "booster": np.array([[0.4, 0.4], [0.9, 0.8], [0.95, 0.1]]),
        "linear": np.array([[0.3, np.nan]]),
    }
    mix = choose(evidence, tables)
    assert mix.stage == 1
    assert mix.weights["linear"] == 0
    assert mix.weights["booster"] > mix.weights["forest"] > 0
    assert sum(mix.weights.values()) == pytest.approx(1)
    with pytest.raises(ValueError, match="no component gives finite shares"):
        choose(evidence, {"forest": np.array([[np.nan, 1.0]])})


def test_row_weights_affect_the_mixture() -> None:
    rows = 40
    Y = np.tile([1.0, 2.0], (rows, 1))
    early = np.arange(rows) < rows // 2
    tables = {
        "forest": np.where(early, 0.3, 0.9)[None],
        "booster": np.array([np.where(early, 0.9, 0.2), np.where(early, 0.3, 0.8)]),
        "linear": np.where(early, 0.95, 0.1)[None],
    }
    alike = choose(Evidence(Y), tables)
    first = choose(Evidence(Y, np.where(early, 5.0, 0.5)), tables)
    last = choose(Evidence(Y, np.where(early, 0.5, 5.0)), tables)
    assert (first.stage, last.stage) == (0, 1)
    assert first.weights["linear"] > alike.weights["linear"] > last.weights["linear"]
    assert first.weights["forest"] < alike.weights["forest"] < last.weights["forest"]
    # Only ratios of weights matter; equal weights equal no weights.
    assert choose(Evidence(Y, np.full(rows, 0.1)), tables) == alike
    for unit in (1e-120, 1e120):
        scaled = choose(Evidence(Y, np.where(early, 5.0, 0.5) * unit), tables)
        assert scaled.weights == pytest.approx(first.weights)


def test_rows_that_favour_the_linear_model_increase_its_weight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 5))
    is_linear = X[:, 0] < 0
    slope = X[:, 1:] @ rng.normal(size=(4, 4)) * 3
    steps = np.sign(X[:, 1] * X[:, 2])[:, None] * [[3, 1, -1, -3]]
    Y = dense(np.round(np.where(is_linear[:, None], slope, steps)))

    def linear_weights() -> Array:
        fits = [
            PartialLabelRanker(**QUICK).fit(X, Y, np.where(is_linear, *pair))
            for pair in ((1.0, 0.1), (0.1, 1.0))
        ]
        return np.array([fit.weights_["linear"] for fit in fits])

    by_weight = linear_weights()
    # The same components, chosen with equal row weights.
    monkeypatch.setattr(ranker_module, "Evidence", lambda positions, _: Evidence(positions))
    alike = linear_weights()
    assert by_weight[0] > alike[0] + 0.05
    assert by_weight[1] < alike[1]


def test_unit_weights_equal_no_weights(data: tuple[Array, Array]) -> None:
    X, Y = data
    plain = PartialLabelRanker(**QUICK).fit(X, Y)
    unit = PartialLabelRanker(**QUICK).fit(X, Y, np.ones(len(X)))
    assert unit.weights_ == plain.weights_
    np.testing.assert_array_equal(unit.predict_pair_shares(X), plain.predict_pair_shares(X))


def test_the_mix_is_a_mean_of_its_components(
    ranker: PartialLabelRanker, data: tuple[Array, Array]
) -> None:
    X = data[0]
    assert {name: len(models) for name, models in ranker.components_.items()} == {
        "forest": 1,
        "booster": 3,
        "linear": 3,
    }
    assert sum(ranker.weights_.values()) == pytest.approx(1)
    assert ranker.rounds_ in (10, 12)
    expected = ranker.weights_["forest"] * ranker.components_["forest"][0].predict_pair_shares(X)
    for model in ranker.components_["booster"]:
        scores = model.booster_.staged_scores(X, [ranker.rounds_], 1)[0]
        shares = _core.latent_pair_shares(scores, np.ones(4, dtype=bool))
        expected += ranker.weights_["booster"] / 3 * shares
    for model in ranker.components_["linear"]:
        expected += ranker.weights_["linear"] / 3 * model.predict_pair_shares(X)
    shares = ranker.predict_pair_shares(X)
    np.testing.assert_allclose(shares, expected, atol=1e-12)
    np.testing.assert_allclose(shares.sum(axis=2), 1, atol=1e-12)
    np.testing.assert_array_equal(ranker.predict(X), TauX().aggregate_pair_shares(shares))


def test_fast_is_a_forest_and_a_booster(data: tuple[Array, Array]) -> None:
    fast = PartialLabelRanker(fast=True, **QUICK).fit(*data)
    assert fast.weights_ == {"forest": 0.5, "booster": 0.5}
    assert fast.rounds_ == 12
    assert fast.predict(data[0]).shape == data[1].shape


def test_the_model_does_not_depend_on_threads(data: tuple[Array, Array]) -> None:
    X, Y = data
    shares = [
        PartialLabelRanker(**{**QUICK, "n_jobs": n}).fit(X, Y).predict_pair_shares(X)
        for n in (1, 2, 3)
    ]
    np.testing.assert_array_equal(shares[0], shares[1])
    np.testing.assert_array_equal(shares[0], shares[2])


COMPONENTS: dict[str, type[Any]] = {
    "forest": PartialLabelRankingForest,
    "booster": PartialLabelRankingBooster,
    "linear": PartialLabelRankingLinear,
}


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_that_fails_has_weight_0(
    name: str, data: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(COMPONENTS[name], "fit", fail)
    with pytest.warns(UserWarning, match="failed and has weight 0: out of luck"):
        ranker = PartialLabelRanker(**QUICK).fit(*data)
    assert ranker.weights_[name] == 0
    assert ranker.components_[name] == []
    assert sum(ranker.weights_.values()) == pytest.approx(1)
    assert ranker.predict(data[0]).shape == data[1].shape


def test_a_bug_in_a_component_is_raised(
    data: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(*_: Any) -> None:
        raise AttributeError("no such attribute")

    monkeypatch.setattr(PartialLabelRankingBooster, "fit", bug)
    with pytest.raises(AttributeError, match="no such attribute"):
        PartialLabelRanker(**QUICK).fit(*data)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.filterwarnings("ignore:.* failed and has weight 0")
def test_a_ranker_without_any_component_is_an_error(
    fast: bool, data: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in COMPONENTS.values():
        monkeypatch.setattr(kind, "fit", fail)
    ranker = PartialLabelRanker(fast=fast, **QUICK)
    with pytest.raises(ValueError, match="every component failed; the warnings say why"):
        ranker.fit(*data)
    assert not hasattr(ranker, "components_")


def break_shares(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a component predict NaN shares for unseen rows."""
    if name == "booster":

        def scores(_: Any, values: Array, rounds: list[int]) -> list[Array]:
            return [np.full((len(values), 8), np.nan) for _ in rounds]

        monkeypatch.setattr(PartialLabelRankingBooster, "_staged_scores", scores)
    elif name == "linear":

        def shares(_: Any, values: Array) -> Array:
            return np.full((len(values), 6, 3), np.inf)

        monkeypatch.setattr(PartialLabelRankingLinear, "_pair_shares", shares)
    else:
        honest = ranker_module._unseen_shares

        def unseen(model: Any, *rest: Any) -> Iterator[Array]:
            for table in honest(model, *rest):
                is_forest = isinstance(model, PartialLabelRankingForest)
                yield table * np.nan if is_forest else table

        monkeypatch.setattr(ranker_module, "_unseen_shares", unseen)


@pytest.mark.parametrize("name", COMPONENTS)
def test_shares_that_are_not_finite_have_weight_0(
    name: str, data: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_shares(name, monkeypatch)
    with pytest.warns(UserWarning, match=f"the {name} gives shares that are not finite"):
        ranker = PartialLabelRanker(**QUICK).fit(*data)
    assert ranker.weights_[name] == 0
    assert sum(ranker.weights_.values()) == pytest.approx(1)
    assert np.isfinite(ranker.predict_pair_shares(data[0])).all()


def test_fast_mode_leaves_out_shares_that_are_not_finite(
    data: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_shares("booster", monkeypatch)
    with pytest.warns(UserWarning, match="the booster gives shares that are not finite"):
        ranker = PartialLabelRanker(fast=True, **QUICK).fit(*data)
    assert ranker.weights_ == {"forest": 1, "booster": 0}
    assert np.isfinite(ranker.predict_pair_shares(data[0])).all()


def test_a_component_left_out_of_a_prediction_warns_once(
    ranker: PartialLabelRanker, data: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    names, _ = ranker._models()
    boosters = [index for index, name in enumerate(names) if name == "booster"]
    assert len(boosters) == 3
    honest = _core.mixture_pair_shares

    def without_boosters(models: Any, values: Array, n_jobs: int) -> tuple[Array, list[int]]:
        kept = [model for index, model in enumerate(models) if index not in boosters]
        return honest(kept, values, n_jobs)[0], boosters

    monkeypatch.setattr(_core, "mixture_pair_shares", without_boosters)
    with pytest.warns(UserWarning, match="the booster gives shares that are not finite") as found:
        shares = ranker.predict_pair_shares(data[0])
    assert len(found) == 1
    np.testing.assert_allclose(shares.sum(axis=2), 1)


def test_a_mixture_needs_models_that_fit_together(
    ranker: PartialLabelRanker, data: tuple[Array, Array]
) -> None:
    _, models = ranker._models()
    with pytest.raises(ValueError, match="found no component"):
        _core.mixture_pair_shares([], data[0], 1)
    with pytest.raises(ValueError, match="weight is -1"):
        _core.mixture_pair_shares([(-1.0, models[0][1])], data[0], 1)
    with pytest.raises(ValueError, match="features"):
        _core.mixture_pair_shares(models, data[0][:, :1].copy(), 1)


def test_only_non_finite_shares_are_an_error(
    data: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in COMPONENTS:
        break_shares(name, monkeypatch)
    with pytest.raises(ValueError, match="no component gives finite shares"):
        PartialLabelRanker(**QUICK).fit(*data)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 3, 12])
def test_few_and_identical_rows(rows: int, fast: bool) -> None:
    X, Y = np.ones((rows, 2)), np.tile([1, 2, 2], (rows, 1))
    ranker = PartialLabelRanker(fast=fast, **QUICK).fit(X, Y)
    assert np.isfinite(ranker.predict_pair_shares(X)).all()
    assert ranker.predict(X[:1]).tolist() == [[1, 2, 2]]


def test_labels_without_rankings_and_folds_without_a_label() -> None:
    X, Y = random_data(0, rows=30)
    never = np.full(30, np.nan)
    once = never.copy()
    once[7] = 1
    Y = dense(np.column_stack([Y, never, once]))
    ranker = PartialLabelRanker(**QUICK).fit(X, Y)
    shares = ranker.predict_pair_shares(X)
    np.testing.assert_allclose(shares[:, [3, 7, 10, 12, 14]], 1 / 3, atol=1e-9)
    assert ranker.predict(X).shape == (30, 6)


@settings(max_examples=15, deadline=None)
@given(profiles(max_labels=4, max_rows=10))
def test_any_profile_can_be_learned(Y: list[list[float]]) -> None:
    X = np.arange(2.0 * len(Y)).reshape(-1, 2)
    ranker = PartialLabelRanker(n_estimators=3, rounds=3, random_state=0).fit(X, Y)
    assert np.isfinite(ranker.predict_pair_shares(X)).all()


def test_rankings_without_pairs_have_no_effect() -> None:
    Y = np.full((20, 3), np.nan)
    Y[:, 0] = 1
    ranker = PartialLabelRanker(**QUICK).fit(np.arange(20.0).reshape(-1, 1), Y)
    assert ranker.weights_ == pytest.approx({"forest": 0.4, "booster": 0.4, "linear": 0.2})
    np.testing.assert_allclose(ranker.predict_pair_shares([[3.0]]), 1 / 3)


def test_rows_of_weight_0_are_left_out(data: tuple[Array, Array]) -> None:
    X, Y = data
    weights = np.arange(len(X)) % 2
    weighted = PartialLabelRanker(**QUICK).fit(X, Y, weights)
    kept = PartialLabelRanker(**QUICK).fit(X[weights > 0], Y[weights > 0], np.ones(40))
    np.testing.assert_array_equal(weighted.predict_pair_shares(X), kept.predict_pair_shares(X))


def test_aggregators_can_be_exchanged(
    ranker: PartialLabelRanker, data: tuple[Array, Array]
) -> None:
    other = ranker.with_aggregator("borda")
    assert other.components_ is ranker.components_
    many = ranker.predict_many(data[0], ["borda", "tau_x"])
    np.testing.assert_array_equal(many[0], other.predict(data[0]))
    np.testing.assert_array_equal(many[1], ranker.predict(data[0]))
    with pytest.raises(ValueError, match="predicts shares of pairs; expected TauX"):
        ranker.with_aggregator("mc1")


def test_copies_predict_the_same(
    ranker: PartialLabelRanker, data: tuple[Array, Array], tmp_path: Path
) -> None:
    save_model(ranker, tmp_path / "ranker.bin")
    expected = ranker.predict_pair_shares(data[0])
    for other in (pickle.loads(pickle.dumps(ranker)), load_model(tmp_path / "ranker.bin")):
        assert other.weights_ == ranker.weights_
        np.testing.assert_array_equal(other.predict_pair_shares(data[0]), expected)
    assert clone(ranker).get_params() == ranker.get_params()


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"fast": 1}, TypeError, "fast is 1; expected True or False"),
        ({"n_estimators": 0}, ValueError, "n_estimators is 0; expected .* at least 1"),
        ({"rounds": 0}, ValueError, "rounds is 0; expected a whole number of at least 1"),
        ({"rounds": 2.5}, TypeError, "rounds is 2.5; expected a whole number"),
        ({"max_depth": 0}, ValueError, "max_depth is 0; expected .* at least 1"),
        ({"max_depth": 65}, ValueError, "max_depth is 65; expected at most 64"),
        ({"n_estimators": -1}, ValueError, "n_estimators is -1; expected .* at least 1"),
        ({"n_parts": 2.0}, TypeError, "n_parts is 2.0; expected a whole number"),
        ({"n_parts": 1}, ValueError, "n_parts is 1; expected a whole number of at least 2"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0; expected a positive number of threads"),
        ({"random_state": "x"}, ValueError, "'x' cannot be used to seed"),
        ({"aggregator": "mc3"}, ValueError, "needs rankings, but PartialLabelRanker"),
    ],
)
def test_parameters(
    params: dict[str, Any], error: type[Exception], message: str, data: tuple[Array, Array]
) -> None:
    ranker = PartialLabelRanker(**params)
    with pytest.raises(error, match=message):
        ranker.fit(*data)
    assert not hasattr(ranker, "components_")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (X * np.nan, Y), "X, row 0, column 0: NaN; expected a finite number"),
        (lambda X, Y: (X[:-1], Y), "X has 79 rows but y has 80; expected one ranking per row"),
        (lambda X, Y: (X, Y * -0.5), "positions start at 1"),
        (lambda X, Y: (X, Y[:, :1]), r"found 1 label\(s\)"),
    ],
)
def test_unusable_data(change: Any, message: str, data: tuple[Array, Array]) -> None:
    with pytest.raises(ValueError, match=message):
        PartialLabelRanker(**QUICK).fit(*change(*data))
    with pytest.raises(ValueError, match="row 4: weight -2"):
        PartialLabelRanker(**QUICK).fit(*data, np.r_[np.ones(4), -2, np.ones(75)])
