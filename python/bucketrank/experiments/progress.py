"""A progress bar with the time that is left, where somebody is looking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


def _nothing() -> None:
    """Take note of a finished job where nobody looks."""


@contextmanager
def progress_bar(total: int, done: int, *, wanted: bool) -> Iterator[Callable[[], object]]:
    """Show how many jobs are done, on terminals and in notebooks; hand out what to call after each job.

    In pipes and files nothing is written, and nothing is shown where tqdm is not installed.
    """
    bar = None
    if wanted:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            pass
        else:
            # None: only on a terminal.
            bar = tqdm(total=total, initial=done, unit="job", disable=None, smoothing=0.05)
    try:
        yield _nothing if bar is None else bar.update
    finally:
        if bar is not None:
            bar.close()
