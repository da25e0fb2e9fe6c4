"""What an aggregator computed on the way to its consensus, for people and for programs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank.notation import to_buckets
from bucketrank.tables import Column, Table, escape_text

__all__ = ["Explanation"]


@dataclass(frozen=True, eq=False)
class Explanation:
    """A consensus with the numbers it comes from.

    Attributes
    ----------
    aggregator : str
        The aggregator, as Python writes it.
    labels : list
        Names of the labels.
    positions : ndarray of shape (n_labels,)
        The consensus; read-only.
    details : dict
        What the method computed: ``scores`` (Borda, Copeland); ``indecision``, ``pivots`` (label indices in the order
        in which they were chosen) and ``distance`` (L1 distance between the pair order matrix and the consensus)
        for bucket pivot; ``stationary`` and ``residual`` for Markov chains; ``probabilities``, ``margin`` (how the
        lottery does against its strongest opponent: 0 or more) and ``unique`` for the lottery; ``scores``,
        ``expected_tau_x``, ``boundary_gains`` (the gain of each boundary between neighbouring buckets),
        ``upper_bound`` (an upper bound for every bucket order) and ``optimal`` (whether the result is proven to be
        optimal) for TauX; ``utilities``, ``tie_terms`` and their standard errors ``utility_errors`` (of the
        difference from the mean) and ``tie_term_errors`` for Davidson.

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
        # An explanation is a record: arrays are read-only, so changing a number requires a copy.
        for value in (self.positions, *self._details.values()):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def details(self) -> dict[str, Any]:
        """The numbers of the method by name: a new dictionary each time, with arrays that are read-only."""
        return {
            name: list(value) if isinstance(value, list) else value
            for name, value in self._details.items()
        }

    @property
    def buckets(self) -> list[list[Hashable]]:
        """The consensus as lists of labels, best bucket first."""
        return to_buckets(self.positions, self.labels)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python numbers, strings and lists, ready for JSON."""
        return {
            "aggregator": self.aggregator,
            "labels": [_plain(label) for label in self.labels],
            "positions": self.positions.tolist(),
            "buckets": [[_plain(label) for label in bucket] for bucket in self.buckets],
            **{name: _plain(value) for name, value in self._details.items()},
        }

    def __str__(self) -> str:
        lines = [str(self._table())]
        for name, value in self._details.items():
            if not isinstance(value, np.ndarray):
                lines.append(f"{name}: {self._shown(name, value)}")
        return "\n".join(lines)

    def _table(self) -> Table:
        """Return one row per label, best position first, with the numbers of the method per label."""
        order = np.argsort(self.positions, kind="stable")
        names = [str(self.labels[label]) for label in order.tolist()]
        columns = [Column.of("position", self.positions[order]), Column.of("label", names)]
        for name, value in self._details.items():
            if isinstance(value, np.ndarray):
                columns.append(Column.of(name, value[order], "{:7.4f}".format))
        return Table(self.aggregator, tuple(columns))

    def _shown(self, name: str, value: Any) -> str:
        if name == "pivots":
            return ", ".join(escape_text(str(self.labels[label])) for label in value)
        if isinstance(value, list):
            return ", ".join(f"{number:.4g}" for number in value) or "none"
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    """Return what JSON can carry: NumPy's numbers as Python's, names that are objects as their text."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    known = (str, int, float, bool, list, type(None))
    return value if isinstance(value, known) else str(value)
