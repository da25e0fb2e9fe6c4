"""The command line."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

import bucketrank as br
from bucketrank.__main__ import main

CSV = "tea,coffee,juice\n1,2,2\n1,3,2\n2,,1\n"
TABLE = "hour,tea,milk\n8,1,2\n15,2,1\n9,1,2\n20,2,1\n"
BALLOTS = "# DATA TYPE: toc\n# NUMBER ALTERNATIVES: 2\n2: 1,2\n3: {1,2}\n"
GAMES = "model_a,model_b,winner\na,b,model_a\nb,a,tie\nb,a,model_b\n"
JSON = json.dumps([{"model_a": "a", "model_b": "b", "winner": winner} for winner in (1, 0.5)])
AS_CSV = ("--format", "csv")
ONE_FOLD = ("--aggregators", "borda", "--folds", "2", "--repeats", "1", "--missing", "0")


@dataclass
class Result:
    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str, stdin: str = "") -> Result:
    """Run the command line in this process, because starting Python for each test takes long."""
    out, err = io.StringIO(), io.StringIO()
    standard_input = io.TextIOWrapper(io.BytesIO(stdin.encode()))
    with redirect_stdout(out), redirect_stderr(err), mock.patch("sys.stdin", standard_input):
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Result(code, out.getvalue(), err.getvalue())


def test_as_a_program() -> None:
    for command in (
        [sys.executable, "-m", "bucketrank"],
        [Path(sys.executable).with_name("bucketrank")],
    ):
        result = subprocess.run(
            [*command, "aggregate", "-", "--beta", "0"],
            input="a > b\n",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.endswith("a > b\n")


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ("3,-4", "line 4, column 3 (n): weight -4; expected a finite number that is not negative"),
        ("1e300,1e-300", "line 4, column 3 (n): weight 1e-300 is too small"),
        ("0,0", "column 3 (n): all 2 weights are zero"),
        ("3,x", "line 4, column 3 (n): 'x' is not a finite number; expected a weight"),
    ],
)
def test_errors_of_weights_name_line_and_column(tmp_path: Path, weights: str, problem: str) -> None:
    file = tmp_path / "votes.csv"
    first, second = weights.split(",")
    file.write_text(f"tea,milk,n\n1,2,{first}\n\n2,1,{second}\n")
    for arguments in (
        ("aggregate", str(file), "--weights", "n"),
        ("leaderboard", str(file), "--labels", "tea", "milk", "--weight", "n"),
    ):
        result = run(*arguments)
        assert result.returncode == 2
        assert f"votes.csv, {problem}" in result.stderr


@pytest.mark.parametrize(
    ("name", "text", "arguments"),
    [
        ("drinks.csv", TABLE, ("datasets", "{}", "--labels", "tea", "milk", *AS_CSV)),
        (
            "drinks.csv",
            TABLE,
            ("compare", "--datasets", "{}", "--labels", "tea", "milk", *ONE_FOLD),
        ),
        ("drinks.csv", TABLE, ("leaderboard", "{}", "--labels", "tea", "milk", "--resamples", "9")),
        ("drinks.csv", TABLE, ("aggregate", "{}", "--labels", "tea", "milk")),
        ("votes.toc", BALLOTS, ("datasets", "{}", *AS_CSV)),
        ("votes.toc", BALLOTS, ("leaderboard", "{}", "--resamples", "9")),
        ("votes.toc", BALLOTS, ("aggregate", "{}")),
        ("games.csv", GAMES, ("leaderboard", "{}", "--resamples", "9")),
        ("games.json", JSON, ("leaderboard", "{}", "--resamples", "9")),
        ("games.json", JSON.replace("}, {", "},\n{"), ("leaderboard", "{}", "--resamples", "9")),
        (
            "games.jsonl",
            JSON[1:-1].replace(", {", "\n{"),
            ("leaderboard", "{}", "--resamples", "9"),
        ),
    ],
)
def test_standard_input_is_read_like_a_file(
    tmp_path: Path, name: str, text: str, arguments: tuple[str, ...]
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8-sig" if name.endswith("csv") else "utf-8")
    expected = run(*(argument.format(file) for argument in arguments))
    found = run(*(argument.format("-") for argument in arguments), stdin=file.read_text("utf-8"))
    assert (expected.returncode, expected.stderr) == (found.returncode, found.stderr) == (0, "")
    shown = found.stdout.replace("standard input", file.stem)
    # The columns of a text are as wide as the name of the dataset.
    assert shown.split() == expected.stdout.split()


def test_a_model_is_fitted_to_standard_input(tmp_path: Path) -> None:
    file, model = tmp_path / "drinks.csv", tmp_path / "model.bin"
    file.write_text(TABLE)
    arguments = ("--labels", "tea", "milk", "--method", "tree", "--out", str(model))
    fitted = run("fit", str(file), *arguments), model.read_bytes()
    assert (run("fit", "-", *arguments, stdin=TABLE), model.read_bytes()) == fitted
    assert fitted[0].returncode == 0


def test_version_and_help() -> None:
    assert run("--version").stdout == f"bucketrank {br.__version__}\n"
    assert "aggregate" in run("--help").stdout
    assert "tea > coffee ~ juice" in run("aggregate", "--help").stdout
    assert run().returncode == 2
    assert run("unknown").returncode == 2


def test_csv_in_every_format(tmp_path: Path) -> None:
    file = tmp_path / "rankings.csv"
    file.write_text(CSV)
    table = run("aggregate", str(file), "--method", "borda", "--beta", "0.2")
    assert (table.returncode, table.stderr) == (0, "")
    assert table.stdout.endswith("tea > juice > coffee\n")
    as_csv = run("aggregate", str(file), "--method", "borda", "--beta", "0.2", "--format", "csv")
    assert as_csv.stdout == "label,position\ntea,1\ncoffee,3\njuice,2\n"
    as_json = json.loads(run("aggregate", str(file), "--method", "mc4", "--format", "json").stdout)
    assert as_json["labels"] == ["tea", "coffee", "juice"]
    assert as_json["aggregator"] == "MarkovChain(variant=4)"


def test_text_from_standard_input() -> None:
    result = run("aggregate", "-", "--beta", "0", stdin="a > b ~ c\n\nb > a\na > c > b\n")
    assert result.stdout.endswith("a > c > b\n")


def test_every_method_works() -> None:
    for method in (
        "borda",
        "copeland",
        "bucket_pivot",
        "mc1",
        "mc2",
        "mc3",
        "mc4",
        "maximal_lottery",
    ):
        assert run("aggregate", "-", "--method", method, stdin=CSV).returncode == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty; expected rankings"),
        (b"\n \n", "the file is empty"),
        (b"a,b,c\n", "a header but no rows; expected one ranking per line"),
        (b"a,b,c\n1,2,3\n1,2\n", "line 3, column 3: a cell is missing: 2 cells; expected 3"),
        (b"a,b\n1,2\n\n1,2,3\n", "line 4, column 3: an extra cell: 3 cells; expected 2"),
        (b"a,b\n1,x\n", "line 2, column 2 (b): 'x' is not a number; expected a position"),
        (b"a,b,a\n1,2,3\n", "line 1, column 3: 'a' is already the name of column 1"),
        (b"a,,c\n1,2,3\n", "line 1, column 2: no name"),
        (b"1,2,3\n1,3,2\n", "line 1: only numbers; expected a header"),
        (b"a,b\n1,2\n1,\xff\n", "line 3, column 3 (byte 3 of the line): 0xff is not UTF-8"),
        ("é,ü".encode() + b"\xff\n1,2\n", "line 1, column 4 (byte 6 of the line): 0xff is not"),
        (b"\xef\xbb\xbfa,b\r1,\xe9\r", "line 2, column 3 (byte 3 of the line): 0xe9 is not"),
        (b"a,b\n0,1\n", "line 2, column 1 (a): position 0; positions start at 1"),
        (b"a > b\nb > > a\n", "line 2: 'b > > a' lacks a label before or after"),
        (b"a > b\na > a\n", "line 2: label 'a' appears twice"),
        (
            b'a,b\n"1,2\n',
            "line 2, column 1: a quote is opened but never closed; expected a closing quote",
        ),
        (b'a,b\n1,2\n1,"2""\n3,4\n', "line 3, column 2: a quote is opened but never closed"),
        (b'a,"b\nc",d,"e\n1,2,3,4\n', "line 2, column 4: a quote is opened but never closed"),
        (b'a,b\n1,"2"3\n', "line 2, column 2: '3' after a closing quote; expected a comma"),
        (b'a,b\n1,"2"x\n', "line 2, column 2: 'x' after a closing quote; expected a comma"),
        (
            b"a,b\n1," + b"2" * 200_000 + b"\n",
            "line 2, column 2: a cell of 200000 characters; expected",
        ),
        (b"a\n1\n", "line 1: 1 column; expected a column for each of 2 or more labels"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_bytes(content)
    result = run("aggregate", str(file))
    assert result.returncode == 2
    assert result.stdout == ""
    assert f"bucketrank aggregate: {file}" in result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "bordo"], "unknown method 'bordo'; known: borda, "),
        (["--beta", "-1"], "beta is -1.0; expected a finite number"),
        (["--beta", "nan"], "beta is nan; expected a finite number"),
        (["--method", "mc1", "--beta", "1"], "MarkovChain has no parameter 'beta'"),
        (["--beta", "x"], "invalid float value: 'x'"),
        (["--format", "xml"], "invalid choice: 'xml'"),
    ],
)
def test_bad_options(arguments: list[str], message: str) -> None:
    result = run("aggregate", "-", *arguments, stdin=CSV)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr


def test_an_input_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {
        "data.csv": "A1,L1,L2\n" + "1,1,2\n2,2,1\n" * 10,
        "games.csv": "model_a,model_b,winner\n" + "a,b,tie\nb,a,model_a\n" * 10,
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    assert run("fit", "data.csv", "--method", "linear", "--out", "model.bin").returncode == 0
    small = ["compare", "--datasets", "data.csv", "--folds", "2", "--repeats", "1"]
    assert run(*small, "--store", "study.db").returncode == 0
    # Windows needs a privilege for links.
    link = "data.csv" if sys.platform == "win32" else "link.csv"
    if link != "data.csv":
        Path(link).symlink_to("data.csv")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for *command, out in (
        ["fit", "data.csv", "--method", "linear", "data.csv"],
        ["fit", "data.csv", "--method", "linear", link],
        ["predict", "model.bin", "data.csv", "model.bin"],
        ["predict", "model.bin", "data.csv", "../" + tmp_path.name + "/data.csv"],
        ["leaderboard", "games.csv", "--resamples", "10", "games.csv"],
        [*small, "data.csv"],
        [*small, "--store", "study.db", "study.db"],
        [*small, "--store", "new.db", "new.db"],
        ["compare", "--data", ".", "--folds", "2", "games.csv"],
        ["report", "study.db", "study.db"],
    ):
        result = run(*command, "--out", out)
        assert result.returncode == 2, command
        assert f"{out}: found an input of the command; expected another file" in result.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_missing_file(tmp_path: Path) -> None:
    result = run("aggregate", str(tmp_path / "nothing.csv"))
    assert result.returncode == 2
    assert "nothing.csv: No such file or directory" in result.stderr


def test_compare_runs() -> None:
    result = run("compare")
    assert (result.returncode, result.stderr) == (0, "")
    assert "tau_x" in result.stdout


def test_a_header_may_contain_relation_signs() -> None:
    result = run("aggregate", "-", "--format", "csv", stdin="price>10,a~b\n1,2\n1,2\n")
    assert result.stdout == "label,position\nprice>10,1\na~b,2\n"
    table = run("aggregate", "-", "--beta", "0", stdin="price>10,a~b,c\n1,2,2\n")
    assert (table.returncode, table.stderr) == (0, "")
    assert table.stdout.endswith('"price>10" > "a~b" ~ c\n')
    assert run("aggregate", "-", "--beta", "0", stdin="a\nb > a\n").stdout.endswith("b > a\n")


def test_windows_line_ends_byte_order_marks_and_quotes(tmp_path: Path) -> None:
    file = tmp_path / "rankings.csv"
    file.write_bytes('\ufeff"tea, green",milk\r\n2,1\r\n\r\n2,1\r\n'.encode())
    result = run("aggregate", str(file), "--format", "csv")
    assert result.stdout == 'label,position\n"tea, green",2\nmilk,1\n'


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX shell redirections")
def test_closed_and_full_streams_end_without_a_traceback() -> None:
    python = f"{sys.executable} -m bucketrank aggregate -"
    for command, code in [
        (f"{python} <&-", 2),
        (f"printf 'a > b\\n' | {python} | true", 0),
        (f"printf 'a > b\\n' | {python} > /dev/full", 1),
    ]:
        result = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False
        )
        assert "Traceback" not in result.stderr
        assert result.returncode == code, (command, result.stderr)
