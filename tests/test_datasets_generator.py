"""Generated datasets: seeds, noise, ties and missing labels."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bucketrank as br
from bucketrank.datasets import make_rankings

RELATIONS = ["linear", "nonlinear"]


@given(
    rows=st.integers(1, 60),
    features=st.integers(1, 5),
    labels=st.integers(2, 7),
    relation=st.sampled_from(RELATIONS),
    noise=st.sampled_from([0.0, 0.3]),
    ties=st.floats(0, 1),
    missing=st.sampled_from([0.0, 0.4, 1.0]),
    seed=st.integers(0, 2**64 - 1),
)
@settings(max_examples=60, deadline=None)
def test_equal_seeds_make_equal_data(
    rows: int,
    features: int,
    labels: int,
    relation: str,
    noise: float,
    ties: float,
    missing: float,
    seed: int,
) -> None:
    options: dict[str, Any] = {
        "relation": relation,
        "noise": noise,
        "ties": ties,
        "missing": missing,
        "random_state": seed,
    }
    data = make_rankings(rows, features, labels, **options)
    assert data.X.shape == (rows, features)
    assert data.Y.shape == (rows, labels)
    assert data == make_rankings(rows, features, labels, **options)
    assert not np.array_equal(
        data.X, make_rankings(rows, features, labels, **{**options, "random_state": seed ^ 1}).X
    )
    if missing == 1:
        assert np.isnan(data.Y).all()


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_longer_data_begin_as_shorter_ones(missing: float) -> None:
    # 600 columns, so that 3000 rows are more than one block.
    longer = make_rankings(3000, 300, 300, missing=missing, random_state=3)
    shorter = make_rankings(2000, 300, 300, missing=missing, random_state=3)
    assert np.array_equal(longer.X[:2000], shorter.X)
    assert np.array_equal(longer.Y[:2000], shorter.Y, equal_nan=True)
    assert len(np.unique(longer.X[:, 0])) == 3000


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_the_share_of_tied_neighbours_equals_the_parameter(relation: str, noise: float) -> None:
    buckets = []
    for ties in (0.0, 0.1, 0.25, 0.5, 0.9, 1.0):
        data = make_rankings(20_000, 6, 8, relation=relation, noise=noise, ties=ties)
        buckets.append(data.describe().mean_buckets)
        assert (8 - buckets[-1]) / 7 == pytest.approx(ties, abs=0.01)
    assert buckets == sorted(buckets, reverse=True)
    assert (buckets[0], buckets[-1]) == (8.0, 1.0)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_more_ties_never_make_more_buckets(a: float, b: float, seed: int) -> None:
    few, many = (make_rankings(50, 3, 5, ties=t, random_state=seed).Y for t in sorted((a, b)))
    assert (few.max(axis=1) >= many.max(axis=1)).all()


def test_the_share_of_missing_labels_equals_the_parameter() -> None:
    for missing in (0.0, 0.3, 0.6):
        data = make_rankings(20_000, 3, 6, missing=missing)
        assert np.isnan(data.Y).mean() == pytest.approx(missing, abs=0.01)
        complete = make_rankings(20_000, 3, 6)
        dropped = np.where(np.isnan(data.Y), np.nan, complete.Y)
        assert np.array_equal(br.to_dense_ranks(dropped), data.Y, equal_nan=True)


def test_linear_scores_without_noise_are_ranked_by_a_weighted_sum() -> None:
    data = make_rankings(3000, 4, 5, noise=0, ties=0)
    # The difference of two weighted sums is a weighted sum: a plane through the origin separates any two labels.
    for u in range(5):
        for v in range(u):
            ahead = data.Y[:, u] < data.Y[:, v]
            weights, *_ = np.linalg.lstsq(data.X, 2.0 * ahead - 1, rcond=None)
            assert ((data.X @ weights > 0) == ahead).mean() > 0.97


@pytest.mark.parametrize("relation", RELATIONS)
def test_trees_learn_more_from_less_noise(relation: str) -> None:
    scores = []
    for noise in (0.0, 0.5, 2.0):
        data = make_rankings(6000, 2, 4, relation=relation, noise=noise, ties=0.3, random_state=1)
        tree = br.PartialLabelRankingTree(min_samples_split=2).fit(data.X[:5000], data.Y[:5000])
        if noise == 0:
            assert tree.score(data.X[:5000], data.Y[:5000]) == 1.0
        scores.append(tree.score(data.X[5000:], data.Y[5000:]))
    assert scores[0] > 0.95
    assert scores[0] > scores[1] + 0.1 > scores[2] + 0.2


def test_only_informative_features_matter() -> None:
    data = make_rankings(4000, 6, 4, n_informative=2, noise=0, random_state=2)
    tree = br.PartialLabelRankingTree(max_depth=4).fit(data.X, data.Y)
    importances = tree.feature_importances_
    assert importances[:2].sum() > 0.95
    full = make_rankings(4000, 2, 4, noise=0, random_state=2)
    assert full.n_features == 2


def test_temporary_memory_is_independent_of_the_rows() -> None:
    def extra(rows: int) -> int:
        tracemalloc.start()
        data = make_rankings(rows, 10, 10, missing=0.2)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # Subtract the data: features once, positions twice (before and after validation).
        return peak - data.X.nbytes - 2 * data.Y.nbytes

    assert extra(600_000) < extra(200_000) + 5_000_000


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"n_samples": 0}, ValueError, "n_samples is 0; expected a whole number of at least 1"),
        ({"n_samples": 1e3}, TypeError, "n_samples is 1000.0; expected a whole number"),
        ({"n_features": 0}, ValueError, "n_features is 0; expected a whole number of at least 1"),
        ({"n_labels": 1}, ValueError, "n_labels is 1; expected a whole number of at least 2"),
        ({"n_informative": 9}, ValueError, "n_informative is 9; expected at most n_features=8"),
        (
            {"n_informative": 0},
            ValueError,
            "n_informative is 0; expected a whole number of at least 1",
        ),
        (
            {"relation": "cubic"},
            ValueError,
            "relation is 'cubic'; expected 'linear' or 'nonlinear'",
        ),
        ({"noise": -1}, ValueError, "noise is -1.0; expected a finite number"),
        ({"noise": math.inf}, ValueError, "noise is inf; expected a finite number"),
        ({"ties": 1.5}, ValueError, "ties is 1.5; expected a share from 0 to 1"),
        ({"ties": math.nan}, ValueError, "ties is nan; expected a share from 0 to 1"),
        ({"missing": -0.1}, ValueError, "missing is -0.1; expected a share from 0 to 1"),
        ({"missing": "x"}, TypeError, "missing is 'x'; expected a number"),
        ({"random_state": None}, TypeError, "random_state is None; expected a whole number"),
        ({"random_state": -1}, ValueError, "random_state is -1; expected a whole number from 0"),
    ],
)
def test_bad_input(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make_rankings(**changes)
