"""Datasets from CSV files: accepted formats, and errors for invalid files."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bucketrank.__main__ import main
from bucketrank.csv_reader import CsvTable
from bucketrank.datasets import BadFileError, read_csv, read_folder
from strategies import Ranking, profiles


def write(folder: Path, content: str | bytes, name: str = "drinks.csv") -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def test_columns_are_features_or_labels_by_their_first_letter(tmp_path: Path) -> None:
    file = write(tmp_path, "A1,A2,L1,L2,L3\n0.5,-1e3,1,2,2\n2,.25,3,1,2\n")
    data = read_csv(file)
    assert (data.name, data.source) == ("drinks", str(file))
    assert data.X.tolist() == [[0.5, -1000], [2, 0.25]]
    assert data.Y.tolist() == [[1, 2, 2], [3, 1, 2]]
    assert (data.feature_names, data.label_names) == (("A1", "A2"), ("L1", "L2", "L3"))
    assert read_csv(str(file), name="other").name == "other"


def test_labels_may_come_first_and_in_any_order(tmp_path: Path) -> None:
    data = read_csv(write(tmp_path, "L2,A10,L1,A9\n1,5,2,7\n"))
    assert (data.label_names, data.feature_names) == (("L2", "L1"), ("A10", "A9"))
    assert (data.Y.tolist(), data.X.tolist()) == ([[1, 2]], [[5, 7]])


def test_other_headers(tmp_path: Path) -> None:
    file = write(tmp_path, "id,hour,tea,milk,heat\nx y,8,1,2,21\n?,15,1,,30\n")
    both = read_csv(file, label_columns=["milk", "tea"], feature_columns=["heat"])
    assert (both.feature_names, both.label_names) == (("heat",), ("milk", "tea"))
    assert np.array_equal(both.Y, np.array([[2, 1], [math.nan, 1]]), equal_nan=True)
    file = write(tmp_path, "hour,tea,milk\n8,1,2\n")
    assert read_csv(file, label_columns=["tea", "milk"]).feature_names == ("hour",)
    assert read_csv(file, feature_columns=["hour"]).label_names == ("tea", "milk")


@pytest.mark.parametrize("missing", ["", "NaN", "nan", "NA", "n/a", "null", "None", "?", " ", "\t"])
def test_missing_labels(tmp_path: Path, missing: str) -> None:
    data = read_csv(write(tmp_path, f"L1,A1,L2,L3\n{missing},3,1,2\n1,3,2,{missing}\n"))
    assert np.array_equal(data.Y, [[math.nan, 1, 2], [1, 2, math.nan]], equal_nan=True)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfA1,L1,L2\r\n4,1,2\r\n5,2,1\r\n",
        b'"A1", L1 ,"L2"\n"4",1, 2\n5 ,2,1',
        b"\nA1,L1,L2\n\n4,1,2\n   \n5,2,1\n\n\n",
        b"A1,L1,L2\r4,1,2\r5,2,1\r",
    ],
)
def test_quotes_blanks_and_line_ends(tmp_path: Path, content: bytes) -> None:
    data = read_csv(write(tmp_path, content))
    assert data.X.tolist() == [[4], [5]]
    assert data.Y.tolist() == [[1, 2], [2, 1]]
    assert (data.feature_names, data.label_names) == (("A1",), ("L1", "L2"))


@pytest.mark.parametrize("cell", ["inf", "+inf", "Inf", "INFINITY"])
def test_top_k_lists(tmp_path: Path, cell: str) -> None:
    data = read_csv(write(tmp_path, f"A1,L1,L2,L3\n4,{cell},1,{cell}\n"))
    assert data.Y.tolist() == [[2, 1, 2]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty; expected a header and rows"),
        ("\n  \n", "the file is empty"),
        ("A1,L1,L2\n", "a header but no rows; expected one instance per line"),
        ("A1,A2,A3\n1,2,3\n", "line 1: no column L1, L2, ...; expected the positions"),
        ("\nA1,A2,A3\n1,2,3\n", "line 2: no column L1"),
        ("L1,L2\n1,2\n", "line 1: no column with a feature"),
        ("A1,L1\n1,1\n", r"line 1: 1 column with positions; expected at least 2"),
        ("A1,L1,L2,colour\n1,1,2,3\n", r"column 4 \(colour\) is neither a feature A1, A2"),
        ("A1,A1,L1,L2\n1,1,1,2\n", "line 1, column 2: 'A1' is already the name of column 1"),
        ("A1,,L1,L2\n1,1,1,2\n", "line 1, column 2: no name"),
        ("1,2,3\n1,1,2\n", "line 1: only numbers; expected a header"),
        ("A1,L1,L2\n1,1,2\n2,1\n", "line 3, column 3: .* 2 cells; expected 3, one for each column"),
        ("A1,L1,L2\n1,1,2\n\n2,1,2,3\n", "line 4, column 4: .* 4 cells; expected 3"),
        ("A1,L1,L2\n1,1,2,9\n1,1,2,9\n", "line 2, column 4: .* 4 cells; expected 3"),
        ("A1,L1,L2\n1,1,2\nx,1,2\n", r"line 3, column 1 \(A1\): 'x' is not a finite number"),
        ("A1,L1,L2\n1,1,two\n", r"line 2, column 3 \(L2\): 'two' is not a number; expected a pos"),
        ("A1,L1,L2\n1,1,1_0\n", r"line 2, column 3 \(L2\): '1_0' is not a number"),
        ("A1,L1,L2\ninf,1,2\n", r"line 2, column 1 \(A1\): 'inf' is not a finite number"),
        ("A1,L1,L2\n1e999,1,2\n", r"line 2, column 1 \(A1\): '1e999' is not a finite number"),
        (
            "A1,L1,L2\n1,1,2\n\n1,1,-3\n",
            r"line 4, column 3 \(L2\): position -3; positions start at 1",
        ),
        ("A1,L1,L2\n1,0,1\n", r"line 2, column 2 \(L1\): position 0; positions start at 1"),
        ("A1,L1,L2\n1,-inf,1\n", r"line 2, column 2 \(L1\): '-inf' is not a number"),
        (
            b"A1,L1,L2\n1,1,2\n1,\xff,2\n",
            r"line 3, column 3 \(byte 3 of the line\): 0xff is not UTF-8",
        ),
        ('A1,L1,L2\n1,1,2\n"1,1,2\n', "line 3, column 1: a quote is opened but never closed"),
        ("A1;L1;L2\n1;1;2\n", "line 1: no column L1"),
    ],
)
def test_bad_files(tmp_path: Path, content: str | bytes, message: str) -> None:
    file = write(tmp_path, content)
    with pytest.raises(BadFileError, match=message) as caught:
        read_csv(file)
    assert str(caught.value).startswith(str(file))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"label_columns": ["a", "x"]}, ValueError, "no column 'x', which label_columns names"),
        ({"label_columns": ["a", "a"]}, ValueError, "label_columns names column 'a' twice"),
        ({"label_columns": ["a"]}, ValueError, r"1 column with positions"),
        ({"label_columns": "ab"}, TypeError, "label_columns is the string 'ab'"),
        ({"feature_columns": ["x"]}, ValueError, "no column 'x', which feature_columns names"),
        ({"feature_columns": []}, ValueError, "no column with a feature"),
        ({"label_columns": ["a", "b", "c"]}, ValueError, "no column with a feature"),
        (
            {"label_columns": ["a", "b"], "feature_columns": ["b"]},
            ValueError,
            "column 'b' is in both label_columns and feature_columns",
        ),
    ],
)
def test_bad_columns(
    tmp_path: Path, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        read_csv(write(tmp_path, "a,b,c\n1,2,3\n"), **arguments)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(BadFileError, match=r"nothing\.csv: No such file"):
        read_csv(tmp_path / "nothing.csv")
    with pytest.raises(BadFileError, match="found a folder; expected a file, or use read_folder"):
        read_csv(tmp_path)


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a.csv", "a.CSV"):
        (tmp_path / name).write_text("A1,L1,L2\n1,1,2\n", encoding="utf-8")
    if len(list(tmp_path.iterdir())) == 1:
        pytest.skip("this file system ignores the case of names")
    with pytest.raises(BadFileError, match=r"a\.CSV and a\.csv are both dataset 'a'"):
        read_folder(tmp_path)
    assert main(["datasets", "--data", str(tmp_path)]) == 2


def test_folders(tmp_path: Path) -> None:
    for name in ("b.csv", "a.CSV", "c.csv"):
        write(tmp_path, "A1,L1,L2\n1,1,2\n", name)
    write(tmp_path, "not a table", "README.md")
    (tmp_path / "more.csv").mkdir()
    assert [data.name for data in read_folder(tmp_path)] == ["a", "b", "c"]
    with pytest.raises(BadFileError, match=r"no file that ends in \.csv"):
        read_folder(tmp_path / "more.csv")
    with pytest.raises(BadFileError, match="found nothing; expected a folder"):
        read_folder(tmp_path / "nothing")
    with pytest.raises(BadFileError, match="found a file; expected a folder"):
        read_folder(tmp_path / "b.csv")
    write(tmp_path, "A1,L1,L2\n1,1,x\n", "d.csv")
    with pytest.raises(BadFileError, match=r"d\.csv, line 2, column 3 \(L2\): 'x' is not a number"):
        read_folder(tmp_path)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[float]], list[Ranking]]:
    Y = draw(profiles())
    value = st.floats(allow_nan=False, allow_infinity=False)
    X = draw(hnp.arrays(float, (len(Y), draw(st.integers(1, 3))), elements=value))
    return X.tolist(), Y


@given(tables())
@settings(deadline=None)
def test_fast_and_slow_parsers_read_written_files(
    tmp_path_factory: pytest.TempPathFactory, table: tuple[list[list[float]], list[Ranking]]
) -> None:
    X, Y = table
    header = [f"A{i}" for i in range(len(X[0]))] + [f"L{i}" for i in range(len(Y[0]))]
    lines = [",".join(header)]
    for features, positions in zip(X, Y, strict=True):
        cells = ["" if math.isnan(p) else str(int(p)) for p in positions]
        lines.append(",".join([*map(repr, features), *cells]))
    file = write(tmp_path_factory.mktemp("table"), "\n".join(lines))
    quick = read_csv(file)
    assert np.array_equal(quick.X, X)
    assert np.array_equal(quick.Y, Y, equal_nan=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CsvTable, "_read_fast", lambda *_: None)
        assert read_csv(file) == quick


def test_fast_parser_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(CsvTable, "_read_cells")
    for content in (
        "A1,L1,L2\n1,1,2\n2,1,1\n",
        "A1,L1,L2\n1,,1\n\n2,1,NA\n",
        "A1,L1,L2\r\n1,?,1\r\n",
    ):
        assert read_csv(write(tmp_path, content)).n_labels == 2


def test_numbers_are_parsed_as_by_float(
    shared_dir: Path, count_comparisons: Callable[[str, int], None]
) -> None:
    cells = 0
    for file in sorted((shared_dir / "data").glob("*.csv")):
        data = read_csv(file)
        header, *lines = file.read_text(encoding="utf-8").splitlines()
        expected = np.array([[float(cell) for cell in line.split(",")] for line in lines])
        assert header.split(",") == [*data.feature_names, *data.label_names]
        assert np.array_equal(np.hstack([data.X, data.Y]), expected)
        cells += expected.size
    count_comparisons("cells of CSV files", cells)
