"""Names and types of the attributes that a loaded estimator needs, so that its methods can rely on them."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from bucketrank import _core
from bucketrank.aggregation.base import Aggregator

__all__ = ["check_attributes"]

_Check = Callable[[Any], bool]


def _of(*kinds: type) -> _Check:
    return lambda value: type(value) in kinds


def _array(dtype: type, dimensions: int) -> _Check:
    return lambda value: (
        type(value) is np.ndarray and value.dtype == dtype and value.ndim == dimensions
    )


def _is_aggregator(value: Any) -> bool:
    return isinstance(value, Aggregator)


def _is_smoothing(value: Any) -> bool:
    return value is None or (type(value) is tuple and [*map(type, value)] == [str, float])


def _is_hashes(value: Any) -> bool:
    return type(value) is list and [*map(type, value)] == [str, str, str]


def _is_output_config(value: Any) -> bool:
    return type(value) is dict and value.get("transform") in ("default", "pandas", "polars")


def _is_weights(value: Any) -> bool:
    return type(value) is dict and all(map(_of(float), value.values()))


def _is_components(value: Any) -> bool:
    return type(value) is dict and all(
        type(models) is list and {type(model).__name__ for model in models} <= {_COMPONENTS[name]}
        for name, models in value.items()
    )


_COMPONENTS = {
    "forest": "PartialLabelRankingForest",
    "booster": "PartialLabelRankingBooster",
    "linear": "PartialLabelRankingLinear",
}
_VECTOR, _MATRIX, _NAMES = _array(np.float64, 1), _array(np.float64, 2), _array(np.object_, 1)
_COMMON: dict[str, _Check] = {
    "aggregator_": _is_aggregator,
    "n_features_in_": _of(int),
    "n_labels_in_": _of(int),
    "label_names_in_": _NAMES,
}
_OPTIONAL: dict[str, _Check] = {
    "feature_names_in_": _NAMES,
    "_sklearn_output_config": _is_output_config,
    "oob_score_": _of(float),
    "coef_standard_error_": _MATRIX,
    "tie_coef_standard_error_": _MATRIX,
    "intercept_standard_error_": _VECTOR,
    "tie_intercept_standard_error_": _VECTOR,
}
_FITTED: dict[str, dict[str, _Check]] = {
    "PartialLabelRankingTree": {
        "tree_": _of(_core.Tree),
        "_smoothing": _is_smoothing,
        "_soft": _of(bool),
    },
    "PartialLabelRankingForest": {
        "forest_": _of(_core.Forest),
        "shrinkage_strength_": _of(float),
        "_seed": _of(int),
        "_n_training": _of(int),
        "_data": _is_hashes,
    },
    "PartialLabelRankingBooster": {
        "booster_": _of(_core.Booster),
        "rounds_": _of(int),
        "validation_scores_": _VECTOR,
    },
    "PartialLabelRankingLinear": {
        "model_": _of(_core.LinearModel),
        "coef_": _MATRIX,
        "tie_coef_": _MATRIX,
        "intercept_": _VECTOR,
        "tie_intercept_": _VECTOR,
        "mean_": _VECTOR,
        "scale_": _VECTOR,
        "n_iter_": _of(int),
        "converged_": _of(bool),
    },
    "PartialLabelRankingBaseline": {"_root": _of(_core.Tree), "_all_tied": _of(bool)},
    "PartialLabelRanker": {
        "components_": _is_components,
        "weights_": _is_weights,
        "rounds_": _of(int),
    },
}


def check_attributes(kind: Any, state: dict[str, Any]) -> None:
    """Raise ValueError unless the attributes are those of a fitted estimator of the class `kind`."""
    if kind.__name__ not in _FITTED:
        raise ValueError(f"{kind.__name__} is not an estimator that can be loaded")
    params = {
        name: _of_annotation(hint)
        for name, hint in typing.get_type_hints(kind.__init__).items()
        if name != "return"
    }
    required = {**_COMMON, **_FITTED[kind.__name__], **params}
    for name in required.keys() - state.keys():
        raise ValueError(f"{kind.__name__} has no attribute {name}")
    checks = {**_OPTIONAL, **required}
    for name, value in state.items():
        if name not in checks:
            raise ValueError(f"{kind.__name__} has an unexpected attribute {name}")
        if not checks[name](value):
            raise ValueError(f"{kind.__name__}: the attribute {name} is {value!r:.60}")
    _check_names(state, "label_names_in_", "n_labels_in_")
    if "feature_names_in_" in state:
        _check_names(state, "feature_names_in_", "n_features_in_")
    if state.get("weights_", {}).keys() - state.get("components_", {}).keys():
        raise ValueError(f"{kind.__name__} has weights of components that do not exist")


def _check_names(state: dict[str, Any], names: str, count: str) -> None:
    if len(state[names]) != state[count]:
        raise ValueError(f"{names} has {len(state[names])} names; expected {state[count]}")


def _of_annotation(hint: Any) -> _Check:
    """Return the check for a parameter with this annotation; an int is accepted for a float of the same value."""
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    kinds += (int,) if float in kinds else ()

    def accepts(value: Any) -> bool:
        is_whole = isinstance(value, float) and value.is_integer() and int in kinds
        return isinstance(value, kinds) or is_whole

    return accepts
