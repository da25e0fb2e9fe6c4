"""``bucketrank compare``: compare methods by cross-validation over datasets and shares of missing labels."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from bucketrank._files import check_writable, write_file
from bucketrank.aggregation import METHODS, PAPER_AGGREGATORS
from bucketrank.commands.aggregators import find_aggregator
from bucketrank.commands.datasets import add_labels_option, find_datasets
from bucketrank.commands.estimators import ESTIMATORS, make_estimator

_METHODS = [name for name in ESTIMATORS if name != "tree"]
"""Estimators in the help of --methods: all but the default tree, on which the aggregators are compared anyway."""

EPILOG = """\
For each dataset, share of missing labels, repeat and fold, one tree is fitted to the other folds, and every aggregator
predicts with that tree. Without --data, --openml and --datasets the embedded datasets are used. The column all_tied is
a baseline: the score of a prediction that ties all labels.

In the table, * marks the best method of a row, and ~ marks methods whose interval (mean ± 1.96 standard deviations)
overlaps the interval of the best.

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
        help="compare methods by cross-validation over datasets and missing labels",
        description="Compare methods by repeated cross-validation, with missing labels.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--data", metavar="DIR", help="folder with one CSV file per dataset")
    source.add_argument("--openml", action="store_true", help="download the datasets from OpenML")
    parser.add_argument(
        "--datasets", nargs="+", default=[], metavar="NAME", help="datasets to use (default all)"
    )
    parser.add_argument(
        "--aggregators",
        nargs="+",
        default=PAPER_AGGREGATORS,
        metavar="NAME",
        help=f"aggregators to compare, from {', '.join(METHODS)}, or module:Class (default those of Wang, Alfaro and "
        "Bengs, 2025)",
    )
    add_labels_option(parser)
    parser.add_argument(
        "--methods",
        nargs="+",
        default=[],
        metavar="NAME",
        help=f"estimators to compare with the aggregators, from {', '.join(_METHODS)}",
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
        ("repeats", 5, "repeats of the cross-validation"),
        ("folds", 10, "folds per repeat"),
        ("seed", 0, "seed of the folds, the dropped labels and the estimators"),
        ("jobs", -1, "threads; -1 is one per core"),
    ):
        parser.add_argument(
            f"--{name}", type=int, default=default, metavar="N", help=f"{text} (default {default})"
        )
    parser.add_argument(
        "--store", metavar="FILE", help="save each result to this file, and resume from it"
    )
    parser.add_argument(
        "--format",
        choices=["table", "csv", "latex", "json"],
        default="table",
        help="output format (default table)",
    )
    parser.add_argument("--out", metavar="FILE", help="output file (default standard output)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the study and write its summary."""
    from bucketrank.experiments import compare

    out = None if options.out is None else check_writable(options.out, _inputs(options))
    study = compare(
        find_datasets(
            options.datasets, data=options.data, openml=options.openml, labels=options.labels
        ),
        [name if ":" not in name else find_aggregator(name) for name in options.aggregators],
        missing=options.missing,
        n_repeats=options.repeats,
        n_folds=options.folds,
        seed=options.seed,
        n_jobs=options.jobs,
        store=options.store,
        rankers={name: make_estimator(name) for name in options.methods},
    )
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


def _inputs(options: argparse.Namespace) -> list[str | Path]:
    """Return the files that the study reads or keeps."""
    store = [] if options.store is None else [options.store]
    if options.data is not None:
        return [*store, *Path(options.data).glob("*")]
    return [*store, *(name for name in options.datasets if Path(name).suffix)]


def _heading(study: Any) -> str:
    settings = study.settings
    return (
        f"{settings['n_repeats']} × {settings['n_folds']} folds, seed {settings['seed']}; mean ± "
        "standard deviation; * best of the row, ~ interval overlaps the interval of the best"
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
            "  bucketrank compare --store study.db    save the results, and resume when interrupted"
        )
    else:
        lines.append(
            f"  bucketrank report {options.store} --out report.html    report with tables and figures"
        )
    lines.append("  bucketrank compare --help              all options")
    return "\n".join(lines)


def _wants_colour() -> bool:
    """Whether standard output is a terminal and colour is not disabled; see https://no-color.org."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return is_terminal and not os.environ.get("NO_COLOR")
