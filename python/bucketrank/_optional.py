"""Packages that are not always there."""

from __future__ import annotations

from typing import Any


def pandas(wanted_by: str) -> Any:
    """Return the module pandas, or say how to get it."""
    try:
        import pandas as module
    except ImportError as error:
        raise ImportError(
            f"{wanted_by} needs pandas, which is not installed; pip install 'bucketrank[datasets]'"
        ) from error
    return module
