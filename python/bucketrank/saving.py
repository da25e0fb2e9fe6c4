"""Saving of fitted estimators in files that are safe to load, with a format version and a checksum."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from bucketrank import _core
from bucketrank._estimator_state import is_estimator, pack_estimator, unpack_estimator
from bucketrank._files import write_file

__all__ = ["load_model", "save_model"]

_HEADER_BYTES = 32
_FILE_TYPES = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def save_model(model: Any, path: str | Path) -> None:
    """Write a fitted estimator to a file.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package.
    path : str or Path
        File to write; an existing file is replaced.

    See Also
    --------
    load_model : Reads the file.

    Examples
    --------
    >>> import tempfile
    >>> from bucketrank import PartialLabelRankingTree, load_model, save_model
    >>> tree = PartialLabelRankingTree().fit([[0], [1]], [[1, 2], [1, 2]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(tree, f"{folder}/tree.bin")
    ...     load_model(f"{folder}/tree.bin").predict([[5]])
    array([[1, 2]])
    """
    if not is_estimator(model):
        raise TypeError(f"model is {model!r:.60}; expected an estimator of bucketrank")
    if not hasattr(model, "n_labels_in_"):
        raise ValueError(f"{type(model).__name__} is not fitted; expected a fitted estimator")
    write_file(path, pack_estimator(model))


def load_model(path: str | Path) -> Any:
    """Read a fitted estimator from a file.

    Only classes of this package are created: unlike a pickle, an untrusted file cannot run code.

    Parameters
    ----------
    path : str or Path
        A file written by :func:`save_model`.

    Returns
    -------
    estimator
        The fitted estimator. A file that is damaged, of another kind or of a newer format raises a ValueError.

    Examples
    --------
    >>> import tempfile
    >>> from bucketrank import PartialLabelRankingTree, load_model, save_model
    >>> tree = PartialLabelRankingTree().fit([[0], [1]], [[1, 2], [1, 2]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(tree, f"{folder}/tree.bin")
    ...     load_model(f"{folder}/tree.bin").predict([[0.5]])
    array([[1, 2]])
    """
    data = read_container(path, "model")
    try:
        return unpack_estimator(data, "model")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def read_container(path: str | Path, what: str) -> bytes:
    """Return the bytes of a file that this package wrote; `what` names its content in messages, such as "model".

    Folders, pipes and devices are rejected without being read; if the header of a file is invalid, only the header is
    read.
    """
    file_type = stat.S_IFMT(Path(path).stat().st_mode)
    if file_type != stat.S_IFREG:
        found = _FILE_TYPES.get(file_type, "a special file")
        raise ValueError(f"{path}: found {found}; expected a file with the saved {what}")
    with Path(path).open("rb") as file:
        header = file.read(_HEADER_BYTES)
        try:
            _core.check_saved_header(header, os.fstat(file.fileno()).st_size, what)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        return header + file.read()
