"""Atomic writing of files: a reader sees either the old or the new content, never a part of it."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

__all__ = ["check_writable", "write_file"]

_DEVICE_FOLDERS = (Path("/dev"), Path("/proc"))


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write a file atomically; text is encoded as UTF-8.

    The content goes to a temporary file in the same folder, which then replaces the target. After an error, a full disk
    or a kill, the old file is unchanged. A replaced file keeps its permissions. If `path` is a symbolic link, its
    target is replaced. Devices, pipes and sockets, such as ``/dev/stdout``, are written directly.
    """
    data = content.encode() if isinstance(content, str) else content
    path = Path(path)
    mode = _mode(path)
    if _is_special(path, mode):
        with path.open("wb") as file:
            file.write(data)
        return
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        _write_and_sync(temporary, data, mode)
        temporary.replace(target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    _sync_folder(target.parent)


def check_writable(name: str, inputs: Iterable[str | Path] = ()) -> Path:
    """Return the path of an output file; raise if it cannot be written or is one of the inputs, before any work."""
    path = Path(name)
    if path.is_dir():
        raise ValueError(f"{name}: found a folder; expected the name of a file to write")
    if not path.parent.is_dir():
        raise ValueError(f"{name}: there is no folder {path.parent}")
    mode = _mode(path)
    if not _is_special(path, mode) and any(_is_same(path, Path(source)) for source in inputs):
        raise ValueError(f"{name}: found an input of the command; expected another file to write")
    needed = [path] if mode is not None else []
    if not _is_special(path, mode):
        needed.append(Path(os.path.realpath(path)).parent)
    if not all(os.access(required, os.W_OK) for required in needed):
        raise PermissionError(errno.EACCES, "cannot be written", name)
    return path


def _is_same(path: Path, other: Path) -> bool:
    """Whether two paths are names of one file, which need not exist."""
    if path.exists() and other.exists():
        return path.samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)


def _mode(path: Path) -> int | None:
    """Return the mode of a file, with symbolic links followed; None if the file does not exist."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _is_special(path: Path, mode: int | None) -> bool:
    """Whether a path is written directly: a device, a pipe, a socket, or a link such as ``/dev/stdout``."""
    if mode is None:
        return False
    if not stat.S_ISREG(mode):
        return True
    # A redirected /dev/stdout links to a regular file, but the process writes to it through an open descriptor. Other
    # regular files in these folders, such as those of /dev/shm, are no links.
    return path.is_symlink() and any(map(path.is_relative_to, _DEVICE_FOLDERS))


def _write_and_sync(temporary: Path, data: bytes, mode: int | None) -> None:
    with temporary.open("xb") as file:
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the rename durable, on file systems that support this."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
