"""Functions on arrays of rankings: how often labels precede each other, dense ranks, random omission of labels."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from bucketrank import _core
from bucketrank._phrases import pluralize
from bucketrank._validation import (
    as_number_array,
    as_positions,
    as_real,
    as_seed,
    as_weights,
    is_pandas,
    zeros_to_nan,
)

__all__ = ["drop_labels", "pair_order_matrix", "to_dense_ranks"]


def pair_order_matrix(Y: Any, sample_weight: ArrayLike | None = None) -> Any:
    """Share of the rankings that place one label before another, for all pairs of labels.

    ``C[u, v]`` is the weight of the rows that place u before v, plus half the weight of the rows that tie them, divided
    by the weight of the rows that rank both. It is 0.5 on the diagonal and for pairs that no row ranks.

    Parameters
    ----------
    Y : array-like or DataFrame of shape (n_rankings, n_labels)
        Positions; NaN for missing labels.
    sample_weight : array-like of shape (n_rankings,), optional
        Non-negative weights; weight k equals k copies of the row.

    Returns
    -------
    ndarray or DataFrame of shape (n_labels, n_labels)
        A DataFrame with label names on both sides when `Y` is a pandas DataFrame.

    Examples
    --------
    >>> pair_order_matrix([[1, 2, 2], [2, 1, 3]])
    array([[0.5 , 0.5 , 1.  ],
           [0.5 , 0.5 , 0.75],
           [0.  , 0.25, 0.5 ]])
    """
    matrix = _core.pair_order_matrix(as_positions(Y), as_weights(sample_weight))
    if is_pandas(Y):
        return type(Y)(matrix, index=Y.columns, columns=Y.columns)
    return matrix


def to_dense_ranks(values: Any) -> Any:
    """Rank each row of numbers densely: 1 for the smallest, equal numbers tied, no gaps.

    Parameters
    ----------
    values : array-like or DataFrame of shape (n_rankings, n_labels)
        Any numbers except ``-inf``, for example positions with gaps, or scores (pass ``-scores`` if large is good). NaN
        stays missing; ``+inf`` comes last.

    Returns
    -------
    ndarray or DataFrame of the same shape
        ``int64``, or ``float64`` with NaN where labels are missing.

    Examples
    --------
    >>> to_dense_ranks([[10, 40, 40, 70]])
    array([[1, 2, 2, 3]])
    >>> to_dense_ranks([[0.5, float("nan"), -1.0]])
    array([[ 2., nan,  1.]])
    """
    array = as_number_array(values, "values")
    if array.ndim != 2:
        raise ValueError(
            f"values has {pluralize(array.ndim, 'dimension')}, shape {array.shape}; "
            "expected 2-D: one row per ranking, one column per label"
        )
    return _like(values, zeros_to_nan(_core.to_dense_ranks(array)))


def drop_labels(Y: Any, fraction: float, seed: int) -> Any:
    """Drop labels at random, to simulate incomplete rankings.

    Each label of each row is dropped independently with probability `fraction`; the remaining labels of a row are
    ranked densely again. The same seed drops the same labels on every machine.

    Parameters
    ----------
    Y : array-like or DataFrame of shape (n_rankings, n_labels)
        Positions; NaN for missing labels.
    fraction : float
        Probability of dropping a label, from 0 to 1.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    ndarray or DataFrame of the same shape
        ``float64`` with NaN where labels are missing, or ``int64`` if no label is missing.

    Examples
    --------
    >>> drop_labels([[1, 2, 3, 4], [1, 1, 2, 3]], fraction=0.3, seed=2)
    array([[nan,  1., nan,  2.],
           [ 1.,  1.,  2.,  3.]])
    """
    dropped = _core.drop_labels(as_positions(Y), as_real(fraction, "fraction"), as_seed(seed))
    return _like(Y, zeros_to_nan(dropped))


def _like(original: Any, array: Any) -> Any:
    """Return `array` as a DataFrame with the index and columns of `original`, if that is a DataFrame."""
    if is_pandas(original):
        return type(original)(array, index=original.index, columns=original.columns)
    return array
