"""``bucketrank datasets``: which datasets there are, and what is in them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bucketrank.datasets import (
    EMBEDDED_DATASETS,
    PAPER_DATASETS,
    Dataset,
    DescriptionTable,
    EmbeddedDataset,
    PaperDataset,
    describe,
    fetch,
    load,
    read_csv,
)
from bucketrank.datasets import names as known_names
from bucketrank.datasets.embedded import unknown
from bucketrank.datasets.files import csv_files
from bucketrank.suggest import nearest_first
from bucketrank.tables import Column, Table

EPILOG = """\
Without names and options it lists the datasets that it knows. A name stands for an embedded dataset, and a path that
ends in .csv for a file; with --data names stand for files in the folder, with --openml for datasets on OpenML (the
paper's names, or numbers). Both without names mean all.

examples:
  bucketrank datasets
  bucketrank datasets iris digits
  bucketrank datasets my/drinks.csv --format json
  bucketrank datasets --data my --format latex
  bucketrank datasets --openml algae movies
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "datasets",
        help="list datasets and describe them",
        description="List the datasets that bucketrank knows, or describe some.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a dataset, or a CSV file")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--data", metavar="DIR", help="a folder with a CSV file for each dataset")
    place.add_argument("--openml", action="store_true", help="get datasets from OpenML")
    parser.add_argument(
        "--format",
        choices=["table", "csv", "latex", "json"],
        default="table",
        help="what to print (default table)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the list, or the description of the datasets that were asked for."""
    if not options.names and options.data is None and not options.openml:
        print(_list_as(options.format))
        return 0
    table = describe(find(options.names, data=options.data, openml=options.openml))
    print(_described_as(table, options.format))
    return 0


def find(names: Sequence[str], *, data: str | None = None, openml: bool = False) -> list[Dataset]:
    """Return the datasets that names and options of a command stand for.

    Parameters
    ----------
    names : sequence of str
        Names of datasets, or paths of CSV files; none means all that the place has.
    data : str, optional
        A folder with CSV files; by default names stand for embedded datasets.
    openml : bool, default False
        Whether names stand for datasets on OpenML.
    """
    if data is not None:
        return _from_folder(names, data)
    if openml:
        chosen = names or [paper.name for paper in PAPER_DATASETS]
        return [fetch(int(name) if name.isdecimal() else name) for name in chosen]
    return [_load(name) for name in names or known_names()]


def _load(name: str) -> Dataset:
    if name.lower().endswith(".csv"):
        return read_csv(name)
    if Path(name).is_dir():
        raise ValueError(f"{name} is a folder; --data {name} reads the CSV files in it")
    if name not in known_names():
        raise ValueError(unknown(name, "--openml"))
    return load(name)


def _from_folder(names: Sequence[str], folder: str) -> list[Dataset]:
    files = {file.stem: file for file in csv_files(folder)}
    for name in names:
        if name not in files:
            known = ", ".join(nearest_first(name, files))
            raise ValueError(f"unknown dataset {name!r}; {Path(folder)} has: {known}")
    return [read_csv(files[name]) for name in names or files]


def _described_as(table: DescriptionTable, form: str) -> str:
    if form == "json":
        return _json([row.to_dict() for row in table])
    if form == "csv":
        return table.to_csv().rstrip("\n")
    return table.to_latex().rstrip("\n") if form == "latex" else str(table)


def _list_as(form: str) -> str:
    """Write what there is, without making or downloading any of it."""
    known: list[dict[str, Any]] = [
        {"dataset": d.name, "openml_id": None, **_size(d)} for d in EMBEDDED_DATASETS
    ]
    known += ({"dataset": p.name, "openml_id": p.openml_id, **_size(p)} for p in PAPER_DATASETS)
    if form == "json":
        return _json(known)
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


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
