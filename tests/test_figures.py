"""Figures: the drawn values equal the arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from bucketrank import Borda, pair_order_matrix
from bucketrank.calibration import reliability_curve
from bucketrank.figures import (
    plot_accuracy,
    plot_beta_curves,
    plot_bucket_differences,
    plot_critical_difference,
    plot_pair_order,
    plot_reliability,
    plot_training_times,
)
from bucketrank.figures.style import looks
from bucketrank.statistics import (
    PairwiseTest,
    ScoreTable,
    average_ranks,
    holm,
    nemenyi,
    wilcoxon,
)

BETAS = np.arange(21) / 10
NO_MAPPING: Any = [1]
RANKINGS = np.array([[1, 2, 2, 3], [1, 2, 3, 3], [1, 2, 2, 3], [2, 1, 2, 3]])


@pytest.fixture(autouse=True)
def close_figures() -> Generator[None]:
    pyplot.switch_backend("agg")  # works without a display
    yield
    pyplot.close("all")


def scores(seed: int = 0, shape: tuple[int, int] = (12, 6), slope: float = 0.8) -> ScoreTable:
    rng = np.random.default_rng(seed)
    return ScoreTable(rng.random(shape) + np.linspace(0, slope, shape[1]))


def draw_all(ax: Any = None) -> dict[str, Any]:
    table = scores()
    times = ScoreTable(np.exp(table.values), higher_is_better=False)
    return {
        "beta": plot_beta_curves(BETAS, {"borda": -((BETAS - 0.9) ** 2)}, ax=ax),
        "accuracy": plot_accuracy([0, 0.3], {"a": [1, 0.5], "b": [0.8, 0.6]}, ax=ax),
        "buckets": plot_bucket_differences(table, list(range(12)), ax=ax),
        "critical difference": plot_critical_difference(table, ax=ax),
        "times": plot_training_times(times, ax=ax),
        "pair order": plot_pair_order(pair_order_matrix(RANKINGS), ax=ax),
    }


def values_by_label(axes: Any) -> dict[str, list[float]]:
    """The y values of each line with a legend entry, by the text of the entry."""
    named = [line for line in axes.lines if not line.get_label().startswith("_")]
    return {line.get_label(): list(np.asarray(line.get_ydata())) for line in named}


def bars(axes: Any) -> set[tuple[float, float]]:
    """The start and end of each bar of a critical difference diagram."""
    by_row: dict[tuple[float, int], list[float]] = {}
    row = 0
    previous = None
    for line in axes.lines:
        if line.get_label() != "_bar":
            previous = None
            continue
        x, y = line.get_xdata(), float(line.get_ydata()[0])
        row += previous is None or previous != (float(x[0]), y)
        by_row.setdefault((y, row), []).extend(float(value) for value in x)
        previous = (float(x[1]), y)
    return {(round(min(xs), 9), round(max(xs), 9)) for xs in by_row.values()}


def test_every_figure_draws_on_new_axes_and_on_given_ones(tmp_path: Path) -> None:
    drawn = draw_all()
    assert len({id(axes.figure) for axes in drawn.values()}) == len(drawn)
    for name, axes in drawn.items():
        assert axes.get_children(), name
        axes.figure.savefig(tmp_path / f"{name}.svg")
        assert (tmp_path / f"{name}.svg").stat().st_size > 2000
    for name in drawn:
        figure, given_axes = pyplot.subplots()
        before = pyplot.get_fignums()
        assert draw_all(given_axes)[name] is given_axes
        assert pyplot.get_fignums() == before
        pyplot.close(figure)


@pytest.mark.parametrize("k", [8, 12, 30])
def test_methods_are_distinguishable_in_greyscale(k: int) -> None:
    chosen = list(looks(map(str, range(k))).values())
    assert len({(look.marker, str(look.line)) for look in chosen}) == k
    first = [to_rgb(look.colour or "black") for look in chosen[:8]]
    assert len(set(first)) == 8


def test_aggregators_look_the_same_in_every_figure() -> None:
    few = looks(["mc4", "borda"])
    many = looks(["new", "bucket_pivot", "borda", "mc4", "newer"])
    assert few["borda"] == many["borda"]
    assert few["mc4"] == many["mc4"]
    assert len(set(many.values())) == 5


def test_beta_curves_mark_the_best() -> None:
    levels = [0, 0.3, 0.6]
    borda = np.array([-((BETAS - best) ** 2) for best in (0.9, 0.8, 0.7)])
    axes = plot_beta_curves(BETAS, {"borda": borda, "copeland": borda - 1}, missing=levels)
    assert len(axes.lines) == 6
    shown = [axes.lines[i] for i in range(3)]
    for line, best in zip(shown, (0.9, 0.8, 0.7), strict=True):
        (place,) = line.get_markevery()  # type: ignore[misc, unused-ignore]
        assert np.asarray(line.get_xdata())[place] == pytest.approx(best)
    strengths = [line.get_alpha() for line in shown]
    assert strengths == sorted(strengths, key=lambda s: -(s or 0))
    texts = [text.get_text() for text in axes.get_legend().get_texts()]  # type: ignore[union-attr]
    assert texts[0] == "borda, best β 0.9 at 0 % missing"


def test_accuracy_lists_the_best_first() -> None:
    axes = plot_accuracy([0, 0.3, 0.6], {"low": [0.5, 0.4, 0.3], "high": [0.6, 0.5, 0.4]})
    texts = [text.get_text() for text in axes.get_legend().get_texts()]  # type: ignore[union-attr]
    assert texts == ["high", "low"]
    assert np.asarray(axes.lines[0].get_ydata()).tolist() == [0.6, 0.5, 0.4]
    assert axes.get_xticks().tolist() == [0, 30, 60]


def test_bucket_differences_are_ordered_by_mean_buckets() -> None:
    table = ScoreTable([[1, 2], [3, 4], [5, 6]], ["x", "y", "z"], ["a", "b"])
    axes = plot_bucket_differences(table, {"z": 2.0, "x": 7.25, "y": 3.0})
    assert [text.get_text() for text in axes.get_xticklabels()] == ["z (2.0)", "y (3.0)", "x (7.2)"]
    drawn = values_by_label(axes)
    assert drawn["a"] == [5, 3, 1]


def test_training_times_have_a_logarithmic_scale_and_a_reference() -> None:
    times = ScoreTable([[2.0, 4.0], [0.1, 0.2]], ["slow", "quick"], ["a", "b"])
    axes = plot_training_times(times, reference={"slow": 9, "quick": 5}, reference_name="paper")
    assert axes.get_yscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["quick", "slow"]
    drawn = values_by_label(axes)
    assert drawn == {"paper": [5, 9], "a": [0.1, 2], "b": [0.2, 4]}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.floats(0, 2))
def test_bars_are_the_maximal_groups(seed: int, k: int, slope: float) -> None:
    test = nemenyi(scores(seed, (10, k), slope))
    axes = plot_critical_difference(test)
    ranks, difference = test.ranks, test.critical_difference
    assert difference is not None
    # Expected bars: from each rank to the last rank within the critical difference, unless inside the previous bar.
    places = sorted(ranks.ranks.tolist())
    expected, reached = set(), -1.0
    for start in places:
        end = max(place for place in places if place - start < difference)
        if end > reached and sum(start <= place <= end for place in places) > 1:
            expected.add((round(start, 9), round(end, 9)))
        reached = max(reached, end)
    assert bars(axes) == expected
    pyplot.close("all")


def test_bars_of_pairwise_tests_do_not_cover_methods_that_differ() -> None:
    p_values = np.array([[1, 0.01, 0.5], [0.01, 1, 0.01], [0.5, 0.01, 1.0]])
    ranks = average_ranks([[3, 2, 1]] * 4)
    test = PairwiseTest("any", ranks.ordered, p_values, ranks, 0.05)
    axes = plot_critical_difference(test)
    (bar,) = [line for line in axes.lines if line.get_label() == "_bar"]
    assert bar.get_linestyle() == ":"
    dots = next(line for line in axes.lines if line.get_marker() == "o")
    assert np.asarray(dots.get_xdata()).tolist() == [1, 3]


def test_the_diagram_of_holm_has_one_bar_and_names_the_control() -> None:
    table = scores(1, (17, 6), 1.0)
    test = holm(table)
    assert test.not_different
    axes = plot_critical_difference(test)
    covered = [test.control, *test.not_different]
    ranks = [test.friedman.ranks[name] for name in covered]
    assert bars(axes) == {(round(min(ranks), 9), round(max(ranks), 9))}
    texts = [text.get_text() for text in axes.texts]
    assert f"{test.control} ({min(ranks):.2f}), control" in texts
    alone = holm(ScoreTable(np.linspace(0, 1, 3) + np.zeros((30, 1))))
    assert bars(plot_critical_difference(alone)) == set()
    assert any("all differ" in text.get_text() for text in pyplot.gca().texts)


def test_every_method_is_named_once() -> None:
    for result in (nemenyi(scores()), wilcoxon(scores()), holm(scores())):
        axes = plot_critical_difference(result)
        named = [text.get_text() for text in axes.texts if text.get_label() == "_method"]
        assert sorted(text.partition(" (")[0] for text in named) == sorted(scores().methods)


def test_pair_order_follows_the_consensus() -> None:
    C = pair_order_matrix(RANKINGS)
    axes = plot_pair_order(C, Borda(beta=0.2), labels=list("dcba"))
    positions = Borda(beta=0.2).aggregate_pair_order(C)
    order = np.argsort(positions, kind="stable")
    assert [text.get_text() for text in axes.get_yticklabels()] == ["dcba"[i] for i in order]
    image: NDArray[np.float64] = np.asarray(axes.images[0].get_array())
    assert np.array_equal(image, C[np.ix_(order, order)])
    assert len(axes.patches) == positions.max()
    given_order = plot_pair_order(C, [2, 1, 1, 1])
    assert given_order.get_title() == "1 ~ 2 ~ 3 > 0"


@pytest.mark.parametrize(
    ("draw", "error", "message"),
    [
        (lambda: plot_beta_curves(BETAS, {}), ValueError, "found 0 curves"),
        (lambda: plot_beta_curves(BETAS, NO_MAPPING), TypeError, "expected a mapping"),
        (
            lambda: plot_beta_curves(BETAS, {"a": [1, 2]}),
            ValueError,
            r"'a' has shape \(1, 2\); expected \(1, 21\)",
        ),
        (lambda: plot_beta_curves([0.2, 0.1], {"a": [1, 2]}), ValueError, "increasing"),
        (lambda: plot_accuracy([], {"a": []}), ValueError, "not empty"),
        (lambda: plot_accuracy([0, 1], {"a": [1, np.nan]}), ValueError, "point 1: nan"),
        (
            lambda: plot_bucket_differences([[1, 2], [3, 4]], [1]),
            ValueError,
            "each of 2 datasets",
        ),
        (
            lambda: plot_bucket_differences([[1, 2], [3, 4]], {"dataset 1": 2}),
            ValueError,
            "has no value for dataset 2; expected",
        ),
        (
            lambda: plot_training_times([[1, 2], [3, 0]]),
            ValueError,
            "method 2 on dataset 2 takes 0.0 seconds",
        ),
        (lambda: plot_critical_difference([[1, 2]]), ValueError, "found 1 dataset;"),
        (lambda: plot_pair_order([[0.5, 0.7], [0.7, 0.5]]), ValueError, "expected 1"),
        (
            lambda: plot_pair_order([[0.5, 0.7], [0.3, 0.5]], [1, 2, 3]),
            ValueError,
            "each of 2 labels",
        ),
        (lambda: plot_pair_order([[0.5, 0.7], [0.3, 0.5]], "mc1"), ValueError, "needs rankings"),
        (
            lambda: plot_pair_order([[0.5, 0.7], [0.3, 0.5]], [1, np.nan]),
            ValueError,
            "expected a finite number per label",
        ),
        (
            lambda: plot_accuracy([0], {"a": [1]}, ax=NO_MAPPING),
            TypeError,
            "expected matplotlib axes",
        ),
    ],
)
def test_bad_input(draw: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        draw()


def test_without_matplotlib_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot")
    with pytest.raises(ImportError, match=r"plot_accuracy needs matplotlib.*bucketrank\[plot\]"):
        plot_accuracy([0, 0.3], {"a": [1, 0.5]})


def test_series_are_read_by_the_names_of_the_datasets() -> None:
    scores = pd.DataFrame({"borda": [0.3, 0.1], "mc4": [1.2, 0.8]}, index=["iris", "wine"])
    buckets = pd.Series({"wine": 2.9, "iris": 2.4})
    axes = plot_bucket_differences(scores, buckets)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["iris (2.4)", "wine (2.9)"]
    axes = plot_bucket_differences(scores, pd.Series([2.4, 2.9]))
    assert [text.get_text() for text in axes.get_xticklabels()] == ["iris (2.4)", "wine (2.9)"]
    axes = plot_training_times(scores, reference=buckets)
    assert np.asarray(axes.get_lines()[0].get_ydata()).tolist() == [2.9, 2.4], "wine is the fastest"


def test_a_consensus_has_the_labels_of_the_matrix() -> None:
    C = pair_order_matrix(pd.DataFrame([[1, 2, 3], [1, 3, 2]], columns=list("abc")))
    consensus = Borda(beta=0.2).aggregate_pair_order(C)
    assert plot_pair_order(C, consensus).get_title() == "a > b ~ c"
    with pytest.raises(ValueError, match="expected the same labels in the same order"):
        plot_pair_order(C, consensus[::-1])


def test_legends_have_names_that_begin_with_an_underscore() -> None:
    scores = ScoreTable([[0.3, 0.5], [0.1, 0.2]], methods=["_own", "mc4"])
    curves = {"_own": [0.1, 0.2], "_second": [0.1, 0.2], "mc4": [0.3, 0.3]}
    curve = reliability_curve([[1, 2]], [[[0.5, 0.3, 0.2]]])
    legends = [
        plot_bucket_differences(scores, [2, 3]),
        plot_training_times(scores, reference=[1, 2], reference_name="_own"),
        plot_accuracy([0, 0.5], curves),
        plot_beta_curves([0, 1], curves),
        plot_reliability({"_own": curve}),
    ]
    for axes in legends:
        axes.figure.canvas.draw()
        texts = axes.get_legend().get_texts()  # type: ignore[union-attr]
        assert any(text.get_text().startswith(r"$\_$own") for text in texts)
