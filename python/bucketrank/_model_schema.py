"""Schemas of the fitted estimators: checks of the attributes that are loaded from a file.

A schema lists the fitted attributes with the values that they may have, and the relations between them. `check_state`
checks names, types, shapes and ranges before an estimator is built; `check_model` checks the relations afterwards.
"""

from __future__ import annotations

import math
import re
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bucketrank import _core
from bucketrank._validation import check_labels
from bucketrank.aggregation.base import Aggregator

__all__ = ["check_model", "check_state"]

_State = dict[str, Any]
_MAX_INT64 = 2**63 - 1


@dataclass(frozen=True)
class _Field:
    """The values that an attribute may have: in words, and as a test of the value and all attributes."""

    expected: str
    accepts: Callable[[Any, _State], bool]


@dataclass(frozen=True)
class _Schema:
    """Attributes of a fitted model, and the relations that must hold between them, by description."""

    required: dict[str, _Field]
    optional: dict[str, _Field] = field(default_factory=dict)
    relations: dict[str, Callable[[Any], bool]] = field(default_factory=dict)


_FLAG = _Field("True or False", lambda value, _: type(value) is bool)


def _whole(least: int, most: int = _MAX_INT64) -> _Field:
    return _Field(
        f"a whole number from {least} to {most}",
        lambda value, _: type(value) is int and least <= value <= most,
    )


def _real(expected: str, accepts: Callable[[float], bool]) -> _Field:
    return _Field(expected, lambda value, _: type(value) is float and accepts(value))


def _numbers(*axes: str) -> _Field:
    """Return the field of an array of floats; `axes` names, for each axis, the attribute that holds its length."""

    def accepts(value: Any, state: _State) -> bool:
        if type(value) is not np.ndarray or value.dtype != np.float64:
            return False
        return bool(value.shape == tuple(state[axis] for axis in axes))

    return _Field(f"an array of floats of shape ({', '.join(axes)})", accepts)


def _names(count: str, *, only_strings: bool = False) -> _Field:
    """Return the field of an array of names; `count` is the attribute that holds the number of names."""

    def accepts(value: Any, state: _State) -> bool:
        if not (type(value) is np.ndarray and value.dtype == object and value.ndim == 1):
            return False
        names = value.tolist()
        if len(names) != state[count]:
            return False
        if only_strings:
            return {*map(type, names)} <= {str}
        return len(check_labels(names)) == len(names)

    return _Field(f"an array of {count} names", accepts)


def _fitted(kind: Any, positive: str = "") -> _Field:
    """Return the field of a fitted core model of the estimator's shape, whose attribute `positive` is above 0."""

    def accepts(value: Any, state: _State) -> bool:
        shape = (state["n_features_in_"], state["n_labels_in_"])
        return (
            type(value) is kind
            and value.shape == shape
            and (not positive or getattr(value, positive) > 0)
        )

    return _Field(
        f"a fitted {kind.__name__} with n_features_in_ features and n_labels_in_ labels", accepts
    )


def _is_smoothing(value: Any, _: _State) -> bool:
    if value is None:
        return True
    if type(value) is not tuple or [*map(type, value)] != [str, float]:
        return False
    kind, strength = value
    if kind == "none":
        return bool(strength == 0)
    return kind in _core.DEFAULTS["shrinkage"] and (
        0 < strength < math.inf or (kind == "path" and strength == 0)
    )


def _is_choice_of_features(value: Any, _: _State) -> bool:
    if value is None or type(value) is str:
        return True
    if type(value) is np.ndarray and value.dtype != object:
        return bool(value.ndim == 1 and value.dtype.kind in "biuU")
    if type(value) not in (list, tuple, np.ndarray):
        return False
    kinds = {type(entry) for entry in value}
    return kinds <= {bool} or kinds <= {int, str}


_CATEGORICAL_FEATURES = _Field(
    "a string, None, or a list of names, indices or booleans", _is_choice_of_features
)


def _is_hashes(value: Any, _: _State) -> bool:
    return (
        type(value) is list
        and len(value) == 3
        and all(type(text) is str and re.fullmatch("[0-9a-f]{32}", text) for text in value)
    )


def _is_output_config(value: Any, _: _State) -> bool:
    return value in ({"transform": kind} for kind in ("default", "pandas", "polars"))


def _is_components(value: Any, state: _State) -> bool:
    sizes = ("n_features_in_", "n_labels_in_")
    return (
        type(value) is dict
        and value.keys() <= _COMPONENTS.keys()
        and all(
            type(models) is list
            and all(
                type(model).__name__ == _COMPONENTS[name]
                and all(getattr(model, size) == state[size] for size in sizes)
                for model in models
            )
            for name, models in value.items()
        )
    )


def _are_categories(value: Any, state: _State) -> bool:
    kinds = {str, bool, int, float}
    return type(value) is dict and all(
        type(feature) is int
        and 0 <= feature < state["n_features_in_"]
        and type(own) is list
        and len(own) <= 255
        and {*map(type, own)} <= kinds
        for feature, own in value.items()
    )


def _are_features(value: Any, state: _State) -> bool:
    is_vector = type(value) is np.ndarray and value.dtype == np.int64 and value.ndim == 1
    return is_vector and bool(((value >= 0) & (value < state["n_features_in_"])).all())


def _is_per_indicator(value: Any, state: _State) -> bool:
    if type(value) is not np.ndarray or value.dtype != np.float64:
        return False
    return bool(value.shape == (state["n_labels_in_"], len(state["missing_indicators_"])))


def _is_per_category(value: Any, state: _State) -> bool:
    if type(value) is not np.ndarray or value.dtype != np.float64:
        return False
    count = sum(len(own) for own in state["categories_"].values())
    return bool(value.shape == (state["n_labels_in_"], count))


def _is_weights(value: Any, state: _State) -> bool:
    """Whether there is one weight per component, and a positive weight only where there are models."""
    components = state["components_"]
    return (
        type(value) is dict
        and value.keys() == components.keys()
        and all(type(weight) is float and 0 <= weight <= 1 for weight in value.values())
        and any(value.values())
        and all(components[name] for name, weight in value.items() if weight > 0)
    )


def _is_log_weights(value: Any, state: _State) -> bool:
    """Whether a log-linear pool (a weighted geometric mean of components) has finite numbers, and weights from 0 on."""
    if value is None:
        return True
    if type(value) is not dict or value.keys() != {"order", "tie", "tie_offset", "share"}:
        return False
    pools = value["order"], value["tie"]
    if not all(type(pool) is dict and pool.keys() == _COMPONENTS.keys() for pool in pools):
        return False
    weights = [weight for pool in pools for weight in pool.values()]
    numbers = [*weights, value["tie_offset"], value["share"]]
    return (
        state["components_"].keys() == _COMPONENTS.keys()
        and all(type(number) is float and math.isfinite(number) for number in numbers)
        and min(weights) >= 0
        and 0 <= value["share"] <= 1
    )


_COMPONENTS = {
    "forest": "PartialLabelRankingForest",
    "booster": "PartialLabelRankingBooster",
    "linear": "PartialLabelRankingLinear",
}
# `_COMPONENTS` are the models that PartialLabelRanker combines. Sizes come first, because other fields refer to them.
_COMMON = _Schema(
    {
        "n_features_in_": _whole(1),
        "n_labels_in_": _whole(2),
        "label_names_in_": _names("n_labels_in_"),
        "categories_": _Field("lists of categories by feature", _are_categories),
        "aggregator_": _Field("an aggregator", lambda value, _: isinstance(value, Aggregator)),
    },
    {
        "feature_names_in_": _names("n_features_in_", only_strings=True),
        "_sklearn_output_config": _Field("a configuration of set_output", _is_output_config),
    },
    {"aggregator_ suits the model": lambda model: _has_usable_aggregator(model)},
)
_PER_INDICATOR = _Field("one column per indicator of missing values", _is_per_indicator)
_PER_CATEGORY = _Field("one column per category", _is_per_category)
_PER_LABEL = _numbers("n_labels_in_")
_PER_COEFFICIENT = _numbers("n_labels_in_", "n_features_in_")
_SCHEMAS = {
    "PartialLabelRankingTree": _Schema(
        {
            "tree_": _fitted(_core.Tree),
            "_smoothing": _Field("a kind of shrinkage and its strength, or None", _is_smoothing),
            "_soft": _FLAG,
        },
        relations={
            "_soft is only set for a tree with soft routing and smoothing": lambda model: (
                not model._soft or (model.tree_.is_soft and model._smoothing is not None)
            ),
        },
    ),
    "PartialLabelRankingForest": _Schema(
        {
            "forest_": _fitted(_core.Forest, "n_trees"),
            "shrinkage_strength_": _real("a finite number above 0", lambda x: 0 < x < math.inf),
            "_seed": _whole(0, 2**31 - 1),
            "_n_training": _whole(1),
            "_data": _Field("three content hashes", _is_hashes),
        },
        {"oob_score_": _real("NaN or from -1 to 1", lambda x: math.isnan(x) or -1 <= x <= 1)},
        {"_n_training is that of forest_": lambda model: model._n_training == model.forest_.n_rows},
    ),
    "PartialLabelRankingBooster": _Schema(
        {
            "booster_": _fitted(_core.Booster),
            "rounds_": _whole(0),
            "validation_scores_": _Field(
                "an array of floats", lambda value, _: type(value) is np.ndarray
            ),
        },
        relations={
            "rounds_ is that of booster_": lambda model: model.rounds_ == model.booster_.rounds,
            "validation_scores_ are those of booster_": lambda model: _are_equal(
                model.validation_scores_, model.booster_.validation_scores()
            ),
        },
    ),
    "PartialLabelRankingLinear": _Schema(
        {
            "model_": _fitted(_core.LinearModel),
            "coef_": _PER_COEFFICIENT,
            "tie_coef_": _PER_COEFFICIENT,
            "intercept_": _PER_LABEL,
            "tie_intercept_": _PER_LABEL,
            "mean_": _numbers("n_features_in_"),
            "scale_": _numbers("n_features_in_"),
            "missing_indicators_": _Field("an array of features", _are_features),
            "missing_coef_": _PER_INDICATOR,
            "missing_tie_coef_": _PER_INDICATOR,
            "n_iter_": _whole(0),
            "converged_": _FLAG,
        },
        {
            "coef_standard_error_": _PER_COEFFICIENT,
            "tie_coef_standard_error_": _PER_COEFFICIENT,
            "intercept_standard_error_": _PER_LABEL,
            "tie_intercept_standard_error_": _PER_LABEL,
            "category_coef_standard_error_": _PER_CATEGORY,
            "category_tie_coef_standard_error_": _PER_CATEGORY,
        },
        {"the coefficients are those of model_": lambda model: _has_own_coefficients(model)},
    ),
    "PartialLabelRankingBaseline": _Schema({"_root": _fitted(_core.Tree), "_all_tied": _FLAG}),
    "PartialLabelRanker": _Schema(
        {
            "components_": _Field("lists of fitted estimators by name", _is_components),
            "weights_": _Field("weights of the components, from 0 to 1", _is_weights),
            "log_weights_": _Field("numbers of the log-linear pool, or None", _is_log_weights),
            "rounds_": _whole(1),
        }
    ),
}


def check_state(kind: type, state: _State) -> None:
    """Raise ValueError unless the attributes are those of a fitted estimator of the class `kind`."""
    schema = _SCHEMAS.get(kind.__name__)
    if schema is None:
        raise ValueError(f"{kind.__name__} is not an estimator that can be loaded")
    required = {**_COMMON.required, **schema.required, **_parameters(kind)}
    fields = {**required, **_COMMON.optional, **schema.optional}
    for name in required.keys() - state.keys():
        raise ValueError(f"{kind.__name__} has no attribute {name}")
    for name in state.keys() - fields.keys():
        raise ValueError(f"{kind.__name__} has an unexpected attribute {name!r:.60}")
    for name, rule in fields.items():
        if name in state and not rule.accepts(state[name], state):
            raise ValueError(
                f"{kind.__name__}: {name} is {state[name]!r:.60}; expected {rule.expected}"
            )


def check_model(model: Any) -> None:
    """Raise ValueError unless the attributes of a model agree with each other; `check_state` has accepted them."""
    name = type(model).__name__
    for relation, holds in {**_COMMON.relations, **_SCHEMAS[name].relations}.items():
        if not holds(model):
            raise ValueError(f"{name}: expected that {relation}")


def _has_usable_aggregator(model: Any) -> bool:
    """Whether the aggregator can be used for predictions of the model; some of the checks raise an error instead."""
    aggregator = model.aggregator_
    model._check_aggregator(aggregator)._check_label_count(model.n_labels_in_)
    aggregator._spec()
    return getattr(aggregator, "beta", None) != "auto"


def _has_own_coefficients(model: Any) -> bool:
    labels, features = model.n_labels_in_, model.n_features_in_
    coefficients, intercepts = model.model_.coefficients()
    means, deviations = (numbers[:features] for numbers in model.model_.scale())
    categories = features + len(model.missing_indicators_)
    pairs = [
        (model.coef_, coefficients[:labels, :features]),
        (model.tie_coef_, coefficients[labels:, :features]),
        (model.missing_indicators_, model.model_.indicators()),
        (model.missing_coef_, coefficients[:labels, features:categories]),
        (model.missing_tie_coef_, coefficients[labels:, features:categories]),
        (model.intercept_, intercepts[:labels]),
        (model.tie_intercept_, intercepts[labels:]),
        (model.mean_, means),
        (model.scale_, deviations),
    ]
    return all(_are_equal(*pair) for pair in pairs)


def _are_equal(own: Any, other: Any) -> bool:
    return own.dtype == other.dtype and np.array_equal(own, other, equal_nan=True)


def _parameters(kind: Any) -> dict[str, _Field]:
    """Return the fields of the parameters of an estimator, from the annotations of its constructor."""
    hints = typing.get_type_hints(kind.__init__)
    fields = {name: _of_annotation(hint) for name, hint in hints.items() if name != "return"}
    if "categorical_features" in fields:
        fields["categorical_features"] = _CATEGORICAL_FEATURES
    return fields


def _of_annotation(hint: Any) -> _Field:
    """Return the field of a parameter; an int is accepted for a float, but a bool is not a number."""
    hints = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    kinds = tuple(typing.get_origin(kind) or kind for kind in hints)
    kinds += (int,) if float in kinds else ()

    def accepts(value: Any, _: _State) -> bool:
        if isinstance(value, Aggregator):
            return Aggregator in kinds and type(value)._spec is not Aggregator._spec
        return type(value) in kinds

    names = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)
    return _Field(names.replace("NoneType", "None"), accepts)
