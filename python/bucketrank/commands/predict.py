"""``bucketrank predict``: predict rankings with a model that ``bucketrank fit`` saved."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._csv_table import (
    BadFileError,
    Column,
    check_width,
    column_names,
    decode,
    feature,
    records,
)
from bucketrank._files import check_writable, write_file
from bucketrank.notation import to_text
from bucketrank.tables import to_csv_text

EPILOG = """\
The file is a CSV table with a header; the features of the model are found by their names, and other columns are
ignored.

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
    parser.add_argument("model", help="model file that bucketrank fit saved")
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

    out = None if options.out is None else check_writable(options.out)
    model = load_model(options.model)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = np.array([f"A{number}" for number in range(1, model.n_features_in_ + 1)])
    else:
        # X has the right columns but no feature names; predict would warn about their absence.
        del model.feature_names_in_
    X = read_features(options.file, [str(name) for name in names])
    positions = model.set_output(transform="default").predict(X)
    labels = model.label_names_in_.tolist()
    if options.format == "text":
        text = "".join(f"{line}\n" for line in to_text(positions, labels))
    else:
        text = to_csv_text([labels, *positions.tolist()])
    if out is None:
        sys.stdout.write(text)
    else:
        write_file(out, text)
    return 0


def read_features(path: str, names: list[str]) -> NDArray[np.float64]:
    """Read the columns with these names, in this order."""
    shown = "standard input" if path == "-" else path
    try:
        raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise BadFileError(f"{shown}: {error.strerror or error}") from None
    lines = records(shown, decode(shown, raw))
    first = next(lines, None)
    if first is None:
        raise BadFileError(f"{shown}: the file is empty; expected a header and rows of numbers")
    header_line, cells = first
    header = column_names(shown, header_line, cells)
    lacking = [name for name in names if name not in header]
    if lacking:
        raise BadFileError(
            f"{shown}, line {header_line}: no column {lacking[0]!r}; expected a column for each feature of the model"
        )
    columns = [Column(header.index(name) + 1, name) for name in names]
    rows = []
    for line, cells in lines:
        check_width(shown, line, cells, len(header))
        rows.append([feature(shown, line, c, cells[c.number - 1]) for c in columns])
    if not rows:
        raise BadFileError(
            f"{shown}: a header but no rows; expected one instance per line below it"
        )
    return np.array(rows)
