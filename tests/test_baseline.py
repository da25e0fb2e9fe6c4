"""Predictions that ignore the features."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bucketrank as br
from tree_data import load

Baseline = br.PartialLabelRankingBaseline
X = [[0.0], [1.0], [2.0]]
Y = [[1, 2, 3], [1, 3, 2], [2, 1, 3]]


def test_the_consensus_of_all_rankings() -> None:
    weights = [1, 0, 5]
    for name in br.METHODS:
        baseline = Baseline(aggregator=name).fit(X, Y, weights)
        expected = br.aggregate(Y, name, sample_weight=weights)
        np.testing.assert_array_equal(baseline.predict(X), np.tile(expected, (3, 1)))
        assert baseline.score(X, Y) == pytest.approx(br.tau_x(Y, np.tile(expected, (3, 1))))
    baseline = Baseline().fit(X, Y)
    for name, predicted in zip(br.METHODS, baseline.predict_many(X[:1], br.METHODS), strict=True):
        np.testing.assert_array_equal(predicted[0], br.aggregate(Y, name))
        np.testing.assert_array_equal(baseline.with_aggregator(name).predict(X[:1]), predicted)


def test_all_tied() -> None:
    baseline = Baseline("all_tied").fit(X, Y)
    np.testing.assert_array_equal(baseline.predict(X[:2]), np.ones((2, 3)))
    again = pickle.loads(pickle.dumps(baseline))
    np.testing.assert_array_equal(again.predict(X), np.ones((3, 3)))
    assert clone(baseline).get_params() == {"strategy": "all_tied", "aggregator": "tau_x"}
    frame = pd.DataFrame(Y, columns=list("abc"))
    fitted = Baseline("all_tied").set_output(transform="pandas").fit(X, frame)
    assert list(fitted.predict(X).columns) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"colour": ["red", "blue", None], "width": [1.0, 2.0, 3.0]}),
        pd.DataFrame({"colour": pd.Categorical(["red", "blue", "red"])}),
        np.array([["red"], ["blue"], ["red"]]),
    ],
)
def test_categories_are_ignored_like_numbers(table: Any, tmp_path: Path) -> None:
    baseline = Baseline(aggregator=br.Borda(0)).fit(table, Y)
    expected = np.tile(br.aggregate(Y, br.Borda(0)), (3, 1))
    np.testing.assert_array_equal(baseline.predict(table), expected)
    assert sorted(baseline.get_params(deep=False)) == ["aggregator", "strategy"]
    br.save_model(baseline, tmp_path / "model.bin")
    np.testing.assert_array_equal(br.load_model(tmp_path / "model.bin").predict(table), expected)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"strategy is 'mean'; expected one of 'consensus'"):
        Baseline("mean").fit(X, Y)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 1"):
        Baseline().fit(X, Y).predict([[1.0, 2.0]])
    with pytest.raises(ValueError, match="requires y to be passed"):
        Baseline().fit(X, None)
    with pytest.raises(
        ValueError, match="beta 'auto', a threshold for ties that only a tree chooses"
    ):
        Baseline(aggregator=br.Borda("auto")).fit(X, Y)


def test_ties_are_hard_to_beat_on_movies(shared_dir: Path, count_comparisons: Any) -> None:
    values, truth = load(shared_dir, "movies")
    score = Baseline("all_tied").fit(values, truth).score(values, truth)
    assert score == pytest.approx(0.443, abs=0.001)
    count_comparisons("rows of movies", len(truth))
