"""Parameters of trees and forests: types are checked here, sizes are resolved by the Rust core."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from bucketrank import _core
from bucketrank._validation import as_real, resolve_n_jobs

if TYPE_CHECKING:
    from bucketrank._core import _TreeOptions, _TreeSizes
    from bucketrank.estimators.forest import PartialLabelRankingForest
    from bucketrank.estimators.tree import PartialLabelRankingTree

CRITERIA = ("entropy", "disagreements", "distance")
SPLITTERS = ("best", "random", "equal_frequency", "equal_width")
ROUTINGS = ("hard", "soft")
_STRENGTHS = _core.DEFAULTS["shrinkage"]
"""Default strength of each kind of shrinkage."""
_SEED_LIMIT = 2**31 - 1
"""Seeds are drawn below this number."""


def training_shape(
    values: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> tuple[int, int]:
    """Return the numbers of rows with a positive weight and of features; the core reports invalid weights."""
    rows = len(values) if weights is None else max(1, int((weights > 0).sum()))
    return rows, values.shape[1]


def tree_options(
    tree: PartialLabelRankingTree, shape: tuple[int, int], n_labels: int
) -> _TreeOptions:
    """Check all parameters of a tree; resolve fractions and names such as "sqrt" to counts for X of this shape."""
    return {
        "criterion": one_of(tree.criterion, "criterion", CRITERIA),
        "splitter": one_of(tree.splitter, "splitter", SPLITTERS),
        **_sizes(tree, tree.max_splits, (*shape, n_labels)),
        "seed": int(check_random_state(tree.random_state).randint(_SEED_LIMIT)),
        "n_jobs": resolve_n_jobs(tree.n_jobs),
        "soft": _check_routing(tree) == "soft",
    }


def forest_options(
    forest: PartialLabelRankingForest, shape: tuple[int, int], n_labels: int
) -> _TreeOptions:
    """Check the tree parameters of a forest; the core chooses splitters by the variant of the forest."""
    return {
        "criterion": "entropy",
        "splitter": "best",
        **_sizes(forest, 2, (*shape, n_labels)),
        "seed": int(check_random_state(forest.random_state).randint(_SEED_LIMIT)),
        "n_jobs": resolve_n_jobs(forest.n_jobs),
        "soft": False,
    }


def _sizes(
    estimator: PartialLabelRankingTree | PartialLabelRankingForest,
    max_splits: Any,
    shape: tuple[int, int, int],
) -> _TreeSizes:
    """Resolve the size limits of a tree to counts; `shape` holds the numbers of rows, features and labels."""
    names = ("max_depth", "min_samples_split", "min_samples_leaf", "max_features")
    sizes = {name: _to_int_or_float(getattr(estimator, name), name) for name in names}
    sizes["max_splits"] = _to_int_or_float(max_splits, "max_splits")
    return _core.resolve_tree_sizes(sizes, *shape)


def _to_int_or_float(value: Any, name: str) -> Any:
    """Convert a number of any type to an int or a float; other values, including booleans, are returned unchanged."""
    # The usual values first, because checks against abstract number types take 2 µs.
    if value is None or type(value) is int or type(value) is str:
        return value
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        return value
    return int(value) if isinstance(value, numbers.Integral) else as_real(value, name)


def smoothing_of(tree: Any) -> tuple[str, float] | None:
    """Return the kind and the strength of the smoothing of leaves: shrinkage, or averages by soft routing.

    The kind is "none" for soft routing without shrinkage. The result is None if there is neither.
    """
    kind, strength = tree.shrinkage, tree.shrinkage_strength
    if kind is None:
        if strength is not None:
            raise ValueError(
                f"shrinkage_strength is {strength!r} without shrinkage; expected None, or a value of shrinkage as well"
            )
        return ("none", 0.0) if tree.routing == "soft" else None
    kind = one_of(kind, "shrinkage", tuple(_STRENGTHS))
    if strength is None:
        return kind, _STRENGTHS[kind]
    number = as_real(strength, "shrinkage_strength")
    if not (0 <= number < math.inf) or (kind == "m-estimate" and number == 0):
        least = "above 0" if kind == "m-estimate" else "that is not negative"
        raise ValueError(f"shrinkage_strength is {number}; expected a finite number {least}")
    return kind, number


def _check_routing(tree: PartialLabelRankingTree) -> str:
    routing = one_of(tree.routing, "routing", ROUTINGS)
    if routing == "soft" and tree.splitter not in ("best", "random"):
        raise ValueError(
            f"routing is 'soft' with splitter {tree.splitter!r}; expected splitter 'best' or 'random', whose splits "
            "are binary"
        )
    return routing


def one_of(value: Any, name: str, known: tuple[str, ...]) -> str:
    """Return a string parameter, or raise if it is not one of the known values."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; expected one of {', '.join(map(repr, known))}")
    if value not in known:
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, known))}")
    return value
