"""The command ``bucketrank datasets``."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
from sklearn.datasets import _openml

from bucketrank.datasets import PAPER_DATASETS, load, names
from test_command_line import run
from test_datasets_openml import serve

TABLE = "A1,L1,L2,L3\n1,1,2,2\n2,3,1,2\n3,1,,2\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("tea", "coffee"):
        (tmp_path / f"{name}.csv").write_text(TABLE)
    return tmp_path


def test_list_shows_all_datasets_with_their_sizes() -> None:
    result = run("datasets")
    assert (result.returncode, result.stderr) == (0, "")
    lines = [line.split() for line in result.stdout.splitlines()]
    for name in names():
        assert any(line[:2] == [name, "embedded"] for line in lines)
    for paper in PAPER_DATASETS:
        assert [str(value) for value in paper] in lines
    as_json = json.loads(run("datasets", "--format", "json").stdout)
    assert len(as_json) == len(names()) + len(PAPER_DATASETS)
    assert as_json[-1] == {
        "dataset": "movies",
        **dict(list(PAPER_DATASETS[-1]._asdict().items())[1:]),
    }
    rows = list(csv.DictReader(io.StringIO(run("datasets", "--format", "csv").stdout)))
    assert [row["dataset"] for row in rows] == [row["dataset"] for row in as_json]
    assert rows[0]["openml_id"] == ""
    assert r"breast\_cancer & embedded & 569" in run("datasets", "--format", "latex").stdout


def test_embedded_datasets_in_every_format() -> None:
    table = run("datasets", "iris", "wine")
    assert (table.returncode, table.stderr) == (0, "")
    heading, iris, wine = table.stdout.splitlines()
    assert heading.split()[:3] == ["dataset", "instances", "features"]
    assert iris.split()[:4] == ["iris", "150", "4", "3"]
    assert wine.split()[:4] == ["wine", "178", "13", "3"]
    assert json.loads(run("datasets", "iris", "--format", "json").stdout) == [
        load("iris").describe().to_dict()
    ]
    as_csv = run("datasets", "iris", "--format", "csv").stdout.splitlines()
    assert as_csv[0] == "name,instances,features,labels,unique_rankings,mean_buckets,missing"
    assert len(as_csv) == 2
    assert run("datasets", "iris", "--format", "latex").stdout.startswith(r"\begin{tabular}")


def test_files_and_folders(folder: Path) -> None:
    every = run("datasets", "--data", str(folder), "--format", "json")
    assert [row["name"] for row in json.loads(every.stdout)] == ["coffee", "tea"]
    some = run("datasets", "tea", "--data", str(folder), "--format", "json")
    assert json.loads(some.stdout) == [
        {
            "name": "tea",
            "instances": 3,
            "features": 1,
            "labels": 3,
            "unique_rankings": 3,
            "mean_buckets": 7 / 3,
            "missing": 1 / 9,
        }
    ]
    file = run("datasets", str(folder / "tea.csv"), "--format", "json")
    assert file.stdout == some.stdout


def test_openml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise URLError("no route")

    monkeypatch.setattr(_openml, "urlopen", refuse)
    monkeypatch.setattr(_openml.time, "sleep", lambda _: None)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    serve(tmp_path, 45755)
    for name in ("algae", "45755"):
        result = run("datasets", "--openml", name)
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.splitlines()[1].split()[:4] == ["algae", "3", "2", "3"]
    offline = run("datasets", "--openml")
    assert (offline.returncode, offline.stdout) == (1, "")
    assert (
        "bucketrank datasets: cannot download dataset 42835 from OpenML (no route)"
        in offline.stderr
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["irsi"], "unknown dataset 'irsi'; embedded: iris, "),
        (["algae"], "with --openml: algae, "),
        (["--openml", "moveis"], "unknown dataset 'moveis'; known by name: movies, "),
        (["--data", "{folder}", "cofee"], "unknown dataset 'cofee'; {folder} has: coffee, tea"),
        (["--data", "{folder}/nothing"], "found nothing; expected a folder with CSV files"),
        (["{folder}"], "{folder} is a folder; --data {folder} reads the CSV files in it"),
        (["{folder}/nothing.csv"], "nothing.csv: No such file"),
        (["--data", "{folder}", "--openml"], "not allowed with argument"),
        (["--format", "xml"], "invalid choice: 'xml'"),
    ],
)
def test_bad_options(folder: Path, arguments: list[str], message: str) -> None:
    result = run("datasets", *(argument.format(folder=folder) for argument in arguments))
    assert (result.returncode, result.stdout) == (2, "")
    assert message.format(folder=folder) in result.stderr
    assert "Traceback" not in result.stderr


def test_help_shows_examples() -> None:
    assert "bucketrank datasets iris digits" in run("datasets", "--help").stdout
    assert "datasets" in run("--help").stdout
