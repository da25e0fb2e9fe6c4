"""Base classes of estimators that give each label a score and explain it by SHAP values.

Some scores are sums of pair shares: for each pair of labels, the shares of rankings that place the first before, tied
with, or after the second.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bucketrank import _core
from bucketrank._validation import bounded_count, resolve_n_jobs
from bucketrank.estimators.base import LabelRanker, pair_order_of


class ScoreRanker(LabelRanker):
    """An estimator with a score per label, whose SHAP values are exact."""

    @abstractmethod
    def _explained_model(self) -> Any:
        """Return the model whose scores are explained, with its parameters for the core, or raise if there is none."""

    def predict_label_scores(self, X: Any) -> NDArray[np.float64]:
        """Predict the score of each label that :meth:`shap_values` explains.

        Trees and forests: the Borda score, which adds up over all other labels the share of rankings that place the
        label before the other one, plus half of the share that ties them. Boosters and linear models: the utility of
        the label, a number that is larger for better labels.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Larger is better. Computed in double precision and not clipped, whereas the other predictions of a forest
            are rounded to 1e-6 per share, those of a booster to single precision, and those of a linear model are
            clipped at ±25.
        """
        values = self._features(X)
        return _core.label_scores(self._explained_model(), values, resolve_n_jobs(self.n_jobs))

    def shap_values(self, X: Any) -> NDArray[np.float64]:
        """Explain the scores of labels: how much each feature of a row moves each label.

        The values of a row and label add up to its score (:meth:`predict_label_scores`) minus the base value
        (:meth:`shap_base_values`). The difference of two labels says which features place one above the other; see
        :func:`bucketrank.figures.plot_label_effects`.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_features, n_labels)
            Exact Shapley values. In a tree, a row follows all branches of a split on a feature outside the coalition,
            weighted by their training rows (path-dependent TreeSHAP). In a linear model, these features are at their
            means.

        References
        ----------
        S. M. Lundberg et al., "From local explanations to global understanding with explainable AI for trees", Nature
        Machine Intelligence 2 (2020).

        Examples
        --------
        >>> import numpy as np
        >>> from bucketrank import PartialLabelRankingTree
        >>> X = np.array([[0, 5], [1, 5], [2, 5], [3, 5]])
        >>> y = np.array([[1, 2], [1, 2], [2, 1], [2, 1]])
        >>> tree = PartialLabelRankingTree(min_samples_split=2).fit(X, y)
        >>> tree.shap_values([[0, 5]])
        array([[[ 0.5, -0.5],
                [ 0. ,  0. ]]])
        >>> tree.shap_base_values()
        array([0.5, 0.5])
        """
        values = self._features(X)
        return _core.shap_values(self._explained_model(), values, resolve_n_jobs(self.n_jobs))

    def shap_base_values(self) -> NDArray[np.float64]:
        """Return the score of each label when no feature is known.

        Returns
        -------
        ndarray of shape (n_labels,)
            For trees, the mean score over their training rows; for a linear model, the utilities of a row with all
            features at their means.
        """
        check_is_fitted(self)
        return _core.shap_base_values(self._explained_model(), resolve_n_jobs(self.n_jobs))


class EstimatedScoreRanker(LabelRanker):
    """An estimator of pair shares, whose SHAP values are estimated from random orders of the features."""

    @abstractmethod
    def predict_pair_shares(self, X: Any) -> NDArray[np.float64]:
        """Predict the shares of rankings that place one label of a pair before, tied with, or after the other."""

    @abstractmethod
    def _estimate_shap_values(
        self,
        values: NDArray[np.float64],
        background: NDArray[np.float64],
        orders: tuple[int, int],
    ) -> NDArray[np.float64]:
        """Return estimated SHAP values; `orders` holds the number of random orders of the features, and their seed."""

    def predict_label_scores(self, X: Any) -> NDArray[np.float64]:
        """Predict the score of each label that :meth:`shap_values` explains.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The Borda score of the predicted shares: the sum over all other labels of the share of rankings that place
            the label before the other one, plus half of the share that ties them. From 0 to n_labels - 1.
        """
        shares = self.predict_pair_shares(X)
        # Each row sum contains the ½ on the diagonal.
        scores: NDArray[np.float64] = pair_order_of(shares, self.n_labels_in_).sum(axis=2) - 0.5
        return scores

    def shap_values(
        self,
        X: Any,
        background: Any,
        *,
        n_permutations: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> NDArray[np.float64]:
        """Estimate how much each feature of a row moves the score of each label.

        The features of each background row are replaced by those of the explained row, one after another in random
        order, and every change of the mean score is attributed to the replaced feature. The values of a row and label
        add up to its score (:meth:`predict_label_scores`) minus the base value (:meth:`shap_base_values`), for any
        number of orders; only the division among the features is an estimate. A forest, a booster
        or a linear model by itself has exact values.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.
        background : array-like or DataFrame of shape (n_background, n_features)
            Rows whose values stand in for unknown features, such as 20 to 100 randomly drawn training rows.
        n_permutations : int, default 10
            Number of random orders of the features. Each is also used backwards, which makes effects of single
            features and interactions of two features exact.
        random_state : int, RandomState instance, optional
            Seed of the orders, which are the same for all rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features, n_labels)
            Estimated Shapley values. Each row takes 2 · n_permutations · (n_features - 1) · n_background predictions.

        References
        ----------
        R. Mitchell, J. Cooper, E. Frank and G. Holmes, "Sampling permutations for Shapley value estimation", Journal of
        Machine Learning Research 23 (2022).

        Examples
        --------
        >>> import numpy as np
        >>> from bucketrank import PartialLabelRanker
        >>> X = np.column_stack([np.arange(60.0), np.arange(60) % 7])
        >>> y = np.where(X[:, :1] < 30, [[1, 2, 2]], [[3, 1, 2]])
        >>> ranker = PartialLabelRanker(random_state=0).fit(X, y)
        >>> shap = ranker.shap_values(X[:2], X[::6], random_state=0)
        >>> shap.shape
        (2, 2, 3)
        >>> total = shap.sum(axis=1) + ranker.shap_base_values(X[::6])
        >>> bool(np.allclose(total, ranker.predict_label_scores(X[:2])))
        True
        """
        n_orders = bounded_count(n_permutations, "n_permutations")
        values, background_values = self._features(X), self._features(background)
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        return self._estimate_shap_values(values, background_values, (n_orders, seed))

    def shap_base_values(self, background: Any) -> NDArray[np.float64]:
        """Return the mean score of each label over background rows.

        Parameters
        ----------
        background : array-like or DataFrame of shape (n_background, n_features)
            The rows passed to :meth:`shap_values`.

        Returns
        -------
        ndarray of shape (n_labels,)
        """
        means: NDArray[np.float64] = self.predict_label_scores(background).mean(axis=0)
        return means
