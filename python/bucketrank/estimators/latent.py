"""Base classes of estimators that predict pair shares, and of those that derive them from a latent model.

Pair shares are, for each pair of labels, the shares of rankings that place the first before, tied with, or after the
second. A latent model has a utility per label, which is larger for better labels, and a tie term per label, which is
larger for labels that are tied more often.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank import _core
from bucketrank._validation import resolve_n_jobs
from bucketrank.aggregation import Aggregator
from bucketrank.aggregation.base import PAIR_SHARE_AGGREGATORS
from bucketrank.estimators.base import LabelRanker
from bucketrank.estimators.beta_search import needs_beta
from bucketrank.estimators.explained import ScoreRanker


class PairShareRanker(LabelRanker):
    """An estimator that predicts pair shares, which an aggregator turns into bucket orders."""

    @abstractmethod
    def _pair_shares(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the pair shares of checked rows."""

    def predict_pair_shares(self, X: Any) -> NDArray[np.float64]:
        """Predict the shares of rankings that place one label of a pair before, tied with, or after the other.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_pairs, 3)
            For each pair u < v, in the order (0, 1), (0, 2), ..., (1, 2), ..., the shares of u before v, tied, and u
            after v. A pair with a label that no training ranking compares has shares of one third.
        """
        return self._pair_shares(self._features(X))

    def _check_aggregator(self, aggregator: Aggregator) -> Aggregator:
        if aggregator._needs == "rankings":
            raise ValueError(
                f"{aggregator!r} needs rankings, but {type(self).__name__} predicts pair shares; "
                f"expected {PAIR_SHARE_AGGREGATORS}"
            )
        if needs_beta(aggregator):
            raise ValueError(
                f"{aggregator!r} has beta 'auto', a threshold for ties that only a tree chooses; "
                f"expected a number for {type(self).__name__}"
            )
        return aggregator


class LatentRanker(PairShareRanker, ScoreRanker):
    """An estimator that predicts a utility and a tie term of each label."""

    @abstractmethod
    def _latent_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return, for checked rows, the utilities of all labels followed by the tie terms of all labels."""

    @abstractmethod
    def _compared_labels(self) -> NDArray[np.bool_]:
        """Return, per label, whether the training rankings compare it with another label."""

    def predict_utilities(self, X: Any) -> Any:
        """Predict the utility of each label.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.

        Returns
        -------
        ndarray or DataFrame of shape (n_samples, n_labels)
            Larger is better; only differences within a row have a meaning.
        """
        return self._in_container(self._latent_values(self._features(X))[:, : self.n_labels_in_], X)

    def predict_tie_terms(self, X: Any) -> Any:
        """Predict how much each label tends to be tied.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.

        Returns
        -------
        ndarray or DataFrame of shape (n_samples, n_labels)
            The share of ties between two labels is proportional to the exponential of the sum of the two tie terms.
        """
        return self._in_container(self._latent_values(self._features(X))[:, self.n_labels_in_ :], X)

    def _pair_shares(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return _core.latent_pair_shares(self._latent_values(values), self._compared_labels())

    def _positions(
        self, values: NDArray[np.float64], aggregators: list[Aggregator]
    ) -> list[NDArray[np.int64]]:
        return self._positions_of(self._latent_values(values), aggregators)

    def _positions_of(
        self, latent_values: NDArray[np.float64], aggregators: list[Aggregator]
    ) -> list[NDArray[np.int64]]:
        """Return the positions by each aggregator for utilities and tie terms as `_latent_values` returns them."""
        compared, n_jobs = self._compared_labels(), resolve_n_jobs(self.n_jobs)
        return [
            _core.aggregate_scores(aggregator._spec(), latent_values, compared, n_jobs)
            for aggregator in aggregators
        ]
