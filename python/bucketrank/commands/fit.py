"""``bucketrank fit``: fit a model to the rankings in a CSV file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from bucketrank._files import check_writable
from bucketrank._phrases import pluralize
from bucketrank.commands.estimators import ESTIMATORS, make_estimator
from bucketrank.csv_reader import read_input
from bucketrank.tables import escape_text

EPILOG = """\
The file is a CSV table with a header: A1, A2, ... are features, and L1, L2, ... the positions of labels (1 is best,
equal positions are ties, an empty cell is a missing label). An empty cell of a feature is a missing value,
and a feature with cells that are not numbers holds categories. If the columns have other names, list the label columns
with --labels; all others are features.

examples:
  bucketrank fit data.csv --out model.bin
  bucketrank fit drinks.csv --labels tea coffee juice --method booster --out drinks.bin
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "fit",
        help="fit a model to a CSV file of features and rankings",
        description="Fit a model that predicts rankings from features, and save it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", help="CSV of features and positions; - reads standard input")
    parser.add_argument("--out", required=True, metavar="FILE", help="file to save the model to")
    parser.add_argument(
        "--labels", nargs="+", metavar="NAME", help="columns with positions (default L1 L2 ...)"
    )
    parser.add_argument(
        "--method",
        default="ranker",
        metavar="NAME",
        help=f"one of {', '.join(ESTIMATORS)} (default ranker)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed (default 0)")
    parser.add_argument(
        "--jobs", type=int, default=-1, metavar="N", help="threads; -1 is one per core (default -1)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the data, fit the model and save it."""
    from bucketrank.datasets.files import open_table, parse_table
    from bucketrank.saving import save_model

    estimator = make_estimator(options.method, random_state=options.seed, n_jobs=options.jobs)
    # Check first that the model can be saved, because a fit may take long.
    out = check_writable(options.out, [options.file])
    if options.file == "-":
        table, roles = parse_table(*read_input("-"), options.labels)
    else:
        table, roles = open_table(Path(options.file), options.labels)
    X, Y = table.read_with_text(roles.features, roles.labels)
    model = estimator.fit(X, Y)
    # bucketrank predict finds the feature columns by name and writes the label names as header.
    model.feature_names_in_ = np.array([table.header[i] for i in roles.features], dtype=object)
    model.label_names_in_ = np.array([table.header[i] for i in roles.labels], dtype=object)
    save_model(model, out)
    print(
        f"{type(model).__name__} of {pluralize(len(X), 'row')}, {pluralize(X.shape[1], 'feature')} and "
        f"{pluralize(Y.shape[1], 'label')} saved to {escape_text(str(options.out))}"
    )
    return 0
