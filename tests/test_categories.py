"""Categorical features: their order, laws of all estimators, input, and the command line."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bucketrank import (
    PartialLabelRanker,
    PartialLabelRankingBooster,
    PartialLabelRankingForest,
    PartialLabelRankingLinear,
    PartialLabelRankingTree,
    load_model,
    save_model,
)
from bucketrank.__main__ import main
from bucketrank.csv_reader import CsvTable
from bucketrank.csv_records import BadFileError
from tree_data import Array, dense

CITIES = np.array(["Bern", "Cork", "Enna", "Graz", "Lyon", "Oslo", "Pisa", "Riga"])
ESTIMATORS: list[Any] = [
    PartialLabelRankingTree(min_samples_split=2),
    PartialLabelRankingForest(n_estimators=8, random_state=1),
    PartialLabelRankingBooster(rounds=8, random_state=1),
    PartialLabelRankingLinear(),
    PartialLabelRanker(n_estimators=8, rounds=8, random_state=0),
]
every_estimator = pytest.mark.parametrize("model", ESTIMATORS, ids=lambda m: type(m).__name__)


def survey(rows: int = 160, seed: int = 0) -> tuple[pd.DataFrame, Array]:
    """Rankings that depend on a hidden scale of the cities and on the age."""
    rng = np.random.default_rng(seed)
    city = rng.integers(0, 8, rows)
    age = rng.integers(18, 80, rows).astype(float)
    hidden = np.array([5, 0, 7, 2, 4, 1, 6, 3])[city] + (age > 50)
    raw = np.abs(hidden[:, None] - np.array([0, 2, 5, 8])) + rng.integers(0, 2, (rows, 4))
    X = pd.DataFrame({"city": CITIES[city], "age": age})
    X.loc[rng.random(rows) < 0.1, "city"] = None
    X.loc[rng.random(rows) < 0.1, "age"] = np.nan
    return X, dense(raw.astype(float))


def containers(X: pd.DataFrame) -> dict[str, Any]:
    listed = [[city if isinstance(city, str) else None, age] for city, age in X.to_numpy().tolist()]
    objects = np.empty(X.shape, dtype=object)
    objects[:] = listed
    return {
        "object": X.astype({"city": object}),
        "category": X.astype({"city": "category"}),
        "string": X.astype({"city": "string"}),
        "array": objects,
        "list": listed,
    }


@every_estimator
def test_containers_agree(model: Any) -> None:
    X, y = survey()
    expected = clone(model).fit(X, y).predict(X)
    for name, table in containers(X).items():
        fitted = clone(model).fit(table, y)
        np.testing.assert_array_equal(fitted.predict(table), expected, err_msg=name)
        assert sorted(fitted.categories_[0]) == CITIES.tolist()
        assert list(fitted.categories_) == [0]


@every_estimator
def test_names_and_codes_of_categories_do_not_matter(model: Any) -> None:
    X, y = survey()
    expected = clone(model).fit(X, y).predict(X)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(8)
        renamed = dict(zip(CITIES.tolist(), CITIES[order].tolist(), strict=True))
        other = X.assign(city=X["city"].map(renamed))
        np.testing.assert_array_equal(clone(model).fit(other, y).predict(other), expected)
        codes = dict(zip(CITIES.tolist(), (10 * order - 7).tolist(), strict=True))
        numbers = X.assign(city=X["city"].map(codes))
        chosen = clone(model).set_params(categorical_features=["city"]).fit(numbers, y)
        np.testing.assert_array_equal(chosen.predict(numbers), expected)
        plain = clone(model).set_params(categorical_features=[0]).fit(numbers.to_numpy(), y)
        np.testing.assert_array_equal(plain.predict(numbers.to_numpy()), expected)
        mask = clone(model).set_params(categorical_features=[True, False])
        np.testing.assert_array_equal(mask.fit(numbers, y).predict(numbers), expected)


@every_estimator
def test_laws(model: Any, tmp_path: Path) -> None:
    X, y = survey()
    fitted = clone(model).fit(X, y)
    expected = fitted.predict(X)
    parallel = clone(model).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(parallel.predict(X), expected)
    save_model(fitted, tmp_path / "model.bin")
    for other in (load_model(tmp_path / "model.bin"), pickle.loads(pickle.dumps(fitted))):
        assert other.categories_ == fitted.categories_
        np.testing.assert_array_equal(other.predict(X), expected)
    one_by_one = np.vstack([fitted.predict(X.iloc[[row]]) for row in range(20)])
    np.testing.assert_array_equal(one_by_one, expected[:20])


@pytest.mark.parametrize("model", [ESTIMATORS[0], ESTIMATORS[3]], ids=repr)
def test_rows_labels_and_weights(model: Any) -> None:
    X, y = survey()
    expected = clone(model).fit(X, y).predict(X)
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(clone(model).fit(X.iloc[order], y[order]).predict(X), expected)
    labels = [2, 0, 3, 1]
    np.testing.assert_array_equal(clone(model).fit(X, y[:, labels]).predict(X), expected[:, labels])
    weights = np.arange(len(X)) % 3
    copies = np.repeat(np.arange(len(X)), weights)
    np.testing.assert_array_equal(
        clone(model).fit(X, y, weights).predict(X),
        clone(model).fit(X.iloc[copies], y[copies]).predict(X),
    )


@every_estimator
def test_categories_of_rows_of_weight_0_are_unknown(model: Any) -> None:
    X, y = survey()
    kept = (X["city"] != "Graz").to_numpy()
    weighted = clone(model).fit(X, y, kept.astype(float))
    shortened = clone(model).fit(X[kept], y[kept])
    assert weighted.categories_ == shortened.categories_
    np.testing.assert_array_equal(weighted.predict_pair_shares(X), shortened.predict_pair_shares(X))


def test_the_order_recovers_the_hidden_scale() -> None:
    X, y = survey(rows=2000)
    scale = dict(zip(CITIES.tolist(), [5, 0, 7, 2, 4, 1, 6, 3], strict=True))
    found = [scale[city] for city in PartialLabelRankingTree().fit(X, y).categories_[0]]
    assert found in (sorted(found), sorted(found, reverse=True))


@every_estimator
def test_unseen_categories_are_missing_values(model: Any) -> None:
    X, y = survey()
    fitted = clone(model).fit(X, y)
    asked, blank = X.assign(city="Ulm"), X.assign(city=None)
    np.testing.assert_array_equal(fitted.predict(asked), fitted.predict(blank))
    wider = X.astype({"city": pd.CategoricalDtype([*CITIES[::-1], "Ulm"])})
    np.testing.assert_array_equal(fitted.predict(wider), fitted.predict(X))


def test_a_linear_model_has_an_input_per_category(tmp_path: Path) -> None:
    X, Y = survey()
    linear = PartialLabelRankingLinear(standard_errors=True).fit(X, Y)
    assert linear.category_coef_.shape == linear.category_tie_coef_.shape == (4, 8)
    assert linear.category_coef_standard_error_.shape == (4, 8)
    assert np.all(linear.coef_[:, 0] == 0)
    assert linear.feature_importances_[0] > 0.3
    shap = linear.shap_values(X)
    total = shap.sum(axis=1) + linear.shap_base_values()
    assert np.abs(total - linear.predict_label_scores(X)).max() < 1e-9
    unseen = pd.DataFrame({"city": ["Nowhere"], "age": [linear.mean_[1]]})
    assert (
        np.abs(
            linear.predict_label_scores(unseen)
            - linear.predict_label_scores(pd.DataFrame({"city": [None], "age": [linear.mean_[1]]}))
        ).max()
        == 0
    )
    save_model(linear, tmp_path / "model.bucketrank")
    loaded = load_model(tmp_path / "model.bucketrank")
    assert np.array_equal(loaded.predict_utilities(X), linear.predict_utilities(X))
    assert np.array_equal(loaded.category_coef_, linear.category_coef_)
    assert np.array_equal(
        loaded.category_coef_standard_error_, linear.category_coef_standard_error_
    )


def test_categories_of_a_linear_model_are_indicators() -> None:
    X, Y = survey()
    X = X.fillna({"city": "Bern", "age": 40.0})
    linear = PartialLabelRankingLinear(tolerance=1e-9).fit(X, Y)
    indicators = [X["city"] == name for name in linear.categories_[0]]
    # The linear model keeps the categorical feature itself as an input without influence: here, the column of zeros.
    by_hand = np.column_stack([np.zeros(len(X)), X["age"], *indicators]).astype(float)
    other = PartialLabelRankingLinear(tolerance=1e-9).fit(by_hand, Y)
    assert np.abs(linear.category_coef_ - other.coef_[:, 2:]).max() < 1e-5
    assert np.abs(linear.predict_utilities(X) - other.predict_utilities(by_hand)).max() < 1e-5


def test_pipelines_pass_frames_on() -> None:
    X, y = survey()
    pipeline = make_pipeline(FunctionTransformer(lambda table: table), clone(ESTIMATORS[0]))
    np.testing.assert_array_equal(
        pipeline.fit(X, y).predict(X), clone(ESTIMATORS[0]).fit(X, y).predict(X)
    )


def test_numbers_and_booleans_stay_numbers() -> None:
    X = pd.DataFrame({"a": [1, 2, 3, 4], "b": [True, False, True, True]})
    y = [[1, 2], [2, 1], [1, 2], [1, 2]]
    tree = PartialLabelRankingTree().fit(X, y)
    assert tree.categories_ == {}
    assert clone(tree).set_params(categorical_features=None).fit(X, y).categories_ == {}


BAD: list[tuple[Any, Any, type[Exception], str]] = [
    (
        [[f"c{i}"] for i in range(256)],
        "from_dtype",
        ValueError,
        "256 categories; expected at most 255",
    ),
    (
        [["a"], [3]] * 2,
        "from_dtype",
        TypeError,
        "row 1: 3 is a number.*expected categories of one type",
    ),
    ([[1.0], [2.0]], ["city"], ValueError, "names 'city', but X has no column names"),
    (pd.DataFrame({"a": [1, 2]}), ["b"], ValueError, "names 'b', which is not a column of X"),
    ([[1.0], [2.0]], [3], ValueError, "index 3; expected 0 to 0"),
    ([[1.0], [2.0]], [True, False], ValueError, "2 booleans; expected 1, one per feature"),
    ([[1.0], [2.0]], "all", ValueError, "categorical_features is 'all'; expected 'from_dtype'"),
    ([[1.0], [2.0]], 3, TypeError, "categorical_features is 3; expected"),
    ([[1.0], [2.0]], [0.5], TypeError, "has the entry 0.5; expected names, indices or booleans"),
]


@pytest.mark.parametrize(("X", "chosen", "error", "message"), BAD)
def test_bad_input(X: Any, chosen: Any, error: type[Exception], message: str) -> None:
    y = np.tile([[1, 2], [2, 1]], (len(X) // 2, 1))
    tree = PartialLabelRankingTree(categorical_features=chosen)
    with pytest.raises(error, match=message):
        tree.fit(X, y)
    assert vars(tree) == vars(PartialLabelRankingTree(categorical_features=chosen))


def test_mismatched_types_names_and_lengths() -> None:
    X, y = survey()
    tree = PartialLabelRankingTree().fit(X, y)
    with pytest.raises(
        TypeError, match=r"column 'city', row 0: 3.*expected a category of type string"
    ):
        tree.predict(X.assign(city=3))
    with pytest.raises(ValueError, match="could not convert string to float"):
        tree.predict(X.assign(age="old"))
    with pytest.raises(ValueError, match="feature names"):
        tree.predict(X.rename(columns={"city": "town"}))
    with pytest.raises(ValueError, match="X has 160 rows but y has 159"):
        tree.fit(X, y[:-1])


def test_signed_infinities_and_nan_are_not_categories() -> None:
    table = CsvTable("f.csv", "city,age,a,b\nBern,1,1,2\nCork,-nan,2,1\n")
    X, _ = table.read_with_text([0, 1], [2, 3])
    assert X[0].tolist() == ["Bern", 1.0]
    assert np.isnan(X[1, 1])
    table = CsvTable("f.csv", "age,a,b\n1,1,2\n-inf,2,1\n")
    with pytest.raises(BadFileError, match=r"line 3, column 1 \(age\): '-inf' is not a finite"):
        table.read_with_text([0], [1, 2])


def test_command_line_reads_categories(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ["red,4,1,2", "blue,5,2,1", ",6,1,2", "red,,1,2", "blue,8,2,1"] * 8
    table = tmp_path / "drinks.csv"
    table.write_text("colour,size,tea,coffee\n" + "\n".join(rows) + "\n")
    out = str(tmp_path / "model.bin")
    fit = ["fit", str(table), "--labels", "tea", "coffee", "--method", "tree", "--out", out]
    assert main(fit) == 0
    assert "40 rows, 2 features" in capsys.readouterr().out
    asked = b"size,colour\n4,red\n5,blue\n7,\n,green\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(asked)))
    assert main(["predict", out, "-"]) == 0
    assert capsys.readouterr().out == "tea,coffee\n1,2\n2,1\n1,2\n1,2\n"
