"""Exceptions of the package."""

from __future__ import annotations

__all__ = ["RankingError"]


class RankingError(ValueError):
    """Invalid ranking data: positions, labels or weights.

    Other invalid arguments raise a plain :class:`ValueError` or :class:`TypeError`.

    Parameters
    ----------
    message : str
        The message.
    row, label, found, reason : optional
        The attributes below.

    Attributes
    ----------
    row : int or None
        Index of the invalid ranking, from 0; None if the error does not concern a single row.
    label : int or None
        Index of the label (column) in that row, from 0; None if the error does not concern a single label.
    found : object
        The invalid value: a position, a weight, a count or a label name; None if not available.
    reason : str
        The message without row and label.

    Examples
    --------
    >>> from bucketrank import RankingError, aggregate
    >>> try:
    ...     aggregate([[1, 2, 3], [1, 0, 2]])
    ... except RankingError as error:
    ...     print(error)
    ...     print(error.row, error.label, error.found)
    row 1, label 1: position 0; positions start at 1: use NaN for a label that is not ranked, or add 1 to positions
    that start at 0
    1 1 0.0
    """

    def __init__(
        self,
        message: str,
        row: int | None = None,
        label: int | None = None,
        found: object = None,
        reason: str | None = None,
    ) -> None:
        super().__init__(message)
        self.row = row
        self.label = label
        self.found = found
        self.reason = message if reason is None else reason
