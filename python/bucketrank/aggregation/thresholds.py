"""Aggregators with a threshold for ties: Borda, Copeland and bucket pivot.

They use the pair order matrix, whose entry (u, v) is the share of rankings that place label u before label v, where
ties count half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bucketrank._validation import as_real
from bucketrank.aggregation.base import Aggregator, Spec

__all__ = ["Borda", "BucketPivot", "Copeland", "WithBeta"]

_FEW_ROWS = 200
"""Below this many rows, the scores of neighbouring thresholds do not differ reliably."""


@dataclass(frozen=True)
class WithBeta(Aggregator):
    """An aggregator with a threshold for ties, `beta`. With ``beta="auto"`` a tree chooses it in fit.

    Examples
    --------
    >>> from bucketrank import BucketPivot
    >>> from bucketrank.aggregation import WithBeta
    >>> isinstance(BucketPivot(), WithBeta), BucketPivot().beta
    (True, 0.25)
    """

    beta: float | str

    _method: ClassVar[str]
    _default_beta: ClassVar[float]
    _candidates: ClassVar[tuple[float, ...]] = tuple(round(0.05 * step, 2) for step in range(11))
    """Thresholds that a tree tries for beta "auto"; by default for methods that tie all labels at 0.5 and above."""

    def __post_init__(self) -> None:
        if isinstance(self.beta, str):
            if self.beta != "auto":
                raise TypeError(f"beta is {self.beta!r}; expected a number or 'auto'")
            return
        beta = as_real(self.beta, "beta")
        if not 0 <= beta < np.inf:
            raise ValueError(f"beta is {beta}; expected a finite number that is not negative")
        object.__setattr__(self, "beta", beta)

    def _candidate_betas(self, n_rows: int, n_labels: int) -> list[float]:
        """Return the thresholds that a tree tries on `n_rows` rankings of `n_labels` labels.

        Of the thresholds that tie all labels, only the smallest is kept. On few rows, every second threshold is tried,
        including the default.
        """
        candidates = self._candidates
        if n_rows < _FEW_ROWS:
            candidates = candidates[candidates.index(self._default_beta) % 2 :: 2]
        limit = self._all_tied_from(n_labels)
        all_tied = [beta for beta in candidates if beta >= limit]
        return [beta for beta in candidates if beta < limit] + all_tied[:1]

    @staticmethod
    def _all_tied_from(_n_labels: int) -> float:
        """Return a threshold that ties all labels on any data."""
        return 0.5

    def _spec(self) -> Spec:
        if isinstance(self.beta, str):
            raise ValueError(
                f"{self!r} has beta 'auto', a threshold for ties that only a tree chooses; expected a number here"
            )
        return self._method, self.beta


@dataclass(frozen=True)
class Borda(WithBeta):
    """Labels ordered by the sums of the rows of the pair order matrix, without the diagonal.

    A label joins the bucket of the label before it when their scores differ by at most `beta`.

    Parameters
    ----------
    beta : float or "auto", default 0.9
        0 gives the classical method, in which only equal scores are tied. With "auto" a tree chooses it in fit, by
        cross-validation on the training data.

    Examples
    --------
    >>> Borda(beta=0.5).aggregate([[1, 2, 3], [1, 3, 2], [2, 1, 3]])
    array([1, 2, 3])
    >>> Borda().aggregate([[1, 2, 3], [1, 3, 2], [2, 1, 3]])
    array([1, 1, 1])
    """

    beta: float | str = 0.9

    _method: ClassVar[str] = "borda"
    _default_beta: ClassVar[float] = 0.9
    _candidates: ClassVar[tuple[float, ...]] = (
        *(round(0.1 * step, 1) for step in range(21)),
        *(2.5, 3.0, 4.0, 6.0, 10.0),
    )

    @staticmethod
    def _all_tied_from(n_labels: int) -> float:
        # Scores are between 0 and the number of other labels.
        return n_labels - 1


@dataclass(frozen=True)
class Copeland(WithBeta):
    """Labels ordered by their number of won comparisons; a draw counts half.

    A label wins against another when its share of rankings before the other, ties counting half, is above 0.5 + `beta`,
    and draws when this share is within `beta` of 0.5; labels of equal score are tied.

    Parameters
    ----------
    beta : float or "auto", default 0.4
        0 gives the classical method; at 0.5 and above all labels are tied. With "auto" a tree chooses it in fit, by
        cross-validation on the training data.

    Examples
    --------
    >>> Copeland(beta=0).aggregate([[1, 2, 3], [1, 3, 2], [2, 1, 3]])
    array([1, 2, 3])
    """

    beta: float | str = 0.4

    _method: ClassVar[str] = "copeland"
    _default_beta: ClassVar[float] = 0.4


@dataclass(frozen=True)
class BucketPivot(WithBeta):
    """Labels grouped into buckets around pivots, the labels that are easiest to place (bucket pivot algorithm).

    The label of least indecision, whose shares in the pair order matrix are closest to 0, 0.5 or 1, becomes the pivot
    and opens a bucket. Labels whose mean share against the bucket is within 0.5 ± `beta` join it. The others go before
    or after it, are compared with the bucket once more when it has grown, and are then partitioned in the same way. If
    several pivots are equally good, the result depends on the order of the labels.

    Parameters
    ----------
    beta : float or "auto", default 0.25
        Largest distance of a share from 0.5 for a tie. With "auto" a tree chooses it in fit, by cross-validation on the
        training data.

    References
    ----------
    J. A. Aledo, J. A. Gámez and A. Rosete, "Utopia in the solution of the bucket order problem", Decision Support
    Systems 97 (2017).

    Examples
    --------
    >>> BucketPivot().aggregate([[1, 2, 2], [1, 2, 3], [1, 3, 2]])
    array([1, 2, 2])
    """

    beta: float | str = 0.25

    _method: ClassVar[str] = "bucket_pivot"
    _default_beta: ClassVar[float] = 0.25
