"""Rankings from scores and from the probabilities of classifiers."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bucketrank.datasets import Dataset, from_classification, rank_scores
from reference import datasets as reference

IRIS, SPECIES = load_iris(return_X_y=True)

# Multiples of 0.01, so that some differences of scores equal the threshold except for rounding errors.
score_rows = st.integers(2, 7).flatmap(
    lambda n: st.lists(
        st.lists(st.integers(0, 40).map(lambda h: h / 100), min_size=n, max_size=n),
        min_size=1,
        max_size=6,
    )
)


@given(score_rows, st.sampled_from([0.0, 0.01, 0.05, 0.1, 0.3]))
def test_ranked_scores_equal_the_reference(scores: list[list[float]], tie: float) -> None:
    expected = [reference.rank_scores(row, tie) for row in scores]
    assert rank_scores(scores, tie).tolist() == expected


@given(score_rows, st.permutations(range(7)))
def test_relabelling_the_labels_relabels_the_ranking(
    scores: list[list[float]], order: list[int]
) -> None:
    columns = [label for label in order if label < len(scores[0])]
    relabelled = rank_scores(np.array(scores)[:, columns], 0.05)
    assert np.array_equal(relabelled, rank_scores(scores, 0.05)[:, columns])


@given(score_rows, st.floats(0, 0.2), st.floats(0, 0.2))
def test_larger_thresholds_merge_buckets(scores: list[list[float]], a: float, b: float) -> None:
    fine, coarse = rank_scores(scores, min(a, b)), rank_scores(scores, max(a, b))
    assert (fine.max(axis=1) >= coarse.max(axis=1)).all()


def test_ties_cascade_and_rounding_errors_do_not_matter() -> None:
    assert rank_scores([[0.3, 0.2, 0.1]], 0.1).tolist() == [[1, 1, 1]]
    assert rank_scores([[0.9, 0.7 + 0.1]], 0.1).tolist() == [[1, 1]]
    assert rank_scores([[0.3, 0.3]]).tolist() == [[1, 1]]
    assert rank_scores([[5, 7]]).tolist() == [[2, 1]]


@pytest.mark.parametrize(
    ("scores", "tie", "error", "message"),
    [
        (
            [[0.1, math.nan]],
            0.1,
            ValueError,
            "scores, row 0, label 1: nan; expected a finite number",
        ),
        ([0.1, 0.2], 0.1, ValueError, "scores has 1 dimension"),
        ([[0.1, "x"]], 0.1, TypeError, "scores has dtype"),
        ([[0.1, 0.2]], -0.1, ValueError, "tie_threshold is -0.1; expected a finite number"),
        ([[0.1, 0.2]], math.nan, ValueError, "tie_threshold is nan"),
        ([[0.1, 0.2]], "x", TypeError, "tie_threshold is 'x'; expected a number"),
    ],
)
def test_bad_scores(scores: Any, tie: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rank_scores(scores, tie)


class Recorder(ClassifierMixin, BaseEstimator):
    """Predicts the shares of the classes in the training rows; records the training rows and the predicted rows."""

    calls: ClassVar[list[tuple[set[float], set[float]]]] = []

    def fit(self, X: Any, y: Any) -> Recorder:
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        self.training_rows_ = set(X[:, 0])
        return self

    def predict_proba(self, X: Any) -> Any:
        self.calls.append((self.training_rows_, set(X[:, 0])))
        return np.tile(self.shares_, (len(X), 1))


def test_probabilities_are_out_of_fold() -> None:
    X = np.arange(60.0)[:, None]
    y = np.repeat(["b", "a", "c"], [30, 20, 10])
    Recorder.calls.clear()
    data = from_classification(X, y, Recorder(), n_folds=4)
    assert len(Recorder.calls) == 4
    assert all(not trained & predicted for trained, predicted in Recorder.calls)
    assert set().union(*(predicted for _, predicted in Recorder.calls)) == set(range(60))
    assert data.label_names == ("a", "b", "c")
    assert np.array_equal(data.Y, np.tile([2, 1, 3], (60, 1)))
    assert from_classification(X, y, Recorder(), tie_threshold=0.2).Y.max() == 1


def test_rankings_equal_those_of_folds_computed_by_hand() -> None:
    data = from_classification(
        IRIS, SPECIES, GaussianNB(), tie_threshold=0.1, n_folds=3, random_state=5
    )
    seed = int(np.random.SeedSequence(5, spawn_key=(0,)).generate_state(1)[0])
    folds = StratifiedKFold(3, shuffle=True, random_state=seed).split(IRIS, SPECIES)
    for train, test in folds:
        shares = GaussianNB().fit(IRIS[train], SPECIES[train]).predict_proba(IRIS[test])
        assert data.Y[test].tolist() == [reference.rank_scores(row, 0.1) for row in shares.tolist()]


def test_equal_seeds_give_equal_rankings() -> None:
    forest = RandomForestClassifier(5)
    first, again = (from_classification(IRIS, SPECIES, forest, random_state=1) for _ in range(2))
    assert first == again
    assert first != from_classification(IRIS, SPECIES, forest, random_state=2)
    assert forest.random_state is None
    assert not hasattr(forest, "classes_")
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(5))
    one, two = (from_classification(IRIS, SPECIES, pipeline) for _ in range(2))
    assert one == two
    large = from_classification(IRIS, SPECIES, forest, random_state=2**64 - 1)
    assert isinstance(large, Dataset)


def test_names_are_kept() -> None:
    frame = pd.DataFrame(IRIS, columns=["sepal", "width", "petal", "breadth"])
    species = pd.Series(np.array(["ash", "elm", "fir"])[SPECIES])
    data = from_classification(frame, species, GaussianNB(), name="flowers", source="garden")
    assert data.feature_names == ("sepal", "width", "petal", "breadth")
    assert data.label_names == ("ash", "elm", "fir")
    assert (data.name, data.source) == ("flowers", "garden")
    numbers = from_classification(IRIS, SPECIES + 3, GaussianNB())
    assert numbers.label_names == ("3", "4", "5")
    assert np.array_equal(numbers.Y, data.Y)
    named = from_classification(
        IRIS, SPECIES, GaussianNB(), feature_names=list("abcd"), label_names=["x", "y", "z"]
    )
    assert (named.feature_names, named.label_names) == (tuple("abcd"), ("x", "y", "z"))
    two = from_classification(IRIS[:100], SPECIES[:100] == 0, LogisticRegression())
    assert two.label_names == ("False", "True")


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"y": SPECIES[:9]},
            ValueError,
            "X has 150 rows but y has 9; expected a class for each row",
        ),
        ({"y": np.zeros(150)}, ValueError, "y has only the class 0.0; expected two or more"),
        ({"y": np.linspace(0, 1, 150)}, ValueError, "y holds continuous values; expected classes"),
        (
            {"y": np.tile(SPECIES, (2, 1)).T},
            ValueError,
            r"y has the shape \(150, 2\); expected one",
        ),
        ({"y": [math.nan, *SPECIES[1:]]}, ValueError, "y, row 0: nan; expected a class"),
        ({"y": np.array(["a", None, *"b" * 148], dtype=object)}, ValueError, "y, row 1: None"),
        ({"y": np.array([1, pd.NA, *SPECIES[2:]], dtype=object)}, ValueError, "y, row 1: <NA>"),
        (
            {"y": [7, 7, *SPECIES[2:]]},
            ValueError,
            r"class 7 has 2 rows; expected at least n_folds=5",
        ),
        (
            {"X": [[math.nan]] * 150},
            ValueError,
            "X, row 0, column 0: nan; expected a finite number",
        ),
        ({"estimator": SVC()}, TypeError, "expected a classifier with fit and predict_proba"),
        ({"estimator": "forest"}, TypeError, "estimator is 'forest'; expected a classifier"),
        ({"n_folds": 1}, ValueError, "n_folds is 1; expected at least 2"),
        ({"n_folds": 2.5}, TypeError, "n_folds is 2.5; expected a whole number"),
        ({"tie_threshold": -1}, ValueError, "tie_threshold is -1.0; expected a finite number"),
        ({"random_state": None}, TypeError, "random_state is None; expected a whole number"),
        ({"random_state": -1}, ValueError, "random_state is -1; expected a whole number from 0"),
        (
            {"label_names": ["a"]},
            ValueError,
            "label_names has 1 name; expected 3, one per class: 0, 1, 2",
        ),
        ({"feature_names": ["a"]}, ValueError, "feature_names has 1 name; expected 4"),
    ],
)
def test_bad_input(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments = {"X": IRIS, "y": SPECIES, "estimator": GaussianNB(), **changes}
    with pytest.raises(error, match=message):
        from_classification(**arguments)


def test_invalid_probabilities() -> None:
    class Broken(GaussianNB):
        def predict_proba(self, X: Any) -> Any:
            return np.full((len(X), 3), math.nan)

    with pytest.raises(ValueError, match="predict_proba of Broken returned NaN or infinity"):
        from_classification(IRIS, SPECIES, Broken())


def test_a_string_is_not_a_list_of_label_names() -> None:
    with pytest.raises(TypeError, match="label_names is the string 'abc'"):
        from_classification(np.eye(6), [0, 1, 2] * 2, GaussianNB(), n_folds=2, label_names="abc")
