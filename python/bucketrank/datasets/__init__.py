"""Datasets of features and rankings: embedded, generated, from files and from OpenML.

Examples
--------
>>> from bucketrank import datasets
>>> print(datasets.describe(map(datasets.load, ["iris", "wine"])))
dataset  instances  features  labels  unique rankings  mean buckets  missing
iris           150         4       3  ...
wine           178        13       3  ...
"""

from __future__ import annotations

from bucketrank.csv_records import BadFileError
from bucketrank.datasets.battle_reader import read_battles
from bucketrank.datasets.battles import Battles, make_battles
from bucketrank.datasets.conversion import from_classification, rank_scores
from bucketrank.datasets.dataset import Dataset
from bucketrank.datasets.description import Description, DescriptionTable, describe
from bucketrank.datasets.embedded import EMBEDDED_DATASETS, EmbeddedDataset, load, names
from bucketrank.datasets.files import read_csv, read_folder
from bucketrank.datasets.generator import make_rankings
from bucketrank.datasets.openml import PAPER_DATASETS, PaperDataset, fetch

__all__ = [
    "EMBEDDED_DATASETS",
    "PAPER_DATASETS",
    "BadFileError",
    "Battles",
    "Dataset",
    "Description",
    "DescriptionTable",
    "EmbeddedDataset",
    "PaperDataset",
    "describe",
    "fetch",
    "from_classification",
    "load",
    "make_battles",
    "make_rankings",
    "names",
    "rank_scores",
    "read_battles",
    "read_csv",
    "read_folder",
]
