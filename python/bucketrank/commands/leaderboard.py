"""``bucketrank leaderboard``: scores with intervals and tiers from a file of comparisons."""

from __future__ import annotations

import argparse
from typing import Any

from bucketrank._files import check_writable
from bucketrank.commands.reading import parse_rankings, read_rankings
from bucketrank.commands.writing import print_or_write, report_missing_package
from bucketrank.csv_reader import read_input
from bucketrank.csv_records import BadFileError
from bucketrank.preflib import is_preflib
from bucketrank.tables import to_json_text

EPILOG = """\
The file is a CSV table (or JSON records: .json, .jsonl) with one comparison per row: two labels and the winner. Known
outcomes are model_a, model_b, tie, left, right, draw, a, b, first, second, 1, 0 and 0.5. A PrefLib file (.soc .soi .toc
.toi .cat) or a CSV table of positions (name its columns with --labels) holds rankings instead of comparisons; whole
rankings are then resampled.

Labels in one tier are statistically tied with its first label. With --group whole groups (voters, prompts, tasks) are
resampled instead of single comparisons.

examples:
  bucketrank leaderboard battles.csv
  bucketrank leaderboard battles.csv --first home --second away --outcome result --group season
  bucketrank leaderboard battles.csv --out board.html
  bucketrank leaderboard battles.csv --method borda --format csv
  bucketrank leaderboard election.soi
  bucketrank leaderboard survey.csv --labels tea coffee juice --weight people
  zcat battles.csv.gz | bucketrank leaderboard -
"""

_COLUMNS = ("first", "second", "outcome", "weight", "group")
_METHODS = ("davidson", "borda", "copeland", "mc1", "mc2", "mc3", "mc4", "maximal_lottery")
"""Aggregators that give each label a score, by which a leaderboard ranks them."""
_FORMATS = ("text", "csv", "json", "markdown", "latex")


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "leaderboard",
        help="rank labels from comparisons, with intervals and tiers",
        description="Rank labels from comparisons, with intervals and tiers of statistically tied labels.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file",
        help="CSV or JSON file of comparisons, or PrefLib file or CSV of rankings; - reads standard input",
    )
    parser.add_argument(
        "--labels",
        nargs="+",
        metavar="NAME",
        help="columns with positions, if the file has rankings",
    )
    for name, default, text in (
        ("first", "model_a", "column of the label shown first"),
        ("second", "model_b", "column of the label shown second"),
        ("outcome", "winner", "column of the outcome"),
    ):
        parser.add_argument(
            f"--{name}", default=default, metavar="COLUMN", help=f"{text} (default {default})"
        )
    parser.add_argument("--group", metavar="COLUMN", help="column of the group")
    parser.add_argument("--weight", metavar="COLUMN", help="column of weights")
    parser.add_argument(
        "--method", default="davidson", help=f"one of {', '.join(_METHODS)} (default davidson)"
    )
    parser.add_argument(
        "--order-effect", action="store_true", help="estimate the advantage of the first label"
    )
    parser.add_argument("--elo", action="store_true", help="scores of davidson on the Elo scale")
    for name, number, text in (
        ("resamples", 1000, "number of resamples"),
        ("seed", 0, "seed of the resamples"),
        ("jobs", -1, "threads; -1 is one per core"),
    ):
        parser.add_argument(
            f"--{name}", type=int, default=number, metavar="N", help=f"{text} (default {number})"
        )
    parser.add_argument(
        "--confidence", type=float, default=0.95, metavar="P", help="confidence (default 0.95)"
    )
    parser.add_argument(
        "--format", choices=_FORMATS, default="text", help="output format (default text)"
    )
    parser.add_argument(
        "--out", metavar="FILE", help="output file; a name ending in .html gets the full page"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the comparisons, and print or write the leaderboard."""
    from bucketrank.boards import leaderboard

    out = None if options.out is None else check_writable(options.out, [options.file])
    with report_missing_package():
        board = leaderboard(
            _read(options),
            _aggregator(options),
            n_resamples=options.resamples,
            confidence=options.confidence,
            random_state=options.seed,
            n_jobs=options.jobs,
        )
        is_page = out is not None and out.suffix.lower() in (".html", ".htm")
        text = board.report() if is_page else f"{_render(board, options.format)}\n"
    print_or_write(text, out, board)
    return 0


def _read(options: argparse.Namespace) -> Any:
    """Read comparisons, or the rankings of a PrefLib file or of the columns that --labels names."""
    from bucketrank.comparisons.reading import MissingColumnError
    from bucketrank.datasets.battle_reader import BattleFile

    is_piped = options.file == "-"
    # The text of a file is not read here, because pandas also reads compressed files.
    name, text = read_input("-") if is_piped else (options.file, "")
    if options.labels is not None or is_preflib(name, text):
        if options.group is not None or options.order_effect:
            raise ValueError(
                f"--group and --order-effect are options of comparisons; {name} has rankings"
            )
        if is_piped:
            return parse_rankings(name, text, options.labels, options.weight)
        return read_rankings(name, options.labels, options.weight)
    columns = {name: getattr(options, name) for name in _COLUMNS}
    file = BattleFile(name, path=name, text=text if is_piped else None)
    try:
        return file.read(**columns, covariates=None)
    except BadFileError as error:
        if not isinstance(error.__cause__, MissingColumnError):
            raise
        raise BadFileError(
            f"{error}; --first, --second and --outcome name the columns of comparisons, --labels those of a table of "
            "rankings"
        ) from None


def _aggregator(options: argparse.Namespace) -> Any:
    from bucketrank.aggregation import Davidson, get_aggregator

    aggregator = get_aggregator(options.method)
    if not isinstance(aggregator, Davidson):
        if options.order_effect or options.elo:
            raise ValueError(
                f"--order-effect and --elo are options of davidson; found --method {options.method}"
            )
        return aggregator
    scale = "elo" if options.elo else "utility"
    return aggregator.set_params(order_effect=options.order_effect, scale=scale)


def _render(board: Any, form: str) -> str:
    if form == "json":
        return to_json_text(board.to_dict())
    if form == "csv":
        return str(board.to_csv()).rstrip("\n")
    return str(board) if form == "text" else str(getattr(board, f"to_{form}")())
