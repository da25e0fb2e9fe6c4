"""Outcomes of comparisons: their codes, and the spellings by which they are read."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank.comparisons.names import factorise

__all__ = ["FIRST", "OUTCOME_NAMES", "SECOND", "TIE", "read_outcomes"]

FIRST, TIE, SECOND = 0, 1, 2
"""Codes of the outcomes."""

OUTCOME_NAMES = ("first", "tie", "second")
"""Names of the outcomes, in the order of their codes."""

_SPELLINGS = {
    FIRST: ("first", "model_a", "a", "left", "x", "1"),
    TIE: ("tie", "draw", "tie (bothbad)", "tie (both bad)", "both_bad", "bothbad", "0.5"),
    SECOND: ("second", "model_b", "b", "right", "y", "0"),
}
"""Known spellings in lower case; x, y and draw are the names of ``Winner`` in the package evalica."""

_CODE_OF_SPELLING = {text: code for code, texts in _SPELLINGS.items() for text in texts}
_CODE_OF_NUMBER: dict[float, int] = {1: FIRST, 0.5: TIE, 0: SECOND}


def read_outcomes(values: Any, outcomes: Mapping[Any, str] | None) -> NDArray[np.uint8]:
    """Return the code of each outcome; `outcomes` maps further values to names of outcomes."""
    given = _check_mapping(outcomes)
    if isinstance(values, (list, tuple)) and any(isinstance(value, Enum) for value in values):
        # NumPy would turn members of an IntEnum into plain numbers.
        values = [value.name if isinstance(value, Enum) else value for value in values]
    indices, distinct = factorise(values, "outcome", "an outcome")
    by_text = {_text(value): code for value, code in given.items()}
    codes = [_code(value, given, by_text) for value in distinct]
    if None in codes:
        unknown = codes.index(None)
        row = int(np.argmax(indices == unknown))
        raise ValueError(f"row {row}: outcome {distinct[unknown]!r:.60}; {_expected(outcomes)}")
    return np.array(codes, dtype=np.uint8)[indices]


def _code(value: Hashable, given: Mapping[Any, int], by_text: Mapping[str, int]) -> int | None:
    """Return the code of an outcome; None if it is unknown. `by_text` is `given` with its keys as text."""
    if value in given:
        return given[value]
    # An entry for 1 also applies to "1", and takes precedence over the known spelling "1".
    if _text(value) in by_text:
        return by_text[_text(value)]
    if isinstance(value, (bool, int, float)):
        return _CODE_OF_NUMBER.get(value)
    text = str(value).strip().lower()
    return _CODE_OF_SPELLING.get(text, {"1.0": FIRST, "0.0": SECOND}.get(text))


def _text(value: Any) -> str:
    """Return a value as text; whole numbers without a decimal point."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def _check_mapping(outcomes: Any) -> dict[Any, int]:
    """Return the codes of the user's own spellings."""
    if outcomes is None:
        return {}
    if not isinstance(outcomes, Mapping):
        raise TypeError(
            f"outcomes is {outcomes!r:.60}; expected a mapping from values of the data to "
            "'first', 'second' or 'tie'"
        )
    for value, name in outcomes.items():
        if name not in OUTCOME_NAMES:
            raise ValueError(
                f"outcomes maps {value!r:.60} to {name!r:.60}; expected 'first', 'second' or 'tie'"
            )
    return {value: OUTCOME_NAMES.index(name) for value, name in outcomes.items()}


def _expected(outcomes: Mapping[Any, str] | None) -> str:
    """Return the permitted values, for messages."""
    known = "; ".join(
        f"{name}: {', '.join(_SPELLINGS[code])}" for code, name in enumerate(OUTCOME_NAMES)
    )
    own = "" if outcomes is None else f"one of {list(outcomes)} or "
    return f"expected {own}a known spelling ({known}), or an entry for it in outcomes"
