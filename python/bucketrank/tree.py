"""The partial label ranking tree, a scikit-learn estimator."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from bucketrank import _core
from bucketrank._beta_search import needs_beta, with_chosen_beta
from bucketrank._tree_parameters import tree_options
from bucketrank._validation import (
    Positions,
    as_positions,
    as_weights,
    as_whole,
    frame_labels,
    is_pandas,
    label_names,
    resolve_n_jobs,
    with_missing,
)
from bucketrank.aggregation import Aggregator, get_aggregator
from bucketrank.metrics import tau_x

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["PartialLabelRankingTree"]

_Self = TypeVar("_Self", bound="PartialLabelRankingTree")

_CONTAINERS = ("default", "pandas")


class PartialLabelRankingTree(BaseEstimator):
    r"""A decision tree whose leaves are rankings with ties.

    The tree splits the features so that the training rankings in each node agree as much as possible. It is grown
    on how pairs of labels compare: rankings may tie labels and leave labels out. Each leaf keeps its rankings, and an
    aggregator turns them into the bucket order that is predicted; another aggregator can be asked at any time,
    without growing the tree again.

    Parameters
    ----------
    aggregator : str or Aggregator, default "borda"
        Makes one bucket order of the rankings in a leaf; see :func:`bucketrank.get_aggregator`. Its parameters can
        be searched as ``aggregator__beta``.
    criterion : {"entropy", "disagreements", "distance"}, default "entropy"
        Impurity of a node. Entropy: the mean over pairs of labels of the entropy (base 2) of the shares of before,
        tied and after. The others compare the rankings with their consensus by `aggregator`: the share of rankings
        that do not agree on a pair, or their distance on it (2 for opposite orders, 1 if one of them is a tie).
    splitter : {"best", "equal_frequency", "equal_width"}, default "best"
        In two at the best threshold, or into up to `max_splits` children of equal weight or of equal width.
    max_splits : int, default 5
        Largest number of children of a node for the last two splitters, from 2 to 1000.
    max_depth : int, optional
        Depth at which nodes are not split any more.
    min_samples_split : "paper", int or float, default "paper"
        Nodes with fewer rows are not split. ``"paper"`` is twice the number of labels; a float is a share of the
        training rows.
    min_samples_leaf : int or float, default 1
        Smallest number of rows of a child; a float is a share of the training rows.
    max_features : int, float, {"sqrt", "log2"}, optional
        Number of features that are drawn for each node, by default all. Features that are constant in the node are
        not counted.
    random_state : int, RandomState instance, optional
        Seed of these draws.
    n_jobs : int, optional
        Number of threads; None means 1, and -1 one for each core. The tree does not depend on it.

    Attributes
    ----------
    aggregator_ : Aggregator
        The aggregator that is asked for predictions.
    tree_ : bucketrank._core.Tree
        The grown tree. ``tree_.nodes()`` gives its nodes as arrays.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the decrease of impurity.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had string names for its columns.
    n_labels_in_ : int
        Number of labels.
    label_names_in_ : ndarray of shape (n_labels,)
        Names of the labels: the columns of Y, or 0, 1, ...

    Notes
    -----
    Rows of weight 0 are left out, and a whole weight k equals k copies of the row where `min_samples_split` and
    `min_samples_leaf`, which count rows, do not matter. Splits are compared by feature and threshold in
    ascending order, and a later one must be better by more than 1e-12: the tree does not depend on the order of the
    rows. With missing labels the best split may make the impurity larger; nodes are split nevertheless.

    References
    ----------
    J. C. Alfaro, J. A. Aledo and J. A. Gámez, "Learning decision trees for the partial label ranking problem",
    International Journal of Intelligent Systems 36 (2021).

    Examples
    --------
    >>> from bucketrank import PartialLabelRankingTree, from_text, to_text
    >>> X = [[0], [1], [2], [3]]
    >>> Y, labels = from_text(["a > b ~ c", "a > b", "c > a > b", "c > a ~ b"])
    >>> tree = PartialLabelRankingTree(min_samples_split=2).fit(X, Y)
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
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.aggregator = aggregator
        self.criterion = criterion
        self.splitter = splitter
        self.max_splits = max_splits
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self: _Self, X: Any, Y: Any, sample_weight: ArrayLike | None = None) -> _Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Finite numbers.
        Y : array-like or DataFrame of shape (n_samples, n_labels)
            Positions: 1 is best, equal positions are ties, NaN marks a missing label.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights of the rows.

        Returns
        -------
        PartialLabelRankingTree
            The fitted estimator. An error or Ctrl-C leaves it as it was.
        """
        if Y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; "
                "expected rankings, one row a ranking, one column a label"
            )
        aggregator = get_aggregator(self.aggregator)
        values = check_array(
            X, dtype=np.float64, ensure_all_finite=False, estimator=self, input_name="X"
        )
        positions = as_positions(Y)
        names = label_names(Y, None, positions.shape[1])
        options = tree_options(self, values.shape, positions.shape[1])
        if needs_beta(aggregator):
            aggregator = with_chosen_beta(aggregator, self, values, positions, sample_weight)
        tree = _core.Tree.fit(
            values, positions, as_weights(sample_weight), aggregator._spec(), options
        )
        # Only now, so that a failed or interrupted fit changes nothing.
        validate_data(self, X, skip_check_array=True)
        self.n_labels_in_ = positions.shape[1]
        self.label_names_in_ = _name_array(names)
        self.aggregator_ = aggregator
        self.tree_ = tree
        return self

    def predict(self, X: Any) -> Any:
        """Predict bucket orders.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        ndarray or DataFrame of shape (n_samples, n_labels)
            Positions of all labels; see :meth:`set_output` for data frames.
        """
        leaves = self.apply(X)
        return self._consensus(leaves, self.aggregator_, X)

    def predict_many(self, X: Any, aggregators: Iterable[str | Aggregator]) -> list[Any]:
        """Predict bucket orders by several aggregators in one pass.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Finite numbers.
        aggregators : iterable of str or Aggregator
            See :func:`bucketrank.get_aggregator`.

        Returns
        -------
        list of ndarray or DataFrame of shape (n_samples, n_labels)
            What :meth:`predict` returns for each aggregator.
        """
        if isinstance(aggregators, (str, Aggregator)):
            raise TypeError(f"aggregators is {aggregators!r}; expected a list of aggregators")
        known = [get_aggregator(aggregator) for aggregator in aggregators]
        leaves = self.apply(X)
        return [self._consensus(leaves, aggregator, X) for aggregator in known]

    def predict_pair_order(self, X: Any) -> NDArray[np.float64]:
        """Predict how each pair of labels compares.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_labels, n_labels)
            For each row the pair order matrix of its leaf: the share of rankings that place the first label before the
            second, ties counting half; 0.5 where no ranking has both, and on the diagonal.
        """
        leaves, row_of = np.unique(self.apply(X), return_inverse=True)
        return self.tree_.pair_orders(leaves)[row_of]

    def score(self, X: Any, Y: Any, sample_weight: ArrayLike | None = None) -> float:
        r"""Return the mean rank correlation :math:`\tau_X` of the predictions with the truth.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Finite numbers.
        Y : array-like or DataFrame of shape (n_samples, n_labels)
            True positions. Where a label is missing (NaN), only the pairs of labels that the row ranks count; rows
            with fewer than two labels are left out.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights of the rows.

        Returns
        -------
        float
            From -1 to 1.
        """
        leaves = self.apply(X)
        spec, n_jobs = self.aggregator_._spec(), resolve_n_jobs(self.n_jobs)
        predicted = self.tree_.consensus(spec, leaves, n_jobs)
        labels = frame_labels(Y)
        if labels is not None and labels != self.label_names_in_.tolist():
            raise ValueError(
                f"Y has the columns {labels}, but the tree was fitted on the labels "
                f"{self.label_names_in_.tolist()}; expected the same in the same order"
            )
        return tau_x(as_positions(Y), predicted, sample_weight, missing="ignore")

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf of each row.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_samples,)
            Indices of nodes.
        """
        check_is_fitted(self)
        values = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False)
        return self.tree_.apply(values)

    def decision_path(self, X: Any) -> csr_matrix[Any]:
        """Return the nodes that each row goes through.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_samples, n_nodes)
            1 where the row goes through the node.
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
            Index of a leaf, as :meth:`apply` returns it.

        Returns
        -------
        ndarray of shape (n_rankings, n_labels)
            Positions; NaN for missing labels.
        """
        index = self._leaf(leaf)
        return with_missing(self.tree_.node_rankings(index))

    def leaf_rows(self, leaf: int) -> NDArray[np.int64]:
        """Return which rows of the training data are in a leaf.

        Parameters
        ----------
        leaf : int
            Index of a leaf, as :meth:`apply` returns it.

        Returns
        -------
        ndarray of shape (n_rankings,)
        """
        index = self._leaf(leaf)
        return self.tree_.node_rows(index)

    def with_aggregator(self: _Self, aggregator: str | Aggregator) -> _Self:
        """Return an estimator with the same tree that predicts by another aggregator.

        Parameters
        ----------
        aggregator : str or Aggregator
            See :func:`bucketrank.get_aggregator`.

        Returns
        -------
        PartialLabelRankingTree
            A fitted estimator that shares the tree; nothing is grown again. The criteria that compare rankings with
            their consensus did so by the aggregator of the fit.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other.aggregator = aggregator
        other.aggregator_ = get_aggregator(aggregator)
        return other

    def get_depth(self) -> int:
        """Return the depth of the tree: 0 for a tree that is only a leaf."""
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

    def set_output(self: _Self, *, transform: str | None = None) -> _Self:
        """Choose the container of predicted rankings.

        Parameters
        ----------
        transform : {"default", "pandas"}, optional
            ``"default"`` is a NumPy array; None leaves the choice as it is. The name is scikit-learn's.

        Returns
        -------
        PartialLabelRankingTree
            This estimator.
        """
        if transform is None:
            return self
        if transform not in _CONTAINERS:
            known = ", ".join(map(repr, _CONTAINERS))
            raise ValueError(f"transform is {transform!r}; expected one of {known}")
        # The attribute that scikit-learn's clone takes along.
        self._sklearn_output_config = {"transform": transform}
        return self

    def set_params(self: _Self, **params: Any) -> _Self:
        """Set parameters; ``aggregator__beta`` and the like replace the aggregator by a changed one.

        Parameters
        ----------
        **params
            Parameters by name.

        Returns
        -------
        PartialLabelRankingTree
            This estimator.
        """
        prefix = "aggregator__"
        nested = {k.removeprefix(prefix): v for k, v in params.items() if k.startswith(prefix)}
        super().set_params(**{k: v for k, v in params.items() if not k.startswith(prefix)})
        if nested:
            self.aggregator = get_aggregator(self.aggregator, **nested)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

    def _leaf(self, leaf: Any) -> int:
        check_is_fitted(self)
        index = as_whole(leaf, "leaf")
        if index not in self.tree_.leaves():
            raise ValueError(f"node {index} is not a leaf; expected an index that apply(X) returns")
        return index

    def _consensus(self, leaves: NDArray[np.int64], aggregator: Aggregator, X: Any) -> Any:
        n_jobs = resolve_n_jobs(self.n_jobs)
        positions = self.tree_.consensus(aggregator._spec(), leaves, n_jobs)
        container = getattr(self, "_sklearn_output_config", {}).get("transform", "default")
        if container == "pandas":
            import pandas as pd

            index = X.index if is_pandas(X) else None
            return pd.DataFrame(positions, index=index, columns=self.label_names_in_)
        return positions


def _name_array(names: list[Any]) -> NDArray[np.object_]:
    """Return names as a one-dimensional array, even where a name is a tuple."""
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array
