"""Kendall's distance, tau-b, rank-biased overlap and Kendall's W."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import friedmanchisquare, kendalltau, rankdata
from sklearn.model_selection import cross_val_score

import bucketrank as br
from strategies import Ranking, bucket_orders

PAIRS = st.integers(2, 6).flatmap(lambda n: st.tuples(bucket_orders(n), bucket_orders(n)))


@given(PAIRS)
def test_tau_b_equals_scipy(pair: tuple[Ranking, Ranking]) -> None:
    expected = kendalltau(*pair).statistic
    assert br.tau_b_samples([pair[0]], [pair[1]])[0] == pytest.approx(expected, nan_ok=True)


@given(PAIRS, st.sampled_from([0.0, 0.5, 1.0]))
def test_the_distance_counts_pairs(pair: tuple[Ranking, Ranking], penalty: float) -> None:
    a, b = pair
    n = len(a)
    expected = 0.0
    for u in range(n):
        for v in range(u + 1, n):
            first, second = np.sign(a[u] - a[v]), np.sign(b[u] - b[v])
            expected += first * second < 0
            expected += penalty * ((first == 0) != (second == 0))
    assert br.kendall_distance([a], [b], penalty=penalty) == pytest.approx(expected)
    share = br.kendall_distance([a], [b], penalty=penalty, normalised=True)
    assert share == pytest.approx(expected / (n * (n - 1) / 2))


def linear_extensions(row: Ranking) -> list[list[int]]:
    """Every order of the labels that breaks the ties of a ranking."""
    buckets = [[u for u, p in enumerate(row) if p == position] for position in sorted(set(row))]
    orders = product(*(permutations(bucket) for bucket in buckets))
    return [[label for bucket in order for label in bucket] for order in orders]


def overlap(first: list[int], second: list[int], p: float) -> float:
    n = len(first)
    agreements = [len({*first[:d]} & {*second[:d]}) / d for d in range(1, n + 1)]
    return (1 - p) * sum(p**d * a for d, a in enumerate(agreements)) + p**n


@settings(max_examples=30)
@given(
    st.integers(2, 5).flatmap(lambda n: st.tuples(bucket_orders(n), bucket_orders(n))),
    st.sampled_from([0.5, 0.9]),
)
def test_overlap_with_unknown_order_is_the_mean_over_all_orders(
    pair: tuple[Ranking, Ranking], p: float
) -> None:
    orders = product(*(linear_extensions(row) for row in pair))
    expected = np.mean([overlap(first, second, p) for first, second in orders])
    assert br.rbo([pair[0]], [pair[1]], p=p, ties="a") == pytest.approx(expected)


@given(PAIRS)
def test_overlap_of_equal_rankings_is_one(pair: tuple[Ranking, Ranking]) -> None:
    a, b = pair
    for ties in ("b", "w"):
        assert br.rbo([a], [a], ties=ties) == pytest.approx(1)
        found = br.rbo([a], [b], ties=ties)
        assert 0 <= found <= 1 + 1e-12
        assert found == pytest.approx(br.rbo([b], [a], ties=ties))
    if len(set(a)) == len(a) and len(set(b)) == len(b):
        values = [br.rbo([a], [b], ties=ties) for ties in ("a", "b", "w")]
        assert values == pytest.approx([values[0]] * 3)


def agreements(first: Ranking, second: Ranking, ties: str) -> list[float]:
    """Agreement at each depth, by the shares of the labels that are within it (Corsi and Urbano 2024)."""
    n = len(first)

    def shares(row: Ranking, depth: int) -> list[float]:
        found = []
        for position in row:
            above = sum(other < position for other in row)
            tied = row.count(position)
            if ties == "w":
                found.append(float(above < depth))
            else:
                found.append(min(max((depth - above) / tied, 0.0), 1.0))
        return found

    values = []
    for depth in range(1, n + 1):
        a, b = np.array(shares(first, depth)), np.array(shares(second, depth))
        size = {
            "a": depth,
            "b": np.sqrt((a**2).sum() * (b**2).sum()),
            "w": (a.sum() + b.sum()) / 2,
        }
        values.append(float((a * b).sum() / size[ties]))
    return values


@given(PAIRS, st.sampled_from(["a", "b", "w"]), st.sampled_from([0.3, 0.9]))
def test_overlap_is_that_of_the_definition(
    pair: tuple[Ranking, Ranking], ties: Any, p: float
) -> None:
    found = agreements(*pair, ties)
    expected = (1 - p) * sum(p**d * a for d, a in enumerate(found)) + p ** len(found)
    assert br.rbo([pair[0]], [pair[1]], p=p, ties=ties) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("ties", "p", "expected"),
    [
        # Computed by a separate transcription of the formulas of M. Corsi and J. Urbano, "The treatment of ties in
        # rank-biased overlap", SIGIR 2024: red (blue green) yellow pink against (blue red) yellow (green pink).
        ("a", 0.9, 0.8913875),
        ("b", 0.9, 0.9269447),
        ("w", 0.9, 0.9135667),
        ("a", 0.5, 0.6380208),
        ("b", 0.5, 0.7743565),
        ("w", 0.5, 0.7347222),
    ],
)
def test_overlap_with_ties_of_fixed_examples(ties: Any, p: float, expected: float) -> None:
    # blue, green, pink, red, yellow
    first, second = [2, 2, 4, 1, 3], [1, 3, 3, 1, 2]
    assert br.rbo([first], [second], p=p, ties=ties) == pytest.approx(expected, abs=5e-8)


def test_overlap_of_a_published_example() -> None:
    # Extrapolated overlap of W. Webber, A. Moffat and J. Zobel (2010) of 1 2 3 4 5 and 2 3 4 1 5, as printed in the
    # documentation of another package: 0.828.
    for ties in ("a", "b", "w"):
        found = br.rbo([[1, 2, 3, 4, 5]], [[4, 1, 2, 3, 5]], p=0.9, ties=ties)
        assert found == pytest.approx(0.828)


def test_tau_b_of_published_examples() -> None:
    # S. Siegel, Nonparametric statistics for the behavioral sciences (1956), chapter 9: twelve students by social
    # status strivings and authoritarianism (tau .67), and by number of yieldings, with ties (tau .39).
    strivings = [3, 4, 2, 1, 8, 11, 10, 6, 7, 12, 5, 9]
    authoritarianism = [2, 6, 5, 1, 10, 9, 8, 3, 4, 12, 7, 11]
    yieldings = [1.5, 1.5, 3.5, 3.5, 5, 6, 7, 8, 9, 10.5, 10.5, 12]
    assert br.tau_b([strivings], [authoritarianism]) == pytest.approx(0.67, abs=0.005)
    assert br.tau_b([yieldings], [strivings]) == pytest.approx(0.39, abs=0.005)


def test_concordance_of_published_examples() -> None:
    # S. Siegel (1956), chapter 9: three executives and six applicants (W = .16), and three rankings of ten objects with
    # ties (W = .828).
    Y = [[1, 6, 3, 2, 5, 4], [1, 5, 6, 4, 2, 3], [6, 3, 2, 5, 4, 1]]
    assert br.kendall_w(Y) == pytest.approx(0.16, abs=0.005)
    tied = [
        [1, 4.5, 2, 4.5, 3, 7.5, 6, 9, 7.5, 10],
        [2.5, 1, 2.5, 4.5, 4.5, 8, 9, 6.5, 10, 6.5],
        [2, 1, 4.5, 4.5, 4.5, 4.5, 8, 8, 8, 10],
    ]
    assert br.kendall_w(tied) == pytest.approx(0.828, abs=0.0005)


@given(st.integers(3, 6).flatmap(lambda n: st.lists(bucket_orders(n), min_size=3, max_size=6)))
def test_concordance_is_friedmans_statistic(Y: list[Ranking]) -> None:
    ranks = np.array([rankdata(row) for row in Y])
    m, n = ranks.shape
    if (ranks == ranks[:, :1]).all():
        with pytest.raises(ValueError, match=r"every ranking ties all labels"):
            br.kendall_w(Y)
        return
    statistic = friedmanchisquare(*ranks.T).statistic
    assert br.kendall_w(Y) == pytest.approx(statistic / (m * (n - 1)))
    weights = np.arange(1, m + 1)
    repeated = [row for row, weight in zip(Y, weights, strict=True) for _ in range(weight)]
    assert br.kendall_w(Y, weights) == pytest.approx(br.kendall_w(repeated))


METRICS: list[Any] = [br.kendall_distance, br.tau_b, br.rbo]


@pytest.mark.parametrize("metric", METRICS)
def test_missing_labels_are_named_or_ignored(metric: Any) -> None:
    truth, predicted = [[1, 2, np.nan], [np.nan, np.nan, 1]], [[1, 2, 3], [1, 2, 3]]
    with pytest.raises(br.RankingError, match=r'Y_true, row 0, label 2.*missing="ignore"'):
        metric(truth, predicted)
    assert metric(truth, predicted, missing="ignore") == metric([[1, 2]], [[1, 2]])
    with pytest.raises(ValueError, match=r"none of 1 row has"):
        metric(truth[1:], predicted[1:], missing="ignore")
    with pytest.raises(ValueError, match=r"missing is 'drop'"):
        metric(truth, predicted, missing="drop")
    assert metric([[1, 2], [1, 2]], [[1, 2], [2, 1]], [1, 0]) == metric([[1, 2]], [[1, 2]])


def test_concordance_with_missing_labels() -> None:
    Y = [[1, 2, np.nan], [1, 2, 3]]
    with pytest.raises(ValueError, match=r'Y, row 0, label 2.*missing="ignore"'):
        br.kendall_w(Y)
    with pytest.raises(ValueError, match="Y, row 2, label 2"):
        br.kendall_w([Y[0], Y[1], Y[0]], [0, 1, 1])
    assert br.kendall_w(Y, missing="ignore") == 1
    with pytest.raises(ValueError, match=r"the number of labels that all rankings rank is 0"):
        br.kendall_w([[1, np.nan], [np.nan, 1]], missing="ignore")


def test_bad_options() -> None:
    one = [[1, 2]]
    with pytest.raises(ValueError, match=r"penalty is 2.0"):
        br.kendall_distance(one, one, penalty=2)
    with pytest.raises(TypeError, match=r"normalised is 1"):
        br.kendall_distance(one, one, normalised=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"p is 1.0; expected a number between"):
        br.rbo(one, one, p=1)
    with pytest.raises(ValueError, match=r"ties is 'c'"):
        br.rbo(one, one, ties="c")  # type: ignore[arg-type]


def test_scorers_rank_models() -> None:
    X = np.arange(12.0).reshape(-1, 1)
    Y = np.array([[1, 2, 3], [3, 2, 1]]).repeat(6, axis=0)
    tree = br.PartialLabelRankingTree(min_samples_split=2).fit(X, Y)
    assert br.kendall_distance_scorer(tree, X, Y) == 0
    assert br.tau_b_scorer(tree, X, Y) == pytest.approx(1)
    assert br.rbo_scorer(tree, X, Y) == pytest.approx(1)
    for metric in (*METRICS, br.tau_x):
        with pytest.raises(TypeError, match=r"Y_true is the estimator .*tau_x_scorer"):
            cross_val_score(tree, X, Y, scoring=metric, error_score="raise")
