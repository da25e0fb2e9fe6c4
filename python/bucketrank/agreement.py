"""Agreement of rankings with ties: Kendall's distance, tau-b, rank-biased overlap and Kendall's W."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank import _core
from bucketrank._validation import as_flag, as_positions, as_real, as_weights
from bucketrank.metrics import checked_pair, ignores_missing, mean_of_defined

__all__ = [
    "kendall_distance",
    "kendall_distance_samples",
    "kendall_distance_scorer",
    "kendall_w",
    "rbo",
    "rbo_samples",
    "rbo_scorer",
    "tau_b",
    "tau_b_samples",
    "tau_b_scorer",
]

Missing = Literal["error", "ignore"]

kendall_distance_scorer: Callable[..., float]
"""Scorer for scikit-learn: the negative of ``kendall_distance(..., normalised=True, missing="ignore")``."""

tau_b_scorer: Callable[..., float]
"""Scorer for scikit-learn: ``tau_b(..., missing="ignore")``."""

rbo_scorer: Callable[..., float]
"""Scorer for scikit-learn: ``rbo(..., ties="b", missing="ignore")``."""


def kendall_distance(
    Y_true: Any,
    Y_pred: Any,
    sample_weight: ArrayLike | None = None,
    *,
    penalty: float = 0.5,
    normalised: bool = False,
    missing: Missing = "error",
) -> float:
    """Mean Kendall distance with ties: K^(p) of Fagin et al., where p is `penalty`.

    Per pair of labels the distance is 1 if the rankings order it in opposite ways, and `penalty` if it is tied in one
    of them only.

    Parameters
    ----------
    Y_true, Y_pred : array-like or DataFrame of shape (n_samples, n_labels)
        Positions.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights of the rows; by default all are equal.
    penalty : float, default 0.5
        From 0 to 1; from 0.5 on the distance is a metric.
    normalised : bool, default False
        Whether to divide by the number of compared pairs, which gives a number from 0 to 1.
    missing : {"error", "ignore"}, default "error"
        ``"ignore"`` compares only the pairs of labels that both rankings rank, and leaves rows with fewer than two such
        labels out of the mean.

    Returns
    -------
    float

    See Also
    --------
    Kemeny : The bucket order with the smallest total distance.

    References
    ----------
    R. Fagin, R. Kumar, M. Mahdian, D. Sivakumar and E. Vee, "Comparing partial rankings", SIAM Journal on Discrete
    Mathematics 20 (2006).

    Examples
    --------
    >>> kendall_distance([[1, 2, 3]], [[2, 1, 2]])  # one pair reversed, one tied
    1.5
    >>> kendall_distance([[1, 2, 3]], [[3, 2, 1]], normalised=True)
    1.0
    """
    values = kendall_distance_samples(
        Y_true, Y_pred, penalty=penalty, normalised=normalised, missing=missing
    )
    return mean_of_defined(values, sample_weight)


def kendall_distance_samples(
    Y_true: Any,
    Y_pred: Any,
    *,
    penalty: float = 0.5,
    normalised: bool = False,
    missing: Missing = "error",
) -> NDArray[np.float64]:
    """Kendall distance of each row; :func:`kendall_distance` is the mean.

    Parameters
    ----------
    Y_true, Y_pred, penalty, normalised, missing
        As in :func:`kendall_distance`. The distance of a row is NaN if its two rankings have fewer than two labels in
        common.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> kendall_distance_samples([[1, 2], [1, 2]], [[2, 1], [1, 1]])
    array([1. , 0.5])
    """
    weight = as_real(penalty, "penalty")
    if not 0 <= weight <= 1:
        raise ValueError(f"penalty is {weight}; expected a number from 0 to 1")
    divide = as_flag(normalised, "normalised")
    counts = _pair_counts(Y_true, Y_pred, missing)
    _, discordant, tied_in_true, tied_in_pred, _ = counts
    pairs = np.sum(counts, axis=0)
    distance = discordant + weight * (tied_in_true + tied_in_pred)
    return _divide(distance, pairs if divide else np.minimum(pairs, 1.0))


def tau_b(
    Y_true: Any,
    Y_pred: Any,
    sample_weight: ArrayLike | None = None,
    *,
    missing: Missing = "error",
) -> float:
    r"""Mean Kendall rank correlation :math:`\tau_b`, which corrects for ties.

    Concordant minus discordant pairs, divided by the geometric mean of the numbers of pairs that each ranking does not
    tie. Unlike :func:`tau_x` it treats a tie as lack of information, and it is undefined when a ranking
    ties all labels.

    Parameters
    ----------
    Y_true, Y_pred : array-like or DataFrame of shape (n_samples, n_labels)
        Positions.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights of the rows; by default all are equal.
    missing : {"error", "ignore"}, default "error"
        ``"ignore"`` compares only the pairs of labels that both rankings rank.

    Returns
    -------
    float
        From -1 to 1; rows on which it is undefined are left out of the mean.

    References
    ----------
    M. G. Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945).

    Examples
    --------
    >>> round(tau_b([[1, 2, 3, 3]], [[1, 2, 2, 3]]), 4)
    0.8
    """
    return mean_of_defined(tau_b_samples(Y_true, Y_pred, missing=missing), sample_weight)


def tau_b_samples(Y_true: Any, Y_pred: Any, *, missing: Missing = "error") -> NDArray[np.float64]:
    r""":math:`\tau_b` of each row; NaN where it is undefined.

    Parameters
    ----------
    Y_true, Y_pred, missing
        As in :func:`tau_b`.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> tau_b_samples([[1, 2], [1, 1]], [[2, 1], [1, 2]])
    array([-1., nan])
    """
    concordant, discordant, tied_in_true, tied_in_pred, _ = _pair_counts(Y_true, Y_pred, missing)
    strict = concordant + discordant
    # Root of the number of pairs that are not tied in `Y_pred`, times the same for `Y_true`.
    scale = np.sqrt(strict + tied_in_true) * np.sqrt(strict + tied_in_pred)
    return _divide(concordant - discordant, scale)


def rbo(
    Y_true: Any,
    Y_pred: Any,
    sample_weight: ArrayLike | None = None,
    *,
    p: float = 0.9,
    ties: Literal["a", "b", "w"] = "b",
    missing: Missing = "error",
) -> float:
    r"""Mean rank-biased overlap: agreement that weighs the first places most.

    :math:`(1 - p) \sum_d p^{d-1} A_d`, where :math:`A_d` is the agreement of the first d labels. Both rankings rank
    the same labels, so below the last label the agreement is 1.

    Parameters
    ----------
    Y_true, Y_pred : array-like or DataFrame of shape (n_samples, n_labels)
        Positions.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights of the rows; by default all are equal.
    p : float, default 0.9
        Between 0 and 1; the smaller, the more the first places weigh. The first d labels have about the weight
        :math:`1 - p^d`.
    ties : {"a", "b", "w"}, default "b"
        ``"w"``: tied labels are equally good, and a bucket that begins among the first d places counts as a whole.
        ``"a"``: tied labels have an unknown order; the mean over all orders. ``"b"``: the same, corrected so that equal
        rankings have overlap 1.
    missing : {"error", "ignore"}, default "error"
        ``"ignore"`` compares only the labels that both rankings rank, and leaves rows with fewer than two such labels
        out of the mean.

    Returns
    -------
    float
        From 0 to 1 (equal rankings, unless ties="a" and there are ties).

    References
    ----------
    W. Webber, A. Moffat and J. Zobel, "A similarity measure for indefinite rankings", ACM Transactions on Information
    Systems 28 (2010).
    M. Corsi and J. Urbano, "The treatment of ties in rank-biased overlap", SIGIR 2024.

    Examples
    --------
    >>> rbo([[1, 2, 3]], [[1, 1, 2]], p=0.5, ties="a")
    0.75
    >>> rbo([[1, 1, 2]], [[1, 1, 2]])
    1.0
    """
    values = rbo_samples(Y_true, Y_pred, p=p, ties=ties, missing=missing)
    return mean_of_defined(values, sample_weight)


def rbo_samples(
    Y_true: Any,
    Y_pred: Any,
    *,
    p: float = 0.9,
    ties: Literal["a", "b", "w"] = "b",
    missing: Missing = "error",
) -> NDArray[np.float64]:
    """Rank-biased overlap of each row; :func:`rbo` is the mean.

    Parameters
    ----------
    Y_true, Y_pred, p, ties, missing
        As in :func:`rbo`; the rows that ``"ignore"`` leaves out are NaN.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> rbo_samples([[1, 2], [1, 2]], [[1, 2], [2, 1]], p=0.5)
    array([1. , 0.5])
    """
    if ties not in ("a", "b", "w"):
        raise ValueError(f"ties is {ties!r}; expected 'a', 'b' or 'w'")
    persistence = as_real(p, "p")
    if not 0 < persistence < 1:
        raise ValueError(f"p is {persistence}; expected a number between 0 and 1")
    require_complete = not ignores_missing(missing)
    return _core.rank_biased_overlaps(
        *checked_pair(Y_true, Y_pred), require_complete, persistence, ties
    )


def kendall_w(
    Y: Any, sample_weight: ArrayLike | None = None, *, missing: Missing = "error"
) -> float:
    """Kendall's coefficient of concordance W: how much many rankings agree with each other, corrected for ties.

    Parameters
    ----------
    Y : array-like or DataFrame of shape (n_rankings, n_labels)
        Positions.
    sample_weight : array-like of shape (n_rankings,), optional
        Non-negative weights; weight k equals k copies of the row.
    missing : {"error", "ignore"}, default "error"
        ``"ignore"`` compares only the labels that all rankings of positive weight rank.

    Returns
    -------
    float
        From 0 (no agreement) to 1 (all rankings are equal).

    Raises
    ------
    ValueError
        If every ranking ties all labels, so that W is undefined.

    References
    ----------
    M. G. Kendall and B. Babington Smith, "The problem of m rankings", Annals of Mathematical Statistics 10 (1939).

    Examples
    --------
    >>> kendall_w([[1, 2, 3], [1, 2, 3], [1, 2, 3]])
    1.0
    >>> round(kendall_w([[1, 2, 3], [2, 1, 3], [3, 1, 2]]), 4)
    0.4444
    """
    array = as_positions(Y)
    positions = _core.parse_positions(array)
    weights = as_weights(sample_weight)
    if weights is None:
        weights = np.ones(len(positions))
    weights = _core.check_weights(weights, len(positions))
    if not ignores_missing(missing):
        _require_complete(positions, weights)
    positions, weights = positions[weights > 0], weights[weights > 0]
    if ignores_missing(missing):
        positions = positions[:, (positions > 0).all(axis=0)]
        if positions.shape[1] < 2:
            raise ValueError(
                f"the number of labels that all rankings rank is {positions.shape[1]}; expected at least 2 to compare"
            )
    ranks, tied = _mean_ranks(positions)
    n = positions.shape[1]
    # Weights are scaled first: the squares of large ones would overflow.
    weights = weights / weights.sum()
    sums = weights @ ranks
    spread = 12 * float(((sums - sums.mean()) ** 2).sum())
    scale = n**3 - n - float(weights @ tied)
    if scale <= 0:
        raise ValueError(
            "every ranking ties all labels, so W is undefined; expected a strict preference"
        )
    return float(spread / scale)


def _require_complete(positions: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
    """Raise for a missing label in a ranking of positive weight."""
    is_missing = (positions == 0) & (weights > 0)[:, np.newaxis]
    if is_missing.any():
        row, label = np.argwhere(is_missing)[0]
        raise ValueError(
            f"Y, row {row}, label {label}: position missing (NaN); expected complete rankings, or "
            'missing="ignore" to compare the labels that all rankings rank'
        )


def _mean_ranks(positions: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean rank of each label in its row, and per row the sum of t**3 - t over its buckets of t labels."""
    rows, n = positions.shape
    # Positions of a subset of labels have gaps; the size of a bucket at an absent position is 0.
    last = max(int(positions.max()), n)
    bucket_of = positions + (last + 1) * np.arange(rows)[:, np.newaxis]
    sizes = np.bincount(bucket_of.ravel(), minlength=rows * (last + 1)).reshape(rows, last + 1)
    up_to = np.cumsum(sizes, axis=1)
    own_size = np.take_along_axis(sizes, positions, axis=1)
    ranks = np.take_along_axis(up_to, positions, axis=1) - (own_size - 1) / 2
    return ranks, (sizes.astype(np.float64) ** 3 - sizes).sum(axis=1)


def _pair_counts(Y_true: Any, Y_pred: Any, missing: Any) -> tuple[NDArray[np.float64], ...]:
    """Return counts of pairs per row: concordant, discordant, tied in `Y_true` only, in `Y_pred` only, in both."""
    require_complete = not ignores_missing(missing)
    table = _core.pair_agreements(*checked_pair(Y_true, Y_pred), require_complete)
    return tuple(table.T.astype(np.float64))


def _divide(values: NDArray[np.float64], divisors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quotients, NaN where the divisor is 0."""
    result = np.full(len(values), np.nan)
    np.divide(values, divisors, out=result, where=divisors > 0)
    return result


def __getattr__(name: str) -> Any:
    """Create a scorer on first access: only the scorers need scikit-learn, whose import is slow."""
    scorers: dict[str, tuple[Callable[..., float], dict[str, Any]]] = {
        "kendall_distance_scorer": (
            kendall_distance,
            {"greater_is_better": False, "normalised": True},
        ),
        "tau_b_scorer": (tau_b, {}),
        "rbo_scorer": (rbo, {}),
    }
    if name not in scorers:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.metrics import make_scorer

    metric, options = scorers[name]
    scorer = globals()[name] = make_scorer(metric, missing="ignore", **options)
    return scorer
