"""Packages that are not always there."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def pandas(wanted_by: str) -> Any:
    """Return the module pandas, or say how to get it."""
    return _optional("pandas", "pandas", "datasets", wanted_by)


def pyplot(wanted_by: str) -> Any:
    """Return matplotlib's pyplot, or say how to get it."""
    return _optional("matplotlib.pyplot", "matplotlib", "plot", wanted_by)


def _optional(module: str, package: str, extra: str, wanted_by: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{wanted_by} needs {package}, which is not installed; pip install 'bucketrank[{extra}]'"
        ) from error
