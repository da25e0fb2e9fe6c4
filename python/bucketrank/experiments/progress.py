"""Progress bar with the remaining time, on terminals and in notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


def _ignore_jobs(_jobs: int = 1) -> None:
    """Ignore finished jobs, because there is no progress bar."""


@contextmanager
def progress_bar(
    total: int, done: int, *, wanted: bool, unit: str = "job", delay: float = 0
) -> Iterator[Callable[..., object]]:
    """Show the number of finished jobs; yield a function to call with the number of newly finished jobs, by default 1.

    Nothing is shown if the output is a pipe or a file, or if tqdm is not installed, or in the first `delay` seconds.
    """
    bar = None
    if wanted:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            pass
        else:
            # disable=None hides the bar in pipes and files; tqdm ignores it in notebooks.
            bar = tqdm(
                total=total, initial=done, unit=unit, delay=delay, disable=None, smoothing=0.05
            )
    try:
        yield _ignore_jobs if bar is None else bar.update
    finally:
        if bar is not None:
            bar.close()
