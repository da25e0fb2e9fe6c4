"""Partial dependence of rankers (estimators that predict rankings): how label scores depend on a feature."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats.mstats import mquantiles
from sklearn import inspection
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from bucketrank.estimators.base import LabelRanker, pair_order_of
from bucketrank.estimators.categories import FeatureColumns

__all__ = ["LabelScores", "partial_dependence"]


class LabelScores(RegressorMixin, BaseEstimator):
    """A fitted ranker seen as a regressor that predicts one score per label.

    For tools that need a regressor, such as scikit-learn's ``PartialDependenceDisplay``, whose `target` is the index
    of a label.

    Parameters
    ----------
    ranker : estimator
        A fitted ranker of this package that predicts pair shares.
    response_method : {"auto", "utilities", "borda"}, default "auto"
        ``"utilities"``: the utilities of a booster or a linear model (the larger, the better the label), minus their
        mean over the labels.
        ``"borda"``: the predicted share (probability) of being before another label, averaged over the other labels;
        ties count half, so scores are from 0 to 1. ``"auto"``: utilities if the ranker has them, else Borda scores.

    Examples
    --------
    >>> from bucketrank import PartialLabelRankingForest, datasets
    >>> from bucketrank.inspection import LabelScores
    >>> iris = datasets.load("iris")
    >>> forest = PartialLabelRankingForest(n_estimators=20, random_state=0).fit(iris.X, iris.Y)
    >>> LabelScores(forest).predict(iris.X[:2]).sum(axis=1)
    array([1.5, 1.5])
    """

    def __init__(
        self, ranker: Any, response_method: Literal["auto", "utilities", "borda"] = "auto"
    ) -> None:
        self.ranker = ranker
        self.response_method = response_method

    def fit(self, X: Any, y: Any = None) -> LabelScores:  # noqa: ARG002
        """Return this object: the ranker is fitted already."""
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the score of each label.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Features of the ranker.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
        """
        check_is_fitted(self.ranker)
        if self._resolved_method() == "utilities":
            # As an array, even if `set_output` makes the ranker predict data frames.
            latent_values = self.ranker._latent_values(self.ranker._features(X))
            # The further columns are tie terms.
            utilities = latent_values[:, : self.ranker.n_labels_in_]
            return np.asarray(utilities - utilities.mean(axis=1, keepdims=True))
        n_labels = self.ranker.n_labels_in_
        matrices = pair_order_of(self.ranker.predict_pair_shares(X), n_labels)
        # Subtract the 0.5 on the diagonal of each matrix.
        return np.asarray((matrices.sum(axis=2) - 0.5) / (n_labels - 1))

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean τ_X of the ranker's predictions: the result of the ranker's method ``score``.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Features of the ranker.
        y : array-like or DataFrame of shape (n_samples, n_labels)
            Positions.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights of the rows.

        Returns
        -------
        float
        """
        return float(self.ranker.score(X, y, sample_weight))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _resolved_method(self) -> str:
        known = ("auto", "utilities", "borda")
        if self.response_method not in known:
            expected = ", ".join(map(repr, known))
            raise ValueError(
                f"response_method is {self.response_method!r:.60}; expected one of {expected}"
            )
        kind = type(self.ranker).__name__
        if not isinstance(self.ranker, LabelRanker) or not hasattr(
            self.ranker, "predict_pair_shares"
        ):
            raise TypeError(
                f"ranker is of type {kind}; expected an estimator of bucketrank that predicts pair shares"
            )
        has_utilities = hasattr(self.ranker, "predict_utilities")
        if self.response_method == "utilities" and not has_utilities:
            raise ValueError(f"{kind} has no utilities; expected 'borda' or 'auto'")
        if self.response_method == "auto":
            return "utilities" if has_utilities else "borda"
        return self.response_method


def partial_dependence(
    estimator: Any,
    X: Any,
    features: Any,
    *,
    response_method: Literal["auto", "utilities", "borda"] = "auto",
    **options: Any,
) -> Any:
    """Mean score of each label when features are set to given values.

    Parameters
    ----------
    estimator : estimator
        A fitted ranker; see :class:`LabelScores`.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Rows over which the scores are averaged; their other features are unchanged.
    features : int, str, or list of these
        One feature or several, by index or by name. The values to try are taken from the known values of `X`; features
        with missing values need scikit-learn 1.7 or later.
    response_method : {"auto", "utilities", "borda"}, default "auto"
        The score; see :class:`LabelScores`.
    **options
        Further parameters of ``sklearn.inspection.partial_dependence``, such as `grid_resolution`, `percentiles`,
        `sample_weight` and `kind`.

    Returns
    -------
    sklearn.utils.Bunch
        ``average`` of shape (n_labels, n_values), with one more axis per further feature, ``individual`` if requested,
        and ``grid_values``, the values of each feature.

    Examples
    --------
    >>> from bucketrank import PartialLabelRankingForest, datasets
    >>> from bucketrank.inspection import partial_dependence
    >>> iris = datasets.load("iris")
    >>> forest = PartialLabelRankingForest(random_state=0).fit(iris.X, iris.Y)
    >>> found = partial_dependence(forest, iris.X, [2], grid_resolution=20)
    >>> found.average.shape
    (3, 20)
    >>> # Setosa, the first label, is preferred when petals are short.
    >>> bool(found.average[0, 0] > found.average[0, -1] + 0.2)
    True
    """
    scores = LabelScores(estimator, response_method)
    scores._resolved_method()
    check_is_fitted(estimator)
    # Check X as predict does: the errors of NumPy inside scikit-learn are harder to understand.
    estimator._features(X)
    if estimator.categories_:
        options.setdefault("categorical_features", sorted(estimator.categories_))
    custom = {**_known_values(estimator, X, features, options), **options.pop("custom_values", {})}
    if custom:
        options["custom_values"] = custom
    return inspection.partial_dependence(scores, X, features, method="brute", **options)


def _known_values(
    estimator: Any, X: Any, features: Any, options: dict[str, Any]
) -> dict[Any, NDArray[Any]]:
    """Return a grid of known values for each feature with missing values in `X`; scikit-learn's grid would have NaN."""
    columns = FeatureColumns(X)
    chosen = features if isinstance(features, (list, tuple, np.ndarray)) else [features]
    resolution = options.get("grid_resolution", 100)
    if not isinstance(resolution, int) or resolution < 2:
        # scikit-learn reports an invalid resolution.
        return {}
    found: dict[Any, NDArray[Any]] = {}
    for feature in chosen:
        if isinstance(feature, str) and columns.names is not None and feature in columns.names:
            column = columns.names.index(feature)
        elif isinstance(feature, (int, np.integer)) and 0 <= feature < columns.count:
            column = int(feature)
        else:
            # scikit-learn reports a feature that is not there.
            continue
        values = columns.values(column)
        known = sorted({value for value in values if value is not None})
        if len(known) == 0 or None not in values:
            continue
        if column not in estimator.categories_ and len(known) >= resolution:
            present = [value for value in values if value is not None]
            shares = options.get("percentiles", (0.05, 0.95))
            least, most = mquantiles(present, prob=shares).tolist()
            known = np.linspace(least, most, resolution).tolist()
        found[feature] = np.array(known)
    return found
