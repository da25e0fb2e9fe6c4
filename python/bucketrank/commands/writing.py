"""Files that commands write."""

from __future__ import annotations

import os
from pathlib import Path


def file_to_write(name: str) -> Path:
    """Return the file, after a look at whether it can be written: before the work, not after it."""
    path = Path(name)
    if path.is_dir():
        raise ValueError(f"{name}: found a folder; expected the name of a file to write")
    if not path.parent.is_dir():
        raise ValueError(f"{name}: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PermissionError(13, "cannot be written", name)
    return path
