"""Leaderboards: definitions recomputed in NumPy, laws, output, bad input, Dask."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bucketrank import (
    Borda,
    Davidson,
    Leaderboard,
    PairCounts,
    datasets,
    from_comparisons,
    from_scores,
    leaderboard,
)
from bucketrank.__main__ import main

COLUMNS = [
    *("tier", "label", "score", "score_low", "score_high", "rank", "rank_low", "rank_high"),
    *("wins", "ties", "losses", "comparisons"),
]


@pytest.fixture(scope="module")
def battles() -> datasets.Battles:
    return datasets.make_battles(6000, n_labels=12, n_tiers=4, random_state=3)


@pytest.fixture(scope="module")
def board(battles: datasets.Battles) -> Leaderboard:
    return leaderboard(battles.comparisons, n_resamples=200)


@pytest.mark.parametrize("simultaneous", [True, False])
@pytest.mark.parametrize(
    "method", ["davidson", "borda", "copeland", "mc2", "mc4", "maximal_lottery"]
)
def test_definitions_hold(battles: datasets.Battles, method: str, simultaneous: bool) -> None:
    board = leaderboard(battles.comparisons, method, n_resamples=60, simultaneous=simultaneous)
    scores, resampled, n = board.scores, board.resampled, len(board.labels)
    d = scores[:, None] - scores
    db = resampled[:, :, None] - resampled[:, None, :]
    se = db.std(axis=0, ddof=1)
    varies = se > 1e-7
    largest = np.where(varies, abs(db - d) / np.where(varies, se, 1), 0).max(axis=(1, 2))
    c = np.quantile(largest, 0.95) if simultaneous else 1.959963984540054
    assert board.critical_value == pytest.approx(c, rel=1e-9)
    ahead = np.where(varies, d > c * se, d > 1e-7)
    np.testing.assert_array_equal(board.ahead, ahead)
    np.testing.assert_array_equal(board.rank_low, 1 + ahead.sum(axis=0))
    np.testing.assert_array_equal(board.rank_high, n - ahead.sum(axis=1))
    np.testing.assert_allclose(
        [board.score_low, board.score_high], np.quantile(resampled, [0.025, 0.975], axis=0)
    )
    tiers: dict[int, int] = {}
    order, first_of_tier = board.order(), -1
    for label in order.tolist():
        if first_of_tier < 0 or ahead[first_of_tier, label]:
            first_of_tier = label
            tiers[label] = max(tiers.values(), default=0) + 1
        else:
            tiers[label] = max(tiers.values())
    assert [tiers[label] for label in range(n)] == board.tiers().tolist()
    probability = (db > 1e-7).mean(axis=0) + (abs(db) <= 1e-7).mean(axis=0) / 2
    np.testing.assert_allclose(board.probability_ahead, probability, atol=1e-12)


def test_known_tiers_are_found(battles: datasets.Battles, board: Leaderboard) -> None:
    np.testing.assert_array_equal(board.tiers(), battles.tiers)
    assert not board.crosses_tier.any()
    errors = Davidson().explain(battles.comparisons).details["utility_errors"]
    np.testing.assert_allclose(board.resampled.std(axis=0), errors, rtol=0.25)


@pytest.mark.parametrize("method", ["davidson", "borda"])
def test_seeds_share_no_resamples(battles: datasets.Battles, method: str) -> None:
    boards = [
        leaderboard(battles.comparisons, method, n_resamples=100, random_state=seed, n_jobs=n_jobs)
        for seed, n_jobs in ((7, 1), (8, 2), (9, 1))
    ]
    rows = np.concatenate([board.resampled for board in boards])
    assert len(np.unique(rows, axis=0)) == 300


def test_a_confidence_next_to_1_has_a_critical_value(battles: datasets.Battles) -> None:
    board = leaderboard(
        battles.comparisons, n_resamples=20, confidence=1 - 2.0**-53, simultaneous=False
    )
    assert board.critical_value == pytest.approx(8.2924, abs=1e-4)
    assert str(board)


def test_the_result_does_not_depend_on_threads_row_order_or_counting(
    battles: datasets.Battles, board: Leaderboard
) -> None:
    frame = battles.comparisons.to_pandas().sample(frac=1, random_state=0)
    shuffled = from_comparisons("first", "second", "outcome", data=frame)
    counts = PairCounts.of(battles.comparisons)
    for data, n_jobs in ((battles.comparisons, 2), (shuffled, 1), (counts, -1)):
        other = leaderboard(data, n_resamples=200, n_jobs=n_jobs)
        np.testing.assert_array_equal(other.resampled, board.resampled)
        np.testing.assert_array_equal(other.ahead, board.ahead)
    outcome_counts = counts.to_pandas().melt(["first", "second"], ["before", "tied", "after"])
    outcome_counts = outcome_counts[outcome_counts["value"] > 0]
    weighted = from_comparisons(
        "first",
        "second",
        "variable",
        data=outcome_counts,
        weight="value",
        outcomes={"before": "first", "tied": "tie", "after": "second"},
    )
    again = leaderboard(weighted, n_resamples=200)
    np.testing.assert_array_equal(again.resampled, board.resampled)


def test_groups_are_drawn_as_a_whole() -> None:
    data = datasets.make_battles(
        4000, n_labels=5, n_tiers=1, n_groups=25, group_spread=1.0, random_state=0
    ).comparisons
    by_group = leaderboard(data, n_resamples=150)
    by_row = leaderboard(data, n_resamples=150, unit="row")
    assert (by_group.settings["unit"], by_row.settings["unit"]) == ("group", "row")
    wider = by_group.resampled.std(axis=0) / by_row.resampled.std(axis=0)
    assert wider.min() > 1.5
    errors = Davidson().explain(data).details["utility_errors"]
    np.testing.assert_allclose(by_group.resampled.std(axis=0), errors, rtol=0.5)
    np.testing.assert_array_equal(
        leaderboard(data, n_resamples=20, n_jobs=2).resampled, by_group.resampled[:20]
    )


def test_effects_and_scale() -> None:
    truth = datasets.make_battles(
        3000, n_labels=5, order_effect=1.0, covariate_effects=[0.8], random_state=2
    )
    model = Davidson(order_effect=True, scale="elo", anchor=("m0", 1500))
    board = leaderboard(truth.comparisons, model, n_resamples=50)
    assert board.scores[0] == 1500
    np.testing.assert_array_equal(board.resampled[:, 0], 1500)
    details = Davidson(order_effect=True).explain(truth.comparisons).details
    assert details["order_effect"] == pytest.approx(1.0, abs=0.15)
    assert details["covariate_effects"][0] == pytest.approx(0.8, abs=0.1)
    assert board.tiers().tolist() == [1, 2, 3, 4, 5]


def test_rankings_are_drawn_as_a_whole() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal([1.0, 0.9, 0.0, -1.0], 1.0, (80, 4))
    frame = pd.DataFrame(scores.T, index=list("abcd"))
    rankings = from_scores(frame, tie_within=0.1)
    for method in ("davidson", "borda", "mc1", "mc2"):
        board = leaderboard(rankings, method, n_resamples=100)
        assert board.labels == list("abcd")
        assert board.tier[3] == board.tier.max() > 1
    named = pd.DataFrame(rankings.positions, columns=list("abcd"))
    np.testing.assert_array_equal(
        leaderboard(named, "mc2", n_resamples=100, n_jobs=2).resampled, board.resampled
    )
    with pytest.raises(ValueError, match="pairs depend on each other"):
        leaderboard(PairCounts.of(named))


def test_separate_components_are_not_ordered() -> None:
    data = from_comparisons(
        ["a", "b", "x", "y", "a"] * 30,
        ["b", "c", "y", "x", "c"] * 30,
        ["a", "a", "tie", "a", "a"] * 30,
    )
    board = leaderboard(data, n_resamples=50)
    assert board.components.tolist() == [0, 0, 0, 1, 1]
    assert not board.ahead[:3, 3:].any()
    assert not board.ahead[3:, :3].any()
    assert np.isnan(board.probability_ahead[0, 3])
    np.testing.assert_array_equal(board.tiers()[3:], [np.nan, np.nan])
    assert board.rank_high.max() == 3
    assert "not comparable" in str(board)
    assert board.to_pandas()["component"].tolist() == [0, 0, 0, 1, 1]
    alone = leaderboard([[1, 2, np.nan]] * 5 + [[2, 1, np.nan]], n_resamples=20)
    assert np.isnan(alone.scores[2])
    assert alone.to_pandas()["tier"].isna().tolist() == [False, False, True]
    assert "Never compared, so not ranked: 2." in str(alone)
    with pytest.raises(ValueError, match="component is 7; expected"):
        board.tiers(7)


def test_labels_that_nothing_distinguishes_are_tied() -> None:
    tied = from_comparisons(["a", "b", "c"] * 20, ["b", "c", "a"] * 20, ["tie"] * 60)
    for method in ("davidson", "borda", "mc4"):
        board = leaderboard(tied, method, n_resamples=50)
        assert board.tiers().tolist() == [1, 1, 1]
        assert not board.ahead.any()


def test_a_label_that_always_wins_has_a_wide_interval() -> None:
    games = from_comparisons(
        ["best"] * 40 + ["a", "b"] * 20, ["a", "b"] * 20 + ["b", "a"] * 20, ["first"] * 80
    )
    board = leaderboard(games, n_resamples=200)
    width = dict(zip(board.labels, board.score_high - board.score_low, strict=True))
    assert np.isfinite(board.scores).all()
    assert width["best"] > 1.5 * width["a"]
    assert board.tiers().tolist() == [2, 2, 1]


def test_output_formats(board: Leaderboard, tmp_path: Path) -> None:
    text = str(board)
    assert max(map(len, text.splitlines())) <= 80
    assert text.splitlines()[1].split() == [
        *("tier", "label", "score", "interval", "rank", "wins", "ties", "losses", "n")
    ]
    frame = board.to_pandas()
    assert frame.columns.tolist() == COLUMNS
    assert (frame["wins"] + frame["ties"] + frame["losses"] == frame["comparisons"]).all()
    assert frame["comparisons"].sum() == 12_000
    assert repr(board) == "Leaderboard(12 labels, 6,000 comparisons, 4 tiers)"
    assert json.loads(json.dumps(board.to_dict()))["labels"][0]["tier"] == 1
    with pytest.raises(ValueError, match="read-only"):
        board.scores[0] = 1
    page = board.report(tmp_path / "board.html")
    assert (tmp_path / "board.html").read_text(encoding="utf-8") == page
    assert page.count("<svg") == 2
    assert "http://" not in page.replace("http://www.w3.org", "").replace(
        "http://purl.org", ""
    ).replace("http://creativecommons.org", "")
    with pytest.raises(ValueError, match="kind is 'bars'"):
        board.plot("bars")


def test_names_are_escaped() -> None:
    names = ["<script>alert(1)</script>", "a & b", "$x$", "\x1b[2J" + "long" * 20]
    first = [names[i % 4] for i in range(60)]
    second = [names[(i + 1) % 4] for i in range(60)]
    board = leaderboard(from_comparisons(first, second, ["a", "b", "tie"] * 20), n_resamples=20)
    page = board.report()
    assert "<script>alert" not in page
    assert "\x1b" not in str(board)
    assert max(map(len, str(board).splitlines())) <= 80
    board.plot()
    board.plot("pairs")


G = from_comparisons(["a", "b", "a"], ["b", "c", "c"], ["tie", "first", "first"])


@pytest.mark.parametrize(
    ("data", "options", "error", "message"),
    [
        (G, {"n_resamples": 0}, ValueError, "n_resamples is 0; expected a whole number from 2"),
        (G, {"n_resamples": 1.5}, TypeError, "n_resamples is 1.5; expected a whole number"),
        (G, {"confidence": 0}, ValueError, "confidence is 0; expected a number above 0"),
        (G, {"confidence": 1}, ValueError, "confidence is 1; expected a number above 0"),
        (G, {"confidence": float("nan")}, ValueError, "confidence is nan"),
        (G, {"unit": "voter"}, ValueError, "unit is 'voter'; expected 'row', 'group' or None"),
        (G, {"unit": "group"}, ValueError, "the data has no groups"),
        (G, {"method": "tau_x"}, ValueError, "no scores to rank labels by"),
        (G, {"method": "bucket_pivot"}, ValueError, "no scores to rank labels by"),
        (G, {"method": "schulze"}, ValueError, "no scores to rank labels by; expected Davidson"),
        (G, {"method": Davidson(anchor=("z", 0))}, ValueError, "expected one of the labels"),
        (G, {"random_state": -1}, ValueError, "random_state is -1"),
        ([[1], [1]], {}, ValueError, r"found 1 label"),
        (
            [[1, np.nan], [np.nan, 1]],
            {},
            ValueError,
            "rankings or groups to resample is 0; expected",
        ),
        ([[1, 2]], {}, ValueError, "comparisons, rankings or groups to resample is 1; expected"),
        (PairCounts(["a", "b"], [[0.5, 0, 3]], [3.5, 3.5]), {}, ValueError, "has a count of 0.5"),
        (PairCounts(["a", "b"], [[0, 0, 0]], [0, 0]), {}, ValueError, "to resample is 0; expected"),
        ("battles", {}, TypeError, "data is 'battles'"),
    ],
)
def test_bad_input(
    data: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        leaderboard(data, **options)


def test_too_many_labels_are_refused() -> None:
    names = np.arange(1_000_001)
    games = from_comparisons(names[:-1], names[1:], np.ones(1_000_000))
    with pytest.raises(ValueError, match="found 1000001 labels; expected at most 2048"):
        leaderboard(games)
    with pytest.raises(ValueError, match="found 600 labels; expected at most 512"):
        leaderboard(np.tile(np.arange(1, 601), (3, 1)))


def test_time_does_not_grow_with_the_comparisons() -> None:
    small = PairCounts.of(datasets.make_battles(2000, n_labels=10).comparisons)
    large = PairCounts(small.labels, 1000 * small.table, 1000 * small.ranked)
    times = []
    for counts in (small, large):
        start = time.perf_counter()
        leaderboard(counts, Borda(), n_resamples=300)
        times.append(time.perf_counter() - start)
    assert times[1] < 5 * times[0] + 0.5


def test_command(battles: datasets.Battles, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "battles.csv"
    frame = battles.comparisons.to_pandas()
    frame.columns = ["model_a", "model_b", "winner"]
    frame["winner"] = frame["winner"].map({"first": "model_a", "second": "model_b", "tie": "tie"})
    frame["prompt"] = np.arange(len(frame)) // 3
    frame.to_csv(path, index=False)
    arguments = ["leaderboard", str(path), "--resamples", "50"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("tier  label")
    for form, start in (
        ("csv", "tier,label"),
        ("json", "{"),
        ("markdown", "| tier"),
        ("latex", "\\begin"),
    ):
        assert main([*arguments, "--format", form]) == 0
        assert capsys.readouterr().out.startswith(start)
    page = tmp_path / "board.html"
    assert main([*arguments, "--group", "prompt", "--elo", "--out", str(page)]) == 0
    assert "12 labels" in capsys.readouterr().out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    page = tmp_path / "BOARD.HTML"
    assert main([*arguments, "--out", str(page)]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert main([*arguments, "--first", "home"]) == 2
    assert "data has no column 'home'" in capsys.readouterr().err
    assert main([*arguments, "--method", "borda", "--elo"]) == 2
    assert main(["leaderboard", str(tmp_path / "none.csv")]) == 2
    frame.loc[7, "winner"] = "other"
    frame.to_csv(path, index=False)
    assert main(arguments) == 2
    assert "line 9, column 3 (winner): outcome 'other'" in capsys.readouterr().err


def test_battles_of_json_files(tmp_path: Path) -> None:
    records = [{"model_a": "a", "model_b": "b", "winner": "tie (bothbad)"}] * 2
    (tmp_path / "b.json").write_text(json.dumps(records), encoding="utf-8")
    lines = "\n".join(map(json.dumps, records))
    (tmp_path / "b.jsonl").write_text(lines, encoding="utf-8")
    for name in ("b.json", "b.jsonl"):
        assert len(datasets.read_battles(tmp_path / name)) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_labels": 1}, "n_labels is 1"),
        ({"n_tiers": 99}, "n_tiers is 99; expected at most"),
        ({"ties": 1}, "ties is 1.0"),
        ({"spread": np.inf}, "spread is inf"),
        ({"covariate_effects": [0.5, np.nan]}, "covariate_effects is .*; expected finite numbers"),
        ({"n_comparisons": 2}, "labels are compared; expected more"),
    ],
)
def test_bad_battles(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        datasets.make_battles(**options)


@pytest.mark.slow
def test_counts_of_dask_partitions_give_the_same_leaderboard(
    battles: datasets.Battles, board: Leaderboard, tmp_path: Path
) -> None:
    import dask.dataframe as dd
    from dask.delayed import delayed
    from dask.distributed import Client, LocalCluster

    frame = battles.comparisons.to_pandas()
    for part, start in enumerate(range(0, len(frame), 1300)):
        frame[start : start + 1300].to_csv(tmp_path / f"battles-{part}.csv", index=False)

    def count(part: pd.DataFrame) -> PairCounts:
        return PairCounts.of(from_comparisons("first", "second", "outcome", data=part))

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,  # type: ignore[no-untyped-call]
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        # The worker processes read the files and count their partitions.
        comparisons = dd.read_csv(tmp_path / "battles-*.csv")
        assert comparisons.npartitions > 1
        parts = [delayed(count)(part) for part in comparisons.to_delayed()]
        counts = delayed(sum)(parts).compute()
        assert len(client.scheduler_info()["workers"]) == 2
    assert counts == PairCounts.of(battles.comparisons)
    again = leaderboard(counts, n_resamples=200)
    np.testing.assert_array_equal(again.resampled, board.resampled)
    np.testing.assert_array_equal(again.tiers(), board.tiers())
    assert again.labels == board.labels


def test_counts_too_large_for_integers_stay_floats() -> None:
    games = from_comparisons(["a", "a"], ["b", "b"], [0, 0], weight=[1.0, 1e300])
    board = leaderboard(games, n_resamples=2, progress=False)
    assert board.to_pandas()["comparisons"].dtype == float
    assert "e+" in board.to_csv()


def test_battles_of_extreme_utilities_are_won_by_the_better_label() -> None:
    games = datasets.make_battles(50, n_labels=2, spread=1e300, ties=0.5).comparisons
    np.testing.assert_array_equal(games.outcome, np.where(games.first == 0, 0, 2))


def test_ranks_of_labels_that_were_never_compared_are_empty_in_csv() -> None:
    rankings = pd.DataFrame([[1, 2, np.nan], [2, 1, np.nan]], columns=list("abc"))
    board = leaderboard(rankings, n_resamples=10)
    *_, last = board.to_csv().splitlines()
    assert last == ",c,,,,,,,0,0,0,0,1"
    assert board.to_pandas().iloc[2].isna().sum() == 7
