"""Counts of pairs: addition, files, and aggregation from them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketrank import (
    METHODS,
    Davidson,
    PairCounts,
    PartialLabelRankingTree,
    from_comparisons,
    from_text,
    get_aggregator,
    load_model,
    save_model,
)
from strategies import integer_weights, profiles


def random_comparisons(rows: int, labels: int, seed: int, **options: Any) -> Any:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, labels, rows)
    second = (first + rng.integers(1, labels, rows)) % labels
    names = np.array([f"m{i:02d}" for i in range(labels)])
    return from_comparisons(
        names[first], names[second], rng.choice(["a", "b", "tie"], rows), **options
    )


def as_table(comparisons: Any) -> np.ndarray:
    """The comparisons as rankings of two labels each."""
    Y = np.full((len(comparisons), len(comparisons.labels)), np.nan)
    rows = np.arange(len(Y))
    Y[rows, comparisons.first] = np.where(comparisons.outcome == 2, 2, 1)
    Y[rows, comparisons.second] = np.where(comparisons.outcome == 0, 2, 1)
    return Y


def test_comparisons_count_like_rankings_of_two_labels() -> None:
    games = random_comparisons(500, 7, 0)
    counts = PairCounts.of(games)
    assert counts == PairCounts.of(as_table(games), labels=games.labels)
    assert repr(counts) == "PairCounts(7 labels, 500 comparisons)"
    assert counts.before.sum() + counts.tied.sum() / 2 == 500
    frame = counts.to_pandas()
    assert frame[["before", "tied", "after"]].to_numpy().sum() == 500
    assert frame.columns.tolist() == ["first", "second", "before", "tied", "after"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_works_from_comparisons_and_counts(method: str) -> None:
    games = random_comparisons(300, 6, 1, weight=np.arange(300) % 4)
    expected = get_aggregator(method).aggregate(as_table(games), np.arange(300.0) % 4)
    np.testing.assert_array_equal(get_aggregator(method).aggregate(games), expected)
    counts = PairCounts.of(games)
    np.testing.assert_array_equal(get_aggregator(method).aggregate_counts(counts), expected)
    explanation = get_aggregator(method).explain(games)
    assert explanation.labels == games.labels
    np.testing.assert_array_equal(explanation.positions, expected)


@given(st.data(), profiles(max_labels=5), st.sampled_from(METHODS))
def test_counts_of_rankings_give_the_consensus_of_the_rankings(
    data: st.DataObject, rows: list[list[float]], method: str
) -> None:
    weights = data.draw(integer_weights(len(rows)))
    counts = PairCounts.of(rows, weights)
    if method in ("mc2", "reciprocal_rank_fusion") and counts.largest_ranking > 2:
        with pytest.raises(ValueError, match="needs whole rankings"):
            get_aggregator(method).aggregate_counts(counts)
        return
    found = get_aggregator(method).aggregate_counts(counts)
    np.testing.assert_array_equal(found, get_aggregator(method).aggregate(rows, weights))


def test_parts_add_up_to_the_whole() -> None:
    frame = random_comparisons(1000, 9, 2).to_pandas()
    whole = PairCounts.of(from_comparisons("first", "second", "outcome", data=frame))
    batches = [frame[start : start + 7] for start in range(0, len(frame), 7)]
    parts = [
        PairCounts.of(from_comparisons("first", "second", "outcome", data=batch))
        for batch in batches
    ]
    assert sum(parts) == whole
    updated = parts[0]
    for batch in batches[1:]:
        assert updated.update(from_comparisons("first", "second", "outcome", data=batch)) is updated
    assert updated == whole
    here, labels = from_text(["z > a", "a ~ z"])
    there, others = from_text(["b > z"])
    merged = PairCounts.of(here, labels=labels) + PairCounts.of(there, labels=others)
    assert merged.labels == ["z", "a", "b"]
    assert merged.before.tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]
    assert merged.ranked.tolist() == [3, 2, 1]
    with pytest.raises(TypeError):
        merged + 1


def test_files_and_pickles(tmp_path: Path) -> None:
    counts = PairCounts.of([[1, 2, 2], [2, 1, np.nan]], labels=["a", "b", "ü"])
    path = tmp_path / "counts.bin"
    counts.save(path)
    assert PairCounts.load(path) == counts
    assert pickle.loads(pickle.dumps(counts)) == counts
    assert PairCounts.load(path).largest_ranking == 3
    data = bytearray(path.read_bytes())
    for place in range(0, len(data), 7):
        damaged = data.copy()
        damaged[place] ^= 0x21
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="pair counts"):
            PairCounts.load(path)
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"counts\.bin: .* holds another object, such as counts"):
        load_model(path)
    save_model(PartialLabelRankingTree().fit([[0], [1]], [[1, 2], [2, 1]]), tmp_path / "model.bin")
    with pytest.raises(ValueError, match=r"model\.bin: .* holds another object, such as a model"):
        PairCounts.load(tmp_path / "model.bin")
    with pytest.raises(TypeError, match="expected texts or whole numbers"):
        PairCounts.of([[1, 2]], labels=[1.5, 2.5]).save(path)


@pytest.mark.parametrize("labels", [[10, 20], ["x", "y"]])
def test_labels_of_arrays_are_saved(tmp_path: Path, labels: list[Any]) -> None:
    names: Any = np.array(labels)
    counts = PairCounts.of([[1, 2], [2, 1]], labels=names)
    counts.save(tmp_path / "counts.bin")
    assert PairCounts.load(tmp_path / "counts.bin") == counts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], np.zeros((0, 3)), [0]), r"found 1 label"),
        ((["a", "b"], np.zeros((2, 3)), [0, 0]), r"expected \(1, 3\)"),
        ((["a", "b"], [[1, -1, 0]], [0, 0]), r"table, entry \[0, 1\]: -1"),
        ((["a", "b"], [[1, np.nan, 0]], [0, 0]), r"table, entry \[0, 1\]: nan"),
        ((["a", "b"], [[1, 0, 0]], [0, np.inf]), r"ranked, entry \[1\]: inf"),
        ((["a", "b"], [[1e308, 1e308, 0.0]], [1.0, 1.0]), "table adds up to infinity"),
        ((["a", "b"], [[1.0, 0.0, 0.0]], [1e308, 1e308]), "ranked adds up to infinity"),
    ],
)
def test_bad_counts(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PairCounts(*arguments)


@pytest.mark.parametrize("unit", [1.0, 1e200, 1e300, 1e-200, 5e-324])
def test_batches_of_extreme_weights_add_up_to_one_pass(unit: float) -> None:
    weights = np.array([3, 1, 2, 5]) * unit
    batches = [[0], [1, 2], [3]]
    Y = np.array([[1, 2, 3], [2, 1, 2], [3, 1, 2], [1, 1, np.nan]])
    whole = PairCounts.of(Y, weights)
    assert sum(PairCounts.of(Y[rows], weights[rows]) for rows in batches) == whole
    np.testing.assert_array_equal(whole.table, PairCounts.of(Y, weights / unit).table * unit)
    mixed = PairCounts.of(Y, [unit, 1, 1, 1])
    assert PairCounts.of(Y[:1], [unit]) + PairCounts.of(Y[1:]) == mixed
    names = (["a", "b", "a"], ["b", "c", "c"], ["first", "tie", "second"])
    games = from_comparisons(*names, weight=weights[:3])
    assert PairCounts.of(games).table.tolist() == [[3 * unit, 0, 0], [0, 0, 2 * unit], [0, unit, 0]]


def test_counts_that_add_up_to_infinity_are_refused() -> None:
    with pytest.raises(ValueError, match=r"row 1: weight 1e\+308; the counts of all pairs add up"):
        PairCounts.of([[1, 2, 3], [3, 2, 1]], [1e300, 1e308])
    assert repr(PairCounts.of([[1, 2]], [1e300])) == "PairCounts(2 labels, 1e+300 comparisons)"


def test_counts_and_comparisons_carry_their_weights() -> None:
    games = random_comparisons(10, 3, 0)
    with pytest.raises(TypeError, match="carry their own weights"):
        PairCounts.of(games, np.ones(10))
    with pytest.raises(TypeError, match="expected PairCounts"):
        Davidson().aggregate_counts(games)


def test_too_many_labels_are_refused() -> None:
    names = np.arange(1_000_001)
    games = from_comparisons(names[:-1], names[1:], np.ones(1_000_000))
    for call in (PairCounts.of, Davidson().explain, get_aggregator("borda").aggregate):
        with pytest.raises(ValueError, match="found 1000001 labels; expected at most"):
            call(games)


def test_frames_of_rankings_name_the_labels() -> None:
    frame = pd.DataFrame({"tea": [1, 2], "juice": [2, 1]})
    assert PairCounts.of(frame).labels == ["tea", "juice"]


@pytest.mark.parametrize(
    ("table", "ranked", "largest", "error"),
    [
        (np.ma.array([[1, 5, 0]], mask=[[False, True, False]]), [1, 1], 2, ValueError),
        ([["1", "0", "0"]], [1, 1], 2, TypeError),
        ([[1, 0, 0]], ["1", "1"], 2, TypeError),
        ([[1, 0, 0]], [1, 1], -3, ValueError),
        ([[1, 0, 0]], [1, 1], 2.7, TypeError),
    ],
)
def test_counts_that_are_not_numbers_are_refused(
    table: Any, ranked: Any, largest: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match="expected"):
        PairCounts(["a", "b"], table, ranked, largest)
