"""The partial label ranking forest, a scikit-learn estimator."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from bucketrank import _core
from bucketrank._phrases import pluralize
from bucketrank._validation import (
    as_flag,
    as_positions,
    as_real,
    as_weights,
    bounded_count,
    resolve_n_jobs,
)
from bucketrank.aggregation import Aggregator, as_aggregator
from bucketrank.estimators.aggregator_checks import check_for_forest
from bucketrank.estimators.base import pair_order_of
from bucketrank.estimators.explained import ScoreRanker
from bucketrank.estimators.tree_parameters import forest_options, training_shape

__all__ = ["PartialLabelRankingForest"]

_Self = TypeVar("_Self", bound="PartialLabelRankingForest")

VARIANTS = ("mixed", "bootstrap", "extra_trees")

_OOB_GUARD_STRENGTHS = (4.0, 16.0, 64.0)
_OOB_GUARD_GAIN = 0.01
"""Smallest improvement of the out-of-bag score for which `oob_guard` replaces `shrinkage_strength`."""

_DATA_NAMES = ("X", "y", "sample_weight")

_ROWS_AT_ONCE = 1000
"""Number of rows per batch when several aggregators share the predicted pair shares."""


class PartialLabelRankingForest(ScoreRanker):
    r"""A forest of trees whose predicted pair shares are averaged.

    Each tree predicts pair shares: for each pair of labels, the shares of rankings that place the first before, tied
    with, or after the second. The aggregator turns the averages into a bucket order, by default the one with the
    largest expected :math:`\tau_X`.

    Parameters
    ----------
    aggregator : str or Aggregator, default "tau_x"
        Aggregator applied to the averaged shares; see :func:`bucketrank.get_aggregator`. Markov chains 1 to 3,
        reciprocal rank fusion and Davidson need rankings and cannot be used.
    n_estimators : int, default 100
        Number of trees.
    variant : {"mixed", "bootstrap", "extra_trees"}, default "mixed"
        ``"bootstrap"`` grows every tree on a bootstrap sample and searches `max_features` features per node.
        ``"extra_trees"`` grows every tree on all rows and tries one random threshold per feature. ``"mixed"``
        alternates the two.
    max_features : int, float, {"sqrt", "log2"}, default "sqrt"
        Number of features drawn per node of a bootstrap tree; None means all.
    max_depth : int, optional
        Largest depth of the trees.
    min_samples_split : "paper", int or float, default 2
        Nodes with fewer rows are not split. ``"paper"`` is twice the number of labels; a float is a share of the
        training rows. Values other than 2 make bootstrap trees slower to grow.
    min_samples_leaf : int or float, default 1
        Smallest number of rows of a child.
    shrinkage_strength : float, default 0.5
        Weight of the parent's shares in the shares of a node, as a number of rows (m-estimate).
    oob_score : bool, default False
        Whether to compute `oob_score_`: the mean rank correlation on the training rows, each predicted by the trees
        whose bootstrap sample does not contain it. Needs bootstrap trees.
    oob_guard : bool, default False
        Whether to compare strengths of shrinkage of 4, 16 and 64 by their out-of-bag scores, and to use the best of
        them if its score exceeds that of `shrinkage_strength` by more than 0.01: a safeguard against uninformative
        features. Takes four times as long as `oob_score`.
    warm_start : bool, default False
        Whether another fit on the same data adds trees to the existing trees.
    random_state : int, RandomState instance, optional
        Seed of all draws. Tree i depends on the seed and on i only.
    n_jobs : int, optional
        Number of threads; None means 1, and -1 means one per core. The forest does not depend on it.
    categorical_features : {"from_dtype"}, list or None, default "from_dtype"
        The features that are categories: columns of strings and of the dtypes category and string ("from_dtype"), a
        list of names or indices, a list of booleans, or none (None). A feature has at most 255 categories; a category
        that was not in the training data is a missing value.

    Attributes
    ----------
    aggregator_ : Aggregator
        The aggregator used for predictions.
    forest_ : bucketrank._core.Forest
        The grown trees.
    shrinkage_strength_ : float
        The strength used for predictions: `shrinkage_strength`, or the one chosen by `oob_guard`.
    oob_score_ : float
        Out-of-bag score, with ``oob_score=True`` or ``oob_guard=True``.
    feature_importances_ : ndarray of shape (n_features,)
        Mean share of each feature in the decrease of impurity.
    categories_ : dict
        By the index of each categorical feature: its categories, in an order learnt from the rankings. May be empty.
    n_features_in_, n_labels_in_ : int
        Numbers of features and labels.
    feature_names_in_, label_names_in_ : ndarray
        Names of the features, if X had string names, and of the labels.

    Notes
    -----
    Fitted trees store no shares. The first prediction computes tables for fast predictions, which stay in memory and
    are not saved with the model: at most 64 MB of shares, 192 MB of weighted rankings, and a few bytes per node and per
    training row. Predicted shares differ from the exact ones by at most 1e-6. Weights are compared with
    `shrinkage_strength` as numbers of rows: weights that add up to 1 are weak evidence, and leave the shares near ⅓.

    Examples
    --------
    >>> from bucketrank import PartialLabelRankingForest, from_text, to_text
    >>> X = [[0], [1], [2], [3]]
    >>> y, labels = from_text(["a > b ~ c", "a > b ~ c", "c > a > b", "c > a > b"])
    >>> forest = PartialLabelRankingForest(n_estimators=20, random_state=0).fit(X, y)
    >>> to_text(forest.predict([[0.2], [2.8]]), labels)
    ['a > b ~ c', 'c > a > b']
    """

    _seed: int
    _n_training: int

    def __init__(
        self,
        aggregator: str | Aggregator = "tau_x",
        *,
        n_estimators: int = 100,
        variant: str = "mixed",
        max_features: str | float | None = "sqrt",
        max_depth: int | None = None,
        min_samples_split: str | float = 2,
        min_samples_leaf: float = 1,
        shrinkage_strength: float = 0.5,
        oob_score: bool = False,
        oob_guard: bool = False,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        categorical_features: str | Sequence[Any] | NDArray[Any] | None = "from_dtype",
    ) -> None:
        self.aggregator = aggregator
        self.n_estimators = n_estimators
        self.variant = variant
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.shrinkage_strength = shrinkage_strength
        self.oob_score = oob_score
        self.oob_guard = oob_guard
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features

    def fit(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> _Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.
        y : array-like or DataFrame of shape (n_samples, n_labels)
            Positions: 1 is best, equal positions are ties, NaN marks a missing label.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights of the rows.

        Returns
        -------
        PartialLabelRankingForest
            The fitted estimator. An error or Ctrl-C leaves it unchanged.
        """
        values, positions, names, categories = self._training_data(X, y, sample_weight)
        aggregator = check_for_forest(as_aggregator(self.aggregator))
        aggregator._check_label_count(positions.shape[1])
        strength = self._strength()
        n_trees = self._n_trees()
        weights = as_weights(sample_weight)
        options = forest_options(self, training_shape(values, weights), positions.shape[1])
        for name in ("oob_score", "oob_guard", "warm_start"):
            as_flag(getattr(self, name), name)
        if (self.oob_score or self.oob_guard) and self.variant == "extra_trees":
            raise ValueError(
                "oob_score or oob_guard with variant 'extra_trees', whose trees use all rows; "
                "expected variant 'bootstrap' or 'mixed'"
            )
        data = hash_data(values, positions, weights)
        started = getattr(self, "forest_", None) if self.warm_start else None
        if started is None:
            started = _core.Forest(positions, weights, values.shape[1])
        else:
            self._check_warm_start(values, data, started, n_trees)
            options["seed"] = self._seed
        forest = started.grown(values, options, self.variant, n_trees)
        score, strength = self._out_of_bag(forest, values, positions, weights, aggregator, strength)
        self._remember(X, names, aggregator, categories)
        self._keep(forest, options["seed"], data)
        self.shrinkage_strength_ = strength
        # Drop the score of an earlier fit.
        self.__dict__.pop("oob_score_", None)
        if score is not None:
            self.oob_score_ = score
        return self

    def _keep(self, forest: _core.Forest, seed: int, data: list[str]) -> None:
        """Store grown trees and what a warm start needs: the seed and the hashes of the data."""
        self.forest_ = forest
        self._seed = seed
        self._n_training = forest.n_rows
        self._data = data

    def predict_pair_shares(self, X: Any) -> NDArray[np.float64]:
        """Predict the shares of rankings that place one label of a pair before, tied with, or after the other.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_pairs, 3)
            For each row and each pair u < v of labels, in the order (0, 1), (0, 2), ..., (1, 2), ..., the shares of u
            before v, tied, and u after v, which add up to 1.
        """
        values = self._features(X)
        n_jobs = resolve_n_jobs(self.n_jobs)
        return self.forest_.pair_shares(values, self.shrinkage_strength_, False, n_jobs)

    def predict_oob_pair_shares(self, X: Any) -> NDArray[np.float64]:
        """Predict the pair shares of each training row by the trees whose bootstrap sample does not contain it.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The features of the fit, with rows in the same order.

        Returns
        -------
        ndarray of shape (n_samples, n_pairs, 3)
            The shares of :meth:`predict_pair_shares`; all 0 for a row that is in every bootstrap sample.
        """
        values = self._features(X)
        n_jobs = resolve_n_jobs(self.n_jobs)
        return self.forest_.pair_shares(values, self.shrinkage_strength_, True, n_jobs)

    def predict_pair_order(self, X: Any) -> NDArray[np.float64]:
        """Predict how each pair of labels compares.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_labels, n_labels)
            Entry (u, v) is the share of rankings with u before v plus half of the ties; 0.5 on the diagonal.
        """
        return pair_order_of(self.predict_pair_shares(X), self.n_labels_in_)

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_estimators)
        """
        values = self._features(X)
        return self.forest_.apply(values)

    def get_depth(self) -> int:
        """Return the depth of the deepest tree."""
        check_is_fitted(self)
        return max(depth for _, depth in self.forest_.sizes())

    def get_n_leaves(self) -> int:
        """Return the number of leaves of all trees."""
        check_is_fitted(self)
        return sum(leaves for leaves, _ in self.forest_.sizes())

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Mean share of each feature in the decrease of impurity."""
        check_is_fitted(self)
        return self.forest_.feature_importances()

    def _positions(
        self, values: NDArray[np.float64], aggregators: list[Aggregator]
    ) -> list[NDArray[np.int64]]:
        strength, n_jobs = self.shrinkage_strength_, resolve_n_jobs(self.n_jobs)
        if len(aggregators) == 1:
            spec = aggregators[0]._spec()
            return [self.forest_.consensus(spec, values, strength, False, n_jobs)]
        parts: list[list[NDArray[np.int64]]] = [[] for _ in aggregators]
        for start in range(0, len(values), _ROWS_AT_ONCE):
            rows = values[start : start + _ROWS_AT_ONCE]
            shares = self.forest_.pair_shares(rows, strength, False, n_jobs)
            for part, aggregator in zip(parts, aggregators, strict=True):
                part.append(aggregator.aggregate_pair_shares(shares, self.n_jobs))
        return [np.concatenate(part) for part in parts]

    def _explained_model(self) -> tuple[_core.Forest, float]:
        return (self.forest_, self.shrinkage_strength_)

    def _check_aggregator(self, aggregator: Aggregator) -> Aggregator:
        return check_for_forest(aggregator)

    def _strength(self) -> float:
        strength = as_real(self.shrinkage_strength, "shrinkage_strength")
        if not 0 < strength < math.inf:
            raise ValueError(f"shrinkage_strength is {strength}; expected a finite number above 0")
        return strength

    def _n_trees(self) -> int:
        """Return the number of trees, after checking it and the variant."""
        number = bounded_count(self.n_estimators, "n_estimators")
        if self.variant not in VARIANTS:
            known = ", ".join(map(repr, VARIANTS))
            raise ValueError(f"variant is {self.variant!r}; expected one of {known}")
        return number

    def _check_warm_start(
        self, values: NDArray[np.float64], data: list[str], started: _core.Forest, n_trees: int
    ) -> None:
        if values.shape != (self._n_training, self.n_features_in_):
            raise ValueError(
                f"X has shape {values.shape}, but the forest was started on shape "
                f"{(self._n_training, self.n_features_in_)}; expected the same data with warm_start"
            )
        for name, before, now in zip(_DATA_NAMES, self._data, data, strict=True):
            if before != now:
                raise ValueError(
                    f"{name} differs from the first fit of the forest; expected the same data with warm_start"
                )
        if n_trees < started.n_trees:
            raise ValueError(
                f"n_estimators is {n_trees}, but the forest already has {pluralize(started.n_trees, 'tree')}; "
                "expected at least as many with warm_start"
            )

    def _out_of_bag(
        self,
        forest: _core.Forest,
        values: NDArray[np.float64],
        positions: Any,
        weights: NDArray[np.float64] | None,
        aggregator: Aggregator,
        strength: float,
    ) -> tuple[float | None, float]:
        """Return the out-of-bag score, or None when not requested, and the shrinkage strength for predictions."""
        if not (self.oob_score or self.oob_guard):
            return None, strength
        is_out_of_bag = forest.out_of_bag_counts() > 0
        truth = as_positions(positions)[is_out_of_bag]
        weights = None if weights is None else weights[is_out_of_bag]
        n_jobs = resolve_n_jobs(self.n_jobs)
        has_pairs = (~np.isnan(truth.astype(float))).sum(axis=1) > 1
        if not has_pairs.any():
            warnings.warn(
                "no training row that ranks two or more labels is out-of-bag for any tree, so there is no out-of-bag "
                "score; more trees leave out more rows",
                stacklevel=3,
            )
            return math.nan, strength

        def score(strength: float) -> float:
            predicted = forest.consensus(aggregator._spec(), values, strength, True, n_jobs)
            return _core.tau_x_ranked(truth, predicted[is_out_of_bag], weights)

        own = score(strength)
        if not self.oob_guard:
            return own, strength
        others = {other: score(other) for other in _OOB_GUARD_STRENGTHS}
        best = max(others, key=others.__getitem__)
        return (others[best], best) if others[best] > own + _OOB_GUARD_GAIN else (own, strength)


def hash_data(
    values: NDArray[np.float64], positions: Any, weights: NDArray[np.float64] | None
) -> list[str]:
    """Return content hashes of features, rankings and weights, to check that a warm start uses the same data."""
    arrays = (values, positions, np.ones(len(positions)) if weights is None else weights)
    contents = (np.asarray(array, dtype=np.float64).tobytes() for array in arrays)
    return [hashlib.blake2b(content, digest_size=16).hexdigest() for content in contents]
