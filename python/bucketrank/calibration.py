"""Proper scores and calibration of predicted pair shares.

The shares of a pair of labels are the probabilities that the first is before, tied with or after the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank import _core
from bucketrank._validation import NUMBERS, as_number_array, as_positions, as_weights, bounded_count
from bucketrank.metrics import mean_of_defined

__all__ = ["ReliabilityCurve", "pair_brier_score", "pair_log_loss", "reliability_curve"]

_SMALLEST = float(np.finfo(np.float64).eps)
"""Smallest share in a logarithm, as in scikit-learn's log loss."""

_TOLERANCE = 1e-4
"""Largest distance of the sum of three shares from 1."""

_Floats = NDArray[np.float64]
_RELATIONS = ("all", "before", "tied")


def pair_log_loss(Y_true: Any, shares: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Mean negative logarithm of the share that was predicted for the true relation of each pair of labels.

    Parameters
    ----------
    Y_true : array-like or DataFrame of shape (n_samples, n_labels)
        True positions. Pairs with a missing label (NaN) are ignored, and rows with fewer than two labels are left out.
    shares : array-like of shape (n_samples, n_pairs, 3)
        For each pair of labels, the predicted shares of rankings that place the first before, tied with, and after the
        second, as ``predict_pair_shares`` returns them. Three zeros, which a tree returns for a pair that it has never
        seen, count as three equal shares.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights of the rows; by default all are equal.

    Returns
    -------
    float
        The mean over rows of the mean over the pairs of a row: 0 for certain and correct predictions, 1.0986
        (:math:`\ln 3`) for three equal shares. Shares below 2.2e-16 are replaced by this number in the logarithm. A
        proper score: it is smallest for the true shares.

    Examples
    --------
    >>> from bucketrank.calibration import pair_log_loss
    >>> round(pair_log_loss([[1, 2]], [[[0.5, 0.3, 0.2]]]), 4)
    0.6931
    """
    observed, values, is_ranked = _observed_relations(Y_true, shares)
    predicted = np.take_along_axis(values, observed[..., None], axis=2)[..., 0]
    return _mean_over_pairs(-np.log(np.maximum(predicted, _SMALLEST)), is_ranked, sample_weight)


def pair_brier_score(
    Y_true: Any, shares: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Mean squared distance of the predicted shares of a pair from its true relation.

    Parameters
    ----------
    Y_true : array-like or DataFrame of shape (n_samples, n_labels)
        True positions. Pairs with a missing label (NaN) are ignored, and rows with fewer than two labels are left out.
    shares : array-like of shape (n_samples, n_pairs, 3)
        As in :func:`pair_log_loss`.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights of the rows; by default all are equal.

    Returns
    -------
    float
        Squared distances are added up over before, tied and after, averaged over the pairs of a row, and then averaged
        over the rows: 0 for certain and correct predictions, 2/3 for three equal shares, 2 for certain and wrong
        predictions. A proper score.

    Examples
    --------
    >>> from bucketrank.calibration import pair_brier_score
    >>> round(pair_brier_score([[1, 2]], [[[0.5, 0.3, 0.2]]]), 4)
    0.38
    """
    observed, values, is_ranked = _observed_relations(Y_true, shares)
    distances = ((values - np.eye(3)[observed]) ** 2).sum(axis=2)
    return _mean_over_pairs(distances, is_ranked, sample_weight)


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Predicted shares and observed frequencies by bins of the predicted share.

    A case is one relation (before, tied or after) of one pair of labels in one row; it has the weight of its row.

    Attributes
    ----------
    predicted : ndarray of shape (n_bins,)
        Mean predicted share of each bin; NaN if the bin is empty.
    observed : ndarray of shape (n_bins,)
        Share of the cases of the bin that came true; NaN if the bin is empty.
    weight : ndarray of shape (n_bins,)
        Total weight of the cases of the bin.

    Examples
    --------
    >>> from bucketrank.calibration import reliability_curve
    >>> curve = reliability_curve([[1, 2], [2, 1]], [[[0.9, 0.1, 0]], [[0.9, 0.1, 0]]], relation="tied", n_bins=2)
    >>> curve.predicted.round(2), curve.observed
    (array([0.1, nan]), array([ 0., nan]))
    """

    predicted: _Floats
    observed: _Floats
    weight: _Floats

    @property
    def error(self) -> float:
        """Expected calibration error: the weighted mean of the distances between predicted and observed."""
        filled = self.weight > 0
        distances = np.abs(self.predicted[filled] - self.observed[filled])
        return float(np.average(distances, weights=self.weight[filled]))


def reliability_curve(
    Y_true: Any,
    shares: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    relation: Literal["all", "before", "tied"] = "all",
    n_bins: int = 10,
) -> ReliabilityCurve:
    """Compare predicted shares of the relations of pairs with how often these relations are true.

    Parameters
    ----------
    Y_true : array-like or DataFrame of shape (n_samples, n_labels)
        True positions; pairs with a missing label (NaN) are ignored.
    shares : array-like of shape (n_samples, n_pairs, 3)
        As in :func:`pair_log_loss`.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights of the rows; by default all are equal.
    relation : {"all", "before", "tied"}, default "all"
        Relations whose shares are compared. ``"before"`` takes each pair in both orders.
    n_bins : int, default 10
        Number of bins of equal width from 0 to 1.

    Returns
    -------
    ReliabilityCurve

    Examples
    --------
    >>> from bucketrank import PartialLabelRankingForest, datasets
    >>> from bucketrank.calibration import reliability_curve
    >>> iris = datasets.load("iris")
    >>> forest = PartialLabelRankingForest(random_state=0).fit(iris.X[::2], iris.Y[::2])
    >>> curve = reliability_curve(iris.Y[1::2], forest.predict_pair_shares(iris.X[1::2]))
    >>> curve.error < 0.1
    True
    """
    if relation not in _RELATIONS:
        known = ", ".join(map(repr, _RELATIONS))
        raise ValueError(f"relation is {relation!r:.60}; expected one of {known}")
    bins = bounded_count(n_bins, "n_bins")
    observed, values, is_ranked = _observed_relations(Y_true, shares)
    kept = {"all": [0, 1, 2], "before": [0, 2], "tied": [1]}[relation]
    weights = _row_weights(sample_weight, len(values))
    if not is_ranked[weights > 0].any():
        raise ValueError("no row of positive weight ranks two labels; expected at least one")
    cases = values[..., kept][is_ranked].ravel()
    came_true = (observed[..., None] == kept)[is_ranked].ravel()
    weight_of = np.repeat(np.broadcast_to(weights[:, None], is_ranked.shape)[is_ranked], len(kept))
    bin_of = np.minimum((cases * bins).astype(np.int64), bins - 1)
    weight = np.bincount(bin_of, weight_of, bins).astype(np.float64)
    sums = [np.bincount(bin_of, weight_of * values, bins) for values in (cases, came_true)]
    with np.errstate(invalid="ignore", divide="ignore"):
        predicted, frequency = (np.where(weight > 0, total / weight, np.nan) for total in sums)
    return ReliabilityCurve(predicted, frequency, weight)


def _observed_relations(
    Y_true: Any, shares: ArrayLike
) -> tuple[NDArray[np.int64], _Floats, NDArray[np.bool_]]:
    """Return the true relation of each pair (0 before, 1 tied, 2 after), its shares, and whether the row ranks it."""
    positions = _core.parse_positions(as_positions(Y_true, "Y_true"))
    n_labels = positions.shape[1]
    values = np.asarray(as_number_array(shares, "shares", entries=NUMBERS), dtype=np.float64)
    expected = (len(positions), n_labels * (n_labels - 1) // 2, 3)
    if values.shape != expected:
        raise ValueError(
            f"shares has shape {values.shape}; expected {expected} for {n_labels} labels: "
            "rows, pairs of labels, and before, tied and after"
        )
    totals = values.sum(axis=2)
    wrong = ~((values >= 0).all(axis=2) & ((np.abs(totals - 1) <= _TOLERANCE) | (totals == 0)))
    if wrong.any():
        row, pair = np.argwhere(wrong)[0].tolist()
        raise ValueError(
            f"shares, row {row}, pair {pair}: {values[row, pair].tolist()}; "
            "expected three shares of at least 0 that add up to 1, or three zeros"
        )
    values = np.where(totals[..., None] == 0, 1 / 3, values)
    first, second = np.triu_indices(n_labels, 1)
    left, right = positions[:, first], positions[:, second]
    return np.sign(left - right) + 1, values, (left > 0) & (right > 0)


def _row_weights(sample_weight: ArrayLike | None, n_rows: int) -> _Floats:
    weights = as_weights(sample_weight)
    return np.ones(n_rows) if weights is None else _core.check_weights(weights, n_rows)


def _mean_over_pairs(
    values: _Floats, is_ranked: NDArray[np.bool_], sample_weight: ArrayLike | None
) -> float:
    """Return the weighted mean over rows of the mean over the pairs that a row ranks."""
    counts = is_ranked.sum(axis=1)
    sums = np.where(is_ranked, values, 0).sum(axis=1)
    means = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    return mean_of_defined(means, sample_weight)
