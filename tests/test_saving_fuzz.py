"""Damaged and crafted files of all models.

A damaged file is refused with a ValueError that names the file. A crafted file, whose checksum is valid, is refused
with a ValueError or can be used completely: every public method returns, or raises a ValueError or a MemoryError. The
tests load 700 damaged and 1,500 crafted files; ``python tests/test_saving_fuzz.py`` loads 20,000 and 12,000, and prints
the counts.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import containers
from bucketrank import (
    PartialLabelRanker,
    PartialLabelRankingBaseline,
    PartialLabelRankingBooster,
    PartialLabelRankingForest,
    PartialLabelRankingLinear,
    PartialLabelRankingTree,
    load_model,
)
from bucketrank._estimator_state import pack_estimator, unpack_estimator
from crafted_models import craft, use_all
from tree_data import random_data, with_missing_labels

X, Y = random_data(0, rows=30)
Y = with_missing_labels(Y, 0.2, 0)
MODELS: list[Any] = [
    PartialLabelRankingBaseline(),
    PartialLabelRankingTree(max_depth=3),
    PartialLabelRankingTree(shrinkage="path", routing="soft", max_depth=3),
    PartialLabelRankingForest(n_estimators=3, random_state=0),
    PartialLabelRankingBooster(rounds=3, random_state=0),
    PartialLabelRankingLinear(standard_errors=True),
    PartialLabelRanker(n_estimators=2, rounds=2, n_parts=2, random_state=0),
]
FILE_BYTES = 2_000_000
MEMORY_BYTES = 64_000_000


def load_damaged(count: int, folder: Path) -> int:
    """Load `count` damaged files of all models; return the number of refused files."""
    rng = np.random.default_rng(0)
    saved = [pack_estimator(model.fit(X, Y)) for model in MODELS]
    path = folder / "model.bin"
    refused = 0
    for turn in range(count):
        data = bytearray(saved[turn % len(saved)])
        place = int(rng.integers(len(data)))
        if turn % 3:
            data[place] ^= int(rng.integers(1, 256))
        else:
            del data[place:]
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"model\.bin: "):
            load_model(path)
        refused += 1
    return refused


def use_crafted(count: int, seed: int = 1) -> tuple[int, int, int]:
    """Load `count` crafted files; return the numbers of refused files, of loaded ones and of their successful calls."""
    rng = np.random.default_rng(seed)
    saved = [pack_estimator(model.fit(X, Y)) for model in MODELS]
    frames = pd.DataFrame(X).add_prefix("x"), pd.DataFrame(Y).add_prefix("label ")
    saved += [pack_estimator(clone(model).fit(*frames)) for model in MODELS]
    refused = loaded = calls = 0
    for turn in range(count):
        data = craft(saved, turn, rng)
        try:
            model = unpack_estimator(data, "model")
        except ValueError:
            refused += 1
            continue
        calls += use_all(model)
        loaded += 1
    return refused, loaded, calls


@pytest.mark.filterwarnings("ignore")
def test_damaged_files_are_refused(tmp_path: Path) -> None:
    assert load_damaged(700, tmp_path) == 700


@pytest.mark.filterwarnings("ignore")
def test_crafted_files_that_load_can_be_used() -> None:
    refused, loaded, calls = use_crafted(1500)
    assert refused > loaded > 50
    assert calls > 10 * loaded


@pytest.mark.filterwarnings("ignore")
def test_unchanged_models_can_be_used() -> None:
    for model in MODELS:
        loaded = unpack_estimator(pack_estimator(model.fit(X, Y)), "model")
        # Nearly everything succeeds; some methods do not exist for some parameters.
        assert use_all(loaded) >= 13, type(model)


def _description_entries(text: str) -> dict[str, containers.Entry]:
    return {"kind": containers.text("estimator"), "description": containers.text(text)}


def crafted_files() -> dict[str, bytes]:
    """Return files of about 2 to 4 MB that describe objects as large as possible."""
    trees = FILE_BYTES // 23
    ones, zeros = np.ones(trees, np.uint8), np.zeros(trees, np.uint8)
    forest = {
        "type": containers.text("forest"),
        "features": containers.array(1, "uint64"),
        "rankings.positions": containers.array([[1, 2]], "uint8"),
        "is_extra_trees": containers.array(ones, "bool"),
        "seeds": containers.array(zeros, "uint64"),
        "trees.nodes_per_tree": containers.array(ones, "uint8"),
        "trees.node_rows": containers.array(ones, "uint8"),
        "trees.node_weights": containers.array(ones, "uint8"),
        "trees.node_impurities": containers.array(zeros, "float64"),
        "trees.node_features": containers.array(zeros, "uint8"),
        "trees.node_thresholds": containers.array(zeros, "uint8"),
        "trees.thresholds": containers.array([], "float64"),
        "trees.rows": containers.array(zeros, "uint8"),
    }
    empty = containers.array([], "uint8")
    parts = {f"{i}.type": containers.text("array") for i in range(FILE_BYTES // 60)}
    values = {f"{i}.values": containers.array(i, "float64") for i in range(len(parts))}
    rows = np.ones((FILE_BYTES // 2, 2), np.uint8)
    contents = {
        "nested lists": _description_entries("[" * FILE_BYTES),
        "many lists": _description_entries(json.dumps([[]] * (FILE_BYTES // 4))),
        "many numbers": _description_entries(json.dumps([0.5] * (FILE_BYTES // 5))),
        "many arrays": {
            **_description_entries("{}"),
            **{str(i): empty for i in range(FILE_BYTES // 19)},
        },
        "many parts": {**_description_entries("{}"), **parts, **values},
        "many trees": {**_description_entries("{}"), **{f"0.{k}": v for k, v in forest.items()}},
        "many rows": {
            **_description_entries("{}"),
            **{f"0.{k}": v for k, v in forest.items()},
            "0.rankings.positions": containers.array(rows, "uint8"),
        },
    }
    return {name: containers.build(entries) for name, entries in contents.items()}


def load_limited(paths: list[str]) -> None:
    """Load files in this process, whose memory may grow by at most 64 MB."""
    statistics = Path("/proc/self/statm").read_text().split()
    size = int(statistics[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY_BYTES, size + MEMORY_BYTES))
    for path in paths:
        with pytest.raises(ValueError, match="cannot read the saved"):
            load_model(path)
    print(f"{len(paths)} crafted files refused")


@pytest.mark.skipif(sys.platform != "linux", reason="needs the memory limits of Linux")
def test_crafted_files_take_little_memory(tmp_path: Path) -> None:
    for name, data in crafted_files().items():
        path = tmp_path / name
        path.write_bytes(data)
        command = [sys.executable, __file__, "load", str(path)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        assert done.stdout == "1 crafted files refused\n", (name, len(data), done.stderr[-500:])


def _main() -> None:
    if sys.argv[1:2] == ["load"]:
        load_limited(sys.argv[2:])
        return
    with tempfile.TemporaryDirectory() as folder:
        print(f"{load_damaged(20_000, Path(folder))} byte flips and truncations refused")
    refused, loaded, calls = use_crafted(12_000)
    print(f"crafted: {refused} refused, {loaded} loaded and used completely ({calls} calls)")


if __name__ == "__main__":
    _main()
