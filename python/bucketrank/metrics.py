"""Metrics that compare predicted with true bucket orders (rankings with ties)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank import _core
from bucketrank._phrases import pluralize
from bucketrank._validation import (
    Positions,
    as_positions,
    as_weights,
    check_same_labels,
    is_number_matrix,
)

__all__ = [
    "bucket_count_difference",
    "kendall_tau",
    "tau_x",
    "tau_x_samples",
    "tau_x_scorer",
]

tau_x_scorer: Callable[..., float]
"""Scorer for ``cross_val_score``, ``GridSearchCV`` and other scikit-learn tools; greater is better.

It computes ``tau_x(..., missing="ignore")``, as the ``score`` method of the estimators does: pairs with a missing label
(NaN) are ignored.
"""


def tau_x(
    Y_true: Any,
    Y_pred: Any,
    sample_weight: ArrayLike | None = None,
    *,
    missing: Literal["error", "ignore"] = "error",
) -> float:
    r"""Mean rank correlation :math:`\tau_X` of predicted with true bucket orders.

    With :math:`a(u, v) = +1` where label u is before or tied with v and :math:`-1` elsewhere,
    :math:`\tau_X` of a row is the mean of :math:`a_{true} \cdot a_{pred}` over all ordered pairs of labels.

    Parameters
    ----------
    Y_true, Y_pred : array-like or DataFrame of shape (n_samples, n_labels)
        Positions; NaN for missing labels, which are an error unless `missing` is ``"ignore"``.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights of the rows; by default all are equal.
    missing : {"error", "ignore"}, default "error"
        How missing labels (NaN) are treated. ``"error"`` raises an error. ``"ignore"`` compares only the pairs of
        labels that both rankings rank, and leaves rows with fewer than two such labels out of the mean.

    Returns
    -------
    float
        From -1 (a total order and its reverse) to 1 (equal bucket orders).

    References
    ----------
    E. J. Emond and D. W. Mason, "A new rank correlation coefficient with application to the consensus ranking
    problem", Journal of Multi-Criteria Decision Analysis 11 (2002).

    Examples
    --------
    >>> tau_x([[1, 2, 3]], [[1, 2, 3]])
    1.0
    >>> round(tau_x([[1, 2, 3]], [[1, 2, 2]]), 4)  # one of three pairs is tied instead of ordered
    0.6667
    >>> tau_x([[1, 2, 3]], [[3, 2, 1]])
    -1.0
    >>> tau_x([[1, 2, np.nan]], [[1, 3, 2]], missing="ignore")
    1.0
    """
    truth, predicted = checked_pair(Y_true, Y_pred)
    # The kernel `tau_x_ranked` compares only labels that both rankings rank.
    kernel = _core.tau_x_ranked if ignores_missing(missing) else _core.tau_x
    return kernel(truth, predicted, as_weights(sample_weight))


def tau_x_samples(
    Y_true: Any, Y_pred: Any, *, missing: Literal["error", "ignore"] = "error"
) -> NDArray[np.float64]:
    r""":math:`\tau_X` of each row; :func:`tau_x` is the mean.

    Parameters
    ----------
    Y_true, Y_pred : array-like or DataFrame of shape (n_samples, n_labels)
        Positions; NaN for missing labels, which are an error unless `missing` is ``"ignore"``.
    missing : {"error", "ignore"}, default "error"
        As in :func:`tau_x`; the rows that ``"ignore"`` leaves out are NaN.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> tau_x_samples([[1, 2], [1, 2], [1, 1]], [[1, 2], [2, 1], [1, 2]])
    array([ 1., -1.,  0.])
    """
    kernel = _core.tau_x_ranked_samples if ignores_missing(missing) else _core.tau_x_samples
    return kernel(*checked_pair(Y_true, Y_pred))


def kendall_tau(Y_true: Any, Y_pred: Any, sample_weight: ArrayLike | None = None) -> float:
    r"""Mean Kendall :math:`\tau` of total orders.

    Parameters
    ----------
    Y_true, Y_pred : array-like or DataFrame of shape (n_samples, n_labels)
        Positions of complete rankings without ties. A tie is an error: use :func:`tau_x`.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights of the rows; by default all are equal.

    Returns
    -------
    float
        Concordant minus discordant pairs, divided by all pairs.

    Examples
    --------
    >>> round(kendall_tau([[1, 2, 3]], [[1, 3, 2]]), 4)
    0.3333
    """
    values = _core.kendall_tau_samples(*checked_pair(Y_true, Y_pred))
    return _weighted_mean(values, sample_weight)


def bucket_count_difference(
    Y_true: Any, Y_pred: Any, sample_weight: ArrayLike | None = None
) -> float:
    """Mean number of predicted minus true buckets: positive if too few labels are tied.

    Parameters
    ----------
    Y_true, Y_pred : array-like or DataFrame of shape (n_samples, n_labels)
        Positions of complete rankings.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights of the rows; by default all are equal.

    Returns
    -------
    float

    Examples
    --------
    >>> bucket_count_difference([[1, 1, 2]], [[1, 2, 3]])
    1.0
    """
    differences = _core.bucket_count_differences(*checked_pair(Y_true, Y_pred))
    return _weighted_mean(differences.astype(np.float64), sample_weight)


def mean_of_defined(values: NDArray[np.float64], sample_weight: ArrayLike | None) -> float:
    """Return the weighted mean of the values that are not NaN."""
    weights = as_weights(sample_weight)
    weights = np.ones(len(values)) if weights is None else _core.check_weights(weights, len(values))
    defined = ~np.isnan(values) & (weights > 0)
    if not defined.any():
        raise ValueError(
            f"none of {pluralize(len(values), 'row')} has a positive weight and a defined value; nothing to compare"
        )
    # Only the ratios of weights matter, so they are scaled such that the largest is 1.
    scaled = weights[defined] / weights[defined].max()
    return float(np.average(values[defined], weights=scaled))


def __getattr__(name: str) -> Any:
    """Create ``tau_x_scorer`` on first access.

    Only this attribute needs scikit-learn, whose import takes longer than most calls of this module.
    """
    if name != "tau_x_scorer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.metrics import make_scorer

    scorer = globals()[name] = make_scorer(tau_x, missing="ignore")
    return scorer


def ignores_missing(missing: Any) -> bool:
    """Return whether pairs with missing labels are left out, after checking the argument."""
    if missing not in ("error", "ignore"):
        raise ValueError(f"missing is {missing!r}; expected 'error' or 'ignore'")
    return bool(missing == "ignore")


def checked_pair(Y_true: Any, Y_pred: Any) -> tuple[Positions, Positions]:
    """Return two tables of positions of the same labels."""
    if is_number_matrix(Y_true) and is_number_matrix(Y_pred):
        return Y_true, Y_pred
    if hasattr(Y_true, "predict"):
        # scikit-learn calls a function of `scoring` with the estimator.
        raise TypeError(
            f"Y_true is the estimator {type(Y_true).__name__}; expected rankings; for scoring=... of scikit-learn "
            "there are tau_x_scorer, kendall_distance_scorer, tau_b_scorer and rbo_scorer"
        )
    check_same_labels(Y_true, Y_pred, "Y_true", "Y_pred")
    return as_positions(Y_true, "Y_true"), as_positions(Y_pred, "Y_pred")


def _weighted_mean(values: NDArray[np.float64], sample_weight: ArrayLike | None) -> float:
    weights = as_weights(sample_weight)
    if weights is None:
        return float(values.mean())
    return float(np.average(values, weights=_core.check_weights(weights, len(values))))
