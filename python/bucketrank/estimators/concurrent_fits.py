"""Several short fits at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

_T = TypeVar("_T")


@contextmanager
def at_once(fits: list[Callable[[], _T]], n_threads: int) -> Iterator[list[Callable[[], _T]]]:
    """Start fits on so many threads, and hand out what waits for the result of each.

    With one thread nothing is started: a fit is done when its result is asked for. Only the thread that called hears
    Ctrl-C, and waits for what is running: fits should be short.
    """
    if n_threads == 1:
        yield fits
        return
    pool = ThreadPoolExecutor(n_threads)
    try:
        yield [pool.submit(fit).result for fit in fits]
    finally:
        pool.shutdown(cancel_futures=True)
