"""Hostile names are shown as text in every output format."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest

from bucketrank import Borda
from bucketrank.__main__ import main
from bucketrank.datasets import Dataset, describe
from bucketrank.experiments import Study, compare
from bucketrank.tables import Column, Table

NAMES = [
    "<script>alert(1)</script>",
    r"\input{/etc/passwd}",
    "a|b",
    "`code`",
    "$x$",
    "nul\x00byte",
    "nul at the end\x00",
    "esc\x1b[2J",
    "=cmd|' /C calc'!A0",
    "~^{}#%&_",
    "[link](javascript:alert)",
    "line\nbreak",
    "\u202eright to left",
]


@pytest.fixture(scope="module")
def study() -> Study:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 2)), np.tile([[1, 2, 3], [2, 1, 3]], (6, 1))
    methods = dict.fromkeys(NAMES, "borda")
    datasets = [Dataset(name, X, Y) for name in NAMES[:3] + NAMES[5:9]]
    return compare(datasets, methods, missing=0, n_repeats=1, n_folds=2, progress=False)


def table() -> Table:
    columns = (Column.of("name", NAMES), *(Column.of(name, range(len(NAMES))) for name in NAMES))
    return Table(NAMES[0], columns, note=NAMES[1], meaning="esc\x1b[2J")


def check_control_characters(text: str) -> None:
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)


def check_latex(text: str) -> None:
    check_control_characters(text)
    assert r"\input" not in text
    assert "$x$" not in text


def check_markdown(text: str) -> None:
    check_control_characters(text)
    assert "<script" not in text
    assert "[link]" not in text
    assert not re.search(r"(?<!\\)`", text)
    assert not re.search(r"(?<!\\)\$", text)


def check_csv(text: str) -> None:
    check_control_characters(text)
    for row in csv.reader(io.StringIO(text)):
        assert not any(cell.startswith(("=", "+", "@")) for cell in row)


def test_tables() -> None:
    check_control_characters(str(table()))
    check_csv(table().to_csv())
    check_latex(table().to_latex())
    check_markdown(table().to_markdown())
    check_html(table().to_html())
    assert {line.count("|") - line.count(r"\|") for line in table().to_markdown().split("\n")} == {
        len(NAMES) + 2
    }


def test_numbers_in_csv_stay() -> None:
    text = Table("", (Column.of("x", [-1.5, 2, "-3"]),)).to_csv()
    assert text == "x\n-1.5\n2\n-3\n"


def test_summary(study: Study) -> None:
    summary = study.summary()
    check_control_characters(str(summary))
    check_csv(summary.to_csv())
    check_csv(study.to_csv())
    check_latex(summary.to_latex())


def check_html(text: str) -> None:
    own = re.sub(r"<style>.*?</style>|<script>\n.*?</script>", "", text, flags=re.DOTALL)
    check_control_characters(own)
    assert "<script" not in own


def test_report(study: Study) -> None:
    pytest.importorskip("matplotlib")
    check_html(study.report())
    check_latex(study.report(format="latex"))
    check_markdown(study.report(format="markdown"))


def test_descriptions() -> None:
    data = [Dataset(name, [[1], [2]], [[1, 2], [2, 1]]) for name in NAMES]
    check_control_characters(str(describe(data)))
    check_csv(describe(data).to_csv())
    check_latex(describe(data).to_latex())


def test_explanation() -> None:
    Y = [list(range(1, len(NAMES) + 1))]
    check_control_characters(str(Borda().explain(Y, labels=NAMES)))


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = [name for name in NAMES if "\x00" not in name]
    file, model = tmp_path / "data.csv", tmp_path / "model.bin"
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(labels)
        writer.writerows([range(1, len(labels) + 1)] * 4)
    for arguments in (
        ["aggregate", str(file), "--format", "csv"],
        ["fit", str(file), "--labels", *labels[:-1], "--method", "tree", "--out", str(model)],
        ["predict", str(model), str(file)],
    ):
        assert main(arguments) == 0
        check_csv(capsys.readouterr().out)
