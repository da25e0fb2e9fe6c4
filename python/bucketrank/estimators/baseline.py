"""Baselines that ignore the features, to compare other estimators with."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank import _core
from bucketrank._validation import as_weights, resolve_n_jobs
from bucketrank.aggregation import Aggregator, as_aggregator, get_aggregator
from bucketrank.estimators.base import LabelRanker
from bucketrank.estimators.tree_parameters import one_of

__all__ = ["PartialLabelRankingBaseline"]

_Self = TypeVar("_Self", bound="PartialLabelRankingBaseline")

ALL_TIED = "all_tied"
"""Strategy that ties all labels; studies use the same name for this baseline."""

STRATEGIES = ("consensus", ALL_TIED)


class PartialLabelRankingBaseline(LabelRanker):
    """An estimator that predicts the same bucket order for every row.

    Parameters
    ----------
    strategy : {"consensus", "all_tied"}, default "consensus"
        The consensus of all training rankings, or all labels tied. On data with many ties the tied labels can be
        hard to beat.
    aggregator : str or Aggregator, default "tau_x"
        Aggregator applied to all training rankings.

    Attributes
    ----------
    aggregator_ : Aggregator
        The aggregator used for predictions.
    n_features_in_, n_labels_in_ : int
        Numbers of features and labels.
    feature_names_in_, label_names_in_ : ndarray
        Names of the features, if X had string names, and of the labels.

    Examples
    --------
    >>> from bucketrank import PartialLabelRankingBaseline
    >>> baseline = PartialLabelRankingBaseline().fit([[0], [1], [2]], [[1, 2, 3], [1, 3, 2], [1, 2, 3]])
    >>> baseline.predict([[7]])
    array([[1, 2, 3]])
    """

    def __init__(
        self, strategy: str = "consensus", *, aggregator: str | Aggregator = "tau_x"
    ) -> None:
        self.strategy = strategy
        self.aggregator = aggregator

    def fit(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> _Self:
        """Read the training rankings.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories, of which only the shape matters; NaN marks a missing value.
        y : array-like or DataFrame of shape (n_samples, n_labels)
            Positions: 1 is best, equal positions are ties, NaN marks a missing label.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights of the rows.

        Returns
        -------
        PartialLabelRankingBaseline
            The fitted estimator.
        """
        values, positions, names, categories = self._training_data(X, y, sample_weight)
        strategy = one_of(self.strategy, "strategy", STRATEGIES)
        aggregator = as_aggregator(self.aggregator)
        aggregator._check_label_count(positions.shape[1])
        # Raises for beta "auto", a threshold for ties that only a tree chooses.
        aggregator._spec()
        # A tree with only a root keeps all rankings, so it can predict their consensus by any aggregator.
        root = _core.Tree.fit(
            values,
            positions,
            as_weights(sample_weight),
            get_aggregator("borda")._spec(),
            {
                "criterion": "entropy",
                "splitter": "best",
                "max_splits": 2,
                "max_depth": None,
                "min_samples_split": _core.LIMITS["count"],
                "min_samples_leaf": 1,
                "max_features": None,
                "seed": 0,
                "n_jobs": 1,
                "soft": False,
            },
        )
        self._remember(X, names, aggregator, categories)
        self._root = root
        self._all_tied = strategy == ALL_TIED
        return self

    def _positions(
        self, values: NDArray[np.float64], aggregators: list[Aggregator]
    ) -> list[NDArray[np.int64]]:
        leaves = self._root.apply(values)
        if self._all_tied:
            return [np.ones((len(leaves), self.n_labels_in_), dtype=np.int64) for _ in aggregators]
        return [self._root.consensus(a._spec(), leaves, resolve_n_jobs(None)) for a in aggregators]
