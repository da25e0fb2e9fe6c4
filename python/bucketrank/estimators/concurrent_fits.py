"""Run several short fits concurrently."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

_T = TypeVar("_T")


@contextmanager
def at_once(fits: list[Callable[[], _T]], n_threads: int) -> Iterator[list[Callable[[], _T]]]:
    """Start the fits on `n_threads` threads and yield one function per fit that waits for its result.

    With one thread, each fit runs when its function is called. Ctrl-C is raised in the calling thread after the running
    fits have ended, so fits should be short.
    """
    if n_threads == 1:
        yield fits
        return
    pool = ThreadPoolExecutor(n_threads)
    try:
        yield [pool.submit(fit).result for fit in fits]
    finally:
        pool.shutdown(cancel_futures=True)
