"""Worker processes that end when their parent process ends, even if it is killed."""

from __future__ import annotations

import os
import threading
import time

__all__ = ["exit_with_parent"]

_SECONDS = 0.5
"""Time between two checks."""

_processes: set[int] = set()
"""Ids of the processes that watch their parent."""


def exit_with_parent(parent: int) -> None:
    """End this process when the process with this id ends; does nothing in the parent itself and on Windows."""
    if os.name == "nt" or os.getpid() == parent or os.getpid() in _processes:
        return
    # Keep the process id instead of a flag, because a fork copies this set but not the watching thread.
    _processes.add(os.getpid())
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
