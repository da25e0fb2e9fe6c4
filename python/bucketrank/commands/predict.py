"""``bucketrank predict``: predict rankings with a model saved by ``bucketrank fit``."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._files import check_writable, write_file
from bucketrank.csv_reader import CsvTable, read_input
from bucketrank.notation import to_text
from bucketrank.tables import escape_text, to_csv_text

EPILOG = """\
The file is a CSV table with a header; the features of the model are found by their names, and other columns are
ignored. An empty cell or a category that the training data did not have is a missing value.

examples:
  bucketrank predict model.bin new.csv
  bucketrank predict model.bin new.csv --format text --out rankings.txt
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "predict",
        help="predict rankings for the rows of a CSV file",
        description="Predict rankings with a saved model.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", help="model file saved by bucketrank fit")
    parser.add_argument("file", help="CSV of features; - reads standard input")
    parser.add_argument(
        "--format",
        choices=["csv", "text"],
        default="csv",
        help="csv: positions (default); text: a > b ~ c",
    )
    parser.add_argument("--out", metavar="FILE", help="output file (default standard output)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the model and the rows, and write the predictions; on an error nothing is written."""
    from bucketrank.saving import load_model

    inputs = [options.model, options.file]
    out = None if options.out is None else check_writable(options.out, inputs)
    model = load_model(options.model)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = np.array([f"A{number}" for number in range(1, model.n_features_in_ + 1)])
    else:
        # X has the right columns but no feature names; predict would warn about their absence.
        del model.feature_names_in_
    text_features = {
        names[feature]
        for feature, categories in model.categories_.items()
        if str in map(type, categories)
    }
    X = read_features(options.file, [str(name) for name in names], text_features)
    positions = model.set_output(transform="default").predict(X)
    labels = model.label_names_in_.tolist()
    if options.format == "text":
        text = "".join(f"{line}\n" for line in to_text(positions, labels))
    else:
        text = to_csv_text([labels, *positions.tolist()])
    if out is None:
        # Unlike sys.stdout.write, print does nothing if standard output is closed.
        print("".join(f"{escape_text(line)}\n" for line in text.split("\n")[:-1]), end="")
    else:
        write_file(out, text)
    return 0


def read_features(path: str, names: list[str], categories: Collection[str]) -> NDArray[Any]:
    """Read the columns with these names, in this order; `categories` are the names of columns of strings."""
    table = CsvTable(*read_input(path))
    for name in names:
        if name not in table.header:
            raise table.header_error(
                f"no column {name!r}; expected a column for each feature of the model"
            )
    columns = [table.header.index(name) for name in names]
    text = {table.header.index(name) for name in categories}
    X, _ = table.read_with_text(columns, [], text)
    return X
