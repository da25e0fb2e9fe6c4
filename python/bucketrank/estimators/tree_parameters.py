"""From what people pass as parameters of a tree to the numbers that its kernel takes."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from bucketrank._validation import as_real, as_whole, resolve_n_jobs

if TYPE_CHECKING:
    from bucketrank._core import _TreeOptions
    from bucketrank.estimators.forest import PartialLabelRankingForest
    from bucketrank.estimators.tree import PartialLabelRankingTree

CRITERIA = ("entropy", "disagreements", "distance")
SPLITTERS = ("best", "random", "equal_frequency", "equal_width")
MAX_SPLITS = 1000
MORE_THAN_ANY = 2**31
"""More rows than any data set has, and what every machine can count."""
ROUTINGS = ("hard", "soft")
STRENGTHS = {"path": 32.0, "m-estimate": 8.0}
"""Kinds of shrinkage and their usual strengths."""
_SEEDS = 2**31 - 1
_FRACTION = "a fraction above 0 and up to 1"


def tree_options(
    tree: PartialLabelRankingTree, shape: tuple[int, int], n_labels: int
) -> _TreeOptions:
    """Check all parameters of a tree and resolve fractions and names for X of this shape."""
    n_samples, n_features = shape
    return {
        "criterion": one_of(tree.criterion, "criterion", CRITERIA),
        "splitter": one_of(tree.splitter, "splitter", SPLITTERS),
        "max_splits": _max_splits(tree.max_splits),
        "max_depth": _max_depth(tree.max_depth),
        "min_samples_split": _min_samples_split(tree.min_samples_split, n_samples, n_labels),
        "min_samples_leaf": _min_samples_leaf(tree.min_samples_leaf, n_samples),
        "max_features": _max_features(tree.max_features, n_features),
        "seed": int(check_random_state(tree.random_state).randint(_SEEDS)),
        "n_jobs": resolve_n_jobs(tree.n_jobs),
        "soft": _routing(tree) == "soft",
    }


def forest_options(
    forest: PartialLabelRankingForest, shape: tuple[int, int], n_labels: int
) -> _TreeOptions:
    """Check the parameters that a forest has for its trees; the variant chooses the splitter of each tree."""
    n_samples, n_features = shape
    return {
        "criterion": "entropy",
        "splitter": "best",
        "max_splits": 2,
        "max_depth": _max_depth(forest.max_depth),
        "min_samples_split": _min_samples_split(forest.min_samples_split, n_samples, n_labels),
        "min_samples_leaf": _min_samples_leaf(forest.min_samples_leaf, n_samples),
        "max_features": _max_features(forest.max_features, n_features),
        "seed": int(check_random_state(forest.random_state).randint(_SEEDS)),
        "n_jobs": resolve_n_jobs(forest.n_jobs),
        "soft": False,
    }


def smoothing_of(tree: Any) -> tuple[str, float] | None:
    """Return the kind of shrinkage and its strength, or None where the rankings of a leaf are aggregated."""
    kind, strength = tree.shrinkage, tree.shrinkage_strength
    if kind is None:
        if strength is not None:
            raise ValueError(
                f"shrinkage_strength is {strength!r} without shrinkage; expected None, or a kind of shrinkage"
            )
        return ("none", 0.0) if tree.routing == "soft" else None
    kind = one_of(kind, "shrinkage", tuple(STRENGTHS))
    if strength is None:
        return kind, STRENGTHS[kind]
    number = as_real(strength, "shrinkage_strength")
    if not (0 <= number < math.inf) or (kind == "m-estimate" and number == 0):
        least = "above 0" if kind == "m-estimate" else "that is not negative"
        raise ValueError(f"shrinkage_strength is {number}; expected a finite number {least}")
    return kind, number


def _routing(tree: PartialLabelRankingTree) -> str:
    routing = one_of(tree.routing, "routing", ROUTINGS)
    if routing == "soft" and tree.splitter not in ("best", "random"):
        raise ValueError(
            f"routing is 'soft' with splitter {tree.splitter!r}; expected splitter 'best' or 'random', whose splits "
            "are binary"
        )
    return routing


def one_of(value: Any, name: str, known: tuple[str, ...]) -> str:
    """Return a string parameter, or raise when it is none of the known values."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; expected one of {', '.join(map(repr, known))}")
    if value not in known:
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, known))}")
    return value


def _at_least(value: Any, name: str, least: int, others: str = "") -> int:
    """Return a whole number that is not below the least one; `others` names what would be right besides."""
    number = as_whole(value, name, f"a whole number{others}")
    if number < least:
        raise ValueError(f"{name} is {number}; expected a whole number of at least {least}{others}")
    return min(number, MORE_THAN_ANY)


def _max_splits(value: Any) -> int:
    number = _at_least(value, "max_splits", 2)
    if number > MAX_SPLITS:
        raise ValueError(f"max_splits is {value}; expected at most {MAX_SPLITS}")
    return number


def _max_depth(value: Any) -> int | None:
    return None if value is None else _at_least(value, "max_depth", 1, " or None")


def _min_samples_split(value: Any, n_samples: int, n_labels: int) -> int:
    expected = "'paper', a whole number of rows or a fraction"
    if isinstance(value, str) and value == "paper":
        return 2 * n_labels
    if isinstance(value, str):
        raise ValueError(f"min_samples_split is {value!r}; expected {expected}")
    if _is_whole(value):
        return _at_least(value, "min_samples_split", 2, f", or {_FRACTION}, or 'paper'")
    return max(2, _fraction(value, "min_samples_split", n_samples, expected))


def _min_samples_leaf(value: Any, n_samples: int) -> int:
    expected = "a whole number of rows or a fraction"
    if _is_whole(value):
        return _at_least(value, "min_samples_leaf", 1, f", or {_FRACTION}")
    return _fraction(value, "min_samples_leaf", n_samples, expected)


def _max_features(value: Any, n_features: int) -> int | None:
    expected = "'sqrt', 'log2', a whole number of features, a fraction or None"
    if value is None:
        return None
    if isinstance(value, str):
        if value not in ("sqrt", "log2"):
            raise ValueError(f"max_features is {value!r}; expected {expected}")
        return max(1, int(math.sqrt(n_features) if value == "sqrt" else math.log2(n_features)))
    if _is_whole(value):
        others = f", or {_FRACTION}, or 'sqrt', 'log2' or None"
        number = _at_least(value, "max_features", 1, others)
        if number > n_features:
            raise ValueError(
                f"max_features is {number}; expected at most the {n_features} features of X"
            )
        return number
    share = _share(value, "max_features", expected)
    return max(1, int(share * n_features))


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def _fraction(value: Any, name: str, n_samples: int, expected: str) -> int:
    """Return the number of rows that a fraction stands for, rounded up as scikit-learn does."""
    return math.ceil(_share(value, name, expected) * n_samples)


def _share(value: Any, name: str, expected: str) -> float:
    try:
        share = as_real(value, name)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; expected {expected}") from None
    if not 0 < share <= 1:
        raise ValueError(f"{name} is {share}; expected {_FRACTION}")
    return share
