"""Serialisation of estimators into one container, the core's format of saved bytes.

A container holds a JSON description of the attributes, and the arrays and core models that it refers to (its parts).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import bucketrank
from bucketrank import _core, aggregation
from bucketrank._model_schema import check_model, check_state
from bucketrank.aggregation.base import Aggregator

__all__ = ["is_estimator", "pack_estimator", "pack_state", "unpack_estimator", "unpack_state"]

_ARRAYS = ("float64", "int64", "bool")
_MODELS = (_core.Tree, _core.Forest, _core.Booster, _core.LinearModel)
_JSON_TYPES = (type(None), bool, int, float, str)
"""Types of values that JSON holds as they are, except floats that are not finite."""
_MAX_DEPTH = 20
_MAX_DIMENSIONS = 4
# Bounds of the JSON description in a file, because each value takes up to 100 bytes of memory.
_MAX_DESCRIPTION_BYTES = 1 << 22
_MAX_DESCRIPTION_VALUES = 200_000
_DESCRIPTION_ERRORS = (
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    RecursionError,
)
"""Errors of an invalid description, besides ValueError."""


class _UnsupportedError(TypeError):
    """A value that a container cannot hold."""


def pack_estimator(model: BaseEstimator) -> bytes:
    """Serialise a fitted estimator.

    NumPy scalars are saved as Python numbers, other collections (such as a pandas Index) as lists, and random
    generators as None.
    """
    parts: list[Any] = []
    text = json.dumps(_encode(model, parts))
    if not _is_small(text):
        raise ValueError(
            f"the names and parameters of the model take {len(text)} characters of JSON with {_value_count(text)} "
            f"values; expected at most {_MAX_DESCRIPTION_BYTES} characters and {_MAX_DESCRIPTION_VALUES} values"
        )
    return _core.pack(text, parts)


def unpack_estimator(data: bytes, what: str) -> Any:
    """Read the bytes of :func:`pack_estimator`; `what` names the object in messages."""
    description, parts = _core.unpack(data, what)
    try:
        if not _is_small(description):
            raise ValueError("the description is too large")
        described = json.loads(description)
        if "estimator" not in described:
            raise ValueError("the file holds another object, such as counts of pairs")
        reader = _Reader(parts)
        model = reader.estimator(described, 0)
        reader.finish()
    except _DESCRIPTION_ERRORS as error:
        raise ValueError(f"cannot read the saved {what}: {error!r}") from error
    except ValueError as error:
        raise ValueError(f"cannot read the saved {what}: {error}") from error
    return model


def pack_state(name: str, state: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """Serialise attributes for a pickle; return the container and the attributes that it cannot store exactly."""
    parts: list[Any] = []
    held, others = {}, {}
    for attribute, value in state.items():
        # Collected separately, because an attribute that cannot be stored must leave no parts.
        attribute_parts: list[Any] = []
        try:
            held[attribute] = _encode(value, attribute_parts, len(parts), exact=True)
        except _UnsupportedError:
            others[attribute] = value
        else:
            parts += attribute_parts
    return _core.pack(json.dumps({"estimator": name, "state": held}), parts), others


def unpack_state(data: Any, name: str) -> dict[str, Any]:
    """Read the attributes from the bytes of :func:`pack_state` for an estimator of the class `name`."""
    if not isinstance(data, bytes):
        raise ValueError(
            f"cannot read the saved {name}: expected bytes, found {type(data).__name__}"
        )
    description, parts = _core.unpack(data, name)
    try:
        reader = _Reader(parts)
        described = json.loads(description)
        if described["estimator"] != name:
            raise ValueError(f"found a saved {described['estimator']}")
        state = {key: reader.value(value, 0) for key, value in described["state"].items()}
        reader.finish()
    except (*_DESCRIPTION_ERRORS, ValueError) as error:
        raise ValueError(f"cannot read the saved {name}: {error!r}") from error
    return state


def is_estimator(value: Any) -> bool:
    """Whether `value` is an estimator of this package, not an instance of a subclass."""
    return isinstance(value, BaseEstimator) and _is_public(bucketrank, value)


def _is_public(module: Any, value: Any) -> bool:
    return getattr(module, type(value).__name__, None) is type(value)


def _is_small(text: str) -> bool:
    return len(text) <= _MAX_DESCRIPTION_BYTES and _value_count(text) <= _MAX_DESCRIPTION_VALUES


def _value_count(text: str) -> int:
    """Return the approximate number of values in JSON text; commas and brackets inside strings are counted, too."""
    return sum(map(text.count, ",[{"))


def _encode(value: Any, parts: list[Any], first: int = 0, *, exact: bool = False) -> Any:
    """Describe a value in JSON; arrays and models are appended to `parts`, whose indices start at `first`.

    A value of another type is converted to a plain Python value, unless `exact`, which raises an error instead.
    """
    if type(value) in _JSON_TYPES:
        is_special = isinstance(value, float) and not math.isfinite(value)
        return {"float": repr(value)} if is_special else value

    def encode_all(values: Any) -> list[Any]:
        return [_encode(item, parts, first, exact=exact) for item in values]

    if type(value) is dict:
        return {"dict": [encode_all(pair) for pair in value.items()]}
    if type(value) in (list, tuple):
        return {type(value).__name__: encode_all(value)}
    if type(value) is np.ndarray and value.dtype == object and value.ndim == 1:
        return {"names": encode_all(value)}
    if _is_storable_array(value) or isinstance(value, _MODELS):
        parts.append(value)
        return {"part": first + len(parts) - 1}
    if isinstance(value, Aggregator) and _is_public(aggregation, value):
        params = value.get_params()
        encoded = dict(zip(params, encode_all(params.values()), strict=True))
        return {"aggregator": type(value).__name__, "params": encoded}
    if is_estimator(value):
        state = vars(value)
        encoded = dict(zip(state, encode_all(state.values()), strict=True))
        return {"estimator": type(value).__name__, "state": encoded}
    if exact:
        raise _UnsupportedError(f"{value!r:.60} cannot be saved")
    return _encode(_to_plain_value(value), parts, first)


def _is_storable_array(value: Any) -> bool:
    return (
        type(value) is np.ndarray
        and value.dtype.name in _ARRAYS
        and value.dtype.isnative
        and value.ndim <= _MAX_DIMENSIONS
    )


def _to_plain_value(value: Any) -> Any:
    """Return the plain Python value that is stored for a value of another type."""
    if isinstance(value, np.generic):
        return value.item()
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        # A fitted model makes no more random draws.
        return None
    if isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)):
        # Such as the column names of a data frame that `categorical_features` lists.
        return list(value)
    raise _UnsupportedError(f"{value!r:.60} cannot be saved")


class _Reader:
    """Builds values from their descriptions; creates only plain values and objects of this package."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = dict(enumerate(parts))

    def value(self, described: Any, depth: int) -> Any:
        """Return the value of a description; each part is used once."""
        if depth > _MAX_DEPTH:
            raise ValueError(f"values nest more than {_MAX_DEPTH} deep")
        if type(described) in _JSON_TYPES:
            return described
        if "estimator" in described:
            return self.estimator(described, depth)
        if "aggregator" in described:
            kind = _public_class(aggregation, described["aggregator"], Aggregator)
            return kind(**self._values_by_name(described["params"], depth))
        ((kind, content),) = described.items()
        if kind == "float":
            return float(content)
        if kind == "part":
            return self._parts.pop(content)
        return self._collection(kind, content, depth)

    def estimator(self, described: Any, depth: int) -> Any:
        """Return an estimator after checking that it has the attributes of a fitted estimator."""
        kind = _public_class(bucketrank, described["estimator"], BaseEstimator)
        state = self._values_by_name(described["state"], depth)
        check_state(kind, state)
        model = kind()
        vars(model).update(state)
        check_model(model)
        return model

    def finish(self) -> None:
        """Check that all parts were used."""
        if self._parts:
            raise ValueError(
                f"the number of parts that belong to no attribute is {len(self._parts)}"
            )

    def _values_by_name(self, described: dict[str, Any], depth: int) -> dict[str, Any]:
        return {name: self.value(item, depth + 1) for name, item in described.items()}

    def _collection(self, kind: str, content: Any, depth: int) -> Any:
        if type(content) is not list:
            raise ValueError(f"expected a list of values, found {type(content).__name__}")
        if kind == "dict":
            return {self.value(k, depth + 1): self.value(v, depth + 1) for k, v in content}
        values = [self.value(item, depth + 1) for item in content]
        if kind == "list":
            return values
        if kind == "tuple":
            return tuple(values)
        if kind == "names":
            names = np.empty(len(values), dtype=object)
            names[:] = values
            return names
        raise ValueError(f"unknown kind {kind!r} of a value")


def _public_class(module: Any, name: Any, base: type) -> Any:
    """Return a public class of a module of this package; no other class can be created."""
    kind = getattr(module, name, None) if isinstance(name, str) and name[:1] != "_" else None
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise ValueError(f"{name!r} is not a class of bucketrank that can be loaded")
    return kind
