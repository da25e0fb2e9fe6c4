"""The class Explanation: a consensus with the intermediate results of its aggregator, printable and as numbers.

A consensus is one bucket order (a ranking with ties) for many rankings. A share is that of the rankings that place a
label before another, where ties count half; the shares of all pairs form the pair order matrix.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._read_only import ReadOnlyArrays
from bucketrank._validation import is_pandas
from bucketrank.notation import to_buckets
from bucketrank.tables import Column, Table, escape_text, notebook_html

__all__ = ["Explanation"]


@dataclass(frozen=True, eq=False)
class Explanation(ReadOnlyArrays):
    """A consensus with the intermediate results of its aggregator.

    Attributes
    ----------
    aggregator : str
        The ``repr`` of the aggregator.
    labels : list
        Names of the labels.
    positions : ndarray of shape (n_labels,)
        The consensus; read-only.
    details : dict
        What the method computed:

        - Borda, Copeland, reciprocal rank fusion, Schulze: ``scores``.
        - Ranked pairs: ``scores`` (wins minus losses), ``discarded`` (pairs of winner and loser).
        - Bucket pivot: ``indecision`` (mean distance of a label's shares from 0, ½ or 1), ``pivots`` (label indices in
          the order in which they were chosen), ``distance`` (L1 distance between the pair order matrix and the
          consensus).
        - Markov chains: ``stationary`` (probability of each label), ``residual`` (largest change of a probability in
          one step).
        - Maximal lottery: ``probabilities``, ``margin`` (smallest expected margin of the lottery against a label: at
          least 0), ``unique``.
        - TauX: ``scores`` (which order the labels), ``expected_tau_x``, ``boundary_gains`` (per boundary between
          adjacent buckets, the loss of expected rank correlation if these were merged), ``upper_bound`` (an upper bound
          for every bucket order), ``optimal`` (whether the result is proven to be optimal), ``unique`` (whether no
          other bucket order is as good; None if unknown).
        - Kemeny: ``scores`` (net preferences, scaled), ``distance``, ``lower_bound``, ``gap`` (the difference of these
          two), ``optimal``, ``unique``, ``components`` (sizes of the parts that were solved one by one).
        - Davidson: see :class:`DavidsonExplanation`.

    Examples
    --------
    >>> from bucketrank import Borda, from_text
    >>> Y, labels = from_text(["a > b ~ c", "a > c > b", "b > a > c"])
    >>> print(Borda(beta=0.2).explain(Y))
    Borda(beta=0.2)
    position  label   scores
           1  0       1.6667
           2  1       0.8333
           3  2       0.5000
    """

    aggregator: str
    labels: list[Hashable]
    positions: NDArray[np.int64]
    _details: dict[str, Any]

    def __post_init__(self) -> None:
        # The arrays become read-only.
        self._freeze_arrays()

    @property
    def details(self) -> dict[str, Any]:
        """The intermediate results by name: a new dictionary each time, with read-only arrays."""
        return {
            name: list(value) if isinstance(value, list) else value
            for name, value in self._details.items()
        }

    @property
    def buckets(self) -> list[list[Hashable]]:
        """The consensus as lists of labels, best bucket first."""
        return to_buckets(self.positions, self.labels)

    def _positions_like(self, source: Any) -> Any:
        """Return the consensus as a writable array, or as a Series when `source` is a pandas DataFrame."""
        return as_series_like(self.positions.copy(), source)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python numbers, strings and lists, ready for JSON."""
        return {
            "aggregator": self.aggregator,
            "labels": [_to_json(label) for label in self.labels],
            "positions": self.positions.tolist(),
            "buckets": [[_to_json(label) for label in bucket] for bucket in self.buckets],
            **{name: _to_json(value) for name, value in self._details.items()},
        }

    def __str__(self) -> str:
        return "\n".join([str(self._table()), *self._remarks()])

    def _repr_html_(self) -> str:
        """Return HTML for a notebook: the table, and the numbers that do not belong to a label."""
        return notebook_html(replace(self._table(), note="\n".join(self._remarks())))

    def _remarks(self) -> list[str]:
        """Return the numbers that do not belong to a label, one line each."""
        return [
            f"{name}: {self._format_detail(name, value)}"
            for name, value in self._details.items()
            if not isinstance(value, np.ndarray)
        ]

    def _table(self) -> Table:
        """Return one row per label, best position first, with the numbers of the method per label."""
        order = self._row_order()
        names = [str(self.labels[label]) for label in order.tolist()]
        columns = [Column.of("position", self.positions[order]), Column.of("label", names)]
        for name, value in self._details.items():
            if isinstance(value, np.ndarray):
                columns.append(Column.of(name, value[order], "{:7.4f}".format))
        return Table(self.aggregator, tuple(columns))

    def _row_order(self) -> NDArray[np.int64]:
        """Return the labels in the order of the printed rows."""
        return np.argsort(self.positions, kind="stable")

    def _format_detail(self, name: str, value: Any) -> str:
        if name == "pivots":
            return ", ".join(escape_text(str(self.labels[label])) for label in value)
        if name == "discarded":
            names = [[escape_text(str(self.labels[label])) for label in pair] for pair in value]
            return ", ".join(f"{winner} > {loser}" for winner, loser in names) or "none"
        if isinstance(value, list):
            return ", ".join(f"{number:.4g}" for number in value) or "none"
        if value is None:
            return "unknown"
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:.4g}" if isinstance(value, float) else str(value)


def as_series_like(positions: NDArray[np.int64], source: Any) -> Any:
    """Return positions as a Series named by the labels when `source` is a pandas DataFrame, else unchanged."""
    if not is_pandas(source):
        return positions
    import pandas as pd

    return pd.Series(positions, index=source.columns, name="position")


def _to_json(value: Any) -> Any:
    """Convert a value for JSON: NumPy numbers to Python numbers, and labels of other types to strings."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_to_json(entry) for entry in value]
    known = (str, int, float, bool, type(None))
    return value if isinstance(value, known) else str(value)
