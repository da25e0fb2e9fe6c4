"""Studies: results equal those of a plain loop over folds, and do not depend on threads or on other datasets."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from bucketrank import (
    METHODS,
    Borda,
    MarkovChain,
    PartialLabelRankingBaseline,
    PartialLabelRankingTree,
    _core,
    aggregate,
    drop_labels,
    tau_x,
)
from bucketrank.datasets import Dataset, make_rankings
from bucketrank.experiments import Study, compare, cross_validate
from bucketrank.experiments.plan import Job, make_plan

SECONDS = ("fit_seconds", "consensus_seconds")


def small(name: str, seed: int, rows: int = 60, labels: int = 4) -> Dataset:
    made = make_rankings(rows, 3, labels, random_state=seed)
    return Dataset(name, made.X, made.Y)


def numbers(study: Study) -> dict[str, list[Any]]:
    """All columns except the times, as lists in which NaN equals NaN."""
    return {
        name: [None if value != value else value for value in column.tolist()]
        for name, column in study.columns.items()
        if name not in SECONDS
    }


def rows_of(study: Study, dataset: str) -> dict[str, list[Any]]:
    chosen = study.columns["dataset"] == dataset
    return {
        name: np.array(column, dtype=object)[chosen].tolist()
        for name, column in numbers(study).items()
    }


class PairOrderRanker(BaseEstimator):
    """Predicts the same pair order matrix for every row: that of all training rankings."""

    def fit(self, _X: Any, Y: Any) -> PairOrderRanker:
        from bucketrank import pair_order_matrix

        self.order_ = pair_order_matrix(Y)
        return self

    def predict_pair_order(self, X: Any) -> Any:
        return np.repeat(self.order_[None], len(X), axis=0)

    def predict(self, X: Any) -> Any:
        return Borda().aggregate_pair_order(self.predict_pair_order(X))


class ConstantRanker(BaseEstimator):
    """Predicts the consensus of the training rankings."""

    def __init__(self, fails: bool = False, random_state: int | None = None) -> None:
        self.fails = fails
        self.random_state = random_state

    def fit(self, _X: Any, Y: Any) -> ConstantRanker:
        if self.fails:
            raise ZeroDivisionError("no way")
        self.consensus_ = aggregate(Y, "borda")
        return self

    def predict(self, X: Any) -> Any:
        return np.tile(self.consensus_, (len(X), 1))


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_a_plain_loop_gives_the_same_numbers(missing: float) -> None:
    data = small("a", 1)
    study = compare([data], METHODS, missing=missing, n_repeats=2, n_folds=3, baseline=False)
    plan = make_plan(
        [data],
        aggregators=METHODS,
        tree=PartialLabelRankingTree(),
        rankers=None,
        missing=missing,
        n_repeats=2,
        n_folds=3,
        seed=0,
    )
    seed = plan.dataset_seed("a")
    expected = {}
    for repeat in range(2):
        folds = _core.fold_of_rows(60, 3, seed, repeat)
        for fold in range(3):
            test = folds == fold
            drop_seed, _ = _core.split_seeds(seed, missing, repeat, fold)
            Y = drop_labels(data.Y[~test], missing, drop_seed) if missing else data.Y[~test]
            tree = PartialLabelRankingTree().fit(data.X[~test], Y)
            predictions = tree.predict_many(data.X[test], METHODS)
            for name, predicted in zip(METHODS, predictions, strict=True):
                expected[name, repeat, fold] = (
                    tau_x(data.Y[test], predicted),
                    predicted.max(axis=1).mean(),
                    data.Y[test].max(axis=1).mean(),
                    tree.get_n_leaves(),
                    tree.get_depth(),
                )
    keys = zip(*(study.columns[k].tolist() for k in ("method", "repeat", "fold")), strict=True)
    columns = ("tau_x", "buckets_predicted", "buckets_true", "leaves", "depth")
    found = dict(zip(keys, zip(*(study.columns[k] for k in columns), strict=True), strict=True))
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        np.testing.assert_allclose(found[key], values, atol=1e-12)
    assert all((study.columns[name] >= 0).all() for name in SECONDS)


def test_each_row_is_held_out_once_in_a_repeat() -> None:
    for repeat in range(3):
        folds = _core.fold_of_rows(103, 10, 5, repeat)
        assert sorted(np.bincount(folds).tolist()) == [10] * 7 + [11] * 3


def test_results_are_independent_of_threads_order_and_other_datasets() -> None:
    a, b = small("a", 1), small("b", 2, rows=40, labels=3)
    settings: dict[str, Any] = {"n_repeats": 2, "n_folds": 4, "missing": [0, 0.3]}
    both = compare([a, b], **settings)
    for n_jobs in (2, 3):
        assert numbers(compare([a, b], n_jobs=n_jobs, **settings)) == numbers(both)
    alone = compare([b], **settings)
    reordered = compare([b, a], ["mc4", "borda"], n_repeats=2, n_folds=4, missing=[0.3, 0])
    assert rows_of(alone, "b") == rows_of(both, "b")
    few = compare([a], ["borda"], missing=0.3, n_repeats=1, n_folds=4, baseline=False)
    chosen = reordered.columns["method"] == "borda"
    assert chosen.sum() == 32
    borda = {
        (d, m, r, f): v
        for d, m, r, f, v in zip(
            *(
                reordered.columns[c][chosen].tolist()
                for c in ("dataset", "missing", "repeat", "fold", "tau_x")
            ),
            strict=True,
        )
    }
    for repeat, fold, value in zip(
        *(few.columns[c].tolist() for c in ("repeat", "fold", "tau_x")), strict=True
    ):
        assert borda["a", 0.3, repeat, fold] == value


def test_results_depend_on_the_seed_and_are_reproducible() -> None:
    data = small("a", 1)
    first = compare([data], ["borda"], missing=0.3, n_repeats=1, n_folds=4, seed=1)
    again = compare([data], ["borda"], missing=0.3, n_repeats=1, n_folds=4, seed=1)
    other = compare([data], ["borda"], missing=0.3, n_repeats=1, n_folds=4, seed=2)
    assert numbers(first) == numbers(again) != numbers(other)


def test_levels_share_their_folds() -> None:
    data = small("a", 1)
    study = compare([data], ["borda"], missing=[0, 0.5], n_repeats=1, n_folds=4, baseline=False)
    true = study.columns["buckets_true"].reshape(2, 4)
    np.testing.assert_array_equal(true[0], true[1])


def test_rankers_use_the_same_folds_and_missing_labels_as_the_tree() -> None:
    class SameTree(PartialLabelRankingTree):
        """A subclass of the tree; the Rust engine runs studies of the tree itself only."""

    data = small("a", 1)
    settings: dict[str, Any] = {"missing": [0, 0.4], "n_repeats": 1, "n_folds": 3}
    fast = compare([data], **settings)
    slow = compare([data], tree=SameTree(), **settings)
    assert numbers(slow) == numbers(fast)
    beside = compare([data], ["borda"], rankers={"same": PartialLabelRankingTree()}, **settings)
    assert beside.methods == ["borda", "same", "all_tied"], (
        "the all-tied baseline is included by default"
    )
    borda, same = (beside.columns["method"] == name for name in ("borda", "same"))
    np.testing.assert_array_equal(beside.columns["tau_x"][borda], beside.columns["tau_x"][same])


def test_rankers_of_other_kinds() -> None:
    data = small("a", 1)
    settings: dict[str, Any] = {"missing": 0.2, "n_repeats": 1, "n_folds": 3}
    own = compare([data], tree=ConstantRanker(), baseline=False, **settings)
    assert own.methods == ["ConstantRanker"]
    assert np.isnan(own.columns["leaves"]).all()
    ordered = compare([data], ["borda", "mc4"], tree=PairOrderRanker(), **settings)
    assert ordered.methods == ["borda", "mc4", "all_tied"]
    np.testing.assert_allclose(ordered.columns["tau_x"][:3], own.columns["tau_x"])
    baselines = {"c": PartialLabelRankingBaseline()}
    assert compare([data], ["borda"], rankers=baselines, **settings).methods[-1] == "all_tied"
    shown = {"ties": PartialLabelRankingBaseline("all_tied")}
    assert compare([data], ["borda"], rankers=shown, **settings).methods == ["borda", "ties"]
    only = compare([data], tree=None, rankers={"constant": ConstantRanker()}, **settings)
    constant = only.columns["method"] == "constant"
    np.testing.assert_array_equal(only.columns["tau_x"][constant], own.columns["tau_x"])
    two = compare([data], tree=ConstantRanker(), baseline=False, n_jobs=2, **settings)
    assert numbers(two) == numbers(own)


def test_trees_of_every_criterion_and_splitter() -> None:
    data = small("a", 1, rows=40)
    for tree in (
        PartialLabelRankingTree(criterion="distance", aggregator="copeland"),
        PartialLabelRankingTree(splitter="equal_width", max_splits=3, min_samples_split=0.2),
        PartialLabelRankingTree(max_features="sqrt", min_samples_split=2),
    ):
        study = compare([data], ["borda"], missing=0, n_repeats=1, n_folds=3, tree=tree)
        again = compare([data], ["borda"], missing=0, n_repeats=1, n_folds=3, tree=tree, n_jobs=2)
        assert numbers(study) == numbers(again)


def test_rankings_that_are_incomplete_from_the_start() -> None:
    made = make_rankings(80, 3, 4, missing=0.3, random_state=0)
    study = cross_validate(made.X, made.Y, missing=[0, 0.2], n_repeats=1, n_folds=4)
    assert np.isfinite(study.columns["tau_x"]).all()
    assert study.datasets == ["data"]


def test_parameters_are_in_the_names_of_methods() -> None:
    data = small("a", 1)
    study = compare(
        [data],
        [Borda(), Borda(beta=0.5), MarkovChain(2)],
        missing=0,
        n_repeats=1,
        n_folds=3,
    )
    assert study.methods == ["borda", "Borda(beta=0.5)", "mc2", "all_tied"]
    named = compare(
        {"b": (data.X, data.Y), "c": data},
        {"none": Borda(beta=0), "much": Borda(beta=2)},
        missing=0,
        n_repeats=1,
        n_folds=3,
    )
    assert (named.methods, named.datasets) == (["none", "much", "all_tied"], ["b", "c"])


def test_jobs_are_described() -> None:
    assert str(Job("a", 0.3, 1, 2, "tree")) == "a, 30 % missing, repeat 1, fold 2, tree"


def test_a_failing_ranker_names_the_job() -> None:
    data = small("a", 1)
    for n_jobs in (1, 2):
        with pytest.raises(RuntimeError, match=r"a, 0 % missing, repeat 0, fold \d.*no way"):
            compare(
                [data],
                tree=None,
                rankers={"bad": ConstantRanker(fails=True)},
                missing=0,
                n_folds=3,
                n_jobs=n_jobs,
            )


class TopRanker(BaseEstimator):
    """Predicts a position for the first label only: NaN or masked for the others."""

    def __init__(self, masked: bool = False) -> None:
        self.masked = masked

    def fit(self, _X: Any, Y: Any) -> TopRanker:
        self.labels_ = np.shape(Y)[1]
        return self

    def predict(self, X: Any) -> Any:
        positions = np.ones((len(X), self.labels_))
        # The first held-out row is complete.
        absent = np.outer(np.arange(len(X)) > 0, np.arange(self.labels_) > 0)
        if self.masked:
            return np.ma.MaskedArray(positions, absent)
        return np.where(absent, np.nan, positions)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_prediction_with_missing_positions_is_an_error(masked: bool, n_jobs: int) -> None:
    data = small("a", 1)
    settings: dict[str, Any] = {"missing": 0, "n_repeats": 1, "n_folds": 3}
    rankers = {"top": TopRanker(masked)}
    pattern = r"a, 0 % missing, repeat 0, fold (\d), top.* row (\d+), label 1: position missing"
    with pytest.raises(RuntimeError, match=pattern) as caught:
        compare([data], tree=None, rankers=rankers, n_jobs=n_jobs, **settings)
    found = re.search(pattern, str(caught.value))
    assert found is not None
    plan = make_plan([data], aggregators=[], tree=None, rankers=rankers, seed=0, **settings)
    folds = _core.fold_of_rows(data.n_samples, 3, plan.dataset_seed("a"), 0)
    assert int(found[2]) == np.flatnonzero(folds == int(found[1]))[1]


def test_a_fold_without_pairs_names_the_job() -> None:
    Y = np.full((6, 3), np.nan)
    Y[:, 0] = 1
    with pytest.raises(RuntimeError, match="a, 0 % missing, repeat 0, fold"):
        compare([Dataset("a", np.arange(6.0)[:, None], Y)], missing=0, n_folds=2)


BAD_SETTINGS = [
    ({"datasets": []}, ValueError, "found 0 datasets"),
    ({"datasets": 3}, TypeError, "expected a list of datasets"),
    ({"datasets": [3]}, TypeError, "expected a Dataset"),
    ({"datasets": ["irys"]}, ValueError, "iris"),
    ({"datasets": [small("a", 1), small("a", 2)]}, ValueError, "two datasets have the name 'a'"),
    ({"n_folds": 61}, ValueError, "60 rows; expected at least n_folds = 61"),
    ({"n_folds": 1}, ValueError, "n_folds is 1; expected at least 2"),
    ({"n_folds": 2.5}, TypeError, "n_folds is 2.5"),
    ({"n_repeats": 0}, ValueError, "n_repeats is 0"),
    ({"missing": 1}, ValueError, "from 0 to below 1"),
    ({"missing": -0.1}, ValueError, "from 0 to below 1"),
    ({"missing": float("nan")}, ValueError, "from 0 to below 1"),
    ({"missing": "0.3"}, TypeError, "missing is '0.3'"),
    ({"missing": []}, ValueError, "no level"),
    ({"missing": [0.3, 0.1 + 0.2]}, ValueError, "different levels"),
    ({"seed": -1}, ValueError, "seed is -1"),
    ({"aggregators": ["borda", "borda"]}, ValueError, "'borda' appears twice"),
    ({"aggregators": ["borda", Borda()]}, ValueError, "'borda' appears twice"),
    ({"aggregators": ["bordo"]}, ValueError, "borda"),
    ({"baseline": "no"}, TypeError, "baseline is 'no'; expected True or False"),
    ({"aggregators": []}, ValueError, "found 0 methods"),
    ({"aggregators": 7}, TypeError, "expected a list of aggregators"),
    ({"tree": "tree"}, TypeError, "expected an estimator"),
    ({"tree": PartialLabelRankingTree}, TypeError, "the class PartialLabelRankingTree"),
    ({"tree": PairOrderRanker(), "aggregators": ["mc1"]}, ValueError, "'mc1' needs rankings"),
    ({"tree": ConstantRanker(), "aggregators": ["mc4"]}, ValueError, "aggregators=None"),
    ({"rankers": [ConstantRanker()]}, TypeError, "rankers"),
    ({"rankers": {"tree": ConstantRanker()}}, ValueError, "already in use"),
    ({"rankers": {"borda": ConstantRanker()}}, ValueError, "'borda' appears twice"),
    ({"rankers": {"x": 3}}, TypeError, "ranker 'x'"),
    ({"n_jobs": 0}, ValueError, "n_jobs is 0"),
    ({"executor": 3}, TypeError, "executor is 3"),
    ({"tree": PartialLabelRankingTree(max_depth=0)}, ValueError, "max_depth"),
]


@pytest.mark.parametrize(("settings", "error", "message"), BAD_SETTINGS)
def test_bad_settings(settings: dict[str, Any], error: type[Exception], message: str) -> None:
    good: dict[str, Any] = {"datasets": [small("a", 1)], "n_repeats": 1, "n_folds": 3}
    with pytest.raises(error, match=message):
        compare(**{**good, **settings})


STUDY_IN_A_PROCESS = """
import sys
from bucketrank.datasets import make_rankings
from bucketrank.experiments import compare
data = make_rankings(4000, 8, 12, random_state=0)
print("ready", flush=True)
compare([data], n_repeats=100, n_folds=10, n_jobs=2)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_interrupting_a_study_stops_it_soon() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", STUDY_IN_A_PROCESS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(1)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert time.monotonic() - started < 10


class TestSummary:
    study = compare(
        [small("a", 1), small("b", 2)],
        ["borda", "copeland", "mc4"],
        missing=[0, 0.5],
        n_repeats=2,
        n_folds=3,
        baseline=False,
    )

    def test_means_and_deviations(self) -> None:
        summary = self.study.summary()
        frame = self.study.to_pandas()
        grouped = frame.groupby(["missing", "dataset", "method"])["tau_x"]
        for i, level in enumerate(summary.missing):
            for j, dataset in enumerate(summary.datasets):
                for k, method in enumerate(summary.methods):
                    values = grouped.get_group((level, dataset, method))
                    assert summary.mean[i, j, k] == pytest.approx(values.mean())
                    assert summary.sd[i, j, k] == pytest.approx(values.std(ddof=1))

    def test_near_best_methods(self) -> None:
        summary = self.study.summary()
        for i, j in np.ndindex(2, 2):
            mean, sd = summary.mean[i, j], summary.sd[i, j]
            best = int(mean.argmax())
            overlaps = mean + 1.96 * sd >= mean[best] - 1.96 * sd[best]
            assert summary.near_best[i, j].tolist() == overlaps.tolist()
            assert summary.best[i, j].tolist() == (mean.round(3) == mean.max().round(3)).tolist()

    def test_text(self) -> None:
        text = str(self.study.summary())
        assert "tau_x, 0 % of the training labels missing" in text
        assert "tau_x, 50 % of the training labels missing" in text
        assert "\x1b" not in text
        assert "\x1b[1m" in self.study.summary().to_text(colour=True)
        mean = self.study.summary().mean[0].mean(axis=0)[0]
        assert f"{mean:.3f}".lstrip("0") in text

    def test_export_formats(self) -> None:
        summary = self.study.summary()
        assert json.loads(summary.to_json())["0.5"]["b"]["mc4"]["mean"] == summary.mean[1, 1, 2]
        assert len(summary.to_csv().splitlines()) == 1 + 2 * 2 * 3
        latex = self.study.to_latex()
        assert latex.count(r"\begin{tabular}{lrrr}") == 2
        assert r"\mathbf{" in latex
        assert len(summary.to_pandas()) == 12

    def test_joined(self) -> None:
        settings: dict[str, Any] = {"missing": [0, 0.5], "n_repeats": 2, "n_folds": 3}
        settings["baseline"] = False
        methods = ["borda", "copeland", "mc4"]
        parts = [
            compare([small(name, seed)], methods, **settings) for name, seed in (("a", 1), ("b", 2))
        ]
        assert numbers(Study.joined(parts)) == numbers(self.study)
        with pytest.raises(TypeError, match="studies contains 'a'; expected a Study"):
            Study.joined([parts[0], "a"])  # type: ignore[list-item]
        with pytest.raises(ValueError, match="'a' is in two"):
            Study.joined([parts[0], self.study])
        with pytest.raises(ValueError, match="differ in methods"):
            Study.joined([parts[0], compare([small("b", 2)], ["borda"], **settings)])

    def test_table(self, tmp_path: Path) -> None:
        assert len(self.study) == 2 * 2 * 3 * 6
        text = self.study.to_csv(tmp_path / "study.csv")
        assert (tmp_path / "study.csv").read_text(encoding="utf-8") == text
        assert len(text.splitlines()) == 1 + len(self.study)
        assert "2 datasets × 2 levels × 3 methods × 2 repeats × 3 folds" in repr(self.study)
        assert str(self.study).startswith(repr(self.study))


def test_joblib_works_after_a_comparison_in_processes() -> None:
    from joblib import Parallel, delayed

    settings: dict[str, Any] = {"missing": 0, "n_repeats": 1, "n_folds": 3, "progress": False}
    compare(["iris"], tree=ConstantRanker(), n_jobs=2, **settings)
    assert Parallel(n_jobs=2)(delayed(abs)(number) for number in (-1, -2)) == [1, 2]


def test_names_that_are_equal_as_text_are_refused() -> None:
    baseline = PartialLabelRankingBaseline()
    rankers: dict[Any, Any] = {"1": baseline, 1: baseline}
    settings: dict[str, Any] = {"missing": 0, "n_repeats": 1, "n_folds": 3}
    with pytest.raises(ValueError, match="rankers has the name 1, which is already in use"):
        compare([small("a", 1)], ["borda"], rankers=rankers, **settings)
    with pytest.raises(ValueError, match="aggregator '1' appears twice"):
        compare([small("a", 1)], {"1": "borda", 1: "mc4"}, **settings)


@pytest.mark.parametrize("positions", [[10, 20, 20, 30], [1, 2.5, 2.5, 4], [1, 2, 2, 3]])
def test_buckets_of_predictions_with_gaps_are_counted(positions: list[float]) -> None:
    class Fixed(ConstantRanker):
        def predict(self, X: Any) -> Any:
            return np.tile(positions, (len(X), 1))

    settings: dict[str, Any] = {"missing": 0, "n_repeats": 1, "n_folds": 3, "baseline": False}
    study = compare([small("a", 1)], tree=Fixed(), **settings)
    assert study.columns["buckets_predicted"].tolist() == [3, 3, 3]


def test_progress_is_a_flag() -> None:
    with pytest.raises(TypeError, match="progress is 'no'; expected True or False"):
        compare([small("a", 1)], ["borda"], progress="no")  # type: ignore[arg-type]
