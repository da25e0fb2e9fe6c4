"""The command ``bucketrank compare``."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bucketrank.__main__ import main
from bucketrank.datasets import make_rankings

if sys.platform != "win32":
    import fcntl
    import pty
    import termios

QUICK = ["--missing", "0", "--repeats", "1", "--folds", "3", "--aggregators", "borda", "mc4"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two datasets as CSV files."""
    place = tmp_path / "data"
    place.mkdir()
    for name, seed in (("first", 1), ("second", 2)):
        made = make_rankings(30, 2, 3, random_state=seed)
        lines = ["A1,A2,L1,L2,L3"]
        lines += [",".join(map(str, row)) for row in np.hstack([made.X, made.Y]).round(6).tolist()]
        (place / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return place


def test_prints_a_table_and_suggestions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--data", str(folder), *QUICK]) == 0
    out = capsys.readouterr().out
    assert "1 × 3 folds, seed 0" in out
    assert "tau_x, 0 % of the training labels missing" in out
    assert all(name in out for name in ("first", "second", "borda", "mc4", "mean", "try next"))
    assert "\x1b" not in out


def test_closed_standard_output(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    assert main(["compare", "--data", str(folder), *QUICK]) == 0


def test_formats_and_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["compare", "--data", str(folder), *QUICK]
    assert main([*call, "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert set(printed["0"]) == {"first", "second"}
    assert main([*call, "--format", "csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 7
    out = folder.parent / "table.tex"
    assert main([*call, "--format", "latex", "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert out.read_text(encoding="utf-8").count(r"\begin{tabular}") == 1


def test_some_datasets_of_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["compare", "--data", str(folder), "--datasets", "second", *QUICK, "--format", "json"]
    assert main(call) == 0
    assert set(json.loads(capsys.readouterr().out)["0"]) == {"second"}


def test_a_store_is_resumed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = folder.parent / "study.db"
    call = ["compare", "--data", str(folder), *QUICK, "--store", str(store)]
    assert main(call) == 0
    first = capsys.readouterr().out
    assert main(call) == 0
    assert capsys.readouterr().out == first
    assert main([*call, "--seed", "1"]) == 2
    assert "belongs to another study" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--datasets", "irys"], "iris"),
        (["--data", "nowhere"], "nowhere"),
        (["--aggregators", "bordo"], "borda"),
        (["--aggregators", "borda", "borda"], "appears twice"),
        (["--missing", "1.5"], "from 0 to below 1"),
        (["--folds", "1000"], "expected at least n_folds = 1000"),
        (["--jobs", "0"], "n_jobs is 0"),
    ],
)
def test_bad_input_has_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "--datasets", "iris", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.startswith("bucketrank compare: ")
    assert captured.out == ""


def test_unwritable_output_is_reported_before_the_study(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["compare", "--data", str(folder), "--out"]
    assert main([*call, str(folder)]) == 2
    assert "found a folder; expected the name of a file to write" in capsys.readouterr().err
    assert main([*call, str(folder / "none" / "table.txt")]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_an_invalid_cell_is_located(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "third.csv").write_text("A1,L1,L2\n0.5,1,2\nred,1,2\n")
    assert main(["compare", "--data", str(folder), *QUICK]) == 2
    message = capsys.readouterr().err
    assert "third.csv" in message
    assert "line 3" in message
    assert "'red'" in message


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX terminals")
@pytest.mark.parametrize("no_colour", [False, True])
def test_colour_and_progress_only_on_terminals(folder: Path, no_colour: bool) -> None:
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    if no_colour:
        environment["NO_COLOR"] = "1"
    call = [sys.executable, "-m", "bucketrank", "compare", "--data", str(folder), *QUICK]
    process = subprocess.Popen(call, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(controller, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    assert process.wait(timeout=60) == 0
    os.close(controller)
    assert (b"\x1b[1m" in shown) is not no_colour
    assert b"12/12" in shown, "the progress bar has counted all jobs"
    piped = subprocess.run(call, capture_output=True, env=environment, check=True)
    assert b"\x1b" not in piped.stdout
    assert piped.stderr == b""


def test_estimators_are_compared_with_aggregators(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = ["--methods", "linear", "booster", "shrunk_tree", "soft_tree"]
    assert main(["compare", "--data", str(folder), *QUICK, *methods, "--format", "csv"]) == 0
    written = capsys.readouterr().out
    assert all(name in written for name in ("borda", "mc4", *methods[1:], "all_tied"))
    assert main(["compare", "--data", str(folder), *QUICK, "--methods", "lineal"]) == 2
    assert "unknown method 'lineal'; known: linear" in capsys.readouterr().err
