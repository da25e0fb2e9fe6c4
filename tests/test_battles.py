"""Reading of comparisons from CSV and JSON files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bucketrank.csv_records import BadFileError
from bucketrank.datasets import read_battles

HEADER = "model_a,model_b,winner\n"


def written(folder: Path, text: str, name: str = "games.csv") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # pandas takes the first column as an index, and the others move to the left.
        (
            HEADER + "1,a,b,model_a\n2,b,c,tie\n",
            r"line 2, column 4: an extra cell: 4 cells; expected 3",
        ),
        (
            HEADER + "a,b,model_a\nb,a,tie,9\n",
            r"line 3, column 4: an extra cell: 4 cells; expected 3",
        ),
        (
            HEADER + "a,b,model_a\nb,a\n",
            r"line 3, column 3 \(winner\): outcome is nan; expected an outcome",
        ),
        (
            HEADER + "a,b,model_a\n  ,a,tie\n",
            r"line 3, column 1 \(model_a\): first is nan; expected a label",
        ),
        (HEADER + "a,b,model_a\n\na,a,tie\n", r"line 4: 'a' is compared with itself"),
        (
            "model_a,model_b,winner,model_a\na,b,model_a,c\n",
            r"column 4: 'model_a' is already the name of column 1; expected a different name",
        ),
        ("", r"the file is empty; expected a header and one comparison per row"),
        (HEADER + 'a,b,tie\n"a,b,tie\n', r"line 3, column 1: a quote is opened but never closed"),
        (HEADER, r"found 0 comparisons"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadFileError, match=rf"games\.csv[:,] .*{message}"):
        read_battles(written(tmp_path, text))


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "games.csv"
    file.write_bytes(HEADER.encode() + b"a,b,tie\nb,\xff,tie\n")
    with pytest.raises(BadFileError, match=r"games\.csv, line 3, column 3 .*0xff is not UTF-8"):
        read_battles(file)


def test_compressed_files_are_read(tmp_path: Path) -> None:
    frame = pd.DataFrame([["a", "b", "tie"]], columns=["model_a", "model_b", "winner"])
    file = tmp_path / "games.csv.gz"
    frame.to_csv(file, index=False)
    assert read_battles(file).labels == ["a", "b"]
    frame.assign(winner="other").to_csv(file, index=False)
    with pytest.raises(BadFileError, match=r"games\.csv\.gz: row 0: outcome 'other'"):
        read_battles(file)


def test_broken_compressed_files_are_refused(tmp_path: Path) -> None:
    whole = gzip.compress((HEADER + "a,b,tie\n").encode())
    (tmp_path / "games.csv.gz").write_bytes(whole[:-12])
    with pytest.raises(BadFileError, match="the compressed file ends too early"):
        read_battles(tmp_path / "games.csv.gz")
    (tmp_path / "games.csv.GZ").write_bytes(gzip.compress((HEADER + "a,b,tie,9\n").encode()))
    with pytest.raises(BadFileError, match=r"games\.csv\.GZ: a row has more cells than the header"):
        read_battles(tmp_path / "games.csv.GZ")


@pytest.mark.parametrize("orient", ["list", "dict", "records"])
def test_json_columns_are_read(tmp_path: Path, orient: Any) -> None:
    frame = pd.DataFrame({"model_a": ["a", "b"], "model_b": ["b", "c"], "winner": ["tie"] * 2})
    text = json.dumps(frame.to_dict(orient))
    assert read_battles(written(tmp_path, text, "games.json")).labels == ["a", "b", "c"]


def test_spaces_around_cells_are_no_part_of_a_label(tmp_path: Path) -> None:
    text = 'model_a , model_b,winner\na, b,model_a\nb ," a ", tie\n'
    games = read_battles(written(tmp_path, text))
    assert games.labels == ["a", "b"]
    assert (games.first.tolist(), games.outcome.tolist()) == ([0, 1], [0, 1])


def test_a_trailing_comma_and_columns_without_a_name_are_ignored(tmp_path: Path) -> None:
    plain = read_battles(written(tmp_path, HEADER + "a,b,model_a\nb,a,tie\n"))
    for text in (
        HEADER + "a,b,model_a,\nb,a,tie,\n",
        ",," + HEADER + "0,0,a,b,model_a\n1,1,b,a,tie\n",
    ):
        games = read_battles(written(tmp_path, text))
        assert games.labels == plain.labels
        assert games.outcome.tolist() == plain.outcome.tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"Expecting property name .* line 1 column 2"),
        ('"abc"', r"expected a list of records"),
        ("[1]", r"expected a list of records"),
        ("[" * 100_000, r"nested too deeply"),
        (
            '[{"model_a": "a", "model_b": null, "winner": "tie"}]',
            r"row 0: second is None; expected",
        ),
        ('[{"model_a": "a", "model_b": NaN, "winner": "tie"}]', r"row 0: second is nan; expected"),
        ("[]", r"no column 'model_a'"),
    ],
)
def test_bad_json_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadFileError, match=rf"games\.json: .*{message}"):
        read_battles(written(tmp_path, text, "games.json"))
    with pytest.raises(BadFileError, match=r"games\.jsonl: line 2: Expecting value"):
        read_battles(written(tmp_path, '{"model_a": "a"}\nb\n', "games.jsonl"))
    with pytest.raises(BadFileError, match=r"none\.json: No such file"):
        read_battles(tmp_path / "none.json")


def test_json_with_numbers_and_columns(tmp_path: Path) -> None:
    records = [
        {"model_a": 1, "model_b": "x", "winner": 1, "weight": 0.5},
        {"model_a": "x", "model_b": 2**70, "winner": 0.5, "weight": 2, "note": None},
    ]
    games = read_battles(written(tmp_path, json.dumps(records), "a.json"), weight="weight")
    assert games.labels == ["1", str(2**70), "x"]
    assert games.weight is not None
    assert (games.outcome.tolist(), games.weight.tolist()) == ([0, 1], [0.5, 2])
    pd.DataFrame(records).to_json(tmp_path / "b.json")
    again = read_battles(tmp_path / "b.json", weight="weight")
    assert again.labels == games.labels


GROUPS = ["001", "1", "1e3", "1000", "9007199254740993", "9007199254740992"]


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("-3", r"weight -3; expected a finite number"),
        ("x", r"weight 'x'; expected a number"),
        ("", r"weight NaN; expected"),
    ],
)
def test_errors_of_numbers_name_line_and_column(tmp_path: Path, cell: str, problem: str) -> None:
    text = f'{HEADER.strip()}, n \na,b,tie,1\n\n"a\nc",b,tie,2\nb,a,tie,{cell}\n'
    with pytest.raises(BadFileError, match=rf"games\.csv, line 6, column 4 \(n\): {problem}"):
        read_battles(written(tmp_path, text), weight="n")
    with pytest.raises(BadFileError, match=r"games\.csv, line 6, column 4 \(n\): covariate 'n' "):
        read_battles(written(tmp_path, text.replace("-3", "inf")), covariates=["n"])


def test_errors_of_json_lines_name_the_line(tmp_path: Path) -> None:
    lines = '{"model_a": "a", "model_b": "b", "winner": 1}\n\n{"model_a": "a", "model_b": "b"}\n'
    with pytest.raises(BadFileError, match=r"games\.jsonl, line 3: outcome is nan"):
        read_battles(written(tmp_path, lines, "games.jsonl"))


@pytest.mark.parametrize("column", ["voter", "date"])
@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_groups_are_texts(tmp_path: Path, form: str, column: str) -> None:
    rows: list[dict[str, Any]] = [
        {"model_a": "a", "model_b": "b", "winner": "tie", column: group} for group in GROUPS
    ]
    text = "\n".join(map(json.dumps, rows)) if form == "jsonl" else json.dumps(rows)
    if form == "csv":
        text = HEADER.strip() + f",{column}\n" + "".join(f"a,b,tie,{group}\n" for group in GROUPS)
    games = read_battles(written(tmp_path, text, f"games.{form}"), group=column)
    assert games.group is not None
    assert [games.groups[index] for index in games.group] == GROUPS
