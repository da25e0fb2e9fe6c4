"""What the estimators that predict shares of pairs have in common: checks, containers, scoring."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from bucketrank import _core
from bucketrank._validation import (
    Positions,
    as_positions,
    as_weights,
    frame_labels,
    is_pandas,
    label_names,
    resolve_n_jobs,
)
from bucketrank.aggregation import Aggregator, get_aggregator
from bucketrank.metrics import tau_x

_Self = TypeVar("_Self", bound="PairShareEstimator")

_CONTAINERS = ("default", "pandas")


class TrainingData(NamedTuple):
    """What a fit works on, after the checks of shapes and types."""

    values: NDArray[np.float64]
    positions: Positions
    weights: NDArray[np.float64] | None
    names: list[Any]
    aggregator: Aggregator


class PairShareEstimator(BaseEstimator):
    """An estimator that predicts shares of before, tied and after, which an aggregator turns into bucket orders."""

    aggregator: str | Aggregator
    n_jobs: int | None

    n_features_in_: int
    n_labels_in_: int
    label_names_in_: NDArray[np.object_]
    aggregator_: Aggregator

    @abstractmethod
    def _predict_positions(
        self, values: NDArray[np.float64], aggregators: list[Aggregator]
    ) -> list[NDArray[np.int64]]:
        """Return the bucket orders that each aggregator makes of the predicted shares."""

    @abstractmethod
    def _predict_shares(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the shares of all pairs."""

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
        values = self._check_features(X)
        return self._contain(self._predict_positions(values, [self.aggregator_])[0], X)

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
        known = [self._check_aggregator(aggregator) for aggregator in aggregators]
        values = self._check_features(X)
        return [self._contain(found, X) for found in self._predict_positions(values, known)]

    def predict_pair_shares(self, X: Any) -> NDArray[np.float64]:
        """Predict how likely each pair of labels is before, tied and after.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_pairs, 3)
            For each pair u < v, in the order (0, 1), (0, 2), ..., (1, 2), ..., the shares of u before v, tied, and u
            after v. A pair with a label that no training ranking compares has shares of one third.
        """
        return self._predict_shares(self._check_features(X))

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
        values = self._check_features(X)
        self._check_labels(Y)
        predicted = self._predict_positions(values, [self.aggregator_])[0]
        return tau_x(as_positions(Y), predicted, sample_weight, missing="ignore")

    def with_aggregator(self: _Self, aggregator: str | Aggregator) -> _Self:
        """Return an estimator with the same fitted model that predicts by another aggregator.

        Parameters
        ----------
        aggregator : str or Aggregator
            See :func:`bucketrank.get_aggregator`.

        Returns
        -------
        PairShareEstimator
            A fitted estimator that shares the model; nothing is fitted again.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other.aggregator = aggregator
        other.aggregator_ = self._check_aggregator(aggregator)
        return other

    def set_output(self: _Self, *, transform: str | None = None) -> _Self:
        """Choose the container of predicted rankings.

        Parameters
        ----------
        transform : {"default", "pandas"}, optional
            ``"default"`` is a NumPy array; None leaves the choice as it is. The name is scikit-learn's.

        Returns
        -------
        PairShareEstimator
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
        """Set parameters; ``aggregator__order`` and the like replace the aggregator by a changed one.

        Parameters
        ----------
        **params
            Parameters by name.

        Returns
        -------
        PairShareEstimator
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

    def _check_training(self, X: Any, Y: Any, sample_weight: ArrayLike | None) -> TrainingData:
        if Y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; "
                "expected rankings, one row a ranking, one column a label"
            )
        aggregator = self._check_aggregator(self.aggregator)
        values = check_array(
            X, dtype=np.float64, ensure_all_finite=False, estimator=self, input_name="X"
        )
        positions = as_positions(Y)
        names = label_names(Y, None, positions.shape[1])
        return TrainingData(values, positions, as_weights(sample_weight), names, aggregator)

    def _remember_training(self, X: Any, data: TrainingData) -> None:
        """Write the attributes of a fit that has ended well: a failed or interrupted one changes nothing."""
        validate_data(self, X, skip_check_array=True)
        self.n_labels_in_ = data.positions.shape[1]
        # Filled in two steps: names that are tuples must not become rows of an array.
        self.label_names_in_ = np.empty(len(data.names), dtype=object)
        self.label_names_in_[:] = data.names
        self.aggregator_ = data.aggregator

    def _check_aggregator(self, aggregator: str | Aggregator) -> Aggregator:
        known = get_aggregator(aggregator)
        if known._needs == "rankings":
            raise ValueError(
                f"{known!r} needs rankings, but {type(self).__name__} predicts shares of pairs; expected TauX, "
                "Borda, Copeland, BucketPivot, MarkovChain(variant=4) or MaximalLottery"
            )
        return known

    def _check_features(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        values: NDArray[np.float64] = validate_data(
            self, X, reset=False, dtype=np.float64, ensure_all_finite=False
        )
        return values

    def _check_labels(self, Y: Any) -> None:
        labels = frame_labels(Y)
        if labels is not None and labels != self.label_names_in_.tolist():
            raise ValueError(
                f"Y has the columns {labels}, but {type(self).__name__} was fitted on the labels "
                f"{self.label_names_in_.tolist()}; expected the same in the same order"
            )

    def _contain(self, positions: NDArray[np.int64], X: Any) -> Any:
        container = getattr(self, "_sklearn_output_config", {}).get("transform", "default")
        if container == "pandas":
            import pandas as pd

            index = X.index if is_pandas(X) else None
            return pd.DataFrame(positions, index=index, columns=self.label_names_in_)
        return positions


class LatentEstimator(PairShareEstimator):
    """An estimator that predicts a utility and a tie term of each label."""

    @abstractmethod
    def _predict_scores(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return utilities, then tie terms, of each row."""

    @abstractmethod
    def _compared_labels(self) -> NDArray[np.bool_]:
        """Return which labels the training rankings compare with another label."""

    def predict_utilities(self, X: Any) -> NDArray[np.float64]:
        """Predict the utility of each label.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Larger is better; only differences within a row have a meaning.
        """
        return self._predict_scores(self._check_features(X))[:, : self.n_labels_in_]

    def predict_tie_terms(self, X: Any) -> NDArray[np.float64]:
        """Predict how much each label tends to be tied.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The sum of two of them is the logarithm of the weight of a tie.
        """
        return self._predict_scores(self._check_features(X))[:, self.n_labels_in_ :]

    def _predict_shares(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return _core.latent_pair_shares(self._predict_scores(values), self._compared_labels())

    def _predict_positions(
        self, values: NDArray[np.float64], aggregators: list[Aggregator]
    ) -> list[NDArray[np.int64]]:
        return self._positions_of(self._predict_scores(values), aggregators)

    def _positions_of(
        self, scores: NDArray[np.float64], aggregators: list[Aggregator]
    ) -> list[NDArray[np.int64]]:
        compared, n_jobs = self._compared_labels(), resolve_n_jobs(self.n_jobs)
        return [
            _core.aggregate_scores(aggregator._spec(), scores, compared, n_jobs)
            for aggregator in aggregators
        ]
