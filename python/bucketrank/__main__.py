"""The command line: ``bucketrank COMMAND`` or ``python -m bucketrank COMMAND``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from bucketrank import __version__
from bucketrank.commands import aggregate, compare, datasets, fit, leaderboard, predict, report
from bucketrank.tables import escape_text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 success, 1 failure, 2 invalid input, 130 interrupted."""
    parser = _Parser(
        prog="bucketrank",
        description="Aggregate rankings with ties, predict them from features, and compare methods.",
    )
    parser.add_argument("--version", action="version", version=f"bucketrank {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", required=True
    )
    for command in (aggregate, compare, datasets, fit, leaderboard, predict, report):
        command.add_parser(commands)
    options = parser.parse_args(arguments)
    try:
        code = int(options.run(options))
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe, as `| head` does; redirect stdout so that Python's final flush does not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (TypeError, ValueError) as error:
        bad_input = not isinstance(error, UnicodeEncodeError)
        return _print_error(options.command, str(error), 2 if bad_input else 1)
    except RuntimeError as error:
        # A solver failed, or threads could not be started.
        return _print_error(options.command, str(error), 1)
    except OSError as error:
        reason = error.strerror or str(error)
        named = reason if error.filename is None else f"{error.filename}: {reason}"
        return _print_error(options.command, named, 1)
    except KeyboardInterrupt:
        return _print_error(options.command, "interrupted", 130)
    return code


class _Parser(argparse.ArgumentParser):
    """A parser whose errors write no control characters to the terminal."""

    def error(self, message: str) -> NoReturn:
        super().error(_escape_lines(message))


def _print_error(command: str, message: str, code: int) -> int:
    if sys.stderr is not None:
        sys.stderr.write(f"bucketrank {command}: {_escape_lines(message)}\n")
    return code


def _escape_lines(message: str) -> str:
    return "\n".join(map(escape_text, message.split("\n")))


if __name__ == "__main__":
    sys.exit(main())
