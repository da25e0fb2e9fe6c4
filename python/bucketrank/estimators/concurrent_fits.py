"""Run several short fits concurrently."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from bucketrank import _core

_T = TypeVar("_T")


@contextmanager
def at_once(fits: list[Callable[[], _T]], n_threads: int) -> Iterator[list[Callable[[], _T]]]:
    """Start the fits on `n_threads` threads and yield one function per fit that waits for its result.

    With one thread, each fit runs when its function is called. An error or Ctrl-C in the calling thread ends the
    running fits too.
    """
    if n_threads == 1:
        yield fits
        return
    pool = ThreadPoolExecutor(n_threads)
    # Python tells only its main thread about signals.
    cancellation = _core.Cancellation()
    try:
        yield [pool.submit(cancellation.call, fit).result for fit in fits]
    except BaseException:
        cancellation.request()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
