"""Statistics: comparison with their definitions, other libraries, and the published tables."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scikit_posthocs
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bucketrank.statistics import (
    PairwiseTest,
    ScoreTable,
    average_ranks,
    friedman,
    holm,
    holm_adjusted,
    nemenyi,
    wilcoxon,
    win_tie_loss,
)
from reference import statistics as reference

PAPER_METHODS = (
    "bucket_pivot",
    "borda",
    "copeland",
    "mc1",
    "mc2",
    "mc3",
    "mc4",
    "maximal_lottery",
)


@st.composite
def score_lists(draw: st.DrawFn, *, min_methods: int = 2) -> list[list[float]]:
    """Scores with few distinct values, so that equal scores are common."""
    k = draw(st.integers(min_methods, 6))
    cell = st.integers(0, 8).map(lambda number: number / 8)
    return draw(st.lists(st.lists(cell, min_size=k, max_size=k), min_size=2, max_size=12))


def random_scores(seed: int, shape: tuple[int, int]) -> ScoreTable:
    rng = np.random.default_rng(seed)
    return ScoreTable(rng.random(shape) + np.linspace(0, 0.5, shape[1]))


def paper_scores(shared_dir: Path, missing: int) -> ScoreTable:
    with (shared_dir / "paper" / "accuracy.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if int(row["missing"]) == missing]
    kept = [row for row in rows if row["aggregator"] in PAPER_METHODS]
    columns = {
        "dataset": [row["dataset"] for row in kept],
        "method": [row["aggregator"] for row in kept],
        "tau_x": [float(row["tau_x_mean"]) for row in kept],
    }
    return ScoreTable.from_tidy(columns, score="tau_x")


def paper_holm(shared_dir: Path, missing: int) -> dict[str, dict[str, str]]:
    with (shared_dir / "paper" / "holm.csv").open(encoding="utf-8") as file:
        return {r["aggregator"]: r for r in csv.DictReader(file) if int(r["missing"]) == missing}


def test_the_papers_holm_table_at_60_percent(
    shared_dir: Path, count_comparisons: Callable[[str, int], None]
) -> None:
    scores = paper_scores(shared_dir, 60)
    assert scores.shape == (17, 8)
    test = holm(scores)
    printed = paper_holm(shared_dir, 60)
    assert test.control == "borda"
    # The printed three decimals tie bucket pivot and the lottery with others; the paper ranked unrounded scores.
    determined = ("borda", "copeland", "mc1", "mc2", "mc3", "mc4")
    for method in determined:
        rank = test.friedman.ranks[method]
        assert f"{rank:.2f}" == printed[method]["mean_rank"], method
    for method, p_value in {"mc3": 1.59e-3, "mc2": 6.25e-7, "mc1": 6.25e-7, "mc4": 3.24e-9}.items():
        assert p_value == float(printed[method]["holm_p"])
        assert float(f"{test.adjusted_p_value(method):.2e}") == p_value
    for method in test.methods:
        counts = tuple(int(printed[method][name]) for name in ("win", "tie", "loss"))
        assert test.counts.against("borda", method) == counts, method
    assert set(test.not_different) == {"bucket_pivot", "copeland"}
    count_comparisons("the paper's Holm table", len(determined) + 4 + 3 * len(test.methods))


@pytest.mark.parametrize("missing", [0, 30, 60])
def test_the_papers_conclusions_follow_from_its_scores(
    shared_dir: Path, count_comparisons: Callable[[str, int], None], missing: int
) -> None:
    test = holm(paper_scores(shared_dir, missing))
    printed = paper_holm(shared_dir, missing)
    assert test.control == next(name for name, row in printed.items() if not row["holm_p"])
    alike = {name for name, row in printed.items() if row["holm_p"] and float(row["holm_p"]) > 0.05}
    assert set(test.not_different) == alike
    for name, row in printed.items():
        assert test.friedman.ranks[name] == pytest.approx(float(row["mean_rank"]), abs=0.18)
    assert test.friedman.rejected
    assert test.friedman.p_value < 1e-12
    count_comparisons("the paper's Holm table", 2 * len(printed))


@given(score_lists())
def test_ranks_and_friedman_match_the_definition(scores: list[list[float]]) -> None:
    ranks = average_ranks(scores)
    assert ranks.ranks == pytest.approx([float(rank) for rank in reference.average_ranks(scores)])
    test = friedman(scores)
    expected = float(reference.friedman_statistic(scores))
    assert test.statistic == pytest.approx(expected, abs=1e-9)
    assert 0 <= test.p_value <= 1
    assert ranks.ranks.sum() == pytest.approx(len(ranks.methods) * (len(ranks.methods) + 1) / 2)


@given(score_lists(), st.integers(0, 5))
def test_holm_matches_the_definition(scores: list[list[float]], control: int) -> None:
    control %= len(scores[0])
    table = ScoreTable(scores)
    test = holm(table, table.methods[control])
    for j, p_value in reference.holm_p_values(scores, control).items():
        assert test.adjusted_p_value(table.methods[j]) == pytest.approx(p_value, abs=1e-12)
        counts = test.counts.against(test.control, table.methods[j])
        assert counts == reference.win_tie_loss(scores, control, j, 3)
        assert sum(counts) == len(scores)


@given(score_lists(), st.permutations(range(6)))
def test_the_order_of_methods_and_datasets_does_not_matter(
    scores: list[list[float]], order: list[int]
) -> None:
    table = ScoreTable(scores)
    k = len(table.methods)
    shuffled = table.select([table.methods[j] for j in order if j < k])
    reversed_rows = ScoreTable(shuffled.values[::-1], methods=shuffled.methods)
    control = table.methods[0]
    left, right = holm(table, control), holm(reversed_rows, control)
    for name in left.methods:
        assert left.adjusted_p_value(name) == pytest.approx(right.adjusted_p_value(name))
    assert left.friedman.p_value == pytest.approx(right.friedman.p_value)


@given(score_lists())
def test_negated_scores_with_lower_is_better_give_the_same_results(
    scores: list[list[float]],
) -> None:
    negative = ScoreTable(-np.array(scores), higher_is_better=False)
    assert average_ranks(negative).to_dict() == average_ranks(scores).to_dict()
    assert win_tie_loss(negative).to_dict() == win_tie_loss(scores).to_dict()
    assert nemenyi(negative).to_dict() == nemenyi(scores).to_dict()


@pytest.mark.parametrize("seed", range(3))
def test_friedman_equals_scipy_when_no_scores_are_equal(seed: int) -> None:
    scores = random_scores(seed, (11, 5))
    oracle = stats.friedmanchisquare(*scores.values.T)
    assert friedman(scores).statistic == pytest.approx(oracle.statistic)
    assert friedman(scores).p_value == pytest.approx(oracle.pvalue)


@pytest.mark.parametrize("seed", range(4))
def test_nemenyi_equals_scikit_posthocs(seed: int) -> None:
    scores = random_scores(seed, (14, 6))
    test = nemenyi(scores)
    oracle = scikit_posthocs.posthoc_nemenyi_friedman(scores.values)
    for i, first in enumerate(scores.methods):
        for j, second in enumerate(scores.methods):
            assert test.p_value(first, second) == pytest.approx(oracle.iloc[i, j], abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_holm_equals_scikit_posthocs(seed: int) -> None:
    scores = random_scores(seed, (14, 6))
    test = holm(scores)
    # Siegel and Castellan's test computes the same z statistic for all pairs; Holm's uses only those of the control.
    pairwise = scikit_posthocs.posthoc_siegel_friedman(scores.values)
    control = scores.index(test.control)
    row = [pairwise.iloc[control, scores.index(name)] for name in test.methods]
    assert test.p_values == pytest.approx(row)
    adjusted = stats_holm(np.array(row))
    assert test.adjusted == pytest.approx(adjusted)


def stats_holm(p_values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    from statsmodels.stats.multitest import multipletests

    return np.asarray(multipletests(p_values, method="holm")[1])


@pytest.mark.parametrize("seed", range(4))
def test_wilcoxon_equals_scikit_posthocs(seed: int) -> None:
    scores = random_scores(seed, (14, 5))
    test = wilcoxon(scores)
    names = list(scores.methods)
    frame = pd.DataFrame(scores.values, columns=names).melt()
    oracle = scikit_posthocs.posthoc_wilcoxon(
        frame, val_col="value", group_col="variable", p_adjust="holm"
    )
    for first in names:
        for second in names:
            assert test.p_value(first, second) == pytest.approx(oracle.loc[first, second])


def test_equal_results_do_not_change_wilcoxon() -> None:
    # The exact p-value of eight positive differences is 2 / 2^8. Datasets with equal scores are left out.
    scores = np.column_stack([np.linspace(0.1, 0.9, 8) ** 2, np.zeros(8)])
    for equal in (0, 6):
        test = wilcoxon(np.vstack([scores, np.full((equal, 2), 0.5)]))
        assert test.p_value("method 1", "method 2") == 2 / 2**8


def test_critical_differences_are_those_of_the_literature() -> None:
    # Demšar (2006), table 5: q at 0.05 for 2 to 9 classifiers.
    published = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102}
    for k, quantile in published.items():
        test = nemenyi(random_scores(1, (9, k)))
        assert test.critical_difference is not None
        scaled = test.critical_difference / test.ranks.standard_error
        assert scaled == pytest.approx(quantile, abs=1.1e-3)


@given(st.integers(2, 7), st.randoms(use_true_random=False))
def test_groups_are_the_largest_without_a_difference(k: int, random: Any) -> None:
    p_values = np.ones((k, k))
    for i in range(k):
        for j in range(i):
            p_values[i, j] = p_values[j, i] = random.choice([0.01, 0.5])
    ranks = average_ranks(np.arange(2 * k).reshape(2, k))
    names = tuple(map(str, range(k)))
    groups = PairwiseTest("any", names, p_values, ranks, 0.05).groups
    alike = (p_values > 0.05).tolist()
    expected = reference.largest_groups(alike)
    assert {frozenset(map(int, group)) for group in groups} == expected
    assert len(groups) == len(expected)


@given(score_lists(min_methods=3))
def test_groups_by_rank_have_no_holes(scores: list[list[float]]) -> None:
    test = nemenyi(scores)
    for group in test.groups:
        places = [test.methods.index(name) for name in group]
        assert places == list(range(places[0], places[0] + len(places)))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_adjustment_matches_the_definition(p_values: list[float]) -> None:
    expected = reference.adjust(dict(enumerate(p_values)))
    assert holm_adjusted(p_values).tolist() == [expected[j] for j in range(len(p_values))]


@pytest.mark.parametrize("test", [friedman, holm, nemenyi, wilcoxon])
def test_equal_scores_show_no_difference(test: Any) -> None:
    result = test(np.full((5, 3), 0.5))
    if test is friedman:
        assert (result.statistic, result.p_value, result.rejected) == (0, 1, False)
    elif test is holm:
        assert result.adjusted.tolist() == [1, 1]
        assert result.different == ()
        assert result.counts.against("method 1", "method 2") == (0, 5, 0)
        assert "not interpreted" in str(result)
    else:
        assert np.array_equal(result.p_values, np.ones((3, 3)))
        assert result.groups == (("method 1", "method 2", "method 3"),)


def test_constant_columns_are_compared_like_others() -> None:
    rng = np.random.default_rng(0)
    values = np.c_[np.full(12, 0.9), np.full(12, 0.1), rng.uniform(0.2, 0.8, 12)]
    table = ScoreTable(values, methods=["high", "low", "middle"])
    assert average_ranks(table).ordered == ("high", "middle", "low")
    assert holm(table).different == ("middle", "low")
    assert wilcoxon(table).groups == ()


def test_no_comparison_differs_when_friedman_finds_no_difference() -> None:
    scores = [[1, 2, 3], [1, 2, 3], [3, 2, 1], [3, 1, 2]]
    test = holm(scores, "method 1")
    assert not test.friedman.rejected
    assert test.different == ()
    assert set(test.not_different) == {"method 2", "method 3"}


def test_rounding_noise_does_not_decide_wilcoxon() -> None:
    first = np.array([0.8, 0.5, 0.3, 0.9, 0.6, 0.7])
    second = first - 0.1
    oracle = stats.wilcoxon([1, 1, 1, 1, 1, 1]).pvalue
    assert wilcoxon(np.c_[first, second]).p_value("method 1", "method 2") == pytest.approx(oracle)


def test_two_methods_and_two_datasets_suffice() -> None:
    scores = [[1, 2], [3, 4]]
    assert holm(scores).control == "method 2"
    assert nemenyi(scores).groups == (("method 2", "method 1"),)
    assert wilcoxon(scores).p_value("method 1", "method 2") == 0.5


def test_scores_are_accepted_in_several_forms() -> None:
    values = [[0.9, 0.8], [0.7, 0.75]]
    table = ScoreTable(values, ["iris", "wine"], ["a", "b"])
    frame = pd.DataFrame(values, index=["iris", "wine"], columns=["a", "b"])
    nested = {"iris": {"a": 0.9, "b": 0.8}, "wine": {"b": 0.75, "a": 0.7}}
    tidy = {
        "dataset": ["iris", "iris", "wine", "wine", "iris", "iris", "wine", "wine"],
        "method": ["a", "b"] * 4,
        "score": [0.8, 0.8, 0.7, 0.7, 1.0, 0.8, 0.7, 0.8],
    }
    assert ScoreTable.of(frame) == ScoreTable.of(nested) == ScoreTable.of(table) == table
    for columns in (tidy, pd.DataFrame(tidy)):
        averaged = ScoreTable.from_tidy(columns)
        assert averaged.values == pytest.approx(table.values)
        assert (averaged.datasets, averaged.methods) == (table.datasets, table.methods)
    assert table != ScoreTable(values, ["iris", "wine"], ["a", "c"])
    assert len({table, ScoreTable.of(frame)}) == 1


def test_scores_are_compared_as_they_are_printed() -> None:
    values = [0.7005, 0.8005, 0.0005, 0.0015, 0.0025, -0.0005, 2.6755]
    table = ScoreTable([[value, round(value - 0.0005, 3)] for value in values])
    first, second = table.table().columns[1:]
    texts = list(zip(first.texts, second.texts, strict=True))
    assert first.best == tuple(float(one) >= float(other) for one, other in texts)
    ties = sum(one == other for one, other in texts)
    assert 0 < ties < len(texts)
    assert win_tie_loss(table).against("method 1", "method 2") == (len(texts) - ties, ties, 0)
    rounded = table.rounded().values
    assert [[f"{value:.3f}" for value in row] for row in rounded] == [list(pair) for pair in texts]


def test_closest_to_zero_can_be_best() -> None:
    table = ScoreTable([[-0.1, 0.5], [2.0, -1.0], [0.3, -0.3001]], zero_is_best=True)
    assert [column.best for column in table.table().columns[1:]] == [
        (True, False, True),
        (False, True, True),
    ]
    assert win_tie_loss(table).against("method 1", "method 2") == (1, 1, 1)
    assert average_ranks(table).ordered[0] == "method 1"
    assert table.select(["method 2", "method 1"]).rounded(1).zero_is_best
    assert "* closest to 0" in str(table)


def test_small_times_are_printed_with_digits_that_differ() -> None:
    table = ScoreTable([[0.000123, 0.000124], [12.3456, 1234.5]], higher_is_better=False)
    assert table.table().columns[1].texts == ("0.000123", "12.3")
    assert table.table().columns[2].texts == ("0.000124", "1234")
    assert table.table().columns[1].best == (True, True)
    assert table.table().columns[2].marked == (False, False)


def test_scores_cannot_be_changed_from_outside() -> None:
    values = np.array([[0.9, 0.8], [0.7, 0.75]])
    table = ScoreTable(values)
    values[0, 0] = 0
    assert table.values[0, 0] == 0.9
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = 0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ScoreTable([[1], [2]]), ValueError, "found 1 method; expected at least 2"),
        (lambda: ScoreTable([[1, 2]]), ValueError, "found 1 dataset; expected at least 2"),
        (lambda: ScoreTable([]), ValueError, "1 dimension"),
        (lambda: ScoreTable([1, 2]), ValueError, "expected 2-D: one row per dataset"),
        (lambda: ScoreTable([[1, 2], [3]]), ValueError, "rows differ in length"),
        (lambda: ScoreTable([["a", "b"], ["c", "d"]]), TypeError, "expected numbers"),
        (
            lambda: ScoreTable([[1, np.nan], [2, 3]], ["iris", "wine"], ["a", "b"]),
            ValueError,
            "1 cell without a finite score: b on iris is nan",
        ),
        (lambda: ScoreTable([[1, np.inf], [2, 3]]), ValueError, "method 2 on dataset 1 is inf"),
        (lambda: ScoreTable([[1, None], [2, 3]]), ValueError, "method 2 on dataset 1 is nan"),
        (lambda: ScoreTable(np.full((4, 4), np.nan)), ValueError, "and 11 more"),
        (
            lambda: ScoreTable.of({"iris": {"a": 1, "b": 2}, "wine": {"a": 1}}),
            ValueError,
            "b on wine",
        ),
        (lambda: ScoreTable.of({"iris": 3}), TypeError, "dataset 'iris' maps to 3"),
        (lambda: ScoreTable.of({}), ValueError, "found 0 methods"),
        (lambda: ScoreTable([[1, 2], [3, 4]], ["x", "x"]), ValueError, "'x' appears 2 times"),
        (
            lambda: ScoreTable([[1, 2], [3, 4]], ["x"]),
            ValueError,
            "found 1 dataset name for 2 datasets",
        ),
        (lambda: ScoreTable([[1, 2], [3, 4]], "xy"), TypeError, "expected a list of names"),
        (
            lambda: ScoreTable([[1, 2], [3, 4]], higher_is_better=1),  # type: ignore[arg-type]
            TypeError,
            "expected True or False",
        ),
        (
            lambda: win_tie_loss([[1, 2], [3, 4]], decimals=-1),
            ValueError,
            "decimals is -1; expected a whole number from 0 to 17",
        ),
        (lambda: win_tie_loss([[1, 2], [3, 4]], decimals=400), ValueError, "decimals is 400"),
        (lambda: holm([[1, 2], [3, 4]], decimals=-1), ValueError, "decimals is -1"),
        (lambda: ScoreTable.from_tidy({"dataset": []}), ValueError, "column 'method' is missing"),
        (
            lambda: ScoreTable.from_tidy({"dataset": ["x"], "method": [], "score": [1]}),
            ValueError,
            "expected equal lengths",
        ),
        (
            lambda: ScoreTable.from_tidy(
                {"dataset": list("xxyyx"), "method": list("ababa"), "score": [1, 2, 3, 4, 5]}
            ),
            ValueError,
            r"3 cells without rows: b on x \(1 of 2 rows\)",
        ),
        (lambda: holm([[1, 2], [3, 4]], "borda"), ValueError, "control 'borda' is not among"),
        (lambda: holm([[1, 2], [3, 4]], alpha=0), ValueError, "alpha is 0.0"),
        (lambda: nemenyi([[1, 2], [3, 4]], alpha=1.5), ValueError, "alpha is 1.5"),
        (lambda: wilcoxon([[1, 2], [3, 4]], alpha="x"), TypeError, "alpha is 'x'"),  # type: ignore[arg-type]
        (lambda: holm_adjusted([0.5, 2]), ValueError, "outside"),
        (lambda: holm_adjusted([[0.5]]), ValueError, "one dimension"),
        (
            lambda: win_tie_loss([[1, 2], [3, 4]]).against("method 1", "z"),
            ValueError,
            "'z' is unknown",
        ),
        (lambda: ScoreTable([[1, 2], [3, 4]]).select(["z", "a"]), ValueError, "'z' is not in"),
        (lambda: ScoreTable([[1, 2], [3, 4]]).select("z"), TypeError, "list of names"),
    ],
)
def test_bad_input(make: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("test", [average_ranks, friedman, holm, nemenyi, wilcoxon, win_tie_loss])
def test_results_have_every_format(test: Any) -> None:
    scores = ScoreTable(random_scores(3, (8, 3)).values, methods=["bucket_pivot", "a|b", "50 %"])
    result = test(scores)
    assert len(result.to_pandas()) == 3
    assert set(result.to_pandas()["method"]) == set(scores.methods)
    latex = result.to_latex()
    assert latex.startswith("\\begin{tabular}{l")
    assert latex.endswith("\\end{tabular}")
    assert "bucket\\_pivot" in latex
    assert "50 \\%" in latex
    assert "a\\|b" in result.to_markdown()
    assert len(list(csv.reader(result.to_csv().splitlines()))) == 4
    json.dumps(result.to_dict(), allow_nan=False)
    assert "bucket_pivot" in str(result)


def test_frames_keep_columns_of_equal_names() -> None:
    scores = ScoreTable(np.eye(3), methods=["dataset", "rank", "method"])
    frame = scores.to_pandas()
    assert list(frame.columns) == ["dataset", "dataset", "rank", "method"]
    assert frame.iloc[:, 0].tolist() == list(scores.datasets)
    frame = nemenyi(scores).to_pandas()
    assert sorted(frame.columns) == ["dataset", "method", "method", "rank", "rank"]
    assert frame.iloc[:, 0].tolist() == list(nemenyi(scores).methods)


def test_columns_of_polars_frames_are_the_methods() -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = pl.DataFrame({"borda": [0.9, 0.8], "mc4": [0.7, 0.75]})
    table = ScoreTable.of(frame)
    assert table.methods == ("borda", "mc4")
    assert table.datasets == ("dataset 1", "dataset 2")
    assert holm(frame).control == "borda"


def test_equal_tables_have_equal_hashes() -> None:
    tables = [ScoreTable([[zero, 1], [1, 2]]) for zero in (0.0, -0.0)]
    assert tables[0] == tables[1]
    assert hash(tables[0]) == hash(tables[1])


@pytest.mark.parametrize("value", ["0.5", b"1", True])
def test_columns_of_objects_contain_numbers_only(value: Any) -> None:
    frame = pd.DataFrame({"a": [0.1, 0.2], "b": [0.3, value]}, dtype=object)
    with pytest.raises(TypeError, match="expected numbers"):
        ScoreTable.of(frame)
    tidy = {"dataset": list("xxyy"), "method": list("abab"), "score": [1, 2, 3, None]}
    with pytest.raises(ValueError, match="b on y is nan"):
        ScoreTable.from_tidy(tidy)


def test_tables_of_many_datasets_are_made_quickly() -> None:
    started = time.perf_counter()
    assert ScoreTable(np.ones((20_000, 2))).shape == (20_000, 2)
    ScoreTable(np.ones((20_000, 2)), datasets=range(20_000))
    # Counting each name among all others took 7 seconds.
    assert time.perf_counter() - started < 2
