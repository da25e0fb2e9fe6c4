"""Rounding of numbers to their printed values, so that comparisons agree with printed tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._validation import as_whole

_MOST_DECIMALS = 17
"""Largest number of decimals: a float has at most 17 significant digits."""


def as_printed(values: Any, decimals: int = 3) -> NDArray[np.float64]:
    """Round to the values that ``format`` prints; NumPy rounds some halves differently.

    Examples
    --------
    >>> as_printed([0.0005, 0.7005, -0.0001]).tolist()
    [0.001, 0.701, 0.0]
    """
    array = np.asarray(values, dtype=np.float64)
    texts = (f"{value:.{decimals}f}" for value in array.ravel().tolist())
    # Adding 0 turns -0 into 0.
    return np.array([float(text) for text in texts]).reshape(array.shape) + 0.0


def as_decimals(decimals: Any) -> int:
    """Return a number of decimals to round to."""
    number = as_whole(decimals, "decimals")
    if not 0 <= number <= _MOST_DECIMALS:
        raise ValueError(
            f"decimals is {number}; expected a whole number from 0 to {_MOST_DECIMALS}"
        )
    return number


def three_digits(value: float) -> str:
    """Format a number with three significant digits.

    Examples
    --------
    >>> three_digits(0.00012345), three_digits(1.2345), three_digits(1234.5)
    ('0.000123', '1.23', '1234')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = 2 - math.floor(math.log10(abs(value)))
    return f"{value:.{max(decimals, 0)}f}" if decimals <= 9 else f"{value:.2e}"
