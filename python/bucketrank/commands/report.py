"""``bucketrank report``: write the report of a stored study."""

from __future__ import annotations

import argparse
from typing import Any

from bucketrank._files import check_writable
from bucketrank.commands.writing import print_or_write, report_missing_package

EPILOG = """\
The HTML page is a single file that needs no network: a summary in sentences, tables that can be sorted and copied,
figures, settings, versions, seeds and hashes of the data. The study may be unfinished.

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
        description="Write the report of a study saved by compare --store.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("store", metavar="STUDY", help="study file saved by compare --store")
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

    out = None if options.out is None else check_writable(options.out, [options.store])
    study = Study.load(options.store)
    with report_missing_package():
        text = study.report(format=options.format, title=options.title)
    print_or_write(text, out, study)
    return 0
