"""Reading of datasets from CSV files with columns of features and of positions."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from bucketrank._phrases import pluralize
from bucketrank.csv_reader import CsvColumn, CsvTable, read_text
from bucketrank.csv_records import BadFileError
from bucketrank.datasets.dataset import Dataset
from bucketrank.preflib import PREFLIB_TYPES

__all__ = ["BadFileError", "read_csv", "read_folder"]


class Roles(NamedTuple):
    """Indices of the feature columns and of the label columns, counted from 0."""

    features: list[int]
    labels: list[int]


def read_csv(
    path: str | os.PathLike[str],
    *,
    label_columns: Sequence[str] | None = None,
    feature_columns: Sequence[str] | None = None,
    name: str | None = None,
) -> Dataset:
    r"""Read features and rankings from a CSV file.

    The first line names the columns. By default ``A1``, ``A2``, ... are features and ``L1``, ``L2``, ... the positions
    of labels: 1 is best, equal positions are ties, and ``inf`` is a label below the cut of a top-k list. An empty cell
    (or ``nan``, ``NA``, ``?``) is a missing label or a missing value of a feature; both are read as NaN.

    Parameters
    ----------
    path : str or path-like
        A file in UTF-8 with commas between cells.
    label_columns, feature_columns : sequence of str, optional
        Names of the columns, for files with other headers. If only one of them is given, all remaining columns are
        of the other kind; if both are given, remaining columns are ignored.
    name : str, optional
        Name of the dataset; by default the file name without folder and extension.

    Returns
    -------
    Dataset

    Raises
    ------
    BadFileError
        If the file is invalid; the message names file, line and column.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "drinks.csv")
    ...     _ = file.write_text("hour,heat,tea,coffee\n8,21,1,2\n15,30,1,\n")
    ...     drinks = read_csv(file, label_columns=["tea", "coffee"])
    >>> drinks.feature_names
    ('hour', 'heat')
    >>> drinks.Y
    array([[ 1.,  2.],
           [ 1., nan]])
    """
    file = Path(path)
    table, roles = open_table(file, label_columns, feature_columns)
    return table_dataset(table, roles, file.stem if name is None else name)


def table_dataset(table: CsvTable, roles: Roles, name: str) -> Dataset:
    """Read the dataset in the columns of a CSV table."""
    header = table.header
    X, Y = table.read(roles.features, roles.labels, allow_missing=True)
    X.flags.writeable = False
    return Dataset(
        name=name,
        X=X,
        Y=Y,
        feature_names=tuple(header[column] for column in roles.features),
        label_names=tuple(header[column] for column in roles.labels),
        source=table.name,
    )


def open_table(
    file: Path,
    label_columns: Sequence[str] | None = None,
    feature_columns: Sequence[str] | None = None,
) -> tuple[CsvTable, Roles]:
    """Open a CSV file and decide which of its columns are features and which are labels."""
    shown = str(file)
    if file.is_dir():
        raise BadFileError(f"{shown}: found a folder; expected a file, or use read_folder")
    if file.suffix.lower()[1:] in PREFLIB_TYPES:
        raise BadFileError(
            f"{shown}: a PrefLib file has rankings but no features; expected a CSV file with both, or use "
            f"read_preflib, bucketrank aggregate {shown} or bucketrank leaderboard {shown}"
        )
    return parse_table(shown, read_text(file), label_columns, feature_columns)


def parse_table(
    name: str,
    text: str,
    label_columns: Sequence[str] | None = None,
    feature_columns: Sequence[str] | None = None,
) -> tuple[CsvTable, Roles]:
    """Decide which columns of a CSV text are features and which are labels; `name` appears in messages."""
    table = CsvTable(name, text)
    try:
        return table, choose_columns(table.header, label_columns, feature_columns)
    except ValueError as error:
        raise table.header_error(error) from None


def read_folder(path: str | os.PathLike[str]) -> list[Dataset]:
    r"""Read every CSV file of a folder with :func:`read_csv`.

    Parameters
    ----------
    path : str or path-like
        Folder; other files and subfolders are ignored.

    Returns
    -------
    list of Dataset
        Sorted by name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bucketrank.datasets import read_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "drinks.csv").write_text("A1,L1,L2\n7,1,2\n20,2,1\n")
    ...     read_folder(folder)
    [Dataset('drinks': 2 rows, 1 feature, 2 labels)]
    """
    return [read_csv(file) for file in csv_files(path)]


def csv_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the CSV files of a folder, sorted by the names of their datasets."""
    folder = Path(path)
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing"
        raise BadFileError(f"{folder}: found {found}; expected a folder with CSV files")
    files = [file for file in folder.iterdir() if file.suffix.lower() == ".csv" and file.is_file()]
    if not files:
        raise BadFileError(f"{folder}: no file that ends in .csv; expected one per dataset")
    files.sort(key=lambda file: (file.stem, file.name))
    for file, following in pairwise(files):
        if file.stem == following.stem:
            raise BadFileError(
                f"{folder}: {file.name} and {following.name} are both dataset {file.stem!r}; expected different names"
            )
    return files


def choose_columns(
    header: Sequence[str],
    label_columns: Sequence[str] | None,
    feature_columns: Sequence[str] | None,
) -> Roles:
    """Decide which columns are features and which are labels."""
    labels = _indices(header, label_columns, "label_columns")
    features = _indices(header, feature_columns, "feature_columns")
    if labels is None and features is None:
        labels = [i for i, name in enumerate(header) if re.fullmatch(r"L\d+", name)]
        features = [i for i, name in enumerate(header) if re.fullmatch(r"A\d+", name)]
        hint = "; for another header pass label_columns and feature_columns, or --labels on the command line"
        if not labels:
            raise ValueError(
                f"no column L1, L2, ...; expected the positions of the labels in such columns{hint}"
            )
        unassigned = sorted(set(range(len(header))).difference(labels, features))
        if unassigned:
            column = CsvColumn(unassigned[0] + 1, header[unassigned[0]])
            raise ValueError(
                f"{column} is neither a feature A1, A2, ... nor a label L1, L2, ...{hint}"
            )
    elif labels is None:
        labels = [i for i in range(len(header)) if i not in set(features or ())]
    elif features is None:
        features = [i for i in range(len(header)) if i not in set(labels)]
    both = sorted(set(labels).intersection(features or ()))
    if both:
        raise ValueError(f"column {header[both[0]]!r} is in both label_columns and feature_columns")
    if len(labels) < 2:
        raise ValueError(
            f"{pluralize(len(labels), 'column')} with positions; expected at least 2 labels"
        )
    if not features:
        raise ValueError("no column with a feature; expected at least one")
    return Roles(features, labels)


def _indices(
    header: Sequence[str], columns: Sequence[str] | None, argument: str
) -> list[int] | None:
    if columns is None:
        return None
    if isinstance(columns, str):
        raise TypeError(f"{argument} is the string {columns!r}; expected a list of names")
    index_of = {name: index for index, name in enumerate(header)}
    chosen: list[int] = []
    for column in columns:
        if column not in index_of:
            raise ValueError(f"no column {column!r}, which {argument} names")
        if index_of[column] in chosen:
            raise ValueError(f"{argument} names column {column!r} twice")
        chosen.append(index_of[column])
    return chosen
