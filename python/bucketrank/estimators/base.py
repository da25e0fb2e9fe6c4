"""Base class of the estimators: input checks, arrays or data frames as output, scores and aggregators.

The estimators predict bucket orders (rankings with ties), which an aggregator makes from many rankings or from shares.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from bucketrank._estimator_state import pack_state, unpack_state
from bucketrank._phrases import pluralize
from bucketrank._validation import (
    Positions,
    as_feature_table,
    as_positions,
    frame_labels,
    is_float_matrix,
    label_names,
)
from bucketrank.aggregation import Aggregator, as_aggregator
from bucketrank.estimators.categories import (
    Categories,
    FeatureColumns,
    encode,
    find_categorical,
    order_categories,
)
from bucketrank.estimators.output import CONTAINERS, in_container
from bucketrank.metrics import tau_x

_Self = TypeVar("_Self", bound="LabelRanker")

_SERIALISED = "_container"
"""Key of the serialised attributes in a pickled estimator."""


class TrainingData(NamedTuple):
    """Checked arguments of a fit."""

    values: NDArray[np.float64]
    """Features; each value of a categorical feature is replaced by its index in `categories`."""
    positions: Positions
    """One ranking per row and one column per label: 1 is best, equal positions are ties, NaN is a missing label."""
    names: list[Any]
    """Names of the labels."""
    categories: Categories
    """The categories of each categorical feature, in an order learnt from the rankings."""


class LabelRanker(BaseEstimator):
    """An estimator that predicts bucket orders with an aggregator, which can be replaced after the fit."""

    aggregator: str | Aggregator
    aggregator_: Aggregator
    n_jobs: int | None
    n_features_in_: int
    n_labels_in_: int
    categories_: Categories
    label_names_in_: NDArray[np.object_]

    @abstractmethod
    def _positions(
        self, values: NDArray[np.float64], aggregators: list[Aggregator]
    ) -> list[NDArray[np.int64]]:
        """Return the predicted positions of checked rows for each aggregator."""

    def _check_aggregator(self, aggregator: Aggregator) -> Aggregator:
        """Return the aggregator, or raise when this estimator cannot use it."""
        return aggregator

    def predict(self, X: Any) -> Any:
        """Predict bucket orders.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.

        Returns
        -------
        ndarray or DataFrame of shape (n_samples, n_labels)
            Positions of all labels; see :meth:`set_output` for data frames.
        """
        values = self._features(X)
        return self._in_container(self._positions(values, [self.aggregator_])[0], X)

    def predict_many(self, X: Any, aggregators: Iterable[str | Aggregator]) -> list[Any]:
        """Predict bucket orders with several aggregators in one pass.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.
        aggregators : iterable of str or Aggregator
            See :func:`bucketrank.get_aggregator`.

        Returns
        -------
        list of ndarray or DataFrame of shape (n_samples, n_labels)
            The predictions of :meth:`predict` with each aggregator.
        """
        if isinstance(aggregators, (str, Aggregator)):
            raise TypeError(f"aggregators is {aggregators!r}; expected a list of aggregators")
        checked = [self._check_aggregator(as_aggregator(aggregator)) for aggregator in aggregators]
        values = self._features(X)
        return [self._in_container(p, X) for p in self._positions(values, checked)]

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        r"""Return the mean rank correlation :math:`\tau_X` of the predictions with the truth.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.
        y : array-like or DataFrame of shape (n_samples, n_labels)
            True positions. NaN marks a missing label: only pairs of labels that the row ranks are compared, and rows
            with fewer than two labels are left out.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights of the rows.

        Returns
        -------
        float
            From -1 to 1.
        """
        predicted = self._positions(self._features(X), [self.aggregator_])[0]
        positions, names = self._target(y)
        if names is not None and names != self.label_names_in_.tolist():
            raise ValueError(
                f"y has the columns {names}, but the estimator was fitted on the labels "
                f"{self.label_names_in_.tolist()}; expected the same labels in the same order"
            )
        if positions.shape[1] != self.n_labels_in_:
            raise ValueError(
                f"y has {pluralize(positions.shape[1], 'label')}, but the estimator was fitted on {self.n_labels_in_}; "
                "expected the same labels in the same order"
            )
        return tau_x(positions, predicted, sample_weight, missing="ignore")

    def with_aggregator(self: _Self, aggregator: str | Aggregator) -> _Self:
        """Return an estimator with the same fit that predicts with another aggregator.

        Parameters
        ----------
        aggregator : str or Aggregator
            See :func:`bucketrank.get_aggregator`.

        Returns
        -------
        estimator
            A fitted estimator that shares the fitted model. A tree grown with criterion ``"disagreements"``
            or ``"distance"`` keeps the splits that were found with the aggregator of the fit.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other.aggregator = aggregator
        other.aggregator_ = self._check_aggregator(as_aggregator(aggregator))
        return other

    def set_output(self: _Self, *, transform: str | None = None) -> _Self:
        """Choose arrays or data frames for predicted positions, and for utilities and tie terms if there are any.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            ``"default"`` is a NumPy array. A data frame has one column per label, named as in the fit; pandas keeps the
            index of X, and polars needs names that differ as text. None keeps the current choice. The parameter is
            named as in scikit-learn.

        Returns
        -------
        estimator
            This estimator.
        """
        if transform is None:
            return self
        if transform not in CONTAINERS:
            known = ", ".join(map(repr, CONTAINERS))
            raise ValueError(f"transform is {transform!r}; expected one of {known}")
        # scikit-learn's clone copies this attribute.
        self._sklearn_output_config = {"transform": transform}
        return self

    def set_params(self: _Self, **params: Any) -> _Self:
        """Set parameters; nested ones such as ``aggregator__beta`` replace the aggregator by a changed copy.

        Parameters
        ----------
        **params
            Parameters by name.

        Returns
        -------
        estimator
            This estimator.
        """
        prefix = "aggregator__"
        nested = {k.removeprefix(prefix): v for k, v in params.items() if k.startswith(prefix)}
        super().set_params(**{k: v for k, v in params.items() if not k.startswith(prefix)})
        if nested:
            self.aggregator = as_aggregator(self.aggregator).set_params(**nested)
        return self

    def __copy__(self: _Self) -> _Self:
        # Without this method, copy.copy would serialise the fitted model and check it when it is read back.
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> dict[str, Any]:
        serialised, others = pack_state(type(self).__name__, dict(super().__getstate__()))
        return {_SERIALISED: serialised, **others}

    def __setstate__(self, state: dict[str, Any]) -> None:
        others = {name: value for name, value in state.items() if name != _SERIALISED}
        attributes = unpack_state(state.get(_SERIALISED), type(self).__name__)
        super().__setstate__({**attributes, **others})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

    def _training_data(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> TrainingData:
        """Return features, positions, the names of the labels and the categories of the features."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; "
                "expected rankings, one row per ranking, one column per label"
            )
        # An estimator without this parameter, such as a baseline, accepts tables with categories, too.
        chosen = getattr(self, "categorical_features", "from_dtype")
        is_default = chosen is None or (isinstance(chosen, str) and chosen == "from_dtype")
        columns = None if is_float_matrix(X) and is_default else FeatureColumns(X)
        found = [] if columns is None else find_categorical(columns, chosen)
        if columns is None or not found:
            values = X if is_float_matrix(X) else _checked_features(X, self)
            positions, names = self._target(y)
            return TrainingData(
                values, positions, label_names(positions, names, positions.shape[1]), {}
            )
        positions, names = self._target(y)
        cells = {column: columns.values(column) for column in found}
        categories = {
            column: order_categories(values, columns.location(column), positions, sample_weight)
            for column, values in cells.items()
        }
        values = self._encoded(columns, cells, categories)
        labels = label_names(positions, names, positions.shape[1])
        return TrainingData(values, positions, labels, categories)

    def _encoded(
        self, columns: FeatureColumns, cells: Categories, categories: Categories
    ) -> NDArray[np.float64]:
        """Return the features as numbers; `cells` holds the values of the categorical columns, which become indices."""
        rows = len(next(iter(cells.values())))
        values = np.empty((rows, columns.count))
        others = [column for column in range(columns.count) if column not in categories]
        if others:
            values[:, others] = _checked_features(columns.without(list(categories)), self)
        for column, ordered in categories.items():
            values[:, column] = encode(cells[column], ordered, columns.location(column))
        return values

    @staticmethod
    def _target(y: Any) -> tuple[Positions, list[Any] | None]:
        """Return the positions of a target, and the names of its labels if it is a data frame.

        :meth:`fit` and :meth:`score` read `y` only through this method. The tests with scikit-learn's checks, whose
        targets are not rankings, replace it by a function that turns such targets into rankings.
        """
        return as_positions(y, "y"), frame_labels(y)

    def _remember(
        self,
        X: Any,
        names: list[Any],
        aggregator: Aggregator,
        categories: Categories | None = None,
    ) -> None:
        """Store the fitted attributes; called at the end of a fit, so a failed fit changes nothing."""
        if is_float_matrix(X):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        else:
            validate_data(self, X, skip_check_array=True)
        self.n_labels_in_ = len(names)
        self.label_names_in_ = _name_array(names)
        self.categories_ = categories or {}
        self.aggregator_ = aggregator

    def _features(self, X: Any) -> NDArray[np.float64]:
        """Return `X` as an array for the Rust core, or raise when it does not match the training data."""
        attributes = vars(self)
        # The most common case needs none of scikit-learn's checks.
        needs_no_checks = (
            is_float_matrix(X)
            and "aggregator_" in attributes
            and "feature_names_in_" not in attributes
            and X.shape[1] == self.n_features_in_
            and not self.categories_
        )
        if needs_no_checks:
            matrix: NDArray[np.float64] = X
            return matrix
        check_is_fitted(self)
        if self.categories_:
            return self._features_with_categories(X)
        values: NDArray[np.float64] = validate_data(
            self, as_feature_table(X), reset=False, dtype=np.float64, ensure_all_finite=False
        )
        return values

    def _features_with_categories(self, X: Any) -> NDArray[np.float64]:
        """Return a table with categorical columns as an array for the Rust core."""
        columns = FeatureColumns(X)
        if columns.count == 0:
            # Not a table: scikit-learn's check raises an error that says why.
            _checked_features(X, self)
        validate_data(self, X, reset=False, skip_check_array=True)
        cells = {column: columns.values(column) for column in self.categories_}
        return self._encoded(columns, cells, self.categories_)

    def _in_container(self, values: NDArray[Any], X: Any) -> Any:
        """Return one row per row of `X` and one column per label in the container chosen by `set_output`."""
        container = getattr(self, "_sklearn_output_config", {}).get("transform", "default")
        return in_container(container, values, self.label_names_in_, X)


def pair_order_of(shares: NDArray[np.float64], n_labels: int) -> NDArray[np.float64]:
    """Convert pair shares to pair order matrices.

    Pair shares are, per pair of labels, the shares of rankings with the first before, tied with, and after the second.
    Entry (u, v) of a matrix is the share of u before v plus half the share of ties; 0.5 on the diagonal and for pairs
    whose shares are all 0.
    """
    first, second = np.triu_indices(n_labels, 1)
    before, tied, after = shares[..., 0], shares[..., 1], shares[..., 2]
    is_seen = before + tied + after > 0
    matrices = np.full((len(shares), n_labels, n_labels), 0.5)
    matrices[:, first, second] = np.where(is_seen, before + tied / 2, 0.5)
    matrices[:, second, first] = np.where(is_seen, after + tied / 2, 0.5)
    return matrices


def _checked_features(X: Any, estimator: BaseEstimator) -> NDArray[np.float64]:
    """Check X as scikit-learn does; the core checks that no number is infinite."""
    values: NDArray[np.float64] = check_array(
        as_feature_table(X),
        dtype=np.float64,
        ensure_all_finite=False,
        estimator=estimator,
        input_name="X",
    )
    return values


def _name_array(names: list[Any]) -> NDArray[np.object_]:
    """Return names as a one-dimensional array, even if names are tuples."""
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array
