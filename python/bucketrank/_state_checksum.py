"""Checksum over the attributes of an estimator, to detect damaged pickles."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bucketrank.aggregation.base import Aggregator

__all__ = ["state_checksum"]

_PLAIN = (str, bytes, bool, int, float, complex, type(None))


def state_checksum(state: Mapping[str, Any]) -> bytes:
    """Return the checksum of attributes by name.

    It depends only on values, not on their representation in a pickle: an array in shared memory has the same checksum.
    Of other objects only the type is included; those of the Rust core have their own checksum.
    """
    digest = hashlib.sha256()
    for name in sorted(state):
        for part in (name.encode(), *_parts(state[name])):
            # Include the length, so that parts cannot be shifted into each other.
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.digest()


def _parts(value: Any) -> Iterator[bytes]:
    """Yield bytes that identify a value: its type and size first, then its content."""
    kind = type(value).__name__
    if isinstance(value, np.ndarray):
        yield f"array {value.dtype.str} {value.shape}".encode()
        if value.dtype.hasobject:
            for item in value.flat:
                yield from _parts(item)
        else:
            yield value.tobytes()
    elif isinstance(value, np.generic):
        yield f"{kind} {value.item()!r}".encode(errors="backslashreplace")
    elif isinstance(value, _PLAIN):
        yield f"{kind} {value!r}".encode(errors="backslashreplace")
    elif isinstance(value, (list, tuple)):
        yield f"{kind} {len(value)}".encode()
        for item in value:
            yield from _parts(item)
    elif isinstance(value, dict):
        yield f"{kind} {len(value)}".encode()
        for key, item in value.items():
            yield from _parts(key)
            yield from _parts(item)
    elif isinstance(value, Aggregator):
        yield kind.encode()
        yield from _parts(value.get_params())
    else:
        yield kind.encode()
