"""``bucketrank report``: write the report of a stored study."""

from __future__ import annotations

import argparse
from typing import Any

from bucketrank._files import check_writable, write_file

EPILOG = """\
The HTML page is a single file that needs no network: a written summary, tables that can be sorted and copied, figures,
settings, versions, seeds and hashes of the data. An unfinished study can be reported, too.

examples:
  bucketrank compare --store study.db
  bucketrank report study.db --out report.html
  bucketrank report study.db --format markdown
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "report",
        help="write the report of a stored study",
        description="Write the report of a study that compare --store saved.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("store", metavar="STUDY", help="study file that compare --store saved")
    parser.add_argument("--out", metavar="FILE", help="output file (default standard output)")
    parser.add_argument(
        "--format",
        choices=["html", "latex", "markdown"],
        default="html",
        help="output format (default html)",
    )
    parser.add_argument("--title", help="heading of the report")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the study and write its report."""
    from bucketrank.experiments import Study

    out = None if options.out is None else check_writable(options.out)
    study = Study.load(options.store)
    try:
        text = study.report(format=options.format, title=options.title)
    except ImportError as error:
        # Exit code 1, not 2: the input is valid, but a package is not installed.
        raise OSError(1, str(error)) from error
    if out is None:
        print(text, end="")
    else:
        write_file(out, text)
        print(f"{options.out}: {study!r}")
    return 0
