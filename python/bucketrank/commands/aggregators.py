"""Aggregators by name, and aggregators of the user as ``module:Class``."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from bucketrank.aggregation import Aggregator, get_aggregator


def find_aggregator(name: str, **params: Any) -> Aggregator:
    """Return the aggregator that a command names, with the given parameters.

    `name` is a name of :func:`get_aggregator`, or ``module:Class`` for a subclass of `Aggregator` in a module that
    Python finds, also in the current folder.
    """
    if ":" not in name:
        return get_aggregator(name, **params)
    module_name, _, attribute = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise ValueError(
            f"method {name!r}: {error}; expected module:Class, a class of a module that Python finds"
        ) from None
    if not (isinstance(found, type) and issubclass(found, Aggregator)):
        raise TypeError(f"method {name!r} is {found!r:.80}; expected a subclass of Aggregator")
    return found(**params)
