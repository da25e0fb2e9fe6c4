"""Containers of predictions: an array, or a data frame whose columns are named by the labels."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from bucketrank._optional import import_pandas, import_polars
from bucketrank._validation import is_pandas

CONTAINERS = ("default", "pandas", "polars")
"""Values of the parameter `transform` of `set_output`."""


def in_container(container: str, values: NDArray[Any], names: NDArray[Any], X: Any) -> Any:
    """Return `values`, one column per label, in the given container; a pandas frame has the index of `X`."""
    caller = f'set_output(transform="{container}")'
    if container == "pandas":
        index = X.index if is_pandas(X) else None
        return import_pandas(caller).DataFrame(values, index=index, columns=names)
    if container == "polars":
        return import_polars(caller).DataFrame(values, schema=_text_names(names))
    return values


def _text_names(names: NDArray[Any]) -> list[str]:
    """Return names as strings, the only type of column names in polars."""
    texts = [str(name) for name in names]
    for index, text in enumerate(texts):
        first = texts.index(text)
        if first != index:
            raise ValueError(
                f"labels {first} and {index} are both named {text!r} as text; "
                "expected different names for the columns of a polars DataFrame"
            )
    return texts
