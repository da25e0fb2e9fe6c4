"""Small pieces of sentences."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str]) -> str:
    """Join names as people do.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def percent(share: float) -> str:
    """Write a share.

    Examples
    --------
    >>> percent(0.3)
    '30 %'
    """
    return f"{100 * share:g} %"


def counted(number: int, noun: str) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> counted(1, "dataset"), counted(2, "dataset")
    ('1 dataset', '2 datasets')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"
