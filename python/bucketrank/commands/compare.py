"""``bucketrank compare``: methods side by side, over datasets, missing labels and folds."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from bucketrank._files import check_writable, write_file
from bucketrank.aggregation import METHODS, PAPER_AGGREGATORS
from bucketrank.commands.datasets import find
from bucketrank.commands.estimators import ESTIMATORS, make_estimator

_METHODS = [name for name in ESTIMATORS if name != "tree"]
"""The plain tree is what the aggregators are asked on anyway."""

EPILOG = """\
For each dataset, level of missing labels, repeat and fold one tree is grown on the other folds, and every aggregator
predicts by it. Without --data, --openml and --datasets the embedded datasets are used. The column all_tied is what a
prediction scores that ties all labels, whatever the features.

In the table * marks the best method of a row and ~ those whose interval (mean ± 1.96 standard deviations) overlaps
the interval of the best.

examples:
  bucketrank compare
  bucketrank compare --datasets iris wine --aggregators borda copeland mc4 --missing 0 0.5
  bucketrank compare --data my_folder --jobs -1 --store study.db
  bucketrank compare --methods ranker booster forest --repeats 1
  bucketrank compare --data my_folder --format latex --out table.tex
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "compare",
        help="compare the aggregators over datasets, missing labels and folds",
        description="Compare aggregators by repeated cross-validation with labels missing.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--data", metavar="DIR", help="a folder with a CSV file for each dataset")
    place.add_argument("--openml", action="store_true", help="get the datasets from OpenML")
    parser.add_argument(
        "--datasets", nargs="+", default=[], metavar="NAME", help="only these (default all)"
    )
    parser.add_argument(
        "--aggregators",
        nargs="+",
        default=PAPER_AGGREGATORS,
        metavar="NAME",
        help=f"some of {', '.join(METHODS)} (default the paper's eight)",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        default=[],
        metavar="NAME",
        help=f"estimators to compare as well: some of {', '.join(_METHODS)}",
    )
    parser.add_argument(
        "--missing",
        nargs="+",
        type=float,
        default=[0.0, 0.3, 0.6],
        metavar="SHARE",
        help="shares of training labels to drop (default 0 0.3 0.6)",
    )
    for name, default, text in (
        ("repeats", 5, "repeats of the folds"),
        ("folds", 10, "folds of each repeat"),
        ("seed", 0, "seed of folds and missing labels"),
        ("jobs", -1, "threads; -1 is one for each core"),
    ):
        parser.add_argument(
            f"--{name}", type=int, default=default, metavar="N", help=f"{text} (default {default})"
        )
    parser.add_argument(
        "--store", metavar="FILE", help="write results here as they come, and resume from here"
    )
    parser.add_argument(
        "--format",
        choices=["table", "csv", "latex", "json"],
        default="table",
        help="what to write (default table)",
    )
    parser.add_argument("--out", metavar="FILE", help="write to a file, not to the terminal")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the study, then write its summary."""
    from bucketrank.experiments import JobError, compare

    out = None if options.out is None else check_writable(options.out)
    try:
        study = compare(
            find(options.datasets, data=options.data, openml=options.openml),
            options.aggregators,
            missing=options.missing,
            n_repeats=options.repeats,
            n_folds=options.folds,
            seed=options.seed,
            n_jobs=options.jobs,
            store=options.store,
            rankers={name: make_estimator(name) for name in options.methods},
        )
    except JobError as error:
        sys.stderr.write(f"bucketrank compare: {error}\n")
        return 1
    summary = study.summary()
    form = options.format
    if form == "table":
        coloured = out is None and _wants_colour()
        text = f"{_heading(study)}\n\n{summary.to_text(colour=coloured)}"
    else:
        text = getattr(summary, f"to_{form}")().rstrip("\n")
    if out is not None:
        write_file(out, f"{text}\n")
        return 0
    print(text)
    if form == "table":
        print(f"\n{_try_next(options)}")
    return 0


def _heading(study: Any) -> str:
    settings = study.settings
    return (
        f"{settings['n_repeats']} × {settings['n_folds']} folds, seed {settings['seed']}; mean ± "
        "standard deviation; * best of its row, ~ interval overlaps that of the best"
    )


def _try_next(options: argparse.Namespace) -> str:
    lines = ["try next:"]
    if options.data is None and not options.openml:
        lines += [
            "  bucketrank compare --data FOLDER       your own CSV files: features A1 A2 …, positions L1 L2 …",
            "  bucketrank compare --openml            the 17 datasets of the paper",
        ]
    if options.store is None:
        lines.append(
            "  bucketrank compare --store study.db    keep the results, and resume when stopped"
        )
    else:
        lines.append(
            f"  bucketrank report {options.store} --out report.html    tables, figures and words"
        )
    lines.append("  bucketrank compare --help              all options")
    return "\n".join(lines)


def _wants_colour() -> bool:
    """Whether somebody looks at a terminal; see https://no-color.org."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
