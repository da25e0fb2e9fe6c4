"""Generator of comparisons from a model with known parameters.

The larger the difference of the utilities of two labels, the more often the label with the larger utility wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._validation import as_real, as_seed, at_least
from bucketrank.comparisons import Comparisons, from_comparisons

__all__ = ["Battles", "make_battles"]


@dataclass(frozen=True, eq=False)
class Battles:
    """Generated comparisons, and the parameters they were drawn with.

    Attributes
    ----------
    comparisons : Comparisons
        The comparisons.
    utilities : ndarray of shape (n_labels,)
        True utilities of the labels; labels of the same tier have equal utilities.
    tiers : ndarray of shape (n_labels,)
        True positions of the labels: labels of equal utility are tied.
    order_effect : float
        True advantage of the label shown first.
    covariate_effects : ndarray of shape (n_covariates,)
        True effects of the covariates.

    Examples
    --------
    >>> from bucketrank.datasets import make_battles
    >>> battles = make_battles(50, 3, random_state=0)
    >>> len(battles.comparisons)
    50
    """

    comparisons: Comparisons
    utilities: NDArray[np.float64]
    tiers: NDArray[np.int64]
    order_effect: float
    covariate_effects: NDArray[np.float64]


def make_battles(
    n_comparisons: int = 10_000,
    n_labels: int = 12,
    *,
    n_tiers: int | None = None,
    spread: float = 2.0,
    ties: float = 0.2,
    order_effect: float = 0.0,
    covariate_effects: Any = (),
    n_groups: int | None = None,
    group_spread: float = 0.5,
    random_state: int = 0,
) -> Battles:
    """Generate comparisons of two labels from Davidson's model with known utilities.

    Parameters
    ----------
    n_comparisons, n_labels : int
        Size of the data; at least 1 and 2. Each comparison has two random labels in a random order.
    n_tiers : int, optional
        Number of different utilities, which are equally spaced; by default all labels differ.
    spread : float, default 2
        Difference of the largest and the smallest utility.
    ties : float, default 0.2
        Probability of a tie of two labels of equal utility; at least 0 and below 1.
    order_effect : float, default 0
        Added to the utility of the label shown first.
    covariate_effects : array-like of shape (n_covariates,), optional
        Effects of standard normal covariates.
    n_groups : int, optional
        Number of groups; by default there are none. Each group has utilities of its own around the true ones, so that
        its comparisons depend on each other.
    group_spread : float, default 0.5
        Standard deviation of the utilities of groups around the true ones.
    random_state : int, default 0
        Seed of the random numbers.

    Returns
    -------
    Battles

    Examples
    --------
    >>> battles = make_battles(500, n_labels=4, n_tiers=2, order_effect=0.3, n_groups=20)
    >>> battles.comparisons
    Comparisons(500 rows, 4 labels, 20 groups)
    >>> battles.tiers
    array([1, 1, 2, 2])
    """
    rows, labels = at_least(n_comparisons, "n_comparisons", 1), at_least(n_labels, "n_labels", 2)
    tier_count = labels if n_tiers is None else at_least(n_tiers, "n_tiers", 1)
    if tier_count > labels:
        raise ValueError(f"n_tiers is {tier_count}; expected at most n_labels={labels}")
    width, tie_share = _finite(spread, "spread"), as_real(ties, "ties")
    if not 0 <= tie_share < 1:
        raise ValueError(f"ties is {tie_share}; expected a share of at least 0 and below 1")
    rng = np.random.default_rng(as_seed(random_state, "random_state"))
    effects = np.array(covariate_effects, dtype=np.float64).reshape(-1)
    if not np.isfinite(effects).all():
        raise ValueError(f"covariate_effects is {effects.tolist()}; expected finite numbers")
    tiers = 1 + np.arange(labels) * tier_count // labels
    utilities = (
        width * (0.5 - (tiers - 1) / max(tier_count - 1, 1)) if tier_count > 1 else np.zeros(labels)
    )
    first = rng.integers(0, labels, rows)
    second = (first + rng.integers(1, labels, rows)) % labels
    covariates = rng.standard_normal((rows, len(effects)))
    gap = (
        utilities[first]
        - utilities[second]
        + _finite(order_effect, "order_effect")
        + covariates @ effects
    )
    group = None
    if n_groups is not None:
        groups = at_least(n_groups, "n_groups", 1)
        group = rng.integers(0, groups, rows)
        deviations = _finite(group_spread, "group_spread") * rng.standard_normal((groups, labels))
        gap += deviations[group, first] - deviations[group, second]
    names = np.array([f"m{label:0{len(str(labels - 1))}d}" for label in range(labels)])
    comparisons = from_comparisons(
        names[first],
        names[second],
        _draw_outcomes(rng, gap, tie_share),
        group=group,
        covariates=covariates if len(effects) else None,
    )
    if len(comparisons.labels) < labels:
        raise ValueError(
            f"n_comparisons is {rows}: only {len(comparisons.labels)} of {labels} labels are compared; expected more"
        )
    return Battles(comparisons, utilities, tiers, float(order_effect), effects)


def _draw_outcomes(
    rng: np.random.Generator, gap: NDArray[np.float64], ties: float
) -> NDArray[np.str_]:
    """Draw outcomes: first, tie and second have the weights e^(gap/2), a constant and e^(-gap/2)."""
    # Labels of equal utility have the weights 1, w and 1: a tie has the probability w / (2 + w).
    tied = 2 * ties / (1 - ties)
    # Beyond these limits the outcome is certain, and the weights would overflow.
    half = np.clip(gap / 2, -700, 700)
    before, after = np.exp(half), np.exp(-half)
    draws = rng.random(len(gap)) * (before + tied + after)
    codes = np.where(draws < before, 0, np.where(draws < before + tied, 1, 2))
    return np.array(["first", "tie", "second"])[codes]


def _finite(value: Any, name: str) -> float:
    number = as_real(value, name)
    if not np.isfinite(number):
        raise ValueError(f"{name} is {number}; expected a finite number")
    return number
