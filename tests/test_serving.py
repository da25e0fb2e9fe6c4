"""A long-lived process that predicts single rows from several threads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bucketrank import (
    PartialLabelRanker,
    PartialLabelRankingForest,
    PartialLabelRankingTree,
    save_model,
)
from tree_data import random_data, with_missing_labels

SCRIPT = Path(__file__).parents[1] / "scripts" / "serve_rows.py"
MODELS = {
    "forest": PartialLabelRankingForest(n_estimators=20, random_state=0),
    "tree": PartialLabelRankingTree(shrinkage="path"),
    "ranker": PartialLabelRanker(n_estimators=4, rounds=4, n_parts=2, random_state=0),
}
GROWTH_KILOBYTES = 4096
"""Allowed growth, because the allocator keeps memory per thread; a leak of one row per call exceeds it."""


def serve(tmp_path: Path, name: str, missing: float, calls: int) -> dict[str, Any]:
    X, Y = random_data(1, rows=300)
    if missing:
        Y = with_missing_labels(Y, missing, 1)
    save_model(MODELS[name].fit(X, Y), tmp_path / "model.bin")
    names = ",".join(f"x{column}" for column in range(X.shape[1]))
    np.savetxt(tmp_path / "rows.csv", X[:64], delimiter=",", header=names, comments="", fmt="%.17g")
    command = [sys.executable, str(SCRIPT), "model.bin", "rows.csv", "--calls", str(calls)]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def check(report: dict[str, Any], calls: int) -> None:
    assert report["calls"] == calls
    assert report["threads"] == 8
    assert report["wrong"] == 0
    if report["growth_kilobytes"] is not None:
        assert report["growth_kilobytes"] < GROWTH_KILOBYTES


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_single_rows_from_eight_threads_equal_the_batch(
    tmp_path: Path, name: str, missing: float
) -> None:
    check(serve(tmp_path, name, missing, 2000), 2000)


@pytest.mark.slow
def test_memory_does_not_grow_over_many_calls(tmp_path: Path) -> None:
    report = serve(tmp_path, "forest", 0.0, 100_000)
    check(report, 100_000)
    # Generous, because other processes share the machine; without load it is a few microseconds.
    assert report["microseconds_in_python"] < 200
