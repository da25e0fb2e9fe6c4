"""Saved models, the commands fit and predict, and invalid model files."""

from __future__ import annotations

import json
import os
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import containers
from bucketrank import (
    Borda,
    PartialLabelRanker,
    PartialLabelRankingBooster,
    PartialLabelRankingForest,
    PartialLabelRankingLinear,
    PartialLabelRankingTree,
    TauX,
    load_model,
    save_model,
)
from bucketrank.__main__ import main as run_command
from tree_data import random_data, with_missing_labels

X, Y = random_data(0, rows=40)
Y = with_missing_labels(Y, 0.2, 0)
MODELS: list[Any] = [
    PartialLabelRankingTree(Borda(0.3), max_depth=3),
    PartialLabelRankingBooster(TauX("local", order="borda"), rounds=4, random_state=0),
    PartialLabelRankingLinear(standard_errors=True),
    PartialLabelRankingForest(n_estimators=3, random_state=0),
    PartialLabelRanker(n_estimators=2, rounds=2, n_parts=2, random_state=0),
]
models = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def rewrite_description(path: Path, change: Any) -> Path:
    """Apply `change` to the description in a saved model and write it with a valid checksum; return the path."""
    entries = containers.parse(path.read_bytes())
    description = json.loads(entries["description"].data)
    change(description)
    entries["description"] = containers.text(json.dumps(description))
    path.write_bytes(containers.build(entries))
    return path


def nested(depth: int) -> Any:
    return {"tuple": [nested(depth - 1)]} if depth else 1


@models
def test_loaded_models_equal_saved_ones(model: Any, tmp_path: Path) -> None:
    model.set_output(transform="default").fit(X, Y, np.arange(40))
    save_model(model, tmp_path / "model.bin")
    other = load_model(tmp_path / "model.bin")
    assert type(other) is type(model)
    assert other.get_params() == model.get_params()
    assert other.aggregator_ == model.aggregator_
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert other.label_names_in_.tolist() == model.label_names_in_.tolist()
    assert vars(other).keys() == vars(model).keys()


@pytest.mark.parametrize(
    "categorical", [[0], (0,), ["a"], [True, False], np.array([0]), "from_dtype", None]
)
def test_the_choice_of_categories_is_saved(categorical: Any, tmp_path: Path) -> None:
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 0.0], "b": [1.0, 2.0, 3.0, 4.0]})
    tree = PartialLabelRankingTree(categorical_features=categorical).fit(
        X, [[1, 2], [1, 2], [2, 1], [2, 1]]
    )
    save_model(tree, tmp_path / "model.bin")
    loaded = load_model(tmp_path / "model.bin")
    assert type(loaded.categorical_features) is type(categorical)
    np.testing.assert_array_equal(loaded.categorical_features, categorical)
    np.testing.assert_array_equal(loaded.predict(X), tree.predict(X))


@pytest.mark.parametrize(
    "categorical",
    [
        pd.Index(["a"]),
        pd.Series(["a"]),
        np.array(["a"]),
        np.array([0], dtype=np.int32),
        {0},
        range(1),
    ],
)
def test_other_collections_are_saved_as_lists(categorical: Any, tmp_path: Path) -> None:
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 0.0], "b": [1.0, 2.0, 3.0, 4.0]})
    tree = PartialLabelRankingTree(categorical_features=categorical)
    save_model(tree.fit(X, [[1, 2], [1, 2], [2, 1], [2, 1]]), tmp_path / "model.bin")
    loaded = load_model(tmp_path / "model.bin")
    assert loaded.categorical_features == list(categorical)
    np.testing.assert_array_equal(loaded.predict(X), tree.predict(X))


def test_random_generators_are_not_saved(tmp_path: Path) -> None:
    model = PartialLabelRankingBooster(rounds=2, random_state=np.random.RandomState(3)).fit(X, Y)
    save_model(model, tmp_path / "model.bin")
    assert load_model(tmp_path / "model.bin").random_state is None


@models
def test_every_damaged_byte_is_detected(model: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    save_model(model.fit(X, Y), path)
    data = path.read_bytes()
    for place in range(0, len(data), max(1, len(data) // 300)):
        damaged = bytearray(data)
        damaged[place] ^= 0x11
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"model\.bin"):
            load_model(path)
        path.write_bytes(data[:place])
        with pytest.raises(ValueError, match=r"model\.bin"):
            load_model(path)


def test_foreign_files_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(pickle.dumps(PartialLabelRankingLinear().fit(X, Y)))
    with pytest.raises(ValueError, match="not a saved model of bucketrank"):
        load_model(path)
    save_model(PartialLabelRankingLinear().fit(X, Y), path)
    newer = bytearray(path.read_bytes())
    newer[8] = 7
    path.write_bytes(newer)
    with pytest.raises(ValueError, match="format version 7; this release reads versions up to 1"):
        load_model(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(estimator="save_model"),
        lambda d: d.update(estimator="__loader__"),
        lambda d: d.update(estimator=["os"]),
        lambda d: d.update(estimator="PartialLabelRankingTree"),
        lambda d: d["state"].update(__class__="int"),
        lambda d: d["state"].update(unknown_=1),
        lambda d: d["state"].pop("model_"),
        lambda d: d["state"].pop("ridge"),
        lambda d: d["state"].update(model_=None),
        lambda d: d["state"].update(model_=d["state"]["mean_"]),
        lambda d: d["state"].update(mean_=d["state"]["model_"]),
        lambda d: d["state"].update(n_jobs="many"),
        lambda d: d["state"].update(n_labels_in_=7),
        lambda d: d["state"].update(n_labels_in_="4"),
        lambda d: d["state"].update(label_names_in_={"names": 5}),
        lambda d: d["state"]["model_"].update(kernel="aggregate"),
        lambda d: d["state"]["model_"].update(part=99),
        lambda d: d["state"].update(aggregator_={"aggregator": "dataclass", "params": {}}),
        lambda d: d["state"].update(aggregator_={"aggregator": "Borda", "params": {"x": 1}}),
        lambda d: d["state"].update(ridge={"list": [{"list": []}] * 300_000}),
        lambda d: d["state"].update(label_names_in_=nested(50)),
        lambda d: d["state"].update(ridge={"float": 10**400}),
        lambda d: d.pop("state"),
        lambda d: d.update(state=[1]),
        lambda d: d.update(state=3),
    ],
)
def test_invalid_descriptions_with_a_valid_checksum_are_refused(
    change: Any, tmp_path: Path
) -> None:
    path = tmp_path / "model.bin"
    save_model(PartialLabelRankingLinear().fit(X, Y), path)
    with pytest.raises(ValueError, match=r"model\.bin"):
        load_model(rewrite_description(path, change))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX pipes and devices")
def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, found in [(tmp_path, "a folder"), (pipe, "a pipe"), (Path("/dev/zero"), "a device")]:
        with pytest.raises(
            ValueError, match=f"found {found}; expected a file with the saved model"
        ):
            load_model(path)


def test_unsupported_models(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="expected an estimator of bucketrank"):
        save_model(LinearRegression(), tmp_path / "model.bin")
    with pytest.raises(ValueError, match="PartialLabelRankingTree is not fitted"):
        save_model(PartialLabelRankingTree(), tmp_path / "model.bin")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def drinks(tmp_path: Path) -> Path:
    """Rankings with coffee first in the morning and tea first in the evening."""
    path = tmp_path / "drinks.csv"
    rows = [f"{hour},1,{1 + (hour > 12)},{2 - (hour > 12)},2" for hour in range(24)] * 2
    path.write_text("\n".join(["hour,note,coffee,tea,juice", *rows]) + "\n")
    return path


def test_fit_and_predict(drinks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.bin"
    fit = ["fit", str(drinks), "--labels", "coffee", "tea", "juice", "--out", str(model)]
    assert run_command([*fit, "--method", "booster", "--jobs", "1"]) == 0
    assert (
        "PartialLabelRankingBooster of 48 rows, 2 features and 3 labels" in capsys.readouterr().out
    )
    new = tmp_path / "new.csv"
    new.write_text("day,note,hour\nmonday,1,3\ntuesday,1,20\n")
    assert run_command(["predict", str(model), str(new)]) == 0
    assert capsys.readouterr().out == "coffee,tea,juice\n1,2,2\n2,1,2\n"
    out = tmp_path / "out.txt"
    assert (
        run_command(["predict", str(model), str(new), "--format", "text", "--out", str(out)]) == 0
    )
    assert out.read_text() == "coffee > tea ~ juice\ntea > coffee ~ juice\n"


def test_an_empty_cell_in_a_single_column_is_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.csv"
    data.write_text("hour,coffee,tea\n3,1,2\n20,2,1\n")
    model = str(tmp_path / "model.bin")
    fit = ["fit", str(data), "--labels", "coffee", "tea", "--method", "tree", "--out", model]
    assert run_command(fit) == 0
    new = tmp_path / "new.csv"
    pd.DataFrame({"hour": [3, None, 20]}).to_csv(new, index=False)
    capsys.readouterr()
    assert run_command(["predict", model, str(new)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_predict_with_closed_standard_output(
    drinks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = str(tmp_path / "model.bin")
    fit = ["fit", str(drinks), "--labels", "coffee", "tea", "juice", "--method", "tree"]
    assert run_command([*fit, "--out", model]) == 0
    monkeypatch.setattr("sys.stdout", None)
    assert run_command(["predict", model, str(drinks)]) == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "new.csv: the file is empty"),
        (
            "hour\n3\n",
            "new.csv, line 1: no column 'note'; expected a column for each feature of the model",
        ),
        ("hour,note\n", "new.csv: a header but no rows"),
        ("hour,note\n3,high\n", r"new.csv, line 2, column 2 \(note\): 'high' is not a finite"),
        ("hour,note\n3\n", "new.csv, line 2, column 2: a cell is missing: 1 cell; expected 2"),
    ],
)
def test_invalid_rows(
    drinks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    model = tmp_path / "model.bin"
    fit = ["fit", str(drinks), "--labels", "coffee", "tea", "juice", "--out", str(model)]
    assert run_command([*fit, "--method", "linear"]) == 0
    new = tmp_path / "new.csv"
    new.write_text(content)
    assert run_command(["predict", str(model), str(new)]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_command_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str], drinks: Path) -> None:
    out = ["--out", str(tmp_path / "model.bin")]
    assert run_command(["fit", str(drinks), *out, "--method", "boster"]) == 2
    assert "unknown method 'boster'; known: booster" in capsys.readouterr().err
    assert run_command(["fit", str(tmp_path / "none.csv"), *out]) == 2
    assert "No such file" in capsys.readouterr().err
    assert run_command(["predict", str(drinks), str(drinks)]) == 2
    assert "not a saved model of bucketrank" in capsys.readouterr().err
    assert run_command(["predict", str(tmp_path / "none.bin"), str(drinks)]) == 1
    assert re.search(r"none\.bin: No such file", capsys.readouterr().err)


def test_an_unwritable_output_is_rejected_before_the_fit(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    drinks: Path,
) -> None:
    monkeypatch.setattr(PartialLabelRankingLinear, "fit", None)
    fit = ["fit", str(drinks), "--labels", "coffee", "tea", "--method", "linear", "--out"]
    assert run_command([*fit, str(tmp_path)]) == 2
    assert "found a folder; expected the name of a file to write" in capsys.readouterr().err
    assert run_command([*fit, str(tmp_path / "nowhere" / "model.bin")]) == 2
    assert re.search(r"model\.bin: there is no folder .*nowhere", capsys.readouterr().err)


def test_errors_of_files_name_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], drinks: Path
) -> None:
    save_model(
        PartialLabelRankingLinear().fit([[0.0], [1.0]], [[1, 2], [2, 1]]), tmp_path / "m.bin"
    )
    new = tmp_path / "new.csv"
    new.write_text("A1\n3\n")
    out = str(tmp_path / "nowhere" / "out.csv")
    assert run_command(["predict", str(tmp_path / "m.bin"), str(new), "--out", out]) == 2
    assert re.search(r"out\.csv: there is no folder", capsys.readouterr().err)
    assert run_command(["fit", str(drinks), "--out", str(tmp_path / "model.bin")]) == 2
    assert "or --labels on the command line" in capsys.readouterr().err
