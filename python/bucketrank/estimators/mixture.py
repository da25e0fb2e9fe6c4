"""Mixture of pair models: held-out likelihoods, and the choice of boosting rounds and component weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bucketrank import _core
from bucketrank._validation import Positions

START = {"forest": 0.4, "booster": 0.4, "linear": 0.2}
"""Initial weights of the mixture, a prior worth 20 rows."""

FLOOR = 0.001
"""Smallest share of an observed relation, which keeps the likelihood positive."""

_NUMBERS_AT_ONCE = 1 << 23
"""Largest number of shares held in memory at once: 64 MiB."""

Floats = NDArray[np.float64]


class Evidence:
    """Held-out shares that components predict for the observed relations of some rows.

    Row weights are divided by their mean.
    """

    def __init__(self, positions: Positions, weights: Floats | None = None) -> None:
        self.positions = positions
        self.row_weights = np.ones(len(positions))
        # Equal weights must give exactly the result of no weights.
        if weights is not None and np.ptp(weights) > 0:
            self.row_weights = weights / weights.mean()
        self.counts = _core.observed_counts(positions)
        self._row_of = np.repeat(np.arange(len(positions)), self.counts)

    @property
    def n_pairs(self) -> int:
        """Number of observed relations."""
        return len(self._row_of)

    def empty(self, stages: int = 1) -> Floats:
        """Return a table of predicted shares filled with NaN: one row per stage, one column per relation."""
        return np.full((stages, self.n_pairs), np.nan)

    def write(
        self,
        rows: NDArray[np.intp],
        shares: Callable[[NDArray[np.intp]], Iterator[Floats]],
        table: Floats,
    ) -> None:
        """Predict the shares of `rows` (ascending) stage by stage and store those of the observed relations."""
        for block in row_blocks(len(rows), self.positions.shape[1]):
            asked = rows[block]
            is_asked = np.zeros(len(self.positions), dtype=bool)
            is_asked[asked] = True
            places = np.flatnonzero(is_asked[self._row_of])
            for stage, tables in enumerate(shares(asked)):
                table[stage, places] = _core.observed_shares(self.positions[asked], tables)


def row_blocks(n_rows: int, n_labels: int) -> Iterator[slice]:
    """Yield slices of rows whose pair shares fit in the memory limit."""
    size = max(1, _NUMBERS_AT_ONCE // (3 * n_labels * (n_labels - 1) // 2))
    for start in range(0, n_rows, size):
        yield slice(start, start + size)


class Mix(NamedTuple):
    """Chosen stage of the booster and weights of the components."""

    stage: int
    weights: dict[str, float]


def choose(evidence: Evidence, tables: dict[str, Floats]) -> Mix:
    """Choose the stage of the booster and the weights of all components by likelihood.

    Parameters
    ----------
    evidence : Evidence
        The observed relations.
    tables : dict
        For each component the shares of these relations, one row per stage; only the booster has several.

    Returns
    -------
    Mix
        A component whose shares are not finite has weight 0.
    """
    sound = {name: table for name, table in tables.items() if np.isfinite(table).all()}
    if not sound:
        raise ValueError("no component gives finite shares")
    weights = dict.fromkeys(tables, 0.0)
    total = sum(START[name] for name in sound)
    start = {name: START[name] / total for name in sound}
    if evidence.n_pairs == 0:
        return Mix(len(tables.get("booster", [0])) - 1, {**weights, **start})
    floored = {name: np.maximum(table, FLOOR) for name, table in sound.items()}
    stage = 0
    if "booster" in floored:
        others: Any = sum(start[name] * floored[name][0] for name in floored if name != "booster")
        mixed = start["booster"] * floored["booster"] + others
        by_pair = np.repeat(evidence.row_weights, evidence.counts)
        stage = int((np.log(mixed) * by_pair).mean(axis=1).argmax())
        floored["booster"] = floored["booster"][[stage]]
    found = _core.mixture_weights(
        np.vstack(list(floored.values())),
        evidence.counts,
        evidence.row_weights,
        list(start.values()),
    )
    return Mix(stage, {**weights, **dict(zip(floored, found.tolist(), strict=True))})
