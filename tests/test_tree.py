"""The tree: comparison with the reference, scikit-learn and golden trees, and invariants."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from bucketrank import (
    Aggregator,
    Borda,
    BucketPivot,
    PartialLabelRankingForest,
    PartialLabelRankingTree,
    get_aggregator,
    pair_order_matrix,
    tau_x,
)
from reference import aggregators
from reference import tree as reference
from reference.pairs import pair_order
from tree_data import Array, dense, letter_like, load, pair_codes, random_data, with_missing_labels

DATASETS = [
    "algae",
    "authorship",
    "blocks",
    "breast",
    "ecoli",
    "glass",
    "iris",
    "letter",
    "libras",
    "movies",
    "pendigits",
    "satimage",
    "segment",
    "vehicle",
    "vowel",
    "wine",
    "yeast",
]
AGGREGATORS = ["borda", "copeland", "bucket_pivot", "mc1", "mc2", "mc3", "mc4", "maximal_lottery"]


def full_tree(**params: Any) -> PartialLabelRankingTree:
    """An unfitted tree that by default splits every node of at least two rows."""
    return PartialLabelRankingTree(**{"min_samples_split": 2, **params})


def preorder(tree: PartialLabelRankingTree) -> Iterator[int]:
    nodes = tree.tree_.nodes()
    stack = [0]
    while stack:
        index = stack.pop()
        yield index
        first = int(nodes["first_child"][index])
        stack.extend(reversed(range(first, first + int(nodes["children"][index]))))


def structure(tree: PartialLabelRankingTree) -> list[tuple[int, list[float], float]]:
    """Feature, thresholds and impurity of each node, which are invariant to repeated rows."""
    nodes = tree.tree_.nodes()
    return [
        (int(nodes["feature"][i]), nodes["thresholds"][i], float(nodes["impurity"][i]))
        for i in preorder(tree)
    ]


def improvement(tree: PartialLabelRankingTree, index: int) -> float:
    nodes = tree.tree_.nodes()
    first, count = int(nodes["first_child"][index]), int(nodes["children"][index])
    mass = nodes["weight"] * nodes["impurity"]
    below = mass[first : first + count].sum() / nodes["weight"][index]
    return float(nodes["impurity"][index] - below)


def flat(node: reference.Node) -> Iterator[reference.Node]:
    yield node
    for child in (node.left, node.right):
        if child is not None:
            yield from flat(child)


def weights_of_kind(kind: str, rows: int, seed: int) -> Array | None:
    rng = np.random.default_rng(seed)
    if kind == "none":
        return None
    if kind == "whole":
        return np.maximum(rng.integers(-1, 4, rows), 0).astype(float)
    return np.asarray(rng.random(rows) * 3)


@pytest.mark.parametrize("weights", ["none", "whole", "real"])
@pytest.mark.parametrize("missing", [0.0, 0.3, 0.7])
def test_equals_the_reference(weights: str, missing: float) -> None:
    for seed in range(12):
        X, Y = random_data(seed, rows=8 + 3 * seed, labels=2 + seed % 4, features=1 + seed % 3)
        Y = with_missing_labels(Y, missing, seed)
        w = weights_of_kind(weights, len(X), seed)
        limits = {"min_samples_split": 2 + seed % 4, "min_samples_leaf": 1 + seed % 3}
        tree = PartialLabelRankingTree(max_depth=[None, 3][seed % 2], **limits)  # type: ignore[arg-type]
        tree.fit(X, Y, sample_weight=w)
        expected = list(
            flat(
                reference.grow(
                    X.tolist(),
                    Y.tolist(),
                    None if w is None else w.tolist(),
                    **limits,
                    max_depth=tree.max_depth,
                )
            )
        )
        nodes = tree.tree_.nodes()
        found = list(preorder(tree))
        assert len(found) == len(expected)
        for index, node in zip(found, expected, strict=True):
            feature = int(nodes["feature"][index])
            assert (feature if feature >= 0 else None) == node.feature
            thresholds = nodes["thresholds"][index]
            assert (thresholds[0] if thresholds else None) == node.threshold
            assert sorted(tree.tree_.node_rows(index).tolist()) == node.rows
            assert nodes["impurity"][index] == pytest.approx(node.impurity, abs=1e-12)
        leaves = tree.apply(X)
        for row, x in enumerate(X.tolist()):
            rows = reference.leaf_of(expected[0], x).rows
            assert sorted(tree.leaf_rows(int(leaves[row])).tolist()) == rows


@pytest.mark.parametrize("criterion", ["disagreements", "distance"])
@pytest.mark.parametrize("aggregator", ["borda", "bucket_pivot", "mc2"])
@pytest.mark.parametrize("splitter", ["best", "equal_frequency", "equal_width"])
def test_consensus_criteria_follow_their_definitions(
    criterion: str, aggregator: str, splitter: str
) -> None:
    X, Y = random_data(3, rows=25)
    Y = with_missing_labels(Y, 0.2, 3)
    tree = full_tree(aggregator=aggregator, criterion=criterion, splitter=splitter, max_splits=3)
    tree.fit(X, Y)
    assert tree.get_n_leaves() > 2
    nodes = tree.tree_.nodes()
    cost = {"disagreements": reference.disagreements, "distance": reference.distance}[criterion]
    for index in preorder(tree):
        own = Y[tree.tree_.node_rows(index)]
        consensus = get_aggregator(aggregator).aggregate(own).tolist()
        expected = float(cost(own.tolist(), None, consensus))
        assert nodes["impurity"][index] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weights", ["none", "whole", "real"])
def test_leaves_predict_with_every_aggregator(weights: str) -> None:
    X, Y = random_data(7, rows=60)
    Y = with_missing_labels(Y, 0.3, 7)
    w = weights_of_kind(weights, len(X), 7)
    tree = PartialLabelRankingTree().fit(X, Y, w)
    leaves = tree.apply(X)
    many = tree.predict_many(X, AGGREGATORS)
    pair_orders = tree.predict_pair_order(X)
    for row, leaf in enumerate(leaves.tolist()):
        rows = tree.leaf_rows(leaf)
        own = None if w is None else w[rows]
        np.testing.assert_array_equal(tree.leaf_rankings(leaf), Y[rows])
        expected = pair_order_matrix(Y[rows], own)
        np.testing.assert_allclose(pair_orders[row], expected, atol=1e-12)
        for name, predicted in zip(AGGREGATORS, many, strict=True):
            consensus = get_aggregator(name).aggregate(Y[rows], own)
            np.testing.assert_array_equal(predicted[row], consensus)
    for name, predicted in zip(AGGREGATORS, many, strict=True):
        other = tree.with_aggregator(name)
        np.testing.assert_array_equal(other.predict(X), predicted)
        assert other.tree_ is tree.tree_
        assert other.get_params()["aggregator"] == name
    assert tree.aggregator == "borda"
    complete = np.nan_to_num(Y, nan=1.0)
    assert tree.score(X, dense(complete)) == tau_x(dense(complete), tree.predict(X))


def test_more_aggregators_than_the_cache_holds() -> None:
    X, Y = random_data(1)
    tree = full_tree(max_depth=1).fit(X, Y)
    betas: list[Aggregator] = [Borda(beta=0.1 * i) for i in range(20)]
    first = tree.predict_many(X, betas)
    for one, other in zip(first, tree.predict_many(X, betas[::-1])[::-1], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("criterion", ["entropy", "distance"])
def test_whole_weights_equal_repeated_rows(missing: float, criterion: str) -> None:
    for seed in range(8):
        X, Y = random_data(seed)
        Y = with_missing_labels(Y, missing, seed)
        w = weights_of_kind("whole", len(X), seed)
        assert w is not None
        copies = np.repeat(np.arange(len(X)), w.astype(int))
        weighted = full_tree(criterion=criterion).fit(X, Y, w)
        repeated = full_tree(criterion=criterion).fit(X[copies], Y[copies])
        assert structure(weighted) == structure(repeated)
        np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


@pytest.mark.parametrize("model", [PartialLabelRankingTree, PartialLabelRankingForest])
@pytest.mark.parametrize("params", [{"min_samples_split": 0.2}, {"min_samples_leaf": 0.1}])
def test_fractional_limits_ignore_rows_of_weight_0(model: Any, params: dict[str, Any]) -> None:
    X, Y = random_data(0, rows=80)
    kept = np.arange(80) % 2 == 0
    params = {"min_samples_split": 2, "random_state": 0, **params}
    weighted = model(**params).fit(X, Y, kept.astype(float))
    shortened = model(**params).fit(X[kept], Y[kept])
    assert weighted.get_n_leaves() == shortened.get_n_leaves()
    np.testing.assert_array_equal(weighted.predict_pair_shares(X), shortened.predict_pair_shares(X))


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("splitter", ["best", "equal_frequency", "equal_width"])
def test_order_of_rows_does_not_matter(missing: float, splitter: str) -> None:
    for seed in range(8):
        X, Y = random_data(seed, rows=80)
        Y = with_missing_labels(Y, missing, seed)
        order = np.random.default_rng(seed).permutation(len(X))
        tree = full_tree(splitter=splitter).fit(X, Y)
        other = full_tree(splitter=splitter).fit(X[order], Y[order])
        assert structure(tree) == structure(other)
        for a, b in zip(preorder(tree), preorder(other), strict=True):
            rows = order[other.tree_.node_rows(b)]
            assert sorted(rows.tolist()) == sorted(tree.tree_.node_rows(a).tolist())


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_number_of_threads_does_not_matter(missing: float) -> None:
    X, Y = random_data(0, rows=3000, features=6, labels=6, values=40)
    Y = with_missing_labels(Y, missing, 0)
    params: dict[str, Any] = {"max_features": "sqrt", "random_state": 3}
    one = full_tree(n_jobs=1, **params).fit(X, Y)
    for n_jobs in (2, 3, -1):
        many = full_tree(n_jobs=n_jobs, **params).fit(X, Y)
        assert many.tree_.to_bytes() == one.tree_.to_bytes()
        np.testing.assert_array_equal(many.predict(X), one.predict(X))


def test_fractions_and_names_are_converted_to_numbers_of_rows_and_features() -> None:
    X, Y = random_data(2, rows=50, features=5, labels=3)
    equal: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"min_samples_split": "paper"}, {"min_samples_split": 6}),
        ({"min_samples_split": 0.25}, {"min_samples_split": 13}),
        ({"min_samples_leaf": 0.1}, {"min_samples_leaf": 5}),
        ({"max_features": "sqrt"}, {"max_features": 2}),
        ({"max_features": "log2"}, {"max_features": 2}),
        ({"max_features": 0.5}, {"max_features": 2}),
        ({"max_features": 1.0}, {"max_features": None}),
    ]
    for left, right in equal:
        trees = [full_tree(random_state=1, **params).fit(X, Y) for params in (left, right)]
        assert trees[0].tree_.to_bytes() == trees[1].tree_.to_bytes(), left
    seeds = [full_tree(max_features=1, random_state=seed).fit(X, Y) for seed in range(5)]
    assert len({tree.tree_.to_bytes() for tree in seeds}) > 1


def assert_best_of_sklearn(X: Array, Y: Array, nodes: int) -> int:
    """Compare the improvements of the top nodes and a sample of others with those of scikit-learn's depth-1 trees."""
    tree = full_tree().fit(X, Y)
    inner = np.flatnonzero(tree.tree_.nodes()["feature"] >= 0)
    if len(inner) > nodes:
        sample = np.random.default_rng(0).choice(inner[5:], nodes - 5, replace=False)
        inner = np.concatenate([inner[:5], sample])
    codes = pair_codes(Y)
    for index in inner.tolist():
        rows = tree.tree_.node_rows(index)
        own = codes[rows]
        # A pair on which all rows agree adds 0 to the mean; skipping it saves most of the time.
        mixed = own[:, (own != own[0]).any(axis=0)]
        stump = DecisionTreeClassifier(criterion="entropy", max_depth=1, random_state=0)
        result = stump.fit(X[rows], mixed).tree_
        share = result.weighted_n_node_samples / len(rows)
        best = (result.impurity[0] - (share * result.impurity)[1:].sum()) * mixed.shape[1]
        assert improvement(tree, index) == pytest.approx(best / codes.shape[1], abs=1e-12)
    return len(inner)


def test_splits_are_as_good_as_sklearns() -> None:
    for seed in range(10):
        X, Y = random_data(seed, rows=60, features=1 + seed % 4, labels=2 + seed % 4)
        assert assert_best_of_sklearn(X, Y, nodes=100) > 3


@pytest.mark.slow
@pytest.mark.parametrize("name", DATASETS)
def test_splits_are_as_good_as_sklearns_on_the_datasets(
    name: str, shared_dir: Path, count_comparisons: Callable[[str, int], None]
) -> None:
    # All nodes of small trees; the top five and a sample of larger trees, because all would take minutes.
    X, Y = load(shared_dir, name)
    count_comparisons("nodes with scikit-learn", assert_best_of_sklearn(X, Y, nodes=300))


def test_whole_trees_equal_sklearns_where_no_split_has_a_rival() -> None:
    compared = 0
    for seed in range(60):
        X, Y = random_data(seed, rows=70, features=1 + seed % 2, labels=4, values=40)
        tree = PartialLabelRankingTree(min_samples_split=25).fit(X, Y)
        if has_rivals(tree, X, Y):
            continue
        classifier = DecisionTreeClassifier(
            criterion="entropy", min_samples_split=25, random_state=0
        )
        other = classifier.fit(X, pair_codes(Y)).tree_
        nodes = tree.tree_.nodes()
        found = list(preorder(tree))
        assert nodes["rows"][found].tolist() == other.n_node_samples.tolist()
        inner = other.feature >= 0
        assert nodes["feature"][found][inner].tolist() == other.feature[inner].tolist()
        thresholds = [nodes["thresholds"][i][0] for i in np.array(found)[inner]]
        np.testing.assert_allclose(thresholds, other.threshold[inner], rtol=1e-6)
        compared += 1
    assert compared >= 20


def has_rivals(tree: PartialLabelRankingTree, X: Array, Y: Array) -> bool:
    """Whether some node has a second candidate whose improvement is within 1e-10 of the best."""
    sample = reference.Sample(X.tolist(), [[int(p) for p in row] for row in Y], [1] * len(X))
    limits = reference.Limits(2, 1, None)
    for index in np.flatnonzero(tree.tree_.nodes()["feature"] >= 0).tolist():
        rows = tree.tree_.node_rows(index).tolist()
        values = sorted(split.improvement for split in reference.candidates(sample, rows, limits))
        if len(values) > 1 and values[-1] - values[-2] < 1e-10:
            return True
    return False


def test_golden_trees(shared_dir: Path, count_comparisons: Callable[[str, int], None]) -> None:
    golden = json.loads((shared_dir / "golden" / "trees.json").read_text())["trees"]
    for case in golden:
        X, Y = load(shared_dir, case["dataset"])
        if case["dropped"] is not None:
            dropped = np.array([list(row) for row in case["dropped"]]) == "1"
            Y = dense(np.where(dropped, np.nan, Y))
        tree = PartialLabelRankingTree(min_samples_split=case["min_samples_split"]).fit(X, Y)
        nodes = tree.tree_.nodes()
        found = list(preorder(tree))
        assert len(found) == len(case["nodes_preorder"])
        for index, node in zip(found, case["nodes_preorder"], strict=True):
            assert nodes["rows"][index] == node["n"]
            assert nodes["depth"][index] == node["depth"]
            assert nodes["impurity"][index] == pytest.approx(node["impurity"], abs=1e-9)
            if node["feature"] is None:
                assert nodes["feature"][index] == -1
            else:
                assert nodes["feature"][index] == node["feature"]
                assert nodes["thresholds"][index] == pytest.approx([node["threshold"]], abs=1e-9)
        count_comparisons("nodes of golden trees", len(found))
        golden_predictions = case["predict_train"]
        borda, pivot = tree.predict_many(X, [Borda(0.9), BucketPivot(0.25)])
        np.testing.assert_array_equal(borda, golden_predictions["borda_0.9"])
        decided = ~np.isin(tree.apply(X), leaves_with_a_pivot_tie(tree))
        expected = np.array(golden_predictions["bucket_pivot_0.25"])
        assert decided.sum() > 0.1 * len(X)
        np.testing.assert_array_equal(pivot[decided], expected[decided])
        count_comparisons("predictions of golden trees", len(X) + int(decided.sum()))


def leaves_with_a_pivot_tie(tree: PartialLabelRankingTree) -> list[int]:
    """Leaves with several equally good pivots: the golden result is one of several."""
    tied = []
    for leaf in tree.tree_.leaves().tolist():
        C = pair_order(tree.leaf_rankings(leaf).tolist())
        if pivot_is_tied(C, range(len(C)), aggregators.indecision(C)):
            tied.append(leaf)
    return tied


def pivot_is_tied(
    C: aggregators.PairOrder, items: Sequence[int], indecisions: Sequence[Fraction]
) -> bool:
    """Whether bucket pivot meets a list of items with two labels of least indecision."""
    if len(items) < 2:
        return False
    least = min(indecisions[u] for u in items)
    pivots = [u for u in items if aggregators.compare(indecisions[u], least) == 0]
    if len(pivots) > 1:
        return True
    central, margin = [*pivots], aggregators.QUARTER
    left, right = aggregators.partition(C, central, [u for u in items if u not in pivots], margin)
    left, right = aggregators.partition(C, central, left + right, margin)
    return pivot_is_tied(C, left, indecisions) or pivot_is_tied(C, right, indecisions)


@pytest.mark.parametrize(
    ("missing", "expected"),
    [(False, "c8be5002e2e554796fb75cb51e86e2f3"), (True, "35af009d290e65eee104b3d58fa07d6c")],
    ids=["complete", "missing"],
)
def test_the_same_tree_on_every_machine(missing: bool, expected: str) -> None:
    """A hash of the splits, which must be equal on every processor."""
    X, Y = letter_like()
    if missing:
        Y = dense(np.where(np.arange(Y.size).reshape(Y.shape) * 7 % 10 < 3, np.nan, Y))
    tree = full_tree().fit(X, Y)
    nodes = tree.tree_.nodes()
    digest = hashlib.sha256()
    for index in preorder(tree):
        thresholds = [threshold.hex() for threshold in nodes["thresholds"][index]]
        digest.update(f"{nodes['feature'][index]} {nodes['rows'][index]} {thresholds}".encode())
    assert tree.get_n_leaves() > 1000
    assert digest.hexdigest()[:32] == expected


def test_equal_widths_separate_neighbouring_numbers() -> None:
    below = np.nextafter(1.0, 0.0)
    for pair in ([below, 1.0], [1.0, np.nextafter(1.0, 2.0)], [-5e-324, 0.0], [0.0, 5e-324]):
        X = np.array(pair).reshape(-1, 1)
        for max_splits in (2, 3, 5, 7):
            tree = PartialLabelRankingTree(
                splitter="equal_width", max_splits=max_splits, min_samples_split=2
            )
            assert tree.fit(X, [[1, 2], [2, 1]]).get_n_leaves() == 2
