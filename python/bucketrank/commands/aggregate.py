"""``bucketrank aggregate``: the consensus of the rankings in a file."""

from __future__ import annotations

import argparse
from typing import Any

from bucketrank.aggregation import METHODS, Aggregator
from bucketrank.aggregation.explanation import Explanation
from bucketrank.commands.aggregators import find_aggregator
from bucketrank.commands.reading import read_rankings
from bucketrank.notation import to_display_text
from bucketrank.tables import to_csv_text, to_json_text

EPILOG = """\
The file is a CSV table of positions (a header with the names of the labels, then one ranking per line; 1 is best,
equal positions are ties, an empty cell is a missing label), a PrefLib file (.soc .soi .toc .toi .cat), or contains one
ranking per line as text:

  tea > coffee ~ juice

--labels names the columns with positions if the table has other columns, too; it can also select some of the labels.
Your own method is given as module:Class, a subclass of bucketrank.Aggregator.

examples:
  bucketrank aggregate rankings.csv --method kemeny
  bucketrank aggregate survey.csv --labels tea coffee juice --weights people
  bucketrank aggregate election.soi --method schulze
  bucketrank aggregate rankings.csv --method my_methods:WorstDefeat
  printf 'a > b ~ c\\nb > a\\n' | bucketrank aggregate - --format json
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "aggregate",
        help="aggregate rankings into one consensus",
        description="Aggregate rankings with ties into one consensus.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file", help="CSV of positions, PrefLib file or text rankings; - reads standard input"
    )
    parser.add_argument(
        "--method",
        help=f"one of {', '.join(METHODS)}, or module:Class (default tau_x; borda with --beta)",
    )
    parser.add_argument(
        "--labels", nargs="+", metavar="NAME", help="labels to aggregate (default all columns)"
    )
    parser.add_argument("--weights", metavar="COLUMN", help="column with the weights of the rows")
    parser.add_argument(
        "--beta", type=float, help="threshold for ties of borda, copeland and bucket_pivot"
    )
    parser.add_argument(
        "--format",
        choices=["table", "csv", "json"],
        default="table",
        help="output format (default table)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the consensus; on an error nothing is printed."""
    aggregator = _aggregator(options)
    Y, labels, weights = read_rankings(options.file, options.labels, options.weights)
    explanation = aggregator.explain(Y, weights, labels=labels)
    print({"table": _table, "csv": _csv, "json": _json}[options.format](explanation))
    return 0


def _aggregator(options: argparse.Namespace) -> Aggregator:
    if options.beta is None:
        return find_aggregator(options.method or "tau_x")
    return find_aggregator(options.method or "borda", beta=options.beta)


def _table(explanation: Explanation) -> str:
    return f"{explanation}\n\n{to_display_text(explanation.positions, explanation.labels)}"


def _csv(explanation: Explanation) -> str:
    rows = zip(explanation.labels, explanation.positions.tolist(), strict=True)
    return to_csv_text([("label", "position"), *rows]).rstrip("\n")


def _json(explanation: Explanation) -> str:
    return to_json_text(explanation.to_dict())
