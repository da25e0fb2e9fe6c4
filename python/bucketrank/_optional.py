"""Imports of optional dependencies."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_pandas(caller: str) -> Any:
    """Import pandas, or raise an ImportError that names the extra to install."""
    return _import_optional("pandas", "pandas", "datasets", caller)


def import_polars(caller: str) -> Any:
    """Import polars, or raise an ImportError that names the extra to install."""
    return _import_optional("polars", "polars", "polars", caller)


def import_pyplot(caller: str) -> Any:
    """Import matplotlib.pyplot, or raise an ImportError that names the extra to install."""
    return _import_optional("matplotlib.pyplot", "matplotlib", "plot", caller)


def _import_optional(module: str, package: str, extra: str, caller: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{caller} needs {package}, which is not installed; pip install 'bucketrank[{extra}]'"
        ) from error
