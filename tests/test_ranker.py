"""The ranker: mixture weights, failing components, and scikit-learn conventions."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.base import clone

from bucketrank import (
    PartialLabelRanker,
    PartialLabelRankingBooster,
    PartialLabelRankingForest,
    TauX,
    _core,
    load_model,
    save_model,
)
from reference import mixture
from strategies import profiles
from tree_data import Array, dense, random_data, with_missing_labels

QUICK: dict[str, Any] = {"n_estimators": 6, "rounds": 12, "n_parts": 3, "random_state": 0}


@pytest.fixture(scope="module")
def data() -> tuple[Array, Array]:
    X, Y = random_data(4, rows=80)
    return X, with_missing_labels(Y, 0.2, 4)


@pytest.fixture(scope="module")
def ranker(data: tuple[Array, Array]) -> PartialLabelRanker:
    return PartialLabelRanker(**QUICK).fit(*data)


def held_out_shares(ranker: PartialLabelRanker, X: Array, evidence: Array, part_of: Array) -> Array:
    """Return the held-out shares of all pairs by the fitted components: components x rows x pairs x 3."""
    forest = ranker.components_["forest"][0].predict_oob_pair_shares(X)[evidence]
    forest[forest.sum(axis=2) == 0] = 1 / 3
    tables = [forest]
    for name in ("booster", "linear"):
        table = np.empty_like(forest)
        for part, model in enumerate(ranker.components_[name]):
            own = part_of[evidence] == part
            if name == "booster":
                scores = model.booster_.staged_scores(X[evidence[own]], [ranker.rounds_], 1)[0]
                table[own] = _core.latent_pair_shares(scores, model._compared_labels())
            else:
                table[own] = model.predict_pair_shares(X[evidence[own]])
        tables.append(table)
    return np.array(tables)


def out_of_bag_halves(
    forest: PartialLabelRankingForest, X: Array, Y: Array, sample_weight: Array | None
) -> tuple[Array, Array]:
    """Return out-of-bag shares and numbers of voters of the first half of the trees and of the other half."""
    seed, trees = forest.random_state, forest.n_estimators
    half = PartialLabelRankingForest(n_estimators=(trees + 1) // 2, random_state=seed)
    half.fit(X, Y, sample_weight)
    first, total = (model.forest_.out_of_bag_counts() for model in (half, forest))
    second = total - first
    shares, of_first = (model.predict_oob_pair_shares(X) for model in (forest, half))
    sums = total[:, None, None] * shares - first[:, None, None] * of_first
    of_second = sums / np.maximum(second, 1)[:, None, None]
    return np.array([of_first, of_second]), np.array([first, second])


def observed_relations(Y: Array) -> list[list[tuple[int, int]]]:
    """Return, per row, the ranked pairs and their relation: 0 is before, 1 is tied, 2 is after."""
    pairs = [(u, v) for u in range(Y.shape[1]) for v in range(u + 1, Y.shape[1])]
    return [
        [
            (index, 1 + int(np.sign(row[u] - row[v])))
            for index, (u, v) in enumerate(pairs)
            if not np.isnan(row[[u, v]]).any()
        ]
        for row in Y
    ]


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_are_those_of_the_reference(data: tuple[Array, Array], weighted: bool) -> None:
    X, Y = data
    sample_weight = np.random.default_rng(0).uniform(0.2, 5, len(X)) if weighted else None
    ranker = PartialLabelRanker(**QUICK).fit(X, Y, sample_weight)
    draws = np.random.RandomState(QUICK["random_state"])
    part_of = draws.permutation(len(X)) % QUICK["n_parts"]
    evidence = np.arange(len(X))
    shares = held_out_shares(ranker, X, evidence, part_of)
    observed = [
        [[max(0.001, table[row, pair, relation]) for table in shares] for pair, relation in pairs]
        for row, pairs in enumerate(observed_relations(Y))
    ]
    relative_weights = (
        np.ones(len(X)) if sample_weight is None else sample_weight / sample_weight.mean()
    )
    expected = mixture.weights(observed, relative_weights.tolist(), [0.25, 0.25, 0.5])
    np.testing.assert_allclose(list(ranker.weights_.values()), expected, rtol=1e-6)
    places = [
        (row, pair, relation, relative_weights[row] * mixture.comparisons(len(pairs)) / len(pairs))
        for row, pairs in enumerate(observed_relations(Y))
        for pair, relation in pairs
    ]
    rows, pairs = (np.array([place[k] for place in places]) for k in (0, 1))
    pair_weights = np.array([place[3] for place in places])
    halves, voters = out_of_bag_halves(ranker.components_["forest"][0], X, Y, sample_weight)
    noise = mixture.forest_noise(halves[:, rows, pairs], voters[:, rows], QUICK["n_estimators"])
    assert noise.max() > 0
    order, tie, offset = mixture.fit_pool(
        shares[:, rows, pairs],
        np.array([place[2] for place in places]),
        pair_weights,
        np.array(expected),
        noise,
    )
    assert ranker.log_weights_ is not None
    np.testing.assert_allclose(list(ranker.log_weights_["order"].values()), order, atol=2e-5)
    np.testing.assert_allclose(list(ranker.log_weights_["tie"].values()), tie, atol=2e-5)
    assert ranker.log_weights_["tie_offset"] == pytest.approx(offset, abs=2e-5)
    assert ranker.log_weights_["share"] == 0.75


def test_few_comparisons_are_divided_into_more_parts() -> None:
    X = np.arange(300.0).reshape(-1, 1)
    Y = np.where(X < 150, [[1.0, 2, 3]], [[3, 2, 1]])
    ranker = PartialLabelRanker(n_estimators=2, rounds=2, random_state=0)

    def parts(Y: Array, sample_weight: Array | None = None) -> tuple[int, int]:
        """Return the number of parts, and the number of boosters that predict."""
        held_out = ranker._plan(1, Y, sample_weight)[1]["held_out"]
        assert held_out is not None
        fitted = ranker.fit(X[: len(Y)], Y, sample_weight)
        assert len(fitted.components_["linear"]) == len(fitted.components_["booster"])
        return int(held_out[0].max()) + 1, len(fitted.components_["booster"])

    # A ranking of three labels counts as two comparisons.
    assert parts(Y) == (5, 5)
    assert parts(Y[::2]) == (6, 6)
    assert parts(Y[::3]) == (10, 10)
    assert parts(Y[::6]) == (20, 1)
    assert parts(Y[::10]) == (20, 1)
    assert parts(Y[:12]) == (12, 1)
    assert parts(Y[:2]) == (2, 1)
    first_two = np.where(np.arange(3) < 2, Y, np.nan)
    assert parts(first_two) == (6, 6)
    assert parts(Y, (np.arange(300) < 100) * 1.0) == (10, 10)


def test_with_few_comparisons_predictions_use_models_of_all_rows(data: tuple[Array, Array]) -> None:
    X, Y = (table[:30] for table in data)
    ranker = PartialLabelRanker(n_estimators=6, rounds=12, random_state=0).fit(X, Y)
    for name in ("booster", "linear"):
        (model,) = ranker.components_[name]
        alone = clone(model).fit(X, Y)
        # The fit of the linear model starts at the model of the previous part, so it ends at slightly other values.
        np.testing.assert_allclose(
            alone.predict_pair_shares(X),
            model.predict_pair_shares(X),
            rtol=0,
            atol=0.02 if name == "linear" else 0,
        )


def test_rows_that_favour_the_linear_model_increase_its_weight() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 5))
    is_linear = X[:, 0] < 0
    slope = X[:, 1:] @ rng.normal(size=(4, 4)) * 3
    steps = np.sign(X[:, 1] * X[:, 2])[:, None] * [[3, 1, -1, -3]]
    Y = dense(np.round(np.where(is_linear[:, None], slope, steps)))
    linear, other = (
        PartialLabelRanker(**QUICK).fit(X, Y, np.where(is_linear, *pair)).weights_["linear"]
        for pair in ((1.0, 0.1), (0.1, 1.0))
    )
    assert linear > other + 0.05


def test_unit_weights_equal_no_weights(data: tuple[Array, Array]) -> None:
    X, Y = data
    plain = PartialLabelRanker(**QUICK).fit(X, Y)
    unit = PartialLabelRanker(**QUICK).fit(X, Y, np.ones(len(X)))
    assert unit.weights_ == plain.weights_
    np.testing.assert_array_equal(unit.predict_pair_shares(X), plain.predict_pair_shares(X))


def test_shares_are_the_mean_of_two_pools(
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
    boosters = [
        _core.latent_pair_shares(
            model.booster_.staged_scores(X, [ranker.rounds_], 1)[0], np.ones(4, dtype=bool)
        )
        for model in ranker.components_["booster"]
    ]
    linears = [model.predict_pair_shares(X) for model in ranker.components_["linear"]]
    components = np.array(
        [
            ranker.components_["forest"][0].predict_pair_shares(X),
            np.mean(boosters, axis=0),
            np.mean(linears, axis=0),
        ]
    )
    logs = ranker.log_weights_
    assert logs is not None
    order, tie = (np.array([*logs[kind].values()]) for kind in ("order", "tie"))
    assert (order >= 0).all()
    assert (tie >= 0).all()
    linear_pool = np.tensordot([*ranker.weights_.values()], components, 1)
    log_pool = mixture.pool_shares(components, order, tie, logs["tie_offset"])
    shares = ranker.predict_pair_shares(X)
    mixed = (1 - logs["share"]) * linear_pool + logs["share"] * log_pool
    np.testing.assert_allclose(shares, mixed, atol=1e-12)
    np.testing.assert_allclose(shares.sum(axis=2), 1, atol=1e-12)
    np.testing.assert_array_equal(ranker.predict(X), TauX().aggregate_pair_shares(shares))
    np.testing.assert_array_equal(shares[:7], ranker.predict_pair_shares(X[:7]))


def test_fast_is_a_forest_and_a_booster(data: tuple[Array, Array]) -> None:
    fast = PartialLabelRanker(fast=True, **QUICK).fit(*data)
    assert fast.weights_ == {"forest": 0.5, "booster": 0.5}
    assert fast.rounds_ == 12
    assert fast.log_weights_ is None
    assert fast.predict(data[0]).shape == data[1].shape


def test_the_model_does_not_depend_on_threads(data: tuple[Array, Array]) -> None:
    X, Y = data
    shares = [
        PartialLabelRanker(**{**QUICK, "n_jobs": n}).fit(X, Y).predict_pair_shares(X)
        for n in (1, 2, 3)
    ]
    np.testing.assert_array_equal(shares[0], shares[1])
    np.testing.assert_array_equal(shares[0], shares[2])


REASONS = {
    "failed and has weight 0: no linear model found": True,
    "gives shares that are not finite; its weight is 0": False,
}
"""Why a component has weight 0, and whether its models are absent."""


@pytest.mark.parametrize("name", ["booster", "linear"])
@pytest.mark.parametrize("reason", REASONS)
def test_a_component_that_fails_has_weight_0(
    name: str, reason: str, data: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imitates the core's report of a failed component; components that really fail are tested in the core."""
    original = _core.fit_mixture

    def fit(*arguments: Any) -> Any:
        fitted: dict[str, Any] = {**original(*arguments)}
        index = ["forest", "booster", "linear"].index(name)
        fitted["weights"][index] = 0.0
        if REASONS[reason]:
            fitted[f"{name}s"] = []
        return {**fitted, "failed": [(name, reason)]}

    monkeypatch.setattr(_core, "fit_mixture", fit)
    with pytest.warns(UserWarning, match=f"component '{name}' {reason}"):
        ranker = PartialLabelRanker(**QUICK).fit(*data)
    assert ranker.weights_[name] == 0
    assert len(ranker.components_[name]) == (0 if REASONS[reason] else 3)
    np.testing.assert_allclose(ranker.predict_pair_shares(data[0]).sum(axis=2), 1)
    assert ranker.predict(data[0]).shape == data[1].shape


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.filterwarnings("ignore:.* failed and has weight 0")
def test_a_ranker_without_any_component_is_an_error(
    fast: bool, data: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = _core.fit_mixture

    def fit(*arguments: Any) -> Any:
        failed = [(name, "failed and has weight 0") for name in ("forest", "booster", "linear")]
        return {**original(*arguments), "weights": [0.0, 0.0, 0.0], "failed": failed}

    monkeypatch.setattr(_core, "fit_mixture", fit)
    ranker = PartialLabelRanker(fast=fast, **QUICK)
    with pytest.raises(ValueError, match="every component failed; the warnings say why"):
        ranker.fit(*data)
    assert not hasattr(ranker, "components_")


def test_errors_of_the_core_are_raised(
    data: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PartialLabelRankingBooster, "_options", lambda _: {"rounds": 3})
    with pytest.raises((KeyError, TypeError, ValueError)):
        PartialLabelRanker(**QUICK).fit(*data)


def test_components_are_fitted_estimators(
    ranker: PartialLabelRanker, data: tuple[Array, Array]
) -> None:
    X, Y = data
    part_of = np.random.RandomState(QUICK["random_state"]).permutation(len(X)) % 3
    (forest,) = ranker.components_["forest"]
    alone = clone(forest).fit(X, Y)
    np.testing.assert_array_equal(alone.predict_pair_shares(X), forest.predict_pair_shares(X))
    assert {*vars(alone)} == {*vars(forest)}
    forest = clone(forest).fit(X, Y).set_params(warm_start=True, n_estimators=8).fit(X, Y)
    assert forest.forest_.n_trees == 8
    for name in ("booster", "linear"):
        for part, model in enumerate(ranker.components_[name]):
            alone = clone(model).fit(X[part_of != part], Y[part_of != part])
            # The fit of a linear model starts at the model of the previous part, so it ends at slightly other values.
            tolerance = 0.02 if name == "linear" and part > 0 else 0
            np.testing.assert_allclose(
                alone.predict_pair_shares(X), model.predict_pair_shares(X), rtol=0, atol=tolerance
            )
            assert {*vars(alone)} == {*vars(model)}


def test_a_component_left_out_of_a_prediction_warns_once(
    ranker: PartialLabelRanker, data: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ranker._models()[0] == ["forest", "booster", "linear"]
    original = _core.mixture_pair_shares

    def without_boosters(components: Any, _: Any, *rest: Any) -> tuple[Array, list[int]]:
        return original([components[0], components[2]], None, *rest)[0], [1]

    monkeypatch.setattr(_core, "mixture_pair_shares", without_boosters)
    with pytest.warns(
        UserWarning, match="component 'booster' gives shares that are not finite"
    ) as found:
        shares = ranker.predict_pair_shares(data[0])
    assert len(found) == 1
    np.testing.assert_allclose(shares.sum(axis=2), 1)


def test_a_mixture_needs_models_that_fit_together(
    ranker: PartialLabelRanker, data: tuple[Array, Array]
) -> None:
    _, models, pool = ranker._models()
    with pytest.raises(ValueError, match="found no component"):
        _core.mixture_pair_shares([], None, data[0], 1)
    with pytest.raises(ValueError, match="weight is -1"):
        _core.mixture_pair_shares([(-1.0, models[0][1])], None, data[0], 1)
    with pytest.raises(ValueError, match="found 1 feature; the model was fitted on 3"):
        _core.mixture_pair_shares(models, pool, data[0][:, :1].copy(), 1)
    with pytest.raises(ValueError, match="the log-linear pool is 3; expected one number per"):
        _core.mixture_pair_shares(models[:2], pool, data[0], 1)


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
    start = {"forest": 0.25, "booster": 0.25, "linear": 0.5}
    assert ranker.weights_ == pytest.approx(start)
    assert ranker.log_weights_ == {
        "order": ranker.weights_,
        "tie": ranker.weights_,
        "tie_offset": 0,
        "share": 0.75,
    }
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
    with pytest.raises(ValueError, match="predicts pair shares; expected TauX"):
        ranker.with_aggregator("mc1")


def test_copies_predict_the_same(
    ranker: PartialLabelRanker, data: tuple[Array, Array], tmp_path: Path
) -> None:
    save_model(ranker, tmp_path / "ranker.bin")
    expected = ranker.predict_pair_shares(data[0])
    for other in (pickle.loads(pickle.dumps(ranker)), load_model(tmp_path / "ranker.bin")):
        assert other.weights_ == ranker.weights_
        assert other.log_weights_ == ranker.log_weights_
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
        ({"n_estimators": 10**20}, ValueError, "n_estimators is 1000.*; expected at most"),
        ({"rounds": 10**20}, ValueError, "rounds is 1000.*; expected at most"),
        ({"n_parts": 2.0}, TypeError, "n_parts is 2.0; expected a whole number or None"),
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
        (lambda X, Y: (X * 0 + np.inf, Y), "X, row 0, column 0: inf; expected a finite number"),
        (lambda X, Y: (X[:-1], Y), "X has 79 rows but y has 80; expected one ranking per row"),
        (lambda X, Y: (X, Y * -0.5), "positions start at 1"),
        (lambda X, Y: (X, Y[:, :1]), r"found 1 label"),
    ],
)
def test_unusable_data(change: Any, message: str, data: tuple[Array, Array]) -> None:
    with pytest.raises(ValueError, match=message):
        PartialLabelRanker(**QUICK).fit(*change(*data))
    with pytest.raises(ValueError, match="row 4: weight -2"):
        PartialLabelRanker(**QUICK).fit(*data, np.r_[np.ones(4), -2, np.ones(75)])
