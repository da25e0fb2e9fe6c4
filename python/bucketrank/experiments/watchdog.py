"""Worker processes that end when their parent does, also when it was killed."""

from __future__ import annotations

import os
import threading
import time

__all__ = ["end_with"]

_SECONDS = 0.5
"""Time between two checks."""

_watched: set[int] = set()


def end_with(parent: int) -> None:
    """End this process when the process with this id ends; does nothing in the parent itself and on Windows."""
    if os.name == "nt" or os.getpid() == parent or os.getpid() in _watched:
        return
    # The process id, not a flag: a fork copies the set but not the thread.
    _watched.add(os.getpid())
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    is_child = os.getppid() == parent
    while _is_alive(parent, is_child=is_child):
        time.sleep(_SECONDS)
    # Not sys.exit, which would only end this thread.
    os._exit(1)


def _is_alive(parent: int, *, is_child: bool) -> bool:
    if is_child:
        # A killed parent keeps its id until it is waited for, but its children get another parent at once.
        return os.getppid() == parent
    try:
        os.kill(parent, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
