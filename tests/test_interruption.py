"""Ctrl-C ends every long call within a second, and worker processes end with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from long_calls import LONG_CALLS, NOT_MEASURED, known_calls, public_calls

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")

LATENCY = 1.0
"""Largest time in seconds from the signal to the exception."""


def latencies(names: list[str]) -> dict[str, float]:
    """Interrupt each call after a fifth of a second; return the seconds until the exception."""
    script = Path(__file__).with_name("long_calls.py")
    found = {}
    with subprocess.Popen(
        [sys.executable, str(script), *names], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        try:
            for name in names:
                assert child.stdout.readline() == "ready\n", name
                time.sleep(0.2)
                sent = time.time()
                child.send_signal(signal.SIGINT)
                words = child.stdout.readline().split()
                assert words[1:] == ["True"], (name, words)
                found[name] = float(words[0]) - sent
        finally:
            child.kill()
    return found


@posix
def test_ctrl_c_ends_every_long_call() -> None:
    late = dict.fromkeys(LONG_CALLS, 0.0)
    # On a machine with other load a call can be late once or twice.
    for _ in range(3):
        found = latencies(list(late))
        late = {name: round(seconds, 2) for name, seconds in found.items() if seconds > LATENCY}
        if not late:
            return
    pytest.fail(f"later than {LATENCY} s: {late}")


def test_every_public_call_is_listed() -> None:
    public = public_calls()
    assert public <= known_calls(), "add it to LONG_CALLS or NOT_MEASURED of long_calls.py"
    assert set(NOT_MEASURED) <= public


COMPARISON = """
import os, sys, time
import bucketrank as br
from bucketrank.datasets import make_rankings
from bucketrank.experiments import compare

class Slow(br.PartialLabelRankingBaseline):
    def fit(self, X, Y):
        open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
        time.sleep(300)

compare([make_rankings(50, 2, 3)], tree=None, rankers={"slow": Slow()}, n_jobs=2, progress=False)
"""


@posix
def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "compare.py"
    script.write_text(COMPARISON.replace("sys.argv[1]", repr(str(tmp_path / "workers"))))
    (tmp_path / "workers").mkdir()
    with subprocess.Popen([sys.executable, str(script)]) as parent:
        try:
            deadline = time.monotonic() + 60
            while not list((tmp_path / "workers").iterdir()) and time.monotonic() < deadline:
                time.sleep(0.1)
        finally:
            parent.kill()
    workers = [int(path.name) for path in (tmp_path / "workers").iterdir()]
    assert workers
    deadline = time.monotonic() + 20
    while any(map(is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    left = [worker for worker in workers if is_running(worker)]
    for worker in left:
        os.kill(worker, signal.SIGKILL)
    assert not left


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat")
        # A process that has ended but was not waited for is a zombie.
        return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
