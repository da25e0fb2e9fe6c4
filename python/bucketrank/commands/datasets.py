"""``bucketrank datasets``: list and describe datasets."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bucketrank.commands.reading import parse_rankings
from bucketrank.csv_reader import read_input
from bucketrank.datasets import (
    EMBEDDED_DATASETS,
    PAPER_DATASETS,
    Dataset,
    Description,
    DescriptionTable,
    EmbeddedDataset,
    PaperDataset,
    describe,
    fetch,
    load,
    read_csv,
)
from bucketrank.datasets import names as known_names
from bucketrank.datasets.embedded import unknown_dataset_message
from bucketrank.datasets.files import csv_files, parse_table, table_dataset
from bucketrank.preflib import PREFLIB_TYPES, is_preflib
from bucketrank.suggest import nearest_first
from bucketrank.tables import Column, Table, to_json_text

EPILOG = """\
Without names and options, all known datasets are listed. A name is an embedded dataset, or the path of a file that
ends in .csv, or of a PrefLib file (.soc .soi .toc .toi .cat), whose ballots are the instances. With --data a name is a
CSV file of the folder, without its ending; with --openml it is a dataset on OpenML (a number, or a name of the datasets
of Wang, Alfaro and Bengs, 2025). With --data and no names, all datasets of the folder are used; with --openml, those of
the paper.

examples:
  bucketrank datasets
  bucketrank datasets iris digits
  bucketrank datasets my/drinks.csv --format json
  bucketrank datasets my/election.soi
  bucketrank datasets --data my --format latex
  bucketrank datasets --openml algae movies
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "datasets",
        help="list datasets and describe them",
        description="List all known datasets, or describe the given ones.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a dataset, CSV file or PrefLib file; - reads standard input",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--data", metavar="DIR", help="folder with one CSV file per dataset")
    source.add_argument("--openml", action="store_true", help="download the datasets from OpenML")
    add_labels_option(parser)
    parser.add_argument(
        "--format",
        choices=["table", "csv", "latex", "json"],
        default="table",
        help="output format (default table)",
    )
    parser.set_defaults(run=run)


def add_labels_option(parser: argparse.ArgumentParser) -> None:
    """Add --labels, for CSV files with headers other than A1, A2, ... and L1, L2, ..."""
    parser.add_argument(
        "--labels",
        nargs="+",
        metavar="NAME",
        help="columns with positions in CSV files; all others are features (default L1 L2 ...)",
    )


def run(options: argparse.Namespace) -> int:
    """Print the list of all datasets, or a description of the named ones."""
    if not options.names and options.data is None and not options.openml:
        print(_format_list(options.format))
        return 0
    if options.data is None and not options.openml:
        rows = [_describe(name, options.labels) for name in options.names]
    else:
        found = find_datasets(
            options.names, data=options.data, openml=options.openml, labels=options.labels
        )
        rows = list(describe(found))
    print(_format_descriptions(DescriptionTable(tuple(rows)), options.format))
    return 0


def _describe(name: str, labels: Sequence[str] | None) -> Description:
    """Describe a dataset or a PrefLib file, which has no features; ``-`` is the file on standard input."""
    if name != "-" and not _is_preflib(name):
        return find_datasets([name], labels=labels)[0].describe()
    shown, text = read_input(name)
    if not is_preflib(shown, text):
        return table_dataset(*parse_table(shown, text, labels), shown).describe()
    ballots = parse_rankings(shown, text, labels)
    positions = np.asarray(ballots.positions, dtype=np.float64)
    return Description.of(Path(shown).stem, 0, positions, ballots.weights)


def find_datasets(
    names: Sequence[str],
    *,
    data: str | None = None,
    openml: bool = False,
    labels: Sequence[str] | None = None,
) -> list[Dataset]:
    """Return the datasets that the options of a command select.

    With `data`, `names` are CSV files of that folder, without ending; with `openml`, they are datasets on OpenML; else
    embedded datasets, paths of CSV files, or ``-`` for standard input. Without `names`, all datasets of the folder, the
    paper's datasets on OpenML, or all embedded datasets are returned. `labels` are the columns with positions in CSV
    files; all other columns are features.
    """
    if data is not None:
        return _from_folder(names, data, labels)
    if labels is not None and not any(
        name == "-" or _is_csv(name) or _is_preflib(name) for name in names
    ):
        raise ValueError(
            "--labels names columns of CSV files; expected a dataset whose name ends in .csv, or --data"
        )
    if openml:
        chosen = names or [paper.name for paper in PAPER_DATASETS]
        return [fetch(int(name) if name.isdecimal() else name) for name in chosen]
    return [_load(name, labels) for name in names or known_names()]


def _is_csv(name: str) -> bool:
    return name.lower().endswith(".csv")


def _is_preflib(name: str) -> bool:
    return Path(name).suffix.lower()[1:] in PREFLIB_TYPES


def _load(name: str, labels: Sequence[str] | None) -> Dataset:
    if name == "-":
        shown, text = read_input(name)
        return table_dataset(*parse_table(shown, text, labels), shown)
    if _is_csv(name) or _is_preflib(name):
        return read_csv(name, label_columns=labels)
    if Path(name).is_dir():
        raise ValueError(f"{name} is a folder; --data {name} reads the CSV files in it")
    if name not in known_names():
        raise ValueError(unknown_dataset_message(name, "--openml"))
    return load(name)


def _from_folder(names: Sequence[str], folder: str, labels: Sequence[str] | None) -> list[Dataset]:
    files = {file.stem: file for file in csv_files(folder)}
    for name in names:
        if name not in files:
            known = ", ".join(nearest_first(name, files))
            raise ValueError(f"unknown dataset {name!r}; {Path(folder)} has: {known}")
    return [read_csv(files[name], label_columns=labels) for name in names or files]


def _format_descriptions(table: DescriptionTable, form: str) -> str:
    if form == "json":
        return to_json_text([row.to_dict() for row in table])
    if form == "csv":
        return table.to_csv().rstrip("\n")
    return table.to_latex().rstrip("\n") if form == "latex" else str(table)


def _format_list(form: str) -> str:
    """Format the list of known datasets, without loading any."""
    known: list[dict[str, Any]] = [
        {"dataset": d.name, "openml_id": None, **_size(d)} for d in EMBEDDED_DATASETS
    ]
    known += ({"dataset": p.name, "openml_id": p.openml_id, **_size(p)} for p in PAPER_DATASETS)
    if form == "json":
        return to_json_text(known)
    if form == "csv":
        return _list_table(known, list(known[0])).to_csv().rstrip("\n")
    table = _list_table(known, [key.replace("_", " ") for key in known[0]])
    if form == "latex":
        return table.to_latex()
    return f"{table}\n\ntry next: bucketrank datasets iris wine"


def _list_table(known: Sequence[dict[str, Any]], names: Sequence[str]) -> Table:
    columns = []
    for name, key in zip(names, known[0], strict=True):
        values = tuple(row[key] for row in known)
        texts = tuple("embedded" if value is None else str(value) for value in values)
        columns.append(Column(name, values, texts, (False,) * len(values)))
    return Table("", tuple(columns))


def _size(dataset: EmbeddedDataset | PaperDataset) -> dict[str, int]:
    return {field: getattr(dataset, field) for field in ("instances", "features", "labels")}
