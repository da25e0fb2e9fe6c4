"""Crafted model files with valid checksums, and a call of every public method of a loaded model.

`craft` changes a saved model at one to three places: values of its description, whole arrays, numbers in arrays, or
bytes. `use_all` calls everything that a loaded model offers; only ValueError and MemoryError are allowed.
"""

from __future__ import annotations

import copy
import json
import math
import pickle
import struct
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone

import bucketrank as br
import containers

ROWS = 3
"""Rows that a loaded model predicts."""

LARGEST = 1000
"""`use_all` skips models with more features or labels: they are valid, but slow."""

_AGGREGATORS = [
    {"aggregator": "Borda", "params": {"beta": 0.5}},
    {"aggregator": "Borda", "params": {"beta": "auto"}},
    {"aggregator": "Borda", "params": {"beta": {"list": []}}},
    {"aggregator": "MarkovChain", "params": {"variant": 1}},
    {"aggregator": "MarkovChain", "params": {"variant": True}},
    {"aggregator": "Davidson", "params": {"order_effect": True}},
    {"aggregator": "ReciprocalRankFusion", "params": {}},
    {"aggregator": "Kemeny", "params": {"label_weights": {"tuple": [1.0, 2.0]}}},
    {"aggregator": "Kemeny", "params": {"n_buckets": 900}},
    {"aggregator": "TauX", "params": {"order": {"aggregator": "TauX", "params": {}}}},
    {"aggregator": "Aggregator", "params": {}},
    {"aggregator": "WithBeta", "params": {}},
]

VALUES: list[Any] = [
    *(None, True, False, 0, 1, 2, 3, -1, 5, 2**31, 2**63, 2**64, 10**30, -(2**63)),
    *(0.0, -0.5, 0.5, 1.5, 1e-320, 1e308, {"float": "nan"}, {"float": "inf"}, {"float": "x"}),
    *("", "x", "path", "none", "m-estimate", "soft", "hard", "borda", "tau_x", "\x00", "a" * 3000),
    *({"list": []}, {"list": [1, "a"]}, {"tuple": []}, {"tuple": ["path", 1.0]}, {"dict": []}),
    *({"tuple": ["path", {"float": "nan"}]}, {"tuple": ["other", 1.0]}, {"tuple": ["none", 0.0]}),
    *({"names": []}, {"names": ["a", "a", "a", "a"]}, {"names": [{"list": []}] * 4}),
    *({"names": [None, 1, 1.5, True]}, {"names": [{"float": "nan"}] * 4}, {"part": 0}, {"part": 1}),
    *({"dict": [["transform", "pandas"]]}, {"dict": [["transform", "polars"]]}, {"dict": [[1, 2]]}),
    *({"dict": [["forest", {"list": []}]]}, {"dict": [["forest", 1.0]]}, [], {}, [1]),
    *_AGGREGATORS,
]
"""Values of a description: of every type, at the ends of ranges, and of the wrong kind."""

_NUMBERS = [0, 1, 2, 3, 7, 127, 128, 255, 256, 2**15, 2**31, 2**63 - 1]
_REALS = [0.0, -1.0, math.nan, math.inf, -math.inf, 1e308, 5e-324, 1e-9]


def craft(saved: list[bytes], turn: int, rng: np.random.Generator) -> bytes:
    """Return one of the saved models with one to three changes and a valid checksum."""
    data = saved[turn % len(saved)]
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        kind = _KINDS[int(rng.integers(len(_KINDS)))]
        try:
            data = kind(data, saved, rng)
        except (
            ValueError,
            KeyError,
            IndexError,
            TypeError,
            ArithmeticError,
            MemoryError,
            struct.error,
        ):
            # The last change made the container unreadable.
            break
    return data


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values in a description."""
    found = [path] if path else []
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            found += _places(item, (*path, key))
    return found


def _follow(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _change_description(data: bytes, saved: list[bytes], rng: np.random.Generator) -> bytes:
    entries = containers.parse(data)
    described = json.loads(entries["description"].data)
    places = _places(described)
    # Most places are deep in the list of names; attributes of estimators matter more.
    weights = np.array([0.3 ** len(path) for path in places])
    path = places[int(rng.choice(len(places), p=weights / weights.sum()))]
    owner = _follow(described, path[:-1])
    kind = int(rng.integers(5))
    if kind == 0:
        del owner[path[-1]]
    elif kind == 1:
        other = json.loads(
            containers.parse(saved[int(rng.integers(len(saved)))])["description"].data
        )
        source = _places(other)
        owner[path[-1]] = _follow(other, source[int(rng.integers(len(source)))])
    elif kind == 2 and isinstance(owner, dict):
        owner[str(rng.choice(["unknown", "n_jobs", "feature_names_in_", "oob_score_"]))] = 1
    else:
        owner[path[-1]] = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])
    entries["description"] = containers.text(json.dumps(described))
    return containers.build(entries)


def _change_array(data: bytes, saved: list[bytes], rng: np.random.Generator) -> bytes:
    """Drop an array, change its shape, type or numbers, or replace it with another array."""
    entries = containers.parse(data)
    names = [name for name in entries if name not in ("kind", "description")]
    if not names:
        return data
    name, other = (names[int(i)] for i in rng.integers(len(names), size=2))
    entry, kind = entries[name], int(rng.integers(7))
    if kind == 0:
        del entries[name]
    elif kind == 1:
        entries[name] = entries[other]
    elif kind == 2:
        foreign = containers.parse(saved[int(rng.integers(len(saved)))])
        entries[name] = foreign.get(name, foreign["description"])
    elif kind == 3:
        size = math.prod(entry.shape)
        shapes = [(size,), (1, size), (size, 1), (), (0,), (size + 1,), (2**62, 4), (1,) * 5]
        shape = shapes[int(rng.integers(len(shapes)))]
        entries[name] = containers.Entry(entry.type, shape, entry.data)
    elif kind == 4:
        entries[name] = containers.Entry(int(rng.integers(9)), entry.shape, entry.data)
    else:
        entries[name] = _with_other_numbers(entry, rng)
    return containers.build(entries)


def _with_other_numbers(entry: containers.Entry, rng: np.random.Generator) -> containers.Entry:
    """Return an array with other numbers at one or two places."""
    dtype = containers.dtype_of(entry)
    numbers = np.frombuffer(entry.data, dtype=dtype).copy()
    choices = _REALS if dtype.kind == "f" else _NUMBERS
    for place in rng.integers(max(1, len(numbers)), size=2) if len(numbers) else ():
        value = choices[int(rng.integers(len(choices)))]
        with np.errstate(over="ignore"):
            numbers[place] = np.array(value).astype(dtype)
    return containers.Entry(entry.type, entry.shape, numbers.tobytes())


def _flip_bytes(data: bytes, saved: list[bytes], rng: np.random.Generator) -> bytes:  # noqa: ARG001
    changed = bytearray(data)
    changed[int(rng.integers(12, len(data) - 4))] ^= int(rng.integers(1, 256))
    return containers.repair(bytes(changed))


_KINDS: list[Callable[[bytes, list[bytes], np.random.Generator], bytes]] = [
    _change_description,
    _change_description,
    _change_array,
    _change_array,
    _flip_bytes,
]


def _calls(model: Any) -> dict[str, Callable[[], Any]]:
    """Return a call of each public method and property of a model, with arguments of the right shape."""
    X: Any = np.zeros((ROWS, model.n_features_in_))
    Y = np.tile(np.arange(1, model.n_labels_in_ + 1), (ROWS, 1))
    if hasattr(model, "feature_names_in_"):
        import pandas as pd

        X = pd.DataFrame(X, columns=model.feature_names_in_)
    calls: dict[str, Callable[[], Any]] = {
        "apply": lambda: model.apply(X),
        "category_coef_": lambda: model.category_coef_,
        "category_tie_coef_": lambda: model.category_tie_coef_,
        "decision_path": lambda: model.decision_path(X),
        "feature_importances_": lambda: model.feature_importances_,
        "fit": lambda: _fit_again(model),
        "get_depth": lambda: model.get_depth(),
        "get_metadata_routing": lambda: model.get_metadata_routing(),
        "get_n_leaves": lambda: model.get_n_leaves(),
        "get_params": lambda: model.get_params(),
        "leaf_rankings": lambda: model.leaf_rankings(model.apply(X)[0]),
        "leaf_rows": lambda: model.leaf_rows(model.apply(X)[0]),
        "paper": lambda: model.paper(),
        "predict": lambda: model.predict(X),
        "predict_many": lambda: model.predict_many(X, [model.aggregator_, "borda", "copeland"]),
        "predict_oob_pair_shares": lambda: model.predict_oob_pair_shares(
            np.zeros((model._n_training, model.n_features_in_))
        ),
        "predict_pair_order": lambda: model.predict_pair_order(X),
        "predict_pair_shares": lambda: model.predict_pair_shares(X),
        "predict_tie_terms": lambda: model.predict_tie_terms(X),
        "predict_utilities": lambda: model.predict_utilities(X),
        "score": lambda: model.score(X, Y),
        "predict_label_scores": lambda: model.predict_label_scores(X),
        "shap_base_values": lambda: model.shap_base_values(*_background(model, X)),
        "shap_values": lambda: model.shap_values(X, *_background(model, X)),
        "set_fit_request": lambda: _with_routing(copy.copy(model).set_fit_request),
        "set_output": lambda: copy.copy(model).set_output(transform="pandas").predict(X),
        "set_params": lambda: (
            copy.copy(model).set_params(n_jobs=2)
            if hasattr(model, "n_jobs")
            else model.set_params()
        ),
        "set_score_request": lambda: _with_routing(copy.copy(model).set_score_request),
        "staged_predict": lambda: list(model.staged_predict(X)),
        "with_aggregator": lambda: model.with_aggregator("borda").predict(X),
    }
    missing = {name for name in dir(type(model)) if name[0] != "_"} - calls.keys()
    assert not missing, f"add the public names {missing} to the calls"
    owned = {name: call for name, call in calls.items() if hasattr(type(model), name)}
    others = {
        "repr": lambda: repr(model),
        "clone": lambda: clone(model),
        "pickle": lambda: pickle.loads(pickle.dumps(model)).predict(X),
        "attributes": lambda: [getattr(model, name) for name in vars(model)],
    }
    if isinstance(model, br.PartialLabelRankingTree):
        others["export_text"] = lambda: br.export_text(model)
        others["export_graphviz"] = lambda: br.export_graphviz(model)
    return {**owned, **others}


def _background(model: Any, X: Any) -> tuple[Any, ...]:
    """Return the background rows, which only the mixture needs."""
    return (X,) if isinstance(model, br.PartialLabelRanker) else ()


def _with_routing(request: Callable[..., Any]) -> Any:
    with config_context(enable_metadata_routing=True):
        return request(sample_weight=None)


_COUNTS = ("n_estimators", "rounds", "max_steps", "n_parts", "max_splits", "verbose")


def _fit_again(model: Any) -> Any:
    """Fit a copy on a few rows, unless large (perhaps valid) parameters would make that slow."""
    params = model.get_params(deep=False)
    if any(params.get(name) is not None and params[name] > 200 for name in _COUNTS):
        return None
    X = np.arange(12.0).reshape(6, 2)
    Y = np.array([[1, 2, 3], [3, 2, 1]] * 3)
    return clone(model).fit(X, Y)


def use_all(model: Any) -> int:
    """Call everything; return the number of calls that succeeded."""
    if max(model.n_features_in_, model.n_labels_in_) > LARGEST:
        return 0
    succeeded = 0
    for name, call in _calls(model).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                call()
            except (ValueError, MemoryError):
                continue
            except BaseException as error:
                error.add_note(f"call: {name} of {type(model).__name__}")
                raise
        succeeded += 1
    return succeeded
