"""Shrinkage and soft routing of the tree: comparison with the definitions in plain Python."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import bucketrank as br
from reference import smoothing as reference
from tree_data import load, random_data, with_missing_labels

KINDS = [("path", None), ("path", 3.5), ("m-estimate", None), ("m-estimate", 0.5), (None, None)]


class ReferenceShares:
    """The shares of a fitted tree's leaves, computed node by node."""

    def __init__(self, tree: br.PartialLabelRankingTree, X: Any, Y: Any, weights: Any) -> None:
        self.tree, self.X, self.Y, self.weights = tree, X, Y, weights
        self.nodes = tree.tree_.nodes()
        each = [Fraction(1)] * len(Y) if weights is None else map(Fraction, weights)
        self.total = sum(each, Fraction(0))

    def counts(self, node: int) -> list[tuple[Fraction, ...]]:
        rows = self.tree.tree_.node_rows(node)
        weights = None if self.weights is None else [Fraction(self.weights[r]) for r in rows]
        return reference.node_counts(self.Y[rows].tolist(), weights)

    def shares(self, leaf: int) -> Any:
        path = [leaf]
        while path[0] != 0:
            path.insert(0, int(self.nodes["parent"][path[0]]))
        counts = [self.counts(node) for node in path]
        kind, strength = self.tree.shrinkage, self.tree.shrinkage_strength
        if kind is None:
            return reference.own_shares(counts)
        if kind == "path":
            return reference.path_shrinkage(
                counts, 32 if strength is None else strength, self.total
            )
        return reference.m_estimate(counts, 8 if strength is None else strength)

    def leaves(self, row: Any) -> list[tuple[int, float]]:
        reached, open_nodes = [], [(0, 1.0)]
        while open_nodes:
            node, share = open_nodes.pop()
            feature = int(self.nodes["feature"][node])
            if feature < 0:
                reached.append((node, share))
                continue
            children = [int(self.nodes["first_child"][node]) + i for i in (0, 1)]
            values = [self.X[self.tree.tree_.node_rows(child), feature] for child in children]
            threshold = self.nodes["thresholds"][node][0]
            interval = reference.window(values[0].tolist(), values[1].tolist())
            left = reference.share_to_the_left(row[feature], threshold, interval)
            if self.tree.routing == "hard":
                left = float(row[feature] <= threshold)
            for child, part in zip(children, (left, 1 - left), strict=True):
                if share * part > 0.005:
                    open_nodes.append((child, share * part))
        return reached

    def predict(self, row: Any) -> Any:
        parts = [share * np.array(self.shares(leaf)) for leaf, share in self.leaves(row)]
        total = np.sum(parts, axis=0)
        mass = total.sum(axis=1, keepdims=True)
        return total / np.where(mass > 0, mass, 1)


def data(missing: float, seed: int = 3) -> tuple[Any, Any]:
    X, Y = random_data(seed, rows=40)
    return X, with_missing_labels(Y, missing, seed) if missing else Y


@pytest.mark.parametrize("missing", [0.0, 0.5])
@pytest.mark.parametrize("weights", [None, "whole", "real"])
@pytest.mark.parametrize(("shrinkage", "strength"), KINDS)
@pytest.mark.parametrize("routing", ["hard", "soft"])
def test_shares_equal_the_definition(
    missing: float, weights: Any, shrinkage: Any, strength: Any, routing: str
) -> None:
    X, Y = data(missing)
    rng = np.random.default_rng(0)
    if weights is not None:
        weights = rng.integers(0, 4, len(X)) + (rng.random(len(X)) if weights == "real" else 0)
    tree = br.PartialLabelRankingTree(
        "tau_x",
        min_samples_split=2,
        shrinkage=shrinkage,
        shrinkage_strength=strength,
        routing=routing,
    ).fit(X, Y, weights)
    plain = ReferenceShares(tree, X, Y, weights)
    rows = rng.integers(-1, 8, (12, X.shape[1])) / 4 + rng.random((12, X.shape[1])) / 4
    shares = tree.predict_pair_shares(rows)
    for row, found in zip(rows, shares, strict=True):
        np.testing.assert_allclose(found, plain.predict(row), atol=1e-12)
    np.testing.assert_array_equal(tree.predict(rows), br.TauX().aggregate_pair_shares(shares))
    # The pair order is before plus half of tied, above and below the diagonal.
    matrices = tree.predict_pair_order(rows)
    first, second = np.triu_indices(Y.shape[1], 1)
    known = shares.sum(axis=2) > 0
    expected = np.where(known, shares[..., 0] + shares[..., 1] / 2, 0.5)
    np.testing.assert_allclose(matrices[:, first, second], expected, atol=1e-12)
    np.testing.assert_allclose(matrices + matrices.transpose(0, 2, 1), 1, atol=1e-12)


@pytest.mark.parametrize("routing", ["hard", "soft"])
def test_results_do_not_depend_on_the_number_of_threads(routing: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.random((6000, 4))
    Y = br.drop_labels(br.to_dense_ranks(np.round(X @ rng.random((4, 6)) * 6)), 0.3, 0)
    tree = br.PartialLabelRankingTree(
        "tau_x", min_samples_split=2, shrinkage="path", routing=routing
    ).fit(X, Y)
    expected, shares = tree.predict(X), tree.predict_pair_shares(X[:50])
    for n_jobs in (2, 5):
        again = clone(tree).set_params(n_jobs=n_jobs).fit(X, Y)
        np.testing.assert_array_equal(again.predict(X), expected)
        np.testing.assert_array_equal(again.predict_pair_shares(X[:50]), shares)


def test_shrinking_without_strength_changes_nothing() -> None:
    X, Y = data(0.4)
    plain = br.PartialLabelRankingTree("tau_x", min_samples_split=2).fit(X, Y)
    shrunk = clone(plain).set_params(shrinkage="path", shrinkage_strength=0).fit(X, Y)
    own, smoothed = plain.predict_pair_shares(X), shrunk.predict_pair_shares(X)
    seen = own.sum(axis=2) > 0
    np.testing.assert_allclose(smoothed[seen], own[seen], atol=1e-12)
    # With a very large strength every leaf equals the root.
    root = clone(shrunk).set_params(shrinkage_strength=1e12).fit(X, Y).predict_pair_shares(X)
    np.testing.assert_allclose(root, np.broadcast_to(root[0], root.shape), atol=1e-9)


def test_every_compatible_aggregator_predicts_from_smoothed_shares() -> None:
    X, Y = data(0.2)
    for routing in ("hard", "soft"):
        tree = br.PartialLabelRankingTree(
            min_samples_split=2, shrinkage="m-estimate", routing=routing
        ).fit(X, Y)
        need_rankings = ("mc1", "mc2", "mc3", "davidson", "reciprocal_rank_fusion")
        names = [name for name in br.METHODS if name not in need_rankings]
        for name, predicted in zip(names, tree.predict_many(X, names), strict=True):
            np.testing.assert_array_equal(tree.with_aggregator(name).predict(X), predicted)
            if name not in ("tau_x", "kemeny"):
                C = tree.predict_pair_order(X)
                by_matrix = br.get_aggregator(name).aggregate_pair_order(C)
                np.testing.assert_array_equal(predicted, by_matrix)


@pytest.mark.parametrize("name", ["mc1", "mc2", "mc3"])
def test_chains_that_need_rankings_are_rejected(name: str) -> None:
    X, Y = data(0.0)
    options: list[dict[str, Any]] = [{"shrinkage": "path"}, {"routing": "soft"}]
    for params in options:
        with pytest.raises(ValueError, match=r"MarkovChain\(.*needs rankings, but leaves with"):
            br.PartialLabelRankingTree(name, **params).fit(X, Y)
        tree = br.PartialLabelRankingTree(**params).fit(X, Y)
        with pytest.raises(ValueError, match=r"needs rankings, but leaves with"):
            tree.with_aggregator(name)
        with pytest.raises(ValueError, match=r"needs rankings, but leaves with"):
            tree.predict_many(X, ["borda", br.TauX(order=name)])


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"shrinkage": "root"}, ValueError, r"shrinkage is 'root'; expected one of 'path'"),
        ({"shrinkage": 3}, TypeError, r"shrinkage is 3; expected one of"),
        ({"shrinkage_strength": 3}, ValueError, r"shrinkage_strength is 3 without shrinkage"),
        (
            {"shrinkage": "path", "shrinkage_strength": -1},
            ValueError,
            r"is -1.0; expected a finite",
        ),
        ({"shrinkage": "m-estimate", "shrinkage_strength": 0}, ValueError, r"number above 0"),
        ({"shrinkage": "path", "shrinkage_strength": "a"}, TypeError, r"expected a number"),
        ({"routing": "fuzzy"}, ValueError, r"routing is 'fuzzy'; expected one of 'hard', 'soft'"),
        ({"routing": "soft", "splitter": "equal_width"}, ValueError, r"expected splitter 'best'"),
    ],
)
def test_bad_parameters(params: dict[str, Any], error: type[Exception], message: str) -> None:
    X, Y = data(0.0)
    with pytest.raises(error, match=message):
        br.PartialLabelRankingTree(**params).fit(X, Y)


def test_pickles_keep_soft_routing() -> None:
    X, Y = data(0.3)
    tree = br.PartialLabelRankingTree("tau_x", shrinkage="path", routing="soft").fit(X, Y)
    again = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(again.predict_pair_shares(X), tree.predict_pair_shares(X))


def test_the_papers_tree_has_a_constructor() -> None:
    tree = br.PartialLabelRankingTree.paper("mc3", n_jobs=2)
    assert tree.get_params() == {**br.PartialLabelRankingTree("mc3").get_params(), "n_jobs": 2}


def test_shrinkage_helps_where_leaves_are_small(shared_dir: Path, count_comparisons: Any) -> None:
    X, Y = load(shared_dir, "vowel")
    test = np.arange(len(X)) % 5 == 0
    train = br.drop_labels(Y[~test], 0.6, seed=1)
    scores = []
    options: list[dict[str, Any]] = [{}, {"shrinkage": "path"}]
    for params in [*options, {"shrinkage": "path", "routing": "soft"}]:
        tree = br.PartialLabelRankingTree("tau_x", min_samples_split=2, **params)
        scores.append(tree.fit(X[~test], train).score(X[test], Y[test]))
    assert scores[0] + 0.02 < scores[1] < scores[2]
    count_comparisons("rows of vowel", int(test.sum()))


def test_pairs_are_in_the_order_of_their_labels() -> None:
    tree = br.PartialLabelRankingTree("tau_x").fit([[0.0]], [[2, 1, 3, 3]])
    shares = tree.predict_pair_shares([[0.0]])[0]
    for (u, v), found in zip(combinations(range(4), 2), shares.tolist(), strict=True):
        positions = [2, 1, 3, 3]
        order = np.sign(positions[v] - positions[u])
        assert found == [float(order > 0), float(order == 0), float(order < 0)]
