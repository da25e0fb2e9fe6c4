"""Errors for damaged models name the model: in bytes, pickles and model files."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import containers
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


def with_checksum(body: bytes) -> bytes:
    return body + zlib.crc32(body).to_bytes(4, "little")


def damaged_copies(saved: bytes) -> Iterator[bytes]:
    """Bytes with each kind of damage; some have a valid checksum."""
    yield b""
    yield saved[:10]
    yield saved[:-1]
    yield b"x" + saved[1:]
    yield saved[:8] + (9).to_bytes(4, "little") + saved[12:]
    yield saved[:60] + bytes([saved[60] ^ 1]) + saved[61:]
    yield with_checksum(saved[:40])
    yield with_checksum(saved[:-4] + b"more")
    yield with_checksum(saved[:12] + b"\xff" * 8 + saved[20:-4])


@names
def test_bytes_and_pickles_name_the_model(name: str) -> None:
    estimator, kernel = FITTED[name]
    saved = kernel.to_bytes()
    for bad in damaged_copies(saved):
        with pytest.raises(ValueError, match=f"the saved {name}\\b") as caught:
            type(kernel).from_bytes(bad)
        others = set(FITTED) - {name}
        assert not any(f"saved {other}" in str(caught.value) for other in others)
    pickled = pickle.dumps(estimator)
    place = pickled.index(b"BRKSAVED") + 50
    expected = f"the saved {type(estimator).__name__}: the checksum does not match"
    with pytest.raises(ValueError, match=expected):
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


def drop_array(path: Path, name: str) -> None:
    """Remove an array of the first part of this type; the checksum stays valid."""
    entries = containers.parse(path.read_bytes())
    part = next(key for key, entry in entries.items() if entry.data == name.encode())
    prefix = part.removesuffix("type")
    entries.pop([key for key in entries if key.startswith(prefix)][-1])
    path.write_bytes(containers.build(entries))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        *((fitted, name) for name, (fitted, _) in FITTED.items()),
        (RANKER, "forest"),
        (RANKER, "booster"),
        (RANKER, "linear model"),
    ],
)
def test_errors_of_files_name_the_file_and_the_model(model: Any, name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    save_model(model, path)
    assert type(load_model(path)) is type(model)
    drop_array(path, name)
    expected = rf"model\.bin: cannot read the saved {name}: there is no array"
    with pytest.raises(ValueError, match=expected):
        load_model(path)


def test_a_damaged_pickle_of_a_ranker_is_refused() -> None:
    pickled = pickle.dumps(RANKER)
    start = pickled.index(b"BRKSAVED")
    for place in range(start + 40, start + len(RANKER.__getstate__()["_container"]), 997):
        with pytest.raises(ValueError, match="cannot read the saved PartialLabelRanker: the check"):
            pickle.loads(pickled[:place] + bytes([pickled[place] ^ 1]) + pickled[place + 1 :])
