"""Saved trees, damaged trees, forks and Ctrl-C."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketrank import (
    Borda,
    PartialLabelRankingBaseline,
    PartialLabelRankingBooster,
    PartialLabelRankingForest,
    PartialLabelRankingLinear,
    PartialLabelRankingTree,
)
from bucketrank._core import Tree
from tree_data import random_data, with_missing_labels

X, Y = random_data(0, rows=25)
Y = with_missing_labels(Y, 0.3, 0)
TREE = PartialLabelRankingTree(min_samples_split=2).fit(X, Y, np.arange(25) % 3)
SAVED = TREE.tree_.to_bytes()
VERSION = slice(8, 12)

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and fork")


def test_a_tree_read_from_bytes_is_equal() -> None:
    assert Tree.from_bytes(SAVED).to_bytes() == SAVED


@given(st.integers(0, len(SAVED) - 1), st.integers(1, 255))
def test_a_changed_byte_is_detected(place: int, change: int) -> None:
    damaged = bytearray(SAVED)
    damaged[place] ^= change
    with pytest.raises(ValueError, match="saved tree"):
        Tree.from_bytes(bytes(damaged))


@given(st.data())
def test_bytes_of_a_pickle_are_checked(data: st.DataObject) -> None:
    """Damaged bytes are always rejected, even in a pickled estimator."""
    pickled = bytearray(pickle.dumps(TREE))
    container = TREE.__getstate__()["_container"]
    start = bytes(pickled).index(container)
    places = st.integers(start, start + len(container) - 1)
    for place in data.draw(st.lists(places, min_size=1, max_size=4, unique=True)):
        pickled[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ValueError, match="saved PartialLabelRankingTree"):
        pickle.loads(bytes(pickled))


def test_changed_attributes_of_a_pickle_are_detected() -> None:
    names = pd.DataFrame(Y, columns=["tea", "milk", "rum", "ale"])
    tree = PartialLabelRankingTree(Borda(0.5), min_samples_split=8).fit(X, names)
    pickled = pickle.dumps(tree)
    np.testing.assert_array_equal(pickle.loads(pickled).predict(X), tree.predict(X))
    for old, new in [
        (b'"beta": 0.5', b'"beta": 1.5'),
        (b"milk", b"silk"),
        (b"n_labels_in_", b"n_labels_on_"),
    ]:
        assert old in pickled
        with pytest.raises(ValueError, match="saved PartialLabelRankingTree: the checksum does"):
            pickle.loads(pickled.replace(old, new))


def test_every_estimator_checks_its_state() -> None:
    for model in (
        PartialLabelRankingTree(),
        PartialLabelRankingForest(n_estimators=3, random_state=0),
        PartialLabelRankingBooster(),
        PartialLabelRankingLinear(),
        PartialLabelRankingBaseline(),
    ):
        fitted = model.fit(X, Y)
        state = fitted.__getstate__()
        for back in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted), copy.copy(fitted)):
            np.testing.assert_array_equal(back.predict(X), fitted.predict(X))
            assert vars(back).keys() == vars(fitted).keys()
        assert state.keys() <= {"_container", "_sklearn_version"}
        container = state["_container"].replace(b'"n_labels_in_": 4', b'"n_labels_in_": 5')
        with pytest.raises(ValueError, match="the checksum does not match"):
            type(model)().__setstate__({"_container": container})


def test_pickles_without_a_container_are_refused() -> None:
    with pytest.raises(ValueError, match="saved PartialLabelRankingTree: expected bytes, found No"):
        PartialLabelRankingTree().__setstate__(vars(TREE).copy())


def test_pickles_keep_what_a_container_cannot_hold() -> None:
    seed = np.random.RandomState(3)
    depth: Any = np.int64(3)
    tree = PartialLabelRankingTree(random_state=seed, max_depth=depth).fit(X, Y)
    tree.note = {1, 2}
    back = pickle.loads(pickle.dumps(tree))
    assert isinstance(back.random_state, np.random.RandomState)
    assert type(back.max_depth) is np.int64
    assert back.note == {1, 2}


@given(st.integers(0, len(SAVED) - 1))
def test_truncated_bytes_are_rejected(length: int) -> None:
    with pytest.raises(ValueError, match="cannot read the saved tree"):
        Tree.from_bytes(SAVED[:length])


@given(st.binary(max_size=200))
def test_foreign_bytes_are_rejected(foreign: bytes) -> None:
    for data in (foreign, SAVED[:12] + foreign, SAVED + foreign + b"!"):
        with pytest.raises(ValueError, match="cannot read the saved tree"):
            Tree.from_bytes(data)


def test_a_future_version_is_named() -> None:
    future = bytearray(SAVED)
    future[VERSION] = (7).to_bytes(4, "little")
    with pytest.raises(ValueError, match="format version 7; this release reads versions up to 1"):
        Tree.from_bytes(bytes(future))


def run(code: str) -> str:
    """Run a separate program, so that forks and signals do not affect the test run."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout


@posix
def test_a_forked_child_fits_after_its_parent() -> None:
    out = run(
        """
        import os, sys
        import numpy as np
        from bucketrank import PartialLabelRankingTree

        rng = np.random.default_rng(0)
        X = rng.random((5000, 8))
        Y = rng.permuted(np.tile(np.arange(1, 7), (5000, 1)), axis=1)

        def fit_tree():
            tree = PartialLabelRankingTree(n_jobs=2).fit(X, Y)
            tree.predict(X)
            return tree.tree_.to_bytes()

        before = fit_tree()
        child = os.fork()
        if child == 0:
            os._exit(0 if fit_tree() == before else 3)
        status = os.waitpid(child, 0)[1]
        print(os.waitstatus_to_exitcode(status), fit_tree() == before)
        """
    )
    assert out.split() == ["0", "True"]


LONG_FITS = {
    "entropy": "PartialLabelRankingTree(min_samples_split=2)",
    "threads": "PartialLabelRankingTree(min_samples_split=2, n_jobs=2)",
    "distance": "PartialLabelRankingTree(criterion='distance')",
}


@posix
@pytest.mark.parametrize("kind", LONG_FITS)
def test_ctrl_c_stops_a_long_fit(kind: str) -> None:
    code = f"""
    import time
    import numpy as np
    from bucketrank import PartialLabelRankingTree

    rng = np.random.default_rng(0)
    X = rng.random((400_000, 12))
    Y = np.argsort(rng.random((400_000, 20)), axis=1) + 1
    tree = {LONG_FITS[kind]}
    tree.fit(X[:200], Y[:200])
    before = dict(vars(tree))
    print("ready", flush=True)
    try:
        tree.fit(X, Y)
    except KeyboardInterrupt:
        stopped = time.time()
        print(stopped, vars(tree) == before, tree.predict(X[:3]).shape == (3, 20))
    else:
        print("the fit ended before the signal")
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "ready\n"
            time.sleep(0.7)
            sent = time.time()
            child.send_signal(signal.SIGINT)
            words = child.stdout.readline().split()
        finally:
            child.kill()
    assert words[1:] == ["True", "True"], words
    assert float(words[0]) - sent < 1
