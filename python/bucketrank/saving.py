"""Saving of fitted estimators in files that are safe to load, with a format version and a checksum."""

from __future__ import annotations

import json
import math
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import bucketrank
from bucketrank import _core, aggregation
from bucketrank._files import write_file
from bucketrank.aggregation.base import Aggregator

__all__ = ["load_model", "save_model"]

_MAGIC = b"BRKMODEL"
_VERSION = 1
_HEADER = struct.Struct("<8sIQ")
_CHECKSUM = struct.Struct("<I")

_ARRAYS = ("float64", "int64", "bool")


def save_model(model: Any, path: str | Path) -> None:
    """Write a fitted estimator to a file.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package.
    path : str or Path
        File to write; an existing file is replaced.

    See Also
    --------
    load_model : Reads the file.

    Examples
    --------
    >>> import tempfile
    >>> from bucketrank import PartialLabelRankingTree, load_model, save_model
    >>> tree = PartialLabelRankingTree().fit([[0], [1]], [[1, 2], [1, 2]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(tree, f"{folder}/tree.bin")
    ...     load_model(f"{folder}/tree.bin").predict([[5]])
    array([[1, 2]])
    """
    if not _is_ours(model):
        raise TypeError(f"model is {model!r:.60}; expected an estimator of bucketrank")
    if not hasattr(model, "n_labels_in_"):
        raise ValueError(f"{type(model).__name__} is not fitted; expected a fitted estimator")
    blobs: list[bytes] = []
    described = _encode(model, blobs)
    text = json.dumps({"model": described, "blobs": [len(blob) for blob in blobs]}).encode()
    body = _HEADER.pack(_MAGIC, _VERSION, len(text)) + text + b"".join(blobs)
    write_file(path, body + _CHECKSUM.pack(zlib.crc32(body)))


def load_model(path: str | Path) -> Any:
    """Read a fitted estimator from a file.

    Only classes of this package are created: unlike a pickle, an untrusted file cannot run code.

    Parameters
    ----------
    path : str or Path
        A file that :func:`save_model` wrote.

    Returns
    -------
    estimator
        The fitted estimator. A damaged file, a foreign file or a newer format raises a ValueError.
    """
    data = Path(path).read_bytes()
    if not data.startswith(_MAGIC):
        raise ValueError(f"{path} is not a saved model of bucketrank")
    if len(data) < _HEADER.size + _CHECKSUM.size:
        raise ValueError(f"{path} is truncated")
    _, version, length = _HEADER.unpack_from(data)
    if version > _VERSION:
        raise ValueError(
            f"{path} has format version {version}; this release reads versions up to {_VERSION}"
        )
    body = data[: -_CHECKSUM.size]
    if zlib.crc32(body) != _CHECKSUM.unpack(data[-_CHECKSUM.size :])[0]:
        raise ValueError(f"{path} is damaged: the checksum does not match")
    end = _HEADER.size + length
    try:
        described = json.loads(body[_HEADER.size : end])
        model = _decode(described["model"], _split(body[end:], described["blobs"]))
    except (KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise ValueError(f"{path} is not a saved model: {error!r}") from error
    except ValueError as error:
        raise ValueError(f"{path} is not a saved model: {error}") from error
    if not _is_ours(model):
        raise ValueError(f"{path} is not a saved model: it holds {type(model).__name__}")
    return model


def _split(data: bytes, lengths: list[int]) -> list[bytes]:
    blobs, start = [], 0
    for length in lengths:
        blobs.append(data[start : start + length])
        start += length
    if start != len(data) or min(lengths, default=0) < 0:
        raise KeyError("blobs")
    return blobs


def _is_ours(value: Any) -> bool:
    return isinstance(value, BaseEstimator) and getattr(
        bucketrank, type(value).__name__, None
    ) is type(value)


def _encode(value: Any, blobs: list[bytes]) -> Any:
    """Convert a value to JSON; arrays and objects of the Rust core are appended to `blobs`."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else {"float": repr(number)}
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return {"names": [_encode(name, blobs) for name in value]}
    if isinstance(value, np.ndarray) and value.dtype.name in _ARRAYS:
        blobs.append(np.ascontiguousarray(value).tobytes())
        return {"array": value.dtype.name, "shape": list(value.shape), "blob": len(blobs) - 1}
    if isinstance(value, dict):
        return {"dict": [[_encode(k, blobs), _encode(v, blobs)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [_encode(item, blobs) for item in value]}
    return _encode_object(value, blobs)


def _encode_object(value: Any, blobs: list[bytes]) -> Any:
    if isinstance(value, Aggregator):
        params = {name: _encode(param, blobs) for name, param in value.get_params().items()}
        return {"aggregator": type(value).__name__, "params": params}
    if type(value).__module__ == _core.__name__ and hasattr(value, "to_bytes"):
        blobs.append(value.to_bytes())
        return {"kernel": type(value).__name__, "blob": len(blobs) - 1}
    if _is_ours(value):
        state = {name: _encode(item, blobs) for name, item in vars(value).items()}
        return {"estimator": type(value).__name__, "state": state}
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        # A fitted model draws no random numbers.
        return None
    raise TypeError(f"{value!r:.60} cannot be saved")


def _decode(value: Any, blobs: list[bytes]) -> Any:
    if isinstance(value, list):
        raise TypeError("a bare list")
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "names" in value:
        names = np.empty(len(value["names"]), dtype=object)
        names[:] = [_decode(name, blobs) for name in value["names"]]
        return names
    if "array" in value:
        if value["array"] not in _ARRAYS:
            raise TypeError(f"an array of {value['array']}")
        flat = np.frombuffer(blobs[value["blob"]], dtype=value["array"])
        return flat.reshape(value["shape"]).copy()
    if "dict" in value:
        return {_decode(k, blobs): _decode(v, blobs) for k, v in value["dict"]}
    if "list" in value:
        return [_decode(item, blobs) for item in value["list"]]
    if "tuple" in value:
        return tuple(_decode(item, blobs) for item in value["tuple"])
    return _decode_object(value, blobs)


def _decode_object(value: dict[str, Any], blobs: list[bytes]) -> Any:
    if "aggregator" in value:
        kind = _member(aggregation, value["aggregator"], Aggregator)
        return kind(**{name: _decode(param, blobs) for name, param in value["params"].items()})
    if "kernel" in value:
        kind = _member(_core, value["kernel"], object)
        return kind.from_bytes(blobs[value["blob"]])
    kind = _member(bucketrank, value["estimator"], BaseEstimator)
    model = kind()
    for name, item in value["state"].items():
        if name.startswith("__"):
            raise TypeError(f"an attribute {name}")
        setattr(model, name, _decode(item, blobs))
    return model


def _member(module: Any, name: Any, base: type) -> Any:
    """Return a public class of a module of this package; other names are rejected."""
    kind = getattr(module, name, None) if isinstance(name, str) and name[:1] != "_" else None
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise TypeError(f"there is no {name!r}")
    return kind
