"""The command line: ``bucketrank COMMAND`` or ``python -m bucketrank COMMAND``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bucketrank import __version__
from bucketrank.commands import aggregate, compare


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 done, 1 failed, 2 bad input."""
    parser = argparse.ArgumentParser(
        prog="bucketrank",
        description="Rankings with ties: aggregate them, learn them, compare them.",
    )
    parser.add_argument("--version", action="version", version=f"bucketrank {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (aggregate, compare):
        command.add_parser(commands)
    options = parser.parse_args(arguments)
    run = options.run
    return int(run(options))


if __name__ == "__main__":
    sys.exit(main())
