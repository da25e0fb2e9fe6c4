"""Datasets, their descriptions, and the embedded datasets."""

from __future__ import annotations

import copy
import csv
import io
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import bucketrank as br
from bucketrank import datasets
from bucketrank.datasets import Dataset
from reference import datasets as reference
from strategies import Ranking, profiles

NAN = math.nan


def small(name: str = "small", **changes: Any) -> Dataset:
    fields: dict[str, Any] = {
        "X": [[0.0, 1.5], [2.0, -1.0], [0.0, 3.0]],
        "Y": [[1, 2, 2], [2, NAN, 1], [1, 2, 3]],
        "label_names": ["tea", "coffee", "juice"],
    }
    return Dataset(name, **{**fields, **changes})


def test_fields_are_arrays_that_cannot_be_changed() -> None:
    X = np.array([[0, 1], [2, 3]])
    Y = np.asfortranarray([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
    data = Dataset("mine", X, Y, source="here")
    for array, expected in ((data.X, X), (data.Y, Y)):
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        assert np.array_equal(array, expected)
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 7
    X[0, 0] = 9
    Y[0, 0] = 9
    assert data.X[0, 0] == 0
    assert data.Y[0, 0] == 1
    assert (data.feature_names, data.label_names) == (("A1", "A2"), ("L1", "L2", "L3"))
    assert (data.n_samples, data.n_features, data.n_labels) == (2, 2, 3)
    assert (data.name, data.source) == ("mine", "here")
    with pytest.raises(FrozenInstanceError):
        data.name = "yours"  # type: ignore[misc]


def test_only_immutable_arrays_are_shared() -> None:
    X = np.zeros((2, 2))
    view = X[:]
    view.flags.writeable = False
    data = Dataset("view", view, [[1, 2], [2, 1]])
    X[0, 0] = 5
    assert data.X[0, 0] == 0
    X.flags.writeable = False
    assert Dataset("sealed", X, [[1, 2], [2, 1]]).X is X


def test_names_come_from_data_frames() -> None:
    X = pd.DataFrame({"hour": [1, 2], 7: [0.5, 1.5]})
    Y = pd.DataFrame({"tea": [1, 2], "milk": pd.array([1, None], dtype="Int64")})
    Y.loc[1, "tea"] = 1
    data = Dataset("frame", X, Y)
    assert (data.feature_names, data.label_names) == (("hour", "7"), ("tea", "milk"))
    assert np.array_equal(data.Y, np.array([[1, 1], [1, NAN]]), equal_nan=True)
    features, rankings = data.to_pandas()
    assert list(features.columns) == ["hour", "7"]
    assert rankings["milk"].isna().tolist() == [False, True]
    rankings.loc[0, "tea"] = 5
    assert data.Y[0, 0] == 1


def test_infinite_positions_become_the_last_position() -> None:
    assert Dataset("top", [[0.0]], [[1, math.inf, math.inf]]).Y.tolist() == [[1, 2, 2]]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"X": [[0.0, math.inf], [1, 1], [1, 1]]},
            ValueError,
            "X, row 0, column 1: inf; expected a finite",
        ),
        (
            {"X": [[0.0, 1], [1, 1], [-math.inf, 1]]},
            ValueError,
            "X, row 2, column 0: -inf; expected",
        ),
        (
            {"X": [[0.0, 1], [1, "x"], [1, 1]]},
            TypeError,
            "X, row 1, column 1: 'x'; expected a number",
        ),
        (
            {"X": np.array([[0, "x"]], dtype=object)},
            TypeError,
            "X, row 0, column 1: 'x'; expected a",
        ),
        ({"X": [[0.0, 1], [1]]}, ValueError, "X is not a table; expected rows of equal length"),
        ({"X": [1.0, 2.0, 3.0]}, ValueError, r"X has the shape \(3,\); expected at least one row"),
        (
            {"X": np.empty((3, 0))},
            ValueError,
            r"X has the shape \(3, 0\); expected at least one row",
        ),
        ({"X": [[1.0]]}, ValueError, "X has 1 row but Y has 3; expected one ranking per row"),
        (
            {"X": pd.DataFrame({"a": ["x"] * 3})},
            TypeError,
            "X, column 'a': dtype .*; expected integers",
        ),
        (
            {"Y": [[1, 2], [1, 2], [1, -3]]},
            ValueError,
            "rankings of 'small': row 2, label 1: position -3",
        ),
        (
            {"Y": [[1, 2], [0, 1], [1, 2]]},
            ValueError,
            "row 1, label 0: position 0; positions start at 1",
        ),
        ({"Y": [[1], [1], [1]]}, ValueError, "1 label"),
        ({"Y": np.empty((0, 3))}, ValueError, "rankings of 'small'"),
        ({"Y": [1, 2, 3]}, ValueError, "Y has 1 dimension"),
        (
            {"label_names": ["a", "b"]},
            ValueError,
            "label_names has 2 names; expected 3, one per column",
        ),
        ({"label_names": ["a", "b", "a"]}, ValueError, "label_names contains 'a' twice"),
        (
            {"feature_names": "ab"},
            TypeError,
            "feature_names is the string 'ab'; expected a sequence",
        ),
        ({"name": 3}, TypeError, "name is 3; expected a string"),
        ({"source": None}, TypeError, "source is None; expected a string"),
    ],
)
def test_bad_input(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    if "Y" in changes:
        changes = {"label_names": (), **changes}
    with pytest.raises(error, match=message):
        small(**{"name": "small", **changes})


def test_an_invalid_row_beyond_the_first_block_has_the_right_number() -> None:
    Y = np.ones((150_000, 2))
    Y[140_001, 1] = -3
    with pytest.raises(ValueError, match="row 140001, label 1: position -3"):
        Dataset("long", np.zeros((150_000, 1)), Y)
    X = np.zeros((150_000, 1))
    X[140_002, 0] = math.inf
    with pytest.raises(ValueError, match="row 140002, column 0: inf"):
        Dataset("long", X, np.ones((150_000, 2)))


def test_content_hash_and_equality_follow_the_content() -> None:
    data = small()
    same = small("another", source="elsewhere")
    assert data == same
    assert hash(data) == hash(same)
    assert data.content_hash == same.content_hash
    assert len(data.content_hash) == 64
    assert small(X=[[-0.0, 1.5], [2.0, -1.0], [-0.0, 3.0]]).content_hash == data.content_hash
    others = [
        small(X=[[0.0, 1.5], [2.0, -1.0], [0.0, 3.0000000001]]),
        small(Y=[[1, 2, 2], [2, NAN, 1], [1, 3, 2]]),
        small(Y=[[1, 2, 2], [2, 3, 1], [1, 2, 3]]),
        small(label_names=["tea", "coffee", "milk"]),
        small(feature_names=["hour", "heat"]),
        Dataset("part", data.X[:2], data.Y[:2], label_names=data.label_names),
    ]
    assert all(other != data for other in others)
    assert len({data.content_hash, *(other.content_hash for other in others)}) == 7
    assert data != "small"


def test_content_hash_is_the_same_on_every_machine() -> None:
    assert (
        small().content_hash == "4240050eb6a5e2b4572154cd8023e5ec59237a790db873edfffbcb846f4d9ab6"
    )


@pytest.mark.parametrize("hashed_before", [False, True])
def test_pickles_and_copies_are_equal_and_read_only(hashed_before: bool) -> None:
    data = small(source="here")
    if hashed_before:
        _ = data.content_hash
    for other in (pickle.loads(pickle.dumps(data)), copy.copy(data), copy.deepcopy(data)):
        assert other == data
        assert (other.name, other.source) == (data.name, data.source)
        assert other.content_hash == data.content_hash
        assert not other.X.flags.writeable
        assert not other.Y.flags.writeable


def test_repr_is_short() -> None:
    assert repr(small()) == "Dataset('small': 3 rows, 2 features, 3 labels, 11% missing)"
    assert repr(Dataset("one", [[1]], [[1, 2]])) == "Dataset('one': 1 row, 1 feature, 2 labels)"


@given(profiles())
def test_description_matches_the_reference(Y: list[Ranking]) -> None:
    found = Dataset("any", np.zeros((len(Y), 2)), Y).describe()
    assert (found.instances, found.features, found.labels) == (len(Y), 2, len(Y[0]))
    assert found.unique_rankings == reference.unique_rankings(Y)
    assert found.mean_buckets == pytest.approx(reference.mean_buckets(Y), abs=1e-12)
    assert found.missing == pytest.approx(reference.missing_share(Y), abs=1e-12)


def test_description_of_many_labels_does_not_overflow() -> None:
    Y = np.vstack([np.arange(1, 301), np.arange(300, 0, -1)])
    found = Dataset("wide", [[0], [1]], Y).describe()
    assert (found.unique_rankings, found.mean_buckets) == (2, 300.0)


def test_tables_of_descriptions() -> None:
    table = datasets.describe([small("a_b"), small("c & d")])
    assert len(table) == 2
    assert str(table).splitlines() == [
        "dataset  instances  features  labels  unique rankings  mean buckets  missing",
        "a_b              3         2       3                3         2.333    11.1%",
        "c & d            3         2       3                3         2.333    11.1%",
    ]
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert [row["name"] for row in rows] == ["a_b", "c & d"]
    assert float(rows[0]["mean_buckets"]) == small().describe().mean_buckets
    frame = table.to_pandas()
    assert frame.loc["a_b", "unique_rankings"] == 3
    latex = table.to_latex().splitlines()
    assert latex[0] == r"\begin{tabular}{lrrrrrr}"
    assert latex[4].strip() == r"a\_b & 3 & 2 & 3 & 3 & 2.333 & 11.1\% \\"
    assert latex[5].strip().startswith(r"c \& d & 3")
    assert str(small().describe()) == str(datasets.describe(small()))
    with pytest.raises(TypeError, match=r"datasets\[1\] is 'iris'; expected a Dataset"):
        datasets.describe([small(), "iris"])  # type: ignore[list-item]


def test_descriptions_are_those_of_the_paper(
    shared_dir: Path, count_comparisons: Callable[[str, int], None]
) -> None:
    paper = pd.read_csv(shared_dir / "paper" / "datasets.csv", index_col="dataset")
    found = datasets.describe(datasets.read_folder(shared_dir / "data")).to_pandas()
    assert sorted(found.index) == sorted(paper.index)
    # Cells in which the published table differs from the data: the number of rows of breast, and the numbers of unique
    # rankings of algae and movies, for which the table repeats the number of rows.
    paper.loc["breast", "instances"] = 106
    paper.loc["algae", "unique_rankings"] = 228
    paper.loc["movies", "unique_rankings"] = 257
    for name in paper.index.tolist():
        row = paper.loc[name]
        for column in ("instances", "features", "labels", "unique_rankings"):
            assert found.loc[name, column] == row[column], (name, column)
        assert round(found.loc[name, "mean_buckets"], 3) == pytest.approx(row["mean_buckets"])
    assert (found["missing"] == 0).all()
    count_comparisons("dataset table", 5 * len(paper))


def test_sizes_listed_for_the_paper_datasets_equal_the_files(
    shared_dir: Path, count_comparisons: Callable[[str, int], None]
) -> None:
    paper = pd.read_csv(shared_dir / "paper" / "datasets.csv", index_col="dataset")
    for entry in datasets.PAPER_DATASETS:
        data = datasets.read_csv(shared_dir / "data" / f"{entry.name}.csv")
        size = (data.n_samples, data.n_features, data.n_labels)
        assert size == (entry.instances, entry.features, entry.labels)
        assert entry.openml_id == paper.loc[entry.name, "openml_id"]
    count_comparisons("dataset sizes", 4 * len(paper))


# `published` is the mean number of buckets of the paper's dataset with the same name. For digits it is that of
# pendigits, which also has ten digits as labels. The paper has no dataset like breast_cancer, which has two labels, so
# 1.96 is the value of the embedded dataset itself.
@pytest.mark.parametrize(
    ("name", "published", "tolerance"),
    [
        ("iris", 2.38, 0.2),
        ("wine", 2.68, 0.2),
        ("digits", 3.397, 0.3),
        ("breast_cancer", 1.96, 0.04),
    ],
)
def test_embedded_datasets_resemble_the_published_ones(
    name: str, published: float, tolerance: float
) -> None:
    data = datasets.load(name)
    (entry,) = (entry for entry in datasets.EMBEDDED_DATASETS if entry.name == name)
    size = (data.n_samples, data.n_features, data.n_labels)
    assert size == (entry.instances, entry.features, entry.labels)
    assert data.name == name
    assert "scikit-learn" in data.source
    assert abs(data.describe().mean_buckets - published) < tolerance
    assert datasets.load(name) is data


def test_embedded_rankings_can_be_learned_and_agree_with_the_classes() -> None:
    from sklearn.datasets import load_digits

    data = datasets.load("digits")
    first = np.argmin(data.Y, axis=1)
    assert (first == load_digits().target).mean() > 0.9
    half = data.n_samples // 2
    tree = br.PartialLabelRankingTree().fit(data.X[:half], data.Y[:half])
    assert tree.score(data.X[half:], data.Y[half:]) > 0.5


def test_embedded_datasets_are_equal_in_every_process() -> None:
    code = "from bucketrank import datasets; print(datasets.load('iris').content_hash)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert result.stdout.strip() == datasets.load("iris").content_hash


def test_unknown_names_list_the_nearest_first() -> None:
    with pytest.raises(ValueError, match="unknown dataset 'irsi'; embedded: iris, "):
        datasets.load("irsi")
    with pytest.raises(ValueError, match="from OpenML with fetch: algae, "):
        datasets.load("algea")
    with pytest.raises(TypeError, match="name is 3; expected one of iris, wine"):
        datasets.load(3)  # type: ignore[arg-type]


def test_importing_the_package_imports_neither_scikit_learn_nor_pandas() -> None:
    code = (
        "import sys, bucketrank; assert 'bucketrank.datasets' not in sys.modules; bucketrank.datasets.names();"
        "assert not {'sklearn', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_datasets_with_missing_features_are_equal() -> None:
    first, second = (Dataset("a", [[math.nan], [1.0]], [[1, 2], [2, 1]]) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    assert first != Dataset("a", [[0.0], [1.0]], [[1, 2], [2, 1]])


def test_the_sign_of_nan_does_not_change_the_content_hash() -> None:
    plain = Dataset("plain", [[np.nan], [1.0]], [[1, 2], [2, 1]])
    negative = Dataset(
        "negative", np.copysign([[np.nan], [1.0]], [[-1.0], [1.0]]), [[1, 2], [2, 1]]
    )
    assert np.signbit(negative.X[0, 0])
    assert plain == negative
    assert plain.content_hash == negative.content_hash
    assert hash(plain) == hash(negative)
