"""Boosting: comparison with the reference, invariants, and degenerate data."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bucketrank import PartialLabelRankingBooster, TauX, _core, tau_x
from bucketrank._core import Booster
from reference import latent
from strategies import profiles
from tree_data import Array, dense, load, random_data, with_missing_labels


def smooth_data(rows: int, labels: int, seed: int) -> tuple[Array, Array]:
    """Continuous features, so that no two splits are equally good, and rankings that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    raw = X @ rng.normal(size=(3, labels)) + rng.normal(size=(rows, labels)) / 2
    return X, dense(np.round(raw))


@given(st.data(), profiles(max_labels=5, max_rows=1))
def test_shares_are_those_of_the_reference(data: st.DataObject, row: list[list[float]]) -> None:
    n = len(row[0])
    number = st.floats(-8, 8)
    scores = data.draw(st.lists(number, min_size=2 * n, max_size=2 * n))
    found = _core.latent_pair_shares(np.array([scores]), np.ones(n, dtype=bool))[0]
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    expected = [latent.pair_shares(scores, u, v) for u, v in pairs]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_the_reference(seed: int, missing: float) -> None:
    X, Y = smooth_data(40, 4, seed)
    Y = with_missing_labels(Y, missing, seed)
    options: dict[str, Any] = {
        "rounds": 6,
        "learning_rate": 0.3,
        "max_depth": 3,
        "min_samples_leaf": 4,
        "ridge": 1.5,
    }
    booster = PartialLabelRankingBooster(**options, row_share=1.0, feature_share=1.0).fit(X, Y)
    found = np.hstack([booster.predict_utilities(X), booster.predict_tie_terms(X)])
    expected = latent.boost(X.tolist(), Y.tolist(), **options)
    np.testing.assert_allclose(found, expected, atol=2e-4)


def test_spaced_thresholds_are_fewer_only_with_many_values() -> None:
    X, Y = random_data(1, rows=400, labels=4)

    def model(X: Any, thresholds: str) -> bytes:
        booster = PartialLabelRankingBooster(rounds=5, thresholds=thresholds, random_state=3)
        return booster.fit(X, Y).booster_.to_bytes()

    many_values = np.random.default_rng(0).random(X.shape) + X / X.max()
    few_values = np.floor(many_values * 8)
    assert len(np.unique(few_values)) == 16
    assert model(few_values, "spaced") == model(few_values, "all")
    assert model(many_values, "spaced") != model(many_values, "all")


def test_spaced_thresholds_are_about_as_accurate() -> None:
    X, Y = smooth_data(1500, 5, 0)
    X[::7, 0] = np.nan
    scores = [
        PartialLabelRankingBooster(rounds=60, thresholds=thresholds, random_state=0)
        .fit(X[:1000], Y[:1000])
        .score(X[1000:], Y[1000:])
        for thresholds in ("all", "spaced")
    ]
    assert scores[0] > 0.5
    assert abs(scores[0] - scores[1]) < 0.03, scores


def test_the_model_does_not_depend_on_threads() -> None:
    X, Y = random_data(1, rows=700, labels=6)
    Y = with_missing_labels(Y, 0.3, 1)
    fit = [
        PartialLabelRankingBooster(rounds=20, random_state=3, n_jobs=n)
        .fit(X, Y)
        .booster_.to_bytes()
        for n in (1, 2, 3)
    ]
    assert fit[0] == fit[1] == fit[2]
    other = PartialLabelRankingBooster(rounds=20, random_state=4).fit(X, Y)
    assert other.booster_.to_bytes() != fit[0]


def test_the_model_does_not_depend_on_vector_instructions() -> None:
    code = """
        import hashlib, sys
        sys.path.insert(0, {tests!r})
        from bucketrank import PartialLabelRankingBooster
        from tree_data import random_data
        fitted = PartialLabelRankingBooster(rounds=10, random_state=0).fit(*random_data(2, rows=200))
        print(hashlib.sha256(fitted.booster_.to_bytes()).hexdigest())
    """
    program = textwrap.dedent(code.format(tests=str(Path(__file__).parent)))
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "BUCKETRANK_SIMD": simd},
        ).stdout
        for simd in ("", "portable")
    }
    assert len(digests) == 1


@settings(max_examples=25, deadline=None)
@given(profiles(max_labels=5, max_rows=12), st.integers(0, 2**31 - 1))
def test_any_profile_can_be_learned(Y: list[list[float]], seed: int) -> None:
    X = np.arange(2.0 * len(Y)).reshape(-1, 2)
    booster = PartialLabelRankingBooster(rounds=5, min_samples_leaf=1, random_state=seed).fit(X, Y)
    shares = booster.predict_pair_shares(X)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=2), 1, atol=1e-12)
    expected = TauX().aggregate_pair_shares(shares)
    np.testing.assert_array_equal(booster.predict(X), expected)


def test_boosting_reaches_known_scores(
    shared_dir: Path, count_comparisons: Callable[[str, int], None]
) -> None:
    count = 0
    for name, least in (("iris", 0.88), ("wine", 0.85), ("glass", 0.78)):
        X, Y = load(shared_dir, name)
        order = np.random.default_rng(5).permutation(len(X))
        train, test = order[: len(X) * 3 // 4], order[len(X) * 3 // 4 :]
        booster = PartialLabelRankingBooster(random_state=0).fit(X[train], Y[train])
        assert booster.score(X[test], Y[test]) > least
        count += len(test)
    count_comparisons("boosted test rows", count)


def test_staged_predictions_equal_those_of_shorter_boosters() -> None:
    X, Y = random_data(3, rows=60)
    booster = PartialLabelRankingBooster(rounds=25, random_state=0).fit(X, Y)
    stages = list(booster.staged_predict(X))
    assert len(stages) == 25
    with pytest.raises(ValueError, match="features"):
        booster.staged_predict(X[:, :1])
    for rounds in (1, 20, 21, 25):
        shorter = PartialLabelRankingBooster(rounds=rounds, random_state=0).fit(X, Y)
        np.testing.assert_array_equal(stages[rounds - 1], shorter.predict(X))


def test_boosting_stops_early() -> None:
    X, Y = smooth_data(200, 4, 0)
    booster = PartialLabelRankingBooster(
        rounds=500, learning_rate=0.8, validation_share=0.3, patience=4, random_state=0
    ).fit(X, Y)
    scores = booster.validation_scores_
    assert booster.rounds_ + 4 == len(scores) < 500
    assert scores.argmax() + 1 == booster.rounds_
    full = PartialLabelRankingBooster(rounds=5, random_state=0).fit(X, Y)
    assert full.validation_scores_.shape == (0,)
    assert full.rounds_ == 5


def test_progress_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    X, Y = random_data(0, rows=40)
    PartialLabelRankingBooster(rounds=5, verbose=2, validation_share=0.5, patience=9).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"round {r} of 5" for r in (2, 4, 5)]
    assert "validation log-likelihood -" in lines[0]
    PartialLabelRankingBooster(rounds=3).fit(X, Y)
    assert capsys.readouterr().out == ""
    early = PartialLabelRankingBooster(
        rounds=500, verbose=400, validation_share=0.3, patience=3, random_state=0
    ).fit(X, Y)
    done = len(early.validation_scores_)
    assert done < 400
    assert capsys.readouterr().out.startswith(f"round {done} of 500, validation")


def test_importances_are_shares() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    Y = dense(np.column_stack([X[:, 2] > 0, X[:, 2] <= 0, np.zeros(300)]).astype(float))
    booster = PartialLabelRankingBooster(feature_share=1.0, rounds=20).fit(X, Y)
    assert booster.feature_importances_.sum() == pytest.approx(1)
    assert booster.feature_importances_.argmax() == 2
    constant = PartialLabelRankingBooster(rounds=3).fit(np.ones((30, 2)), Y[:30])
    assert constant.feature_importances_.tolist() == [0, 0]


@pytest.mark.parametrize("rows", [1, 2, 50])
def test_identical_rows_and_constant_features(rows: int) -> None:
    X, Y = np.ones((rows, 2)), np.tile([1, 2, 2], (rows, 1))
    booster = PartialLabelRankingBooster(random_state=0).fit(X, Y)
    if rows > 2:
        # With one or two rows the ridge dominates, and the prediction may differ.
        assert booster.predict(X[:1]).tolist() == [[1, 2, 2]]
    assert np.isfinite(booster.predict_utilities(X)).all()


def test_a_label_without_rankings_is_predicted() -> None:
    X, Y = random_data(0, rows=50)
    Y = dense(np.column_stack([Y, np.full(50, np.nan)]))
    booster = PartialLabelRankingBooster(rounds=10, random_state=0).fit(X, Y)
    shares = booster.predict_pair_shares(X)
    with_last = [3, 6, 8, 9]
    np.testing.assert_allclose(shares[:, with_last], 1 / 3)
    assert (booster.predict(X) >= 1).all()
    assert tau_x(Y, booster.predict(X), missing="ignore") > 0


def test_rankings_without_pairs_have_no_effect() -> None:
    Y = np.full((20, 3), np.nan)
    Y[:, 0] = 1
    booster = PartialLabelRankingBooster(rounds=3).fit(np.arange(20.0).reshape(-1, 1), Y)
    np.testing.assert_allclose(booster.predict_pair_shares([[3.0]]), 1 / 3)


def test_aggregators_can_be_exchanged() -> None:
    X, Y = random_data(0, rows=50)
    booster = PartialLabelRankingBooster(rounds=10, random_state=0).fit(X, Y)
    borda = booster.with_aggregator("borda")
    assert borda.booster_ is booster.booster_
    many = booster.predict_many(X, ["borda", TauX("local"), "maximal_lottery"])
    np.testing.assert_array_equal(many[0], borda.predict(X))
    assert len(many) == 3
    for refused in ("mc1", "davidson"):
        with pytest.raises(ValueError, match="predicts pair shares; expected TauX"):
            booster.with_aggregator(refused)
    with pytest.raises(ValueError, match="needs rankings"):
        PartialLabelRankingBooster("mc2").fit(X, Y)


@settings(max_examples=30)
@given(st.data())
def test_damaged_bytes_are_rejected(data: st.DataObject) -> None:
    X, Y = random_data(0, rows=20)
    saved = PartialLabelRankingBooster(rounds=2, random_state=0).fit(X, Y).booster_.to_bytes()
    assert Booster.from_bytes(saved).to_bytes() == saved
    damaged = bytearray(saved)
    damaged[data.draw(st.integers(0, len(saved) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ValueError, match="saved booster"):
        Booster.from_bytes(bytes(damaged))
