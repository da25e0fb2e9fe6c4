"""Datasets from OpenML, read from a folder in the format of scikit-learn's cache: no test needs the network."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from email.message import Message
from http.client import IncompleteRead
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import numpy as np
import pytest
from sklearn.datasets import _openml

from bucketrank.datasets import PAPER_DATASETS, fetch

ROWS = [("0.5", "1", "1", "2", "2"), ("-1", "3", "2", "1", "3"), ("2e-1", "2", "1", "1", "1")]
NUMERIC = ("A1 REAL", "A2 INTEGER", "L1 INTEGER", "L2 INTEGER", "L3 INTEGER")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise URLError("Name or service not known")

    monkeypatch.setattr(_openml, "urlopen", refuse)
    monkeypatch.setattr(_openml.time, "sleep", lambda _: None)


def store(home: Path, path: str, content: bytes) -> None:
    file = home / "openml" / "openml.org" / f"{path}.gz"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(content))


def serve(
    home: Path,
    number: int,
    attributes: Sequence[str] = NUMERIC,
    rows: Sequence[Sequence[str]] = ROWS,
    name: str = "partial-label-ranking",
    target: str = "",
) -> None:
    """Write the OpenML responses for a dataset in the format of scikit-learn's cache."""
    lines = [f"@RELATION {name}", *(f"@ATTRIBUTE {attribute}" for attribute in attributes)]
    arff = "\n".join([*lines, "@DATA", *(",".join(row) for row in rows)]).encode()
    file_id = 10 * number
    description = {
        "id": str(number),
        "name": name,
        "version": "1",
        "status": "active",
        "format": "ARFF",
        "file_id": str(file_id),
        "url": f"https://www.openml.org/data/v1/download/{file_id}",
        "md5_checksum": hashlib.md5(arff, usedforsecurity=False).hexdigest(),
        "description": "Rankings of labels.",
    }
    features = []
    for index, attribute in enumerate(attributes):
        column, kind = attribute.split(" ", 1)
        features.append(
            {
                "index": str(index),
                "name": column,
                "data_type": "nominal" if kind.startswith("{") else "numeric",
                "is_target": str(column == target).lower(),
                "is_ignore": "false",
                "is_row_identifier": "false",
                "number_of_missing_values": "0",
            }
        )
    qualities = [{"name": "NumberOfInstances", "value": f"{len(rows):.1f}"}]
    for path, answer in {
        f"data/{number}": {"data_set_description": description},
        f"data/features/{number}": {"data_features": {"feature": features}},
        f"data/qualities/{number}": {"data_qualities": {"quality": qualities}},
    }.items():
        store(home, f"api/v1/json/{path}", json.dumps(answer).encode())
    store(home, f"data/v1/download/{file_id}", arff)


@pytest.mark.parametrize("target", ["", "L3"])
def test_names_and_numbers(tmp_path: Path, target: str) -> None:
    serve(tmp_path, 45755, target=target)
    data = fetch("algae", data_home=tmp_path)
    assert (data.name, data.source) == ("algae", "https://www.openml.org/d/45755")
    assert data.X.tolist() == [[0.5, 1], [-1, 3], [0.2, 2]]
    assert data.Y.tolist() == [[1, 2, 2], [2, 1, 3], [1, 1, 1]]
    assert (data.feature_names, data.label_names) == (("A1", "A2"), ("L1", "L2", "L3"))
    by_number = fetch(45755, data_home=str(tmp_path))
    assert (by_number, by_number.name) == (data, "algae")


def test_other_datasets_are_named_by_openml(tmp_path: Path) -> None:
    serve(tmp_path, 77, name="drinks")
    assert fetch(np.int64(77), data_home=tmp_path).name == "drinks"  # type: ignore[arg-type]


def test_positions_that_were_declared_as_categories(tmp_path: Path) -> None:
    # The categories are not in numeric order: codes must not be used as positions.
    nominal = ("A1 REAL", "A2 {3,1,2}", "L1 {2,1}", "L2 {1,2}", "L3 {3,2,1}")
    serve(tmp_path, 42871, nominal)
    serve(tmp_path, 42872)
    assert fetch("iris", data_home=tmp_path) == fetch("wine", data_home=tmp_path)


@pytest.mark.parametrize("label", ["INTEGER", "{1,2,3}"])
def test_missing_labels(tmp_path: Path, label: str) -> None:
    rows = [("0.5", "?", "1", "2"), ("1.5", "2", "1", "3")]
    serve(tmp_path, 5, ("A1 REAL", f"L1 {label}", f"L2 {label}", f"L3 {label}"), rows)
    data = fetch(5, data_home=tmp_path)
    assert np.array_equal(data.Y, np.array([[np.nan, 1, 2], [2, 1, 3]]), equal_nan=True)


def test_other_columns(tmp_path: Path) -> None:
    rows = [("x", "8", "1", "2"), ("y", "15", "1", "1")]
    serve(tmp_path, 6, ("city {x,y}", "hour REAL", "tea REAL", "milk REAL"), rows)
    with pytest.raises(ValueError, match=r"OpenML 6 \(partial.*\): no column L1, L2, ..."):
        fetch(6, data_home=tmp_path)
    with pytest.raises(ValueError, match="column 'city' contains text; expected numbers"):
        fetch(6, data_home=tmp_path, label_columns=["tea", "milk"])
    columns: dict[str, Any] = {"label_columns": ["tea", "milk"], "feature_columns": ["hour"]}
    data = fetch(6, data_home=tmp_path, **columns)
    assert (data.X.tolist(), data.Y.tolist()) == ([[8], [15]], [[1, 2], [1, 1]])


def test_invalid_rankings(tmp_path: Path) -> None:
    serve(tmp_path, 8, ("A1 REAL", "L1 REAL", "L2 REAL"), [("1", "1", "2"), ("1", "0", "2")])
    with pytest.raises(ValueError, match=r"OpenML 8 .*row 1, label 0: position 0"):
        fetch(8, data_home=tmp_path)


def test_without_network_the_error_suggests_alternatives(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match="Name or service not known") as caught:
        fetch("movies", data_home=tmp_path)
    for hint in ("https://www.openml.org/d/45738", "read_csv", "load('iris')"):
        assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        (412, ValueError, "OpenML 999: Dataset with data_id 999 not found"),
        (404, ValueError, "OpenML has no dataset 999"),
        (503, ConnectionError, "cannot download dataset 999 from OpenML"),
    ],
)
def test_http_errors(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    error: type[Exception],
    message: str,
) -> None:
    def answer(*_: Any, **__: Any) -> Any:
        raise HTTPError("https://www.openml.org", code, "no", Message(), None)

    monkeypatch.setattr(_openml, "urlopen", answer)
    with pytest.raises(error, match=message):
        fetch(999, data_home=tmp_path)


def test_an_incomplete_response(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(*_: Any, **__: Any) -> Any:
        raise IncompleteRead(b"")

    monkeypatch.setattr(_openml, "urlopen", answer)
    with (
        pytest.warns(RuntimeWarning, match="Invalid cache"),
        pytest.raises(
            ConnectionError, match=r"cannot download dataset 999 from OpenML \(IncompleteRead"
        ),
    ):
        fetch(999, data_home=tmp_path)


def test_a_damaged_cache_is_reported(tmp_path: Path) -> None:
    serve(tmp_path, 9)
    store(tmp_path, "data/v1/download/90", b"@RELATION other\n")
    with (
        pytest.warns(RuntimeWarning, match="Invalid cache"),
        pytest.raises(ConnectionError, match="cannot download dataset 9 from OpenML"),
    ):
        fetch(9, data_home=tmp_path)


@pytest.mark.parametrize(
    ("dataset", "error", "message"),
    [
        ("lettre", ValueError, "unknown dataset 'lettre'; known by name: letter, "),
        ("digits", ValueError, "unknown dataset 'digits'.*others by their OpenML number"),
        (0, ValueError, "dataset is 0; OpenML counts its datasets from 1"),
        (True, TypeError, "dataset is True; expected a name or the number"),
        (1.5, TypeError, "dataset is 1.5; expected a name or the number"),
    ],
)
def test_bad_names(dataset: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fetch(dataset)


def test_pandas_is_not_needed(tmp_path: Path) -> None:
    serve(tmp_path, 42871)
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "from bucketrank.datasets import fetch\n"
        f"print(fetch('iris', data_home={str(tmp_path)!r}))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert result.stdout == "Dataset('iris': 3 rows, 2 features, 3 labels)\n"


def test_numbers_of_the_paper_are_unique() -> None:
    assert len(PAPER_DATASETS) == 17
    assert len({paper.openml_id for paper in PAPER_DATASETS}) == 17
    assert len({paper.name for paper in PAPER_DATASETS}) == 17
