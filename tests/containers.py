"""Reader and writer of the containers of saved models, in plain Python."""

from __future__ import annotations

import math
import struct
import zlib
from typing import Any, NamedTuple

import numpy as np

_HEADER = struct.Struct("<8sIIQQ")
_TYPES = ("bool", "uint8", "uint16", "uint32", "uint64", "int64", "float32", "float64")


class Entry(NamedTuple):
    """An array of a container."""

    type: int
    shape: tuple[int, ...]
    data: bytes


def parse(data: bytes) -> dict[str, Entry]:
    """Return the arrays of a container by name."""
    _, _, count, table, _ = _HEADER.unpack_from(data)
    entries, start = {}, _HEADER.size
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, table)
        name = data[table + 2 : table + 2 + length].decode()
        kind, dimensions = data[table + 2 + length : table + 4 + length]
        shape = struct.unpack_from(f"<{dimensions}Q", data, table + 4 + length)
        size = math.prod(shape) * np.dtype(_TYPES[kind]).itemsize
        entries[name] = Entry(kind, shape, data[start : start + size])
        start += size
        table += 4 + length + 8 * dimensions
    return entries


def build(entries: dict[str, Entry]) -> bytes:
    """Return a container with a valid checksum."""
    body = b"".join(entry.data for entry in entries.values())
    records = []
    for name, (kind, shape, _) in entries.items():
        text = name.encode()
        record = struct.pack(f"<H{len(text)}sBB", len(text), text, kind, len(shape))
        records.append(record + struct.pack(f"<{len(shape)}Q", *shape))
    table = b"".join(records)
    start = _HEADER.size + len(body)
    header = _HEADER.pack(b"BRKSAVED", 1, len(entries), start, start + len(table) + 4)
    return repair(header + body + table + bytes(4))


def repair(data: bytes) -> bytes:
    """Return the bytes with a valid checksum."""
    return data[:-4] + zlib.crc32(data[:-4]).to_bytes(4, "little")


def array(values: Any, dtype: str) -> Entry:
    """Return an entry from array-like values."""
    numbers = np.asarray(values, dtype=dtype)
    return Entry(_TYPES.index(dtype), numbers.shape, numbers.tobytes())


def text(value: str) -> Entry:
    """Return an entry from a string."""
    return array(list(value.encode()), "uint8")


def dtype_of(entry: Entry) -> np.dtype[Any]:
    """Return the type of the elements of an entry."""
    return np.dtype(_TYPES[entry.type])
