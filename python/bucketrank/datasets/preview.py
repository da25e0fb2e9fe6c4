"""The first rows of a dataset as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bucketrank.notation import to_display_text
from bucketrank.tables import Column, Table, pluralize

if TYPE_CHECKING:
    from bucketrank.datasets.dataset import Dataset

__all__ = ["preview"]

_ROWS = 5
_FEATURES = 6


def preview(dataset: Dataset) -> Table:
    """Return a table of the first rows (first features and ranking) with the `repr` of the dataset as its title.

    Examples
    --------
    >>> from bucketrank.datasets import Dataset
    >>> print(preview(Dataset("drinks", [[8], [15]], [[1, 2, 2], [2, 3, 1]], ["hour"], ["tea", "coffee", "juice"])))
    Dataset('drinks': 2 rows, 1 feature, 3 labels)
    row  hour  ranking
      0     8  tea > coffee ~ juice
      1    15  juice > tea > coffee
    """
    shown = range(min(_ROWS, dataset.n_samples))
    features = (
        Column.of(name, dataset.X[: len(shown), index], "{:.6g}".format)
        for index, name in enumerate(dataset.feature_names[:_FEATURES])
    )
    rankings = to_display_text(dataset.Y[: len(shown)], dataset.label_names)
    columns = (Column.of("row", shown), *features, Column.of("ranking", rankings))
    left_out = [
        pluralize(number, noun)
        for number, noun in (
            (dataset.n_samples - len(shown), "more row"),
            (dataset.n_features - _FEATURES, "more feature"),
        )
        if number > 0
    ]
    return Table(
        repr(dataset), columns, note=f"Not shown: {', '.join(left_out)}." if left_out else ""
    )
