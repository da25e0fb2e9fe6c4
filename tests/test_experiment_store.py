"""Stores: resuming after failures and kills, and rejection of other studies and damaged files."""

from __future__ import annotations

import math
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from bucketrank.__main__ import main
from bucketrank.experiments import JobError, StoreError, Study, compare
from bucketrank.experiments.learners import Outcome
from bucketrank.experiments.plan import Job
from bucketrank.experiments.store import Store
from test_experiments import numbers, small

SETTINGS: dict[str, Any] = {"missing": [0, 0.3], "n_repeats": 2, "n_folds": 4}


def test_a_loaded_study_equals_the_original(tmp_path: Path) -> None:
    data = [small("a", 1), small("b", 2)]
    plain = compare(data, **SETTINGS)
    stored = compare(data, store=tmp_path / "study.db", **SETTINGS)
    loaded = Study.load(tmp_path / "study.db")
    assert numbers(plain) == numbers(stored) == numbers(loaded)
    assert loaded.is_complete
    assert loaded.settings == stored.settings
    assert loaded.notes["numpy"] == np.__version__
    before = (tmp_path / "study.db").read_bytes()
    again = compare(data, store=tmp_path / "study.db", **SETTINGS)
    assert again.to_csv() == stored.to_csv()
    assert (tmp_path / "study.db").read_bytes() == before


class FailsOnThirdFit(BaseEstimator):
    """Fails on the third fit of its process."""

    fits = 0

    def fit(self, _X: Any, _Y: Any) -> FailsOnThirdFit:
        type(self).fits += 1
        if type(self).fits == 3:
            raise OSError("disk of the worker is full")
        return self

    def predict(self, X: Any) -> Any:
        return np.ones((len(X), 4), dtype=int)


def test_finished_jobs_are_kept_after_a_failure(tmp_path: Path) -> None:
    FailsOnThirdFit.fits = 0
    settings: dict[str, Any] = {"tree": None, "rankers": {"r": FailsOnThirdFit()}, **SETTINGS}
    store = tmp_path / "study.db"
    with pytest.raises(
        JobError, match=r"job failed \(a, 0 % missing, repeat 0, fold 2, r\): OSError"
    ):
        compare([small("a", 1)], store=store, **settings)
    unfinished = Study.load(store)
    assert len(unfinished) == 2
    assert not unfinished.is_complete
    assert "2 results of 32, unfinished" in repr(unfinished)
    assert "nan" not in str(unfinished.summary())
    done = compare([small("a", 1)], store=store, **settings)
    assert len(done) == 32, "including the all-tied baseline"
    assert FailsOnThirdFit.fits == 3 + 14


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "its seed is 0, expected 1"),
        ({"n_folds": 5}, "n_folds"),
        ({"missing": [0, 0.4]}, "missing"),
        ({"aggregators": ["borda"]}, "learners"),
        ({"datasets": [small("a", 3)]}, "its datasets is a: "),
    ],
)
def test_the_store_of_another_study_is_rejected(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    store = tmp_path / "study.db"
    good: dict[str, Any] = {"datasets": [small("a", 1)], **SETTINGS}
    first = compare(store=store, **good)
    with pytest.raises(StoreError, match=message):
        compare(store=store, **{**good, **change})
    assert numbers(Study.load(store)) == numbers(first)


def test_unusable_stores(tmp_path: Path) -> None:
    data = [small("a", 1)]
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but a text of some length" * 100)
    with pytest.raises(StoreError, match="is not a store, or is damaged"):
        compare(data, store=text, **SETTINGS)
    assert text.read_text().startswith("not a database")
    with pytest.raises(StoreError, match="folder that does not exist"):
        compare(data, store=tmp_path / "none" / "study.db", **SETTINGS)
    with pytest.raises(StoreError, match="is a folder"):
        compare(data, store=tmp_path, **SETTINGS)
    with pytest.raises(StoreError, match="there is no store"):
        Study.load(tmp_path / "none.db")
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE setting (name, value)")
    connection.close()
    with pytest.raises(StoreError, match="is not the store of a study"):
        Study.load(other)
    before = other.read_bytes()
    with pytest.raises(StoreError, match="is not the store of a study"):
        compare(data, store=other, **SETTINGS)
    assert other.read_bytes() == before


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that even root cannot write to")
def test_a_store_in_a_folder_that_cannot_be_written() -> None:
    with pytest.raises(StoreError, match="cannot be used"):
        compare([small("a", 1)], store="/proc/study.db", **SETTINGS)


def test_damaged_stores_are_detected(tmp_path: Path) -> None:
    store = tmp_path / "study.db"
    data = [small("a", 1)]
    compare(data, store=store, **SETTINGS)
    content = bytearray(store.read_bytes())
    for start in range(5000, len(content), 997):
        content[start : start + 50] = os.urandom(len(content[start : start + 50]))
    store.write_bytes(bytes(content))
    with pytest.raises(StoreError, match="damaged"):
        compare(data, store=store, **SETTINGS)


STUDY_IN_A_PROCESS = """
import sys
from bucketrank.datasets import make_rankings
from bucketrank.experiments import compare
data = make_rankings(400, 5, 8, random_state=0)
print("ready", flush=True)
study = compare([data], missing=[0, 0.3], n_repeats=int(sys.argv[2]), n_folds=10, n_jobs=2, store=sys.argv[1])
print(len(study), flush=True)
"""


def start(store: Path, repeats: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", STUDY_IN_A_PROCESS, str(store), str(repeats)],
        stdout=subprocess.PIPE,
        text=True,
    )


def complete_study(repeats: int) -> Study:
    from bucketrank.datasets import make_rankings

    data = make_rankings(400, 5, 8, random_state=0)
    return compare([data], missing=[0, 0.3], n_repeats=repeats, n_folds=10)


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_a_kill_loses_only_running_jobs(tmp_path: Path) -> None:
    store = tmp_path / "study.db"
    expected = complete_study(repeats=10)
    counts = [0]
    # Each attempt is killed after it has written more than 100 new results.
    for _ in range(3):
        process = start(store, 10)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if store.exists() and count(store) > counts[-1] + 100:
                break
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        counts.append(count(store))
    assert counts == sorted(counts)
    unfinished = Study.load(store)
    if not unfinished.is_complete:
        assert len(unfinished) % 8 == 0, "the results of a job are stored completely or not at all"
    last = start(store, 10)
    out, _ = last.communicate(timeout=120)
    assert out.split() == ["ready", str(len(expected))]
    assert numbers(Study.load(store)) == numbers(expected)
    assert 0 < counts[1] < len(expected), "the first kill was before the end"


def count(store: Path) -> int:
    connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=10)
    try:
        found: int = connection.execute("SELECT count(*) FROM result").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()
    return found


def test_two_processes_on_one_store(tmp_path: Path) -> None:
    store = tmp_path / "study.db"
    both = [start(store, 3) for _ in range(2)]
    outputs = [process.communicate(timeout=120)[0] for process in both]
    expected = complete_study(repeats=3)
    assert [output.split() for output in outputs] == [["ready", str(len(expected))]] * 2
    assert numbers(Study.load(store)) == numbers(expected)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            "UPDATE result SET method = 'zzz' WHERE method = 'mc4'",
            "the method 'zzz', which does not",
        ),
        ("UPDATE result SET dataset = 'zzz'", "the dataset 'zzz', which does not belong"),
        ("UPDATE result SET missing = 0.25 WHERE missing = 0.3", "the missing 0.25"),
        ("UPDATE result SET fold = 'x' WHERE fold = 1", "the fold 'x'"),
        (
            "UPDATE result SET tau_x = 'abc' WHERE fold = 1",
            "the tau_x 'abc', which is not a number",
        ),
        ("UPDATE result SET leaves = x'00'", "the leaves .*which is not a number"),
        ("UPDATE result SET learner = x'00'", "the checksum of the result"),
        ("UPDATE setting SET value = CAST(value AS BLOB)", "the checksum of the"),
        ("UPDATE setting SET value = '{' WHERE name = 'study'", "not JSON"),
        ("UPDATE setting SET value = '[1]' WHERE name = 'study'", r"its settings are \[1\]"),
        (
            "UPDATE setting SET value = '{\"format\": 2}' WHERE name = 'study'",
            "the checksum of the study",
        ),
    ],
)
def test_invalid_contents_are_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str, message: str
) -> None:
    store = tmp_path / "study.db"
    data = [small("a", 1)]
    compare(data, ["borda", "mc4"], store=store, **SETTINGS)
    with sqlite3.connect(store) as connection:
        connection.execute(damage)
    connection.close()
    with pytest.raises(StoreError, match=rf"study\.db' is damaged: .*{message}"):
        Study.load(store)
    with pytest.raises(StoreError, match=r"study\.db"):
        compare(data, ["borda", "mc4"], store=store, **SETTINGS)
    assert main(["report", str(store), "--format", "markdown"]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_missing_scores_are_not_damage(tmp_path: Path) -> None:
    store = tmp_path / "study.db"
    job = Job("a", 0.0, 0, 0, "tree")
    settings = make_settings()
    with Store.open(store, settings) as opened:
        opened.add(job, ["borda"], [Outcome(math.nan, 2.0, 2.0, 3, 2, 0.1, 0.1)])
    assert np.isnan(Study.load(store).columns["tau_x"]).sum() == 1


def make_settings() -> dict[str, Any]:
    data = [small("a", 1)]
    return compare(data, ["borda"], baseline=False, missing=0, n_repeats=1, n_folds=2).settings


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("UPDATE result SET tau_x = tau_x / 2 WHERE fold = 1", "the checksum of the result"),
        ("UPDATE result SET tau_x = 1.5 WHERE fold = 1", "the tau_x 1.5, which is not possible"),
        ("UPDATE result SET fit_seconds = -1.0", "the fit_seconds -1.0, which is not possible"),
        ("UPDATE result SET leaves = leaves + 1", "the checksum of the result"),
        ("UPDATE result SET fold = 7 WHERE fold = 1", "the fold 7"),
        (
            "DELETE FROM result WHERE fold = 1 AND method = 'mc4'",
            "1 of 2 results of a job are left",
        ),
        ("DELETE FROM result WHERE fold = 1", "of a finished study are left"),
        ("UPDATE setting SET value = replace(value, '0', '1') WHERE name = 'study'", "checksum"),
        (
            "UPDATE setting SET value = replace(value, '1', '2') WHERE name LIKE 'note %'",
            "checksum",
        ),
    ],
)
def test_changed_and_lost_results_are_damage(tmp_path: Path, damage: str, message: str) -> None:
    store = tmp_path / "study.db"
    compare([small("a", 1)], ["borda", "mc4"], baseline=False, store=store, **SETTINGS)
    with sqlite3.connect(store) as connection:
        connection.execute(damage)
    connection.close()
    with pytest.raises(StoreError, match=rf"study\.db.*{message}"):
        Study.load(store)


def test_flipped_bits_never_change_results(tmp_path: Path) -> None:
    store = tmp_path / "study.db"
    study = compare([small("a", 1)], ["borda", "mc4"], baseline=False, store=store, **SETTINGS)
    connection = sqlite3.connect(store)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    content = store.read_bytes()
    rng = np.random.default_rng(0)
    refused = []
    for _ in range(300):
        damaged = bytearray(content)
        damaged[int(rng.integers(len(damaged)))] ^= 1 << int(rng.integers(8))
        store.write_bytes(bytes(damaged))
        try:
            loaded = Study.load(store)
        except StoreError as error:
            refused.append(str(error))
        else:
            assert numbers(loaded) == numbers(study)
            assert loaded.settings == study.settings
    assert len(refused) > 100
    assert all("study.db" in message for message in refused)


def test_a_finished_store_on_a_read_only_medium(tmp_path: Path) -> None:
    store = tmp_path / "study.db"
    study = compare([small("a", 1)], ["borda"], store=store, **SETTINGS)
    # Folders with the names of SQLite's own files prevent it from writing them, as a read-only file system would.
    for suffix in ("-wal", "-shm"):
        (tmp_path / f"study.db{suffix}").mkdir()
    assert numbers(Study.load(store)) == numbers(study)
    assert (
        main(["report", str(store), "--format", "markdown", "--out", str(tmp_path / "r.md")]) == 0
    )


def test_a_store_in_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="':memory:'; expected the name of a file"):
        compare([small("a", 1)], store=":memory:", **SETTINGS)
    assert not list(tmp_path.iterdir())


class WithCentres(FailsOnThirdFit):
    """Has a parameter that is an array."""

    def __init__(self, centres: Any = None) -> None:
        self.centres = centres

    def fit(self, _X: Any, _Y: Any) -> WithCentres:
        return self


@pytest.mark.parametrize("change", [1, 1e-12])
def test_all_numbers_of_array_parameters_are_compared(tmp_path: Path, change: float) -> None:
    centres = np.linspace(0.1, 0.9, 5000)
    moved = centres.copy()
    moved[2500] += change
    data = [small("a", 1)]
    compare(data, tree=WithCentres(centres), store=tmp_path / "study.db", **SETTINGS)
    compare(data, tree=WithCentres(centres.copy()), store=tmp_path / "study.db", **SETTINGS)
    with pytest.raises(StoreError, match="its learners is"):
        compare(data, tree=WithCentres(moved), store=tmp_path / "study.db", **SETTINGS)
