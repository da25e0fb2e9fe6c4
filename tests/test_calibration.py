"""Proper scores and reliability of predicted pair shares."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot
from sklearn.metrics import log_loss

import bucketrank as br
from bucketrank.calibration import (
    ReliabilityCurve,
    pair_brier_score,
    pair_log_loss,
    reliability_curve,
)
from bucketrank.figures import plot_reliability
from tree_data import Array, dense

NAN = math.nan


def random_case(seed: int) -> tuple[Array, Array, Array]:
    """Rankings of four labels with missing labels, shares of their six pairs and weights."""
    rng = np.random.default_rng(seed)
    Y = dense(np.where(rng.random((12, 4)) < 0.3, np.nan, rng.integers(0, 3, (12, 4)))).copy()
    Y[0] = [1, 2, 2, 3]
    return Y, rng.dirichlet([1, 1, 1], (12, 6)), rng.integers(1, 4, 12).astype(float)


def by_hand(Y: Array, shares: Array, weights: Array) -> tuple[float, float]:
    """Log loss and Brier score, computed pair by pair."""
    pairs = [(u, v) for u in range(4) for v in range(u + 1, 4)]
    rows = []
    for ranking, row, weight in zip(Y, shares, weights, strict=True):
        losses, distances = [], []
        for (u, v), (before, tied, after) in zip(pairs, row, strict=True):
            if np.isnan(ranking[u]) or np.isnan(ranking[v]):
                continue
            truth = (ranking[u] < ranking[v], ranking[u] == ranking[v], ranking[u] > ranking[v])
            true_share = (before, tied, after)[truth.index(True)]
            losses.append(-math.log(true_share))
            compared = zip((before, tied, after), truth, strict=True)
            distances.append(sum((share - is_true) ** 2 for share, is_true in compared))
        if losses:
            rows.append((weight, np.mean(losses), np.mean(distances)))
    total = sum(weight for weight, *_ in rows)
    return (
        sum(weight * loss for weight, loss, _ in rows) / total,
        sum(weight * distance for weight, _, distance in rows) / total,
    )


@given(st.integers(0, 10_000))
def test_scores_match_the_definition(seed: int) -> None:
    Y, shares, weights = random_case(seed)
    loss, distance = by_hand(Y, shares, weights)
    assert pair_log_loss(Y, shares, weights) == pytest.approx(loss, rel=1e-12)
    assert pair_brier_score(Y, shares, weights) == pytest.approx(distance, rel=1e-12)


def test_two_labels_match_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([2, 1, 1], (50, 1))
    classes = rng.integers(0, 3, 50)
    Y = np.array([[1, 2], [1, 1], [2, 1]])[classes]
    weights = rng.random(50)
    expected = log_loss(classes, shares[:, 0], sample_weight=weights)
    assert pair_log_loss(Y, shares, weights) == pytest.approx(expected)


def test_certain_and_uniform_shares() -> None:
    right, wrong, equal = [[[1, 0, 0]]], [[[0, 0, 1]]], [[[1 / 3] * 3]]
    assert (pair_log_loss([[1, 2]], right), pair_brier_score([[1, 2]], right)) == (0, 0)
    assert pair_brier_score([[1, 2]], wrong) == 2
    assert 36 < pair_log_loss([[1, 2]], wrong) < 37
    for shares in (equal, [[[0, 0, 0]]]):
        assert pair_log_loss([[1, 2]], shares) == pytest.approx(math.log(3))
        assert pair_brier_score([[1, 2]], shares) == pytest.approx(2 / 3)


@pytest.mark.parametrize("score", [pair_log_loss, pair_brier_score])
def test_true_shares_have_the_smallest_score(score: Any) -> None:
    # Of 10 rankings, 5 have the first label before the second, 3 tie the two, and 2 have it after.
    Y = [[1, 2]] * 5 + [[1, 1]] * 3 + [[2, 1]] * 2
    best = score(Y, np.tile([0.5, 0.3, 0.2], (10, 1, 1)))
    for other in np.random.default_rng(0).dirichlet([1, 1, 1], 50):
        assert score(Y, np.tile(other, (10, 1, 1))) > best


@pytest.mark.parametrize("score", [pair_log_loss, pair_brier_score])
def test_missing_labels_are_ignored(score: Any) -> None:
    shares = np.tile([0.6, 0.3, 0.1], (2, 3, 1))
    assert score([[1, 2, NAN], [NAN, 1, NAN]], shares) == score([[1, 2]], shares[:1, :1])
    with pytest.raises(ValueError, match="nothing to compare"):
        score([[1, NAN, NAN]], shares[:1])
    # The rest of a top-k list is tied.
    assert score([[1, np.inf, np.inf]], shares[:1]) == score([[1, 2, 2]], shares[:1])


@pytest.mark.parametrize("score", [pair_log_loss, pair_brier_score, reliability_curve])
@pytest.mark.parametrize(
    ("shares", "error", "message"),
    [
        ([[[1, 0, 0]]], ValueError, r"shares has shape \(1, 1, 3\); expected \(1, 3, 3\) for 3 labels"),
        ([[0.5, 0.5]], ValueError, r"shares has shape \(1, 2\)"),
        ([[[1, 0, 0], [0.5, 0.6, 0.1], [1, 0, 0]]], ValueError, r"shares, row 0, pair 1: \[0\.5"),
        ([[[1, 0, 0], [1, 0, 0], [1.5, -0.5, 0]]], ValueError, "shares, row 0, pair 2: .*at least 0"),
        ([[[1, 0, 0], [NAN, 0, 0], [1, 0, 0]]], ValueError, "shares, row 0, pair 1: .*nan"),
        ("many", TypeError, "shares is 'many'"),
    ],
)  # fmt: skip
def test_bad_shares(score: Any, shares: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        score([[1, 2, 3]], shares)


def test_bad_settings() -> None:
    shares = [[[1, 0, 0]]]
    with pytest.raises(ValueError, match="relation is 'after'; expected one of 'all'"):
        reliability_curve([[1, 2]], shares, relation="after")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n_bins is 0"):
        reliability_curve([[1, 2]], shares, n_bins=0)
    with pytest.raises(ValueError, match="row 0"):
        pair_log_loss([[1, 2]], shares, [-1])
    for Y, weights in (([[1, np.nan]], None), ([[1, 2], [1, np.nan]], [0, 1])):
        with pytest.raises(ValueError, match="no row of positive weight ranks two labels"):
            reliability_curve(Y, shares * len(Y), weights)


@pytest.mark.parametrize("name", ["tree", "forest", "booster", "linear", "ranker"])
def test_fitted_models_beat_uniform_shares(name: str) -> None:
    made = br.datasets.make_rankings(300, 3, 4, missing=0.2)
    X, Y = made.X, made.Y
    model = {
        "tree": br.PartialLabelRankingTree("tau_x", shrinkage="m-estimate"),
        "forest": br.PartialLabelRankingForest(n_estimators=20, random_state=0),
        "booster": br.PartialLabelRankingBooster(rounds=20, random_state=0),
        "linear": br.PartialLabelRankingLinear(),
        "ranker": br.PartialLabelRanker(n_estimators=10, rounds=10, n_parts=2, random_state=0),
    }[name]
    shares = model.fit(X[:200], Y[:200]).predict_pair_shares(X[200:])
    assert pair_log_loss(Y[200:], shares) < math.log(3)
    assert pair_brier_score(Y[200:], shares) < 2 / 3


def test_bins() -> None:
    Y = [[1, 2], [1, 2], [2, 1], [1, 1]]
    shares = [[[0.8, 0.2, 0]], [[0.8, 0.2, 0]], [[0.8, 0.2, 0]], [[0.1, 0.9, 0]]]
    tied = reliability_curve(Y, shares, relation="tied", n_bins=2)
    assert tied.predicted.tolist() == pytest.approx([0.2, 0.9])
    assert tied.observed.tolist() == [0, 1]
    assert tied.weight.tolist() == [3, 1]
    before = reliability_curve(Y, shares, [1, 1, 2, 1], relation="before", n_bins=2)
    assert before.predicted.tolist() == pytest.approx([0.1 / 6, 0.8])
    assert before.observed.tolist() == pytest.approx([2 / 6, 0.5])
    assert before.weight.tolist() == [6, 4]
    everything = reliability_curve(Y, shares, n_bins=10)
    assert everything.weight.sum() == 12
    assert np.isnan(everything.predicted[5])
    assert tied.error == pytest.approx((3 * 0.2 + 1 * 0.1) / 4)


@pytest.mark.parametrize("relation", ["all", "before", "tied"])
def test_true_shares_are_calibrated(relation: Any) -> None:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([1, 1, 1], (60_000, 1))
    drawn = (rng.random((60_000, 1)) > shares[:, 0].cumsum(axis=1)[:, :2]).sum(axis=1)
    Y = np.array([[1, 2], [1, 1], [2, 1]])[drawn]
    curve = reliability_curve(Y, shares, relation=relation)
    assert curve.error < 0.01
    # Shares that are too certain are not calibrated.
    certain = shares**3 / (shares**3).sum(axis=2, keepdims=True)
    assert reliability_curve(Y, certain, relation=relation).error > 0.05


def test_figure() -> None:
    pyplot.switch_backend("agg")  # works without a display
    Y, shares, _ = random_case(0)
    curve = reliability_curve(Y, shares)
    axes = plot_reliability({"forest": curve, "tree": curve})
    legend = axes.get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [f"{name}, error {curve.error:.3f}" for name in ("forest", "tree")]
    drawn: Any = axes.lines[1].get_ydata()
    np.testing.assert_array_equal(drawn, curve.observed[curve.weight > 0])
    given_axes = pyplot.subplots()[1]
    assert plot_reliability(curve, ax=given_axes) is given_axes
    pyplot.close("all")
    with pytest.raises(ValueError, match="curves is empty"):
        plot_reliability({})
    with pytest.raises(TypeError, match="curve 'a' is 3; expected a ReliabilityCurve"):
        plot_reliability({"a": 3})  # type: ignore[dict-item]
    assert isinstance(curve, ReliabilityCurve)
