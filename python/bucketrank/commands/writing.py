"""Output of commands that print a text or write it to a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bucketrank._files import write_file
from bucketrank.tables import escape_text


@contextmanager
def report_missing_package() -> Iterator[None]:
    """Turn an ImportError into an OSError, for which the command line prints the message and exits with code 1."""
    try:
        yield
    except ImportError as error:
        raise OSError(1, str(error)) from error


def print_or_write(text: str, out: Path | None, result: Any) -> None:
    """Print the text, or write it to a file and print the file's name and a summary of the result."""
    if out is None:
        print(text, end="")
        return
    write_file(out, text)
    print(f"{escape_text(str(out))}: {result!r}")
