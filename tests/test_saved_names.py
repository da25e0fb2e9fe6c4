"""Errors for damaged models name the model: in bytes, pickles and model files."""

from __future__ import annotations

import json
import pickle
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bucketrank import (
    PartialLabelRanker,
    PartialLabelRankingBooster,
    PartialLabelRankingForest,
    PartialLabelRankingLinear,
    PartialLabelRankingTree,
    load_model,
    save_model,
)
from tree_data import random_data, with_missing_labels

X, Y = random_data(0, rows=30)
Y = with_missing_labels(Y, 0.2, 0)
RANKER = PartialLabelRanker(n_estimators=2, rounds=2, n_parts=2, random_state=0).fit(X, Y)
FITTED: dict[str, tuple[Any, Any]] = {
    "tree": (tree := PartialLabelRankingTree().fit(X, Y), tree.tree_),
    "forest": (
        forest := PartialLabelRankingForest(n_estimators=2, random_state=0).fit(X, Y),
        forest.forest_,
    ),
    "booster": (
        booster := PartialLabelRankingBooster(rounds=2, random_state=0).fit(X, Y),
        booster.booster_,
    ),
    "linear model": (linear := PartialLabelRankingLinear().fit(X, Y), linear.model_),
}
names = pytest.mark.parametrize("name", FITTED)


def signed(body: bytes) -> bytes:
    return body + zlib.crc32(body).to_bytes(4, "little")


def damaged(saved: bytes) -> Iterator[bytes]:
    """Bytes with each kind of damage; some have a valid checksum."""
    yield b""
    yield saved[:10]
    yield saved[:-1]
    yield b"x" + saved[1:]
    yield saved[:8] + (9).to_bytes(4, "little") + saved[12:]
    yield saved[:60] + bytes([saved[60] ^ 1]) + saved[61:]
    yield signed(saved[:40])
    yield signed(saved[:-4] + b"more")
    yield signed(saved[:12] + b"\xff" * 8 + saved[20:-4])
    inner = saved.find(b"BRKTREE\n")
    if inner > 0:
        yield signed(saved[:inner] + b"BRKTWEE\n" + saved[inner + 8 : -4])
        yield signed(saved[: inner + 8] + b"\x07" + saved[inner + 9 : -4])


@names
def test_bytes_and_pickles_name_the_model(name: str) -> None:
    estimator, kernel = FITTED[name]
    saved = kernel.to_bytes()
    for bad in damaged(saved):
        with pytest.raises(ValueError, match=f"the saved {name}\\b") as caught:
            type(kernel).from_bytes(bad)
        others = set(FITTED) - {name}
        assert not any(f"saved {other}" in str(caught.value) for other in others)
    pickled = pickle.dumps(estimator)
    place = pickled.index(saved) + 50
    with pytest.raises(ValueError, match=f"the saved {name}: the checksum does not match"):
        pickle.loads(pickled[:place] + bytes([pickled[place] ^ 1]) + pickled[place + 1 :])


@names
def test_models_of_another_kind_are_named(name: str) -> None:
    kernel = type(FITTED[name][1])
    for other in set(FITTED) - {name}:
        with pytest.raises(
            ValueError,
            match=f"cannot read the saved {name}: expected a saved {name}, found a saved {other}",
        ):
            kernel.from_bytes(FITTED[other][1].to_bytes())


def with_damaged_blob(path: Path, kernel: str) -> None:
    """Damage the first kernel of a kind, with a valid checksum of the file."""
    data = bytearray(path.read_bytes()[:-4])
    length = int.from_bytes(data[12:20], "little")
    described = json.loads(data[20 : 20 + length])
    found = re.search(rf'"kernel": "{kernel}", "blob": (\d+)', json.dumps(described))
    assert found
    data[20 + length + sum(described["blobs"][: int(found[1])]) + 50] ^= 1
    path.write_bytes(signed(bytes(data)))


@pytest.mark.parametrize(
    ("model", "kernel", "name"),
    [
        *((fitted, type(kernel).__name__, name) for name, (fitted, kernel) in FITTED.items()),
        (RANKER, "Forest", "forest"),
        (RANKER, "Booster", "booster"),
        (RANKER, "LinearModel", "linear model"),
    ],
)
def test_files_name_themselves_and_the_model(
    model: Any, kernel: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.bin"
    save_model(model, path)
    assert type(load_model(path)) is type(model)
    with_damaged_blob(path, kernel)
    expected = rf"model\.bin is not a saved model: cannot read the saved {name}: the checksum"
    with pytest.raises(ValueError, match=expected):
        load_model(path)


def test_a_damaged_part_of_a_ranker_is_named_in_a_pickle() -> None:
    pickled = pickle.dumps(RANKER)
    for name, kernel in (
        ("forest", RANKER.components_["forest"][0].forest_),
        ("booster", RANKER.components_["booster"][1].booster_),
        ("linear model", RANKER.components_["linear"][1].model_),
    ):
        place = pickled.index(kernel.to_bytes()) + 30
        with pytest.raises(ValueError, match=f"cannot read the saved {name}"):
            pickle.loads(pickled[:place] + bytes([pickled[place] ^ 1]) + pickled[place + 1 :])
