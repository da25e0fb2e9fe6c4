"""The command line: ``bucketrank COMMAND`` or ``python -m bucketrank COMMAND``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from bucketrank import __version__
from bucketrank.commands import aggregate, compare, datasets, fit, predict, report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 done, 1 failed, 2 bad input."""
    parser = argparse.ArgumentParser(
        prog="bucketrank",
        description="Rankings with ties: aggregate them, learn them, compare them.",
    )
    parser.add_argument("--version", action="version", version=f"bucketrank {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", required=True
    )
    for command in (aggregate, compare, datasets, fit, predict, report):
        command.add_parser(commands)
    options = parser.parse_args(arguments)
    try:
        code = int(options.run(options))
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough, as in `| head`; Python must not try to flush the rest when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (TypeError, ValueError) as error:
        bad_input = not isinstance(error, UnicodeEncodeError)
        return _complain(options.command, str(error), 2 if bad_input else 1)
    except RuntimeError as error:
        # A solver that failed, or threads that could not be started.
        return _complain(options.command, str(error), 1)
    except OSError as error:
        reason = error.strerror or str(error)
        named = reason if error.filename is None else f"{error.filename}: {reason}"
        return _complain(options.command, named, 1)
    except KeyboardInterrupt:
        return _complain(options.command, "interrupted", 130)
    return code


def _complain(command: str, message: str, code: int) -> int:
    if sys.stderr is not None:
        sys.stderr.write(f"bucketrank {command}: {message}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
