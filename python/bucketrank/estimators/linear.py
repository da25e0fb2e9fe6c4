"""The linear model for partial label ranking, a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from bucketrank import _core
from bucketrank._validation import as_flag, as_real, as_weights, as_whole, resolve_n_jobs
from bucketrank.aggregation import Aggregator, as_aggregator
from bucketrank.estimators.categories import category_counts
from bucketrank.estimators.latent import LatentRanker
from bucketrank.estimators.standard_errors import (
    CATEGORY_ERROR_NAMES,
    ERROR_NAMES,
    check_size,
    standard_errors,
)

if TYPE_CHECKING:
    from bucketrank._core import _LinearOptions

__all__ = ["PartialLabelRankingLinear"]

_Self = TypeVar("_Self", bound="PartialLabelRankingLinear")

_DEFAULTS = _core.DEFAULTS["linear"]


class PartialLabelRankingLinear(LatentRanker):
    r"""A latent model of rankings with ties whose utilities and tie terms are linear in the features.

    Every label has a utility :math:`f` and a tie term :math:`h`. The shares of label u before, tied with and after
    label v are proportional to :math:`e^{(f_u - f_v)/2}`, :math:`e^{h_u + h_v}` and :math:`e^{(f_v - f_u)/2}`. Features
    are standardised, clipped to ±6 and divided by the square root of their number; the penalised log-likelihood is
    concave, so its maximum is unique, and the fit finds it. A categorical feature has one input per category: 1 for the
    rows of this category, else 0, standardised like the other features.

    Parameters
    ----------
    aggregator : str or Aggregator, default "tau_x"
        Aggregator that turns the predicted shares into a bucket order; see :func:`bucketrank.get_aggregator`.
    ridge : float, default 0.1
        The penalty is half of this positive number times the sum of squared coefficients.
    intercept_ridge : float, default 0.001
        The same for the intercepts, which are not in the penalty of `ridge`.
    tolerance : float, default 1e-5
        The fit ends when all derivatives of the penalised log-likelihood, divided by the sum of the row weights, are at
        most this in absolute value.
    max_steps : int, default 1000
        Largest number of steps; a fit that needs more ends with a warning.
    standard_errors : bool, default False
        Whether to compute standard errors of coefficients and intercepts. There may be at most 4000 of them: 2 ·
        n_labels · (n_inputs + 1) ≤ 4000, where the inputs are features, indicators of missing values and categories.
    n_jobs : int, optional
        Number of threads; None means 1, and -1 means one per core. The model does not depend on it.
    categorical_features : {"from_dtype"}, list or None, default "from_dtype"
        The features that are categories: columns of strings and of the dtypes category and string ("from_dtype"), a
        list of names or indices, a list of booleans, or none (None). A feature has at most 255 categories; a category
        that was not in the training data is a missing value, whose inputs are all at their means.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        Change of the utilities by one standard deviation of a feature; 0 for a categorical feature.
    tie_coef_ : ndarray of shape (n_labels, n_features)
        Change of the tie terms by one standard deviation of a feature.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the sum of the absolute coefficients of utilities and tie terms over all labels.
        Coefficients of utilities are taken as differences from their mean over the labels; the scale of a feature does
        not matter.
    intercept_ : ndarray of shape (n_labels,)
        Utilities of a row with all features at their means.
    tie_intercept_ : ndarray of shape (n_labels,)
        Tie terms of a row with all features at their means.
    coef_standard_error_, tie_coef_standard_error_ : ndarray of shape (n_labels, n_features)
        Standard errors of the coefficients, with ``standard_errors=True``.
    intercept_standard_error_, tie_intercept_standard_error_ : ndarray of shape (n_labels,)
        Standard errors of the intercepts, with ``standard_errors=True``.
    mean_ : ndarray of shape (n_features,)
        Means of the features.
    scale_ : ndarray of shape (n_features,)
        Standard deviations of the features; 0 for a constant feature, which has no influence, and for a categorical
        feature, whose mean is 0 too.
    missing_indicators_ : ndarray of shape (n_indicators,)
        The features with missing values in training. A missing value is replaced by the mean, and each of these
        features has an indicator: a further input that is 1 where the value is missing, else 0.
    missing_coef_, missing_tie_coef_ : ndarray of shape (n_labels, n_indicators)
        Change of the utilities and of the tie terms by one standard deviation of an indicator.
    category_coef_, category_tie_coef_ : ndarray of shape (n_labels, n_categories)
        Change of the utilities and of the tie terms by one standard deviation of the input of a category. The columns
        are the categories in the order of ``categories_``, feature by feature.
    category_coef_standard_error_, category_tie_coef_standard_error_ : ndarray of shape (n_labels, n_categories)
        Standard errors of the coefficients of categories, with ``standard_errors=True``.
    n_iter_ : int
        Number of steps of the fit.
    converged_ : bool
        Whether the fit reached the tolerance.
    model_ : bucketrank._core.LinearModel
        The fitted model.
    aggregator_ : Aggregator
        The aggregator used for predictions.
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
    The pairs of a ranking depend on each other. If any ranking has more than two labels, standard errors are therefore
    cluster-robust, with one cluster per ranking: square roots of the diagonal of the sandwich :math:`H^{-1} M H^{-1}`,
    where H holds the second derivatives of the penalised negative log-likelihood at its minimum, and M is
    :math:`G/(G-1)` times the sum of the products :math:`s s^T` of the gradients of the G rankings, plus the second
    derivatives of the penalty. If all weights are whole numbers, a row of weight w counts as w rankings; otherwise its
    gradient is multiplied by its weight. If no ranking has more than two labels, standard errors are the square roots
    of the diagonal of :math:`H^{-1}`.
    Only differences of utilities have a meaning. Because of the penalty, the coefficients of a feature and the
    intercepts add up to 0 over the labels that were compared. The standard errors are therefore those of the
    differences from the mean over the labels; they exclude a common shift of all utilities, which the data do not
    determine. Other coefficients that the data do not determine have a standard error that is determined by the penalty
    alone: those of a label that was never compared, of a constant feature, and, with only two labels, of the tie terms,
    of which only the sum matters. The errors treat the penalty and the scale of the features as fixed.

    Examples
    --------
    >>> import numpy as np
    >>> from bucketrank import PartialLabelRankingLinear
    >>> X = np.arange(60.0).reshape(-1, 1)
    >>> y = np.where(X < 30, [[1, 2, 3]], [[3, 2, 1]])
    >>> linear = PartialLabelRankingLinear().fit(X, y)
    >>> linear.predict([[3], [55]])
    array([[1, 2, 3],
           [3, 2, 1]])
    >>> linear = PartialLabelRankingLinear(standard_errors=True).fit(X, y)
    >>> linear.coef_standard_error_.shape
    (3, 1)
    """

    def __init__(
        self,
        aggregator: str | Aggregator = "tau_x",
        *,
        ridge: float = _DEFAULTS["ridge"],
        intercept_ridge: float = _DEFAULTS["intercept_ridge"],
        tolerance: float = _DEFAULTS["tolerance"],
        max_steps: int = _DEFAULTS["max_steps"],
        standard_errors: bool = False,
        n_jobs: int | None = None,
        categorical_features: str | Sequence[Any] | NDArray[Any] | None = "from_dtype",
    ) -> None:
        self.aggregator = aggregator
        self.ridge = ridge
        self.intercept_ridge = intercept_ridge
        self.tolerance = tolerance
        self.max_steps = max_steps
        self.standard_errors = standard_errors
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features

    def fit(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> _Self:
        """Fit the model.

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
        PartialLabelRankingLinear
            The fitted estimator. An error or Ctrl-C leaves it unchanged.
        """
        values, positions, names, categories = self._training_data(X, y, sample_weight)
        aggregator = self._check_aggregator(as_aggregator(self.aggregator))
        aggregator._check_label_count(positions.shape[1])
        options = self._options()
        if as_flag(self.standard_errors, "standard_errors"):
            indicators = int(np.isnan(values).any(axis=0).sum())
            inputs = values.shape[1] + indicators + sum(map(len, categories.values()))
            check_size(inputs, positions.shape[1])
        weights = as_weights(sample_weight)
        counts = category_counts(categories)
        model = _core.LinearModel.fit(values, positions, weights, options, counts)
        if not model.converged:
            warnings.warn(
                f"the linear model did not reach the tolerance {self.tolerance} in {model.steps} steps; "
                "a larger max_steps or ridge may help",
                ConvergenceWarning,
                stacklevel=2,
            )
        errors: dict[str, NDArray[np.float64]] = {}
        if self.standard_errors:
            errors = standard_errors(
                *model.information(values, positions, weights, options),
                model.compared_labels(),
                ridges=(options["ridge"], options["intercept_ridge"]),
            )
        self._remember(X, names, aggregator, categories)
        return self._keep(model, errors)

    def _options(self) -> _LinearOptions:
        """Check the types of all parameters; the core checks their ranges."""
        return {
            "ridge": as_real(self.ridge, "ridge"),
            "intercept_ridge": as_real(self.intercept_ridge, "intercept_ridge"),
            "tolerance": as_real(self.tolerance, "tolerance"),
            "max_steps": as_whole(self.max_steps, "max_steps"),
            "n_jobs": resolve_n_jobs(self.n_jobs),
        }

    def _keep(
        self: _Self, model: _core.LinearModel, errors: dict[str, NDArray[np.float64]]
    ) -> _Self:
        """Store a fitted model and its standard errors, if any."""
        # Rows: n labels for utilities, n for tie terms. Columns: features, indicators of missing values, categories.
        coefficients, intercepts = model.coefficients()
        n, d = self.n_labels_in_, self.n_features_in_
        self.coef_, self.tie_coef_ = coefficients[:n, :d].copy(), coefficients[n:, :d].copy()
        self.missing_indicators_ = model.indicators()
        first = d + len(self.missing_indicators_)
        self.missing_coef_ = coefficients[:n, d:first].copy()
        self.missing_tie_coef_ = coefficients[n:, d:first].copy()
        self.intercept_, self.tie_intercept_ = intercepts[:n], intercepts[n:]
        self.mean_, self.scale_ = (numbers[:d].copy() for numbers in model.scale())
        self.n_iter_ = model.steps
        self.converged_ = model.converged
        self.model_ = model
        for name in (*ERROR_NAMES, *CATEGORY_ERROR_NAMES):
            # Drop the standard errors of an earlier fit.
            self.__dict__.pop(name, None)
        # The errors of indicators of missing values are left out.
        for name, part in errors.items():
            self.__dict__[name] = part[:, :d].copy() if part.ndim == 2 else part
            if part.ndim == 2 and self.categories_:
                self.__dict__[f"category_{name}"] = part[:, first:].copy()
        return self

    @property
    def category_coef_(self) -> NDArray[np.float64]:
        """Coefficients of the utilities for the categories, feature by feature."""
        return self._category_coefficients()[: self.n_labels_in_]

    @property
    def category_tie_coef_(self) -> NDArray[np.float64]:
        """Coefficients of the tie terms for the categories, feature by feature."""
        return self._category_coefficients()[self.n_labels_in_ :]

    def _category_coefficients(self) -> NDArray[np.float64]:
        check_is_fitted(self)
        first = self.n_features_in_ + len(self.missing_indicators_)
        return self.model_.coefficients()[0][:, first:]

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the sum of the absolute coefficients."""
        check_is_fitted(self)
        coefficients = self.model_.coefficients()[0]
        utilities, ties = np.split(coefficients, 2)
        sizes = np.abs(utilities - utilities.mean(axis=0)).sum(axis=0) + np.abs(ties).sum(axis=0)
        categorical = self.model_.categorical()
        # Per input of the model, the index of its feature.
        owners = [
            *range(self.n_features_in_),
            *self.missing_indicators_.tolist(),
            *(feature for feature, count in categorical for _ in range(count)),
        ]
        total = np.bincount(owners, sizes, self.n_features_in_)
        return np.asarray(total / total.sum() if total.sum() > 0 else total)

    def _latent_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.model_.scores(values)

    def _explained_model(self) -> tuple[_core.LinearModel]:
        """Return the model as the core's SHAP functions take it: in a tuple, without further parameters."""
        return (self.model_,)

    def _compared_labels(self) -> NDArray[np.bool_]:
        return self.model_.compared_labels()
