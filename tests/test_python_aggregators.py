"""Aggregators written in Python work wherever the others do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bucketrank as br
from bucketrank.__main__ import main
from bucketrank.experiments import compare

RNG = np.random.default_rng(0)
Y = np.array([RNG.permutation(5) + 1 for _ in range(60)])
X = RNG.normal(size=(60, 3))


@dataclass(frozen=True)
class MyBorda(br.Aggregator):
    """Borda's rule without a tie threshold, computed from the pair order matrix."""

    digits: int = 9

    def aggregate_pair_order(self, C: Any, n_jobs: int | None = None) -> Any:  # noqa: ARG002
        return -np.round(C.sum(axis=1), self.digits)


class MeanPosition(br.Aggregator):
    """Labels ordered by their mean position, computed from the rankings."""

    def aggregate(self, Y: Any, sample_weight: Any = None) -> Any:
        return np.round(np.average(Y, axis=0, weights=sample_weight), 9)


class Broken(br.Aggregator):
    def __init__(self, result: Any = None) -> None:
        self.result = result

    def aggregate_pair_order(self, C: Any, n_jobs: int | None = None) -> Any:  # noqa: ARG002
        if self.result is None:
            raise KeyError("no such label")
        return self.result


def test_results_equal_those_of_the_core() -> None:
    own, core = MyBorda(), br.Borda(0)
    np.testing.assert_array_equal(own.aggregate(Y), core.aggregate(Y))
    weights = RNG.integers(1, 4, len(Y))
    np.testing.assert_array_equal(own.aggregate(Y, weights), core.aggregate(Y, weights))
    sets = [Y[:20], Y[20:]]
    for n_jobs in (1, 2):
        np.testing.assert_array_equal(
            own.aggregate_many(sets, n_jobs), core.aggregate_many(sets, n_jobs)
        )
    assert own.explain(Y, labels=list("abcde")).positions.tolist() == core.aggregate(Y).tolist()
    assert own.set_params(digits=3) == MyBorda(3)
    assert repr(Broken(1)) == "Broken(result=1)"
    assert MeanPosition() == MeanPosition()


@pytest.mark.parametrize("aggregator", [MyBorda(), MeanPosition()])
def test_trees_predict_with_python_aggregators(aggregator: br.Aggregator) -> None:
    tree = br.PartialLabelRankingTree(aggregator, max_depth=2).fit(X, Y)
    core = br.PartialLabelRankingTree(br.Borda(0), max_depth=2).fit(X, Y)
    np.testing.assert_array_equal(tree.predict(X), core.predict(X))
    np.testing.assert_array_equal(core.with_aggregator(aggregator).predict(X), core.predict(X))


def test_forests_predict_with_python_aggregators() -> None:
    forest = br.PartialLabelRankingForest(MyBorda(), n_estimators=5, random_state=0).fit(X, Y)
    core = br.PartialLabelRankingForest(br.Borda(0), n_estimators=5, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(forest.predict(X), core.predict(X))


def test_compare_accepts_python_aggregators() -> None:
    data = br.datasets.Dataset("own", X, Y)
    study = compare(
        [data], [MyBorda(), MeanPosition(), br.Borda(0)], missing=[0], n_repeats=1, n_folds=3
    )
    means = study.summary().to_csv()
    assert "MyBorda" in means
    assert "MeanPosition" in means


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, r"Broken\(result=None\), on a pair order matrix of 5 labels: KeyError"),
        ([1, 2], r"it returned 2 positions; expected one position per label"),
        ("abc", r"it returned 'abc'; expected one number per label"),
        ([[1, 2]], r"it returned a 2-D array; expected"),
        ([1, 2, 3, 4, np.nan], r"it returned NaN for label 4"),
    ],
)
def test_errors_name_method_and_input(result: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Broken(result).aggregate(Y)


def test_methods_that_a_subclass_does_not_define() -> None:
    class Nothing(br.Aggregator):
        pass

    with pytest.raises(TypeError, match=r"Nothing defines neither aggregate_pair_order"):
        Nothing().aggregate(Y)
    with pytest.raises(ValueError, match=r"MeanPosition\(\) needs rankings"):
        MeanPosition().aggregate_pair_order(br.pair_order_matrix(Y))


def test_the_command_line_imports_python_aggregators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own_methods_of_test.py").write_text(
        "from bucketrank import Aggregator\n"
        "class Reverse(Aggregator):\n"
        "    def aggregate_pair_order(self, C):\n"
        "        return C.sum(axis=1)\n"
    )
    Path("r.csv").write_text("a,b,c\n1,2,3\n1,2,3\n")
    assert main(["aggregate", "r.csv", "--method", "own_methods_of_test:Reverse"]) == 0
    assert "c > b > a" in capsys.readouterr().out
    Path("unfinished_methods_of_test.py").write_text("class Unfinished(:\n")
    for name in (
        "own_methods_of_test:Nothing",
        "no_such_module:A",
        "json:dumps",
        ".json:A",
        "unfinished_methods_of_test:Unfinished",
    ):
        assert main(["aggregate", "r.csv", "--method", name]) == 2
        assert f"method {name!r}" in capsys.readouterr().err
