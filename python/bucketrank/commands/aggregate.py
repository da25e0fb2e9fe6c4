"""``bucketrank aggregate``: the consensus of the rankings in a file."""

from __future__ import annotations

import argparse
import json
from typing import Any

from bucketrank.aggregation import METHODS, Aggregator, get_aggregator
from bucketrank.aggregation.explanation import Explanation
from bucketrank.commands.reading import read_rankings
from bucketrank.notation import to_display_text
from bucketrank.tables import to_csv_text

EPILOG = """\
The file is a CSV table of positions (a header with the names of the labels, then one ranking a line; 1 is best,
equal positions are ties, an empty cell is a missing label), or has one ranking a line as text:

  tea > coffee ~ juice

examples:
  bucketrank aggregate rankings.csv --method borda --beta 0.9
  printf 'a > b ~ c\\nb > a\\n' | bucketrank aggregate - --format json
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "aggregate",
        help="turn many rankings into one consensus",
        description="Turn many rankings with ties into one consensus.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", help="CSV of positions or text rankings; - reads standard input")
    parser.add_argument(
        "--method", default="borda", help=f"one of {', '.join(METHODS)} (default borda)"
    )
    parser.add_argument(
        "--beta", type=float, help="threshold for ties of borda, copeland and bucket_pivot"
    )
    parser.add_argument(
        "--format",
        choices=["table", "csv", "json"],
        default="table",
        help="what to print (default table)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the consensus; nothing is printed unless all of it can be."""
    aggregator = _aggregator(options)
    Y, labels = read_rankings(options.file)
    explanation = aggregator.explain(Y, labels=labels)
    print({"table": _table, "csv": _csv, "json": _json}[options.format](explanation))
    return 0


def _aggregator(options: argparse.Namespace) -> Aggregator:
    params = {} if options.beta is None else {"beta": options.beta}
    return get_aggregator(options.method, **params)


def _table(explanation: Explanation) -> str:
    return f"{explanation}\n\n{to_display_text(explanation.positions, explanation.labels)}"


def _csv(explanation: Explanation) -> str:
    rows = zip(explanation.labels, explanation.positions.tolist(), strict=True)
    return to_csv_text([("label", "position"), *rows]).rstrip("\n")


def _json(explanation: Explanation) -> str:
    return json.dumps(explanation.to_dict(), indent=2, ensure_ascii=False)
