"""The partial label ranking tree, a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from bucketrank import _core
from bucketrank._validation import Positions, as_weights, as_whole, resolve_n_jobs, zeros_to_nan
from bucketrank.aggregation import Aggregator, as_aggregator
from bucketrank.estimators.aggregator_checks import check_for_tree
from bucketrank.estimators.base import pair_order_of
from bucketrank.estimators.beta_search import needs_beta, with_chosen_beta
from bucketrank.estimators.explained import ScoreRanker
from bucketrank.estimators.tree_parameters import smoothing_of, training_shape, tree_options

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["PartialLabelRankingTree"]

_Self = TypeVar("_Self", bound="PartialLabelRankingTree")


class PartialLabelRankingTree(ScoreRanker):
    r"""A decision tree whose leaves are rankings with ties.

    The tree splits the features so that the training rankings in each node agree as much as possible. Only
    comparisons of pairs of labels are used, so rankings may tie labels and leave labels out. Each leaf keeps its
    rankings, and an aggregator turns them into the predicted bucket order; the aggregator can be replaced without
    growing the tree again.

    Parameters
    ----------
    aggregator : str or Aggregator, default "borda"
        Aggregator applied to the rankings of a leaf; see :func:`bucketrank.get_aggregator`. Its parameters can
        be searched as ``aggregator__beta``.
    criterion : {"entropy", "disagreements", "distance"}, default "entropy"
        Impurity of a node. Entropy: the mean over pairs of labels u, v of the entropy (base 2) of the shares of
        rankings with u before v, tied, and u after v. The others compare the rankings with their consensus, computed by
        `aggregator`: the share of rankings that disagree with it on a pair, or their distance from it on the pair (2
        for opposite orders, 1 if exactly one of them is a tie).
    splitter : {"best", "random", "equal_frequency", "equal_width"}, default "best"
        Binary split at the best threshold, binary split at the best of one random threshold per feature, or up to
        `max_splits` children: intervals of equal weight, or of equal width.
    max_splits : int, default 5
        Largest number of children of a node for the last two splitters, from 2 to 1000.
    max_depth : int, optional
        Largest depth of the tree.
    min_samples_split : "paper", int or float, default "paper"
        Nodes with fewer rows are not split. ``"paper"`` is twice the number of labels, as in the paper of Wang, Alfaro
        and Bengs; a float is a share of the training rows.
    min_samples_leaf : int or float, default 1
        Smallest number of rows of a child; a float is a share of the training rows.
    max_features : int, float, {"sqrt", "log2"}, optional
        Number of features drawn per node, by default all. Features that are constant in the node are not counted.
    shrinkage : {"path", "m-estimate"}, optional
        Shrinks the pair shares of a leaf (for each pair of labels, the shares of rankings that place the first before,
        tied with, or after the second) towards the pair shares of its ancestors; recommended for a fully grown tree
        (``min_samples_split=2``) with `aggregator` ``"tau_x"``. ``"path"`` adds to the shares of the root the
        differences between child and parent along the path, each difference divided by 1 + s / N, where s is
        `shrinkage_strength` and N is the weight of the parent's rows that rank both labels. ``"m-estimate"`` adds the
        shares of the parent with a weight of `shrinkage_strength` rows.
    shrinkage_strength : float, optional
        By default 32 for ``"path"`` and 8 for ``"m-estimate"``. With ``"path"``, the strength for a pair of labels is
        multiplied by the square root of the share of training rows that rank both.
    routing : {"hard", "soft"}, default "hard"
        With ``"soft"`` a row near a threshold goes to both children, and the shares of all leaves that it reaches are
        averaged. Needs binary splits.
    random_state : int, RandomState instance, optional
        Seed of the draws of features and thresholds.
    n_jobs : int, optional
        Number of threads; None means 1, and -1 means one per core. The tree does not depend on it.
    categorical_features : {"from_dtype"}, list or None, default "from_dtype"
        The features that are categories: columns of strings and of the dtypes category and string ("from_dtype"), a
        list of names or indices, a list of booleans, or none (None). A feature has at most 255 categories; a category
        that was not in the training data is a missing value.

    Attributes
    ----------
    aggregator_ : Aggregator
        The aggregator used for predictions.
    tree_ : bucketrank._core.Tree
        The grown tree. ``tree_.nodes()`` gives its nodes as arrays.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the decrease of impurity.
    categories_ : dict
        By the index of each categorical feature: its categories, in an order learnt from the rankings. May be empty.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had string names for its columns.
    n_labels_in_ : int
        Number of labels.
    label_names_in_ : ndarray of shape (n_labels,)
        Names of the labels: the columns of y, or 0, 1, ...

    Notes
    -----
    Rows of weight 0 are left out. An integer weight k equals k copies of the row, except for `min_samples_split`,
    `min_samples_leaf` and soft routing, which count rows. Shrinkage compares weights with `shrinkage_strength`: weights
    of 1/60 are weak evidence, and are shrunk more than weights of 1. Splits are compared in ascending order of feature,
    with missing values on the right before missing values on the left, and in ascending order of threshold. A later
    split is chosen only if it is better by more than 1e-12, so the tree does not depend on the order of the rows.
    Without missing values in a node, a missing value goes to the heavier child at prediction. With missing labels the
    best split may increase the impurity; nodes are split nevertheless.

    References
    ----------
    J. C. Alfaro, J. A. Aledo and J. A. Gámez, "Learning decision trees for the partial label ranking problem",
    International Journal of Intelligent Systems 36 (2021).
    J. Wang, J. C. Alfaro and V. Bengs, "A comparative analysis of rank aggregation methods for the partial label
    ranking problem", ECAI 2025.

    Examples
    --------
    >>> from bucketrank import PartialLabelRankingTree, from_text, to_text
    >>> X = [[0], [1], [2], [3]]
    >>> y, labels = from_text(["a > b ~ c", "a > b", "c > a > b", "c > a ~ b"])
    >>> tree = PartialLabelRankingTree(min_samples_split=2).fit(X, y)
    >>> to_text(tree.predict([[0.4], [2.6]]), labels)
    ['a > b ~ c', 'c > a ~ b']
    """

    def __init__(
        self,
        aggregator: str | Aggregator = "borda",
        *,
        criterion: str = "entropy",
        splitter: str = "best",
        max_splits: int = 5,
        max_depth: int | None = None,
        min_samples_split: str | float = "paper",
        min_samples_leaf: float = 1,
        max_features: str | float | None = None,
        shrinkage: str | None = None,
        shrinkage_strength: float | None = None,
        routing: str = "hard",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        categorical_features: str | Sequence[Any] | NDArray[Any] | None = "from_dtype",
    ) -> None:
        self.aggregator = aggregator
        self.criterion = criterion
        self.splitter = splitter
        self.max_splits = max_splits
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.shrinkage = shrinkage
        self.shrinkage_strength = shrinkage_strength
        self.routing = routing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features

    @classmethod
    def paper(cls: type[_Self], aggregator: str | Aggregator = "borda", **params: Any) -> _Self:
        """Return the tree of Wang, Alfaro and Bengs: entropy, binary splits, no shrinkage, hard routing.

        Parameters
        ----------
        aggregator : str or Aggregator, default "borda"
            Aggregator applied to the rankings of a leaf.
        **params
            Parameters to change, such as ``n_jobs``.

        Returns
        -------
        PartialLabelRankingTree
            Not fitted.

        Examples
        --------
        >>> PartialLabelRankingTree.paper("mc4").min_samples_split
        'paper'
        """
        paper_params: dict[str, Any] = {
            "criterion": "entropy",
            "splitter": "best",
            "min_samples_split": "paper",
            "shrinkage": None,
            "routing": "hard",
        }
        return cls(aggregator, **{**paper_params, **params})

    def fit(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> _Self:
        """Grow the tree.

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
        PartialLabelRankingTree
            The fitted estimator. An error or Ctrl-C leaves it unchanged.
        """
        values, positions, names, categories = self._training_data(X, y, sample_weight)
        smoothing = smoothing_of(self)
        aggregator = check_for_tree(as_aggregator(self.aggregator), smoothing)
        aggregator._check_label_count(positions.shape[1])
        weights = as_weights(sample_weight)
        options = tree_options(self, training_shape(values, weights), positions.shape[1])
        if needs_beta(aggregator):
            aggregator = with_chosen_beta(aggregator, self, values, positions, sample_weight)
        tree = _core.Tree.fit(values, positions, weights, aggregator._spec(), options)
        self._remember(X, names, aggregator, categories)
        self._smoothing = smoothing
        self._soft = options["soft"]
        self.tree_ = tree
        return self

    def predict_pair_order(self, X: Any) -> NDArray[np.float64]:
        """Predict how each pair of labels compares.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_labels, n_labels)
            For each row the pair order matrix of its leaf: the share of rankings that place the first label before the
            second, where ties count half; 0.5 on the diagonal and for pairs that no ranking contains.
        """
        check_is_fitted(self)
        if self._smoothing is None:
            leaves, leaf_of_row = np.unique(self.apply(X), return_inverse=True)
            return self.tree_.pair_orders(leaves)[leaf_of_row]
        return pair_order_of(self.predict_pair_shares(X), self.n_labels_in_)

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
            before v, tied, and u after v. They add up to 1, or are all 0 if no ranking of the leaf has both labels and
            there is no shrinkage.
        """
        values = self._features(X)
        smoothing = self._smoothing or ("none", 0.0)
        if self._soft:
            return self.tree_.soft_pair_shares(smoothing, values, resolve_n_jobs(self.n_jobs))
        return self.tree_.pair_shares(smoothing, self.tree_.apply(values))

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf of each row.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
            Indices of nodes.
        """
        values = self._features(X)
        return self.tree_.apply(values)

    def decision_path(self, X: Any) -> csr_matrix[Any]:
        """Return the nodes on the path of each row.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_samples, n_nodes)
            1 where the path of the row contains the node.
        """
        from scipy.sparse import csr_matrix

        leaves = self.apply(X)
        starts, nodes = self.tree_.paths(leaves)
        shape = (len(starts) - 1, len(self.tree_.nodes()["parent"]))
        return csr_matrix((np.ones(len(nodes), dtype=np.int64), nodes, starts), shape=shape)

    def leaf_rankings(self, leaf: int) -> Positions:
        """Return the training rankings of a leaf.

        Parameters
        ----------
        leaf : int
            Index of a leaf, as returned by :meth:`apply`.

        Returns
        -------
        ndarray of shape (n_rankings, n_labels)
            Positions; NaN for missing labels.
        """
        index = self._check_leaf(leaf)
        return zeros_to_nan(self.tree_.node_rankings(index))

    def leaf_rows(self, leaf: int) -> NDArray[np.int64]:
        """Return the indices of the training rows in a leaf.

        Parameters
        ----------
        leaf : int
            Index of a leaf, as returned by :meth:`apply`.

        Returns
        -------
        ndarray of shape (n_rankings,)
        """
        index = self._check_leaf(leaf)
        return self.tree_.node_rows(index)

    def get_depth(self) -> int:
        """Return the depth of the tree: 0 for a tree with a single leaf."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the decrease of impurity."""
        check_is_fitted(self)
        return self.tree_.feature_importances()

    def _explained_model(self) -> tuple[_core.Tree, tuple[str, float]]:
        """Return the tree and its smoothing, for SHAP values."""
        if self._soft:
            raise ValueError(
                "the tree has routing 'soft', so its scores are not constant in a leaf; expected routing 'hard' for "
                "SHAP values"
            )
        return (self.tree_, self._smoothing or ("none", 0.0))

    def _check_leaf(self, leaf: Any) -> int:
        check_is_fitted(self)
        index = as_whole(leaf, "leaf")
        if index not in self.tree_.leaves():
            raise ValueError(f"node {index} is not a leaf; expected an index that apply(X) returns")
        return index

    def _positions(
        self, values: NDArray[np.float64], aggregators: list[Aggregator]
    ) -> list[NDArray[np.int64]]:
        tree, n_jobs, smoothing = self.tree_, resolve_n_jobs(self.n_jobs), self._smoothing
        if self._soft and smoothing is not None:
            return [tree.soft_consensus(a._spec(), values, n_jobs, smoothing) for a in aggregators]
        if len(aggregators) == 1 and smoothing is None:
            # The most common case: from features to positions in one call.
            return [tree.predict(aggregators[0]._spec(), values, n_jobs)]
        leaves = tree.apply(values)
        return [tree.consensus(a._spec(), leaves, n_jobs, smoothing) for a in aggregators]

    def _positions_from_pair_orders(
        self, values: NDArray[np.float64], aggregators: list[Aggregator]
    ) -> list[NDArray[np.int64]]:
        """Return what `_positions` returns, for aggregators that need only the pair order matrix of each leaf.

        The pair shares of the leaves are smoothed once for all aggregators. Needs a tree with smoothing.
        """
        tree, n_jobs, smoothing = self.tree_, resolve_n_jobs(self.n_jobs), self._smoothing
        assert smoothing is not None
        if self._soft:
            shares = tree.soft_pair_shares(smoothing, values, n_jobs)
            matrix_of_row = np.arange(len(values))
        else:
            leaves, matrix_of_row = np.unique(tree.apply(values), return_inverse=True)
            shares = tree.pair_shares(smoothing, leaves)
        orders = pair_order_of(shares, self.n_labels_in_)
        return [
            _core.aggregate_pair_orders(a._spec(), orders, n_jobs)[matrix_of_row]
            for a in aggregators
        ]

    def _check_aggregator(self, aggregator: Aggregator) -> Aggregator:
        check_is_fitted(self)
        return check_for_tree(aggregator, self._smoothing)
