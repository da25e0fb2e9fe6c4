"""Trees: our fit compared with scikit-learn's multi-output entropy tree on the codes of all pairs of labels.

The code of a pair is -1, 0 or 1: before, tied or after. Both grow the same tree, except for the choice between equally
good splits; this is checked on the largest nodes. The datasets are in the folder ``shared/data`` beside the checkout;
without it, data of the same shapes are generated.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import bucketrank as br

SHAPES = {
    "algae": (316, 18, 7), "authorship": (841, 70, 4), "blocks": (5472, 10, 5), "breast": (106, 9, 6),
    "ecoli": (336, 7, 8), "glass": (214, 9, 6), "iris": (150, 4, 3), "letter": (20000, 16, 26),
    "libras": (360, 90, 15), "movies": (260, 64, 15), "pendigits": (10992, 16, 10),
    "satimage": (6435, 36, 6), "segment": (2310, 18, 7), "vehicle": (846, 18, 4), "vowel": (528, 10, 11),
    "wine": (178, 13, 3), "yeast": (1484, 8, 10),
}  # fmt: skip
"""Rows, features and labels of the datasets."""


LEAST_TURN = 5e-3
"""Seconds that a turn takes at least: short calls are repeated."""


# Run in a separate process. The peak memory is reset after the data are loaded, so that it measures the fit only.
FIT = """
import sys
import peer_trees
X, Y = peer_trees.named_or_generated(*sys.argv[1:])
peer_trees.full_tree().fit(X[:50], Y[:50])
def status(key):
    return int(next(line for line in open("/proc/self/status") if line.startswith(key)).split()[1])
is_linux = sys.platform == "linux"
if is_linux:
    open("/proc/self/clear_refs", "w").write("5")
    before = status("VmRSS")
seconds = peer_trees.processor_seconds(peer_trees.full_tree().fit, X, Y)
print(seconds, (status("VmHWM") - before) / 1024 if is_linux else "nan")
"""


def shared_data() -> Path | None:
    folder = os.environ.get("BUCKETRANK_SHARED")
    path = Path(folder) if folder else Path(__file__).resolve().parents[2] / "shared"
    return path / "data" if (path / "data").is_dir() else None


def generated(
    rows: int, features: int, labels: int, values: int | None, seed: int
) -> tuple[Any, Any]:
    """Data in which features explain rankings; features are continuous if `values` is None."""
    rng = np.random.default_rng(seed)
    X = (
        rng.random((rows, features))
        if values is None
        else rng.integers(0, values, (rows, features)) / values
    )
    scores = X @ rng.normal(size=(features, labels)) + rng.normal(scale=0.3, size=(rows, labels))
    return X, br.to_dense_ranks(-np.round(2 * scores))


def datasets() -> Iterator[tuple[str, Any, Any]]:
    folder = shared_data()
    for name, shape in SHAPES.items():
        if folder is None:
            yield (name, *generated(*shape, values=16, seed=1))
            continue
        header = (folder / f"{name}.csv").open().readline().strip().split(",")
        table = np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)
        is_label = np.array([column.startswith("L") for column in header])
        yield name, table[:, ~is_label], table[:, is_label]


def named_or_generated(name: str, rows: str = "", labels: str = "") -> tuple[Any, Any]:
    """A dataset by name, or 16 generated features with 16 distinct values ("few") or one per row ("continuous")."""
    if name in SHAPES:
        return next((X, Y) for found, X, Y in datasets() if found == name)
    return generated(int(rows), 16, int(labels), 16 if name == "few" else None, 2)


def measured_fit(*arguments: object) -> tuple[float, float]:
    """Processor seconds of a fit in a separate process, and its peak memory in MB in addition to its inputs."""
    result = subprocess.run(
        [sys.executable, "-c", FIT, *map(str, arguments)],
        cwd=Path(__file__).resolve().parent,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, memory = map(float, result.stdout.split())
    return seconds, memory


def pair_codes(Y: Any) -> Any:
    u, v = np.triu_indices(Y.shape[1], 1)
    return np.sign(Y[:, u] - Y[:, v]).astype(np.int64)


def full_tree(**params: Any) -> br.PartialLabelRankingTree:
    return br.PartialLabelRankingTree(min_samples_split=2, **params)


def processor_seconds(call: Any, *arguments: Any) -> float:
    start = time.process_time()
    call(*arguments)
    return time.process_time() - start


def repeated_seconds(call: Any, *arguments: Any) -> tuple[float, float]:
    """Processor time of the first call, and the mean of calls repeated until they take 5 ms.

    The first call after another library's call finds caches and branch predictors filled by that call.
    """
    start = time.process_time()
    call(*arguments)
    first = total = time.process_time() - start
    calls = 1
    while total < LEAST_TURN:
        call(*arguments)
        calls += 1
        total = time.process_time() - start
    return first, total / calls


def largest_difference(tree: Any, X: Any, codes: Any, nodes: int = 6) -> float:
    """Largest difference between the improvement of our split and of scikit-learn's best split of the same node."""
    table = tree.tree_.nodes()
    inner = np.flatnonzero(np.asarray(table["feature"]) >= 0)
    worst = 0.0
    for index in inner[np.argsort(-np.asarray(table["rows"])[inner], kind="stable")][
        :nodes
    ].tolist():
        rows = tree.tree_.node_rows(index)
        children = [
            child
            for child, parent in enumerate(table["parent"])
            if parent == index and child != index
        ]
        share = [table["rows"][child] / table["rows"][index] for child in children]
        ours = table["impurity"][index] - sum(
            s * table["impurity"][child] for s, child in zip(share, children, strict=True)
        )
        stump = (
            DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(X[rows], codes[rows]).tree_
        )
        theirs = stump.impurity[0] - sum(
            stump.impurity[child] * stump.n_node_samples[child] / stump.n_node_samples[0]
            for child in (1, 2)
        )
        worst = max(worst, abs(ours - theirs))
    return worst


def fits() -> None:
    where = (
        "the datasets beside the checkout" if shared_data() else "generated data of the same shapes"
    )
    print(
        f"fully grown entropy trees on {where}, processor seconds, one thread; scikit-learn on pair codes"
    )
    print(
        f"    {'':<12}{'bucketrank':>12}{'scikit-learn':>14}{'ratio':>9}   leaves (theirs)   largest difference"
    )
    ratios, first_ratios = [], []
    for name, X, Y in datasets():
        codes = pair_codes(Y)
        turns = 3 if len(X) > 5000 else 9
        peer = DecisionTreeClassifier(criterion="entropy", random_state=0)
        times = np.array(
            [
                (repeated_seconds(full_tree().fit, X, Y), repeated_seconds(peer.fit, X, codes))
                for _ in range(turns)
            ]
        )
        (first_call, ours), (first_peer_call, theirs) = times.min(axis=0)
        ratios.append(theirs / ours)
        first_ratios.append(first_peer_call / first_call)
        tree = full_tree().fit(X, Y)
        difference = largest_difference(tree, X, codes)
        assert difference < 1e-12, (name, difference)
        goal = ""
        if name == "letter":
            goal = f"  goal 50x {'ok' if ratios[-1] >= 50 else 'MISSED'}"
        print(
            f"    {name:<12}{ours:>12.5f}{theirs:>14.5f}{ratios[-1]:>8.1f}x   {tree.get_n_leaves():>6} "
            f"({peer.get_n_leaves():>5})   {difference:.0e}{goal}"
        )
        if name == "letter":
            letter_extras(X, Y, tree, ours)
    mean, first_mean = (float(np.exp(np.mean(np.log(r)))) for r in (ratios, first_ratios))
    print(
        f"    geometric mean {mean:.1f}x  goal 17x {'ok' if mean >= 17 else 'MISSED'}   "
        f"(first calls of the turns: {first_mean:.1f}x)"
    )


def letter_extras(X: Any, Y: Any, tree: Any, complete_seconds: float) -> None:
    incomplete = br.drop_labels(Y, 0.3, seed=1)
    seconds = min(processor_seconds(full_tree().fit, X, incomplete) for _ in range(3))
    print(
        f"        30 % of the labels missing: {seconds:.3f} s, "
        f"{seconds / complete_seconds:.1f} times the fit of complete rankings, goal 4"
    )
    many = np.tile(X, (20, 1))
    tree.predict(many[:10])
    seconds = min(processor_seconds(tree.predict, many) for _ in range(15))
    print(f"        predict: {len(many) / seconds / 1e6:.1f} M rows/s, goal 5")
    # The consensus with the tree's own aggregator is cached, so measure others.
    for aggregator in (br.Borda(0.8), br.Copeland(0.3), br.BucketPivot(0.2)):
        seconds = processor_seconds(tree.with_aggregator(aggregator).predict, X[:1])
        print(f"        consensus of all leaves, {aggregator!r}: {seconds * 1e3:.0f} ms, goal 60")
    _, memory = measured_fit("letter")
    print(f"        memory of the fit above its inputs: {memory:.0f} MB, goal 100")


def growth(sizes: tuple[int, ...]) -> None:
    """Fits of increasing numbers of rows and labels, each in a separate process."""
    print(
        "growth of a fit (16 features, fully grown): processor seconds, peak memory above the inputs"
    )
    shapes = [("few", rows, 26) for rows in sizes] + [("continuous", rows, 26) for rows in sizes]
    shapes += [("few", 20_000, labels) for labels in (10, 26, 50, 100)]
    for kind, rows, labels in shapes:
        seconds, memory = measured_fit(kind, rows, labels)
        each = seconds / (rows * math.log2(rows) * labels * (labels - 1) / 2) * 1e9
        print(
            f"    {kind:<10} features, {rows:>9,} rows, n = {labels:>3}: {seconds:8.2f} s {memory:7.0f} MB"
            f"   {each:.2f} ns per pair, row and log2(rows)"
        )


def trees() -> None:
    fits()
    growth((20_000, 100_000))


def large_trees() -> None:
    """Fits of up to a million rows, which take minutes and a few gigabytes."""
    growth((20_000, 100_000, 1_000_000))
