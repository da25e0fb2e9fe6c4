"""Slow reference of the mixture weights by expectation maximisation."""

from __future__ import annotations

from collections.abc import Sequence

STEPS = 60
PRIOR_ROWS = 20


def weights(
    shares: Sequence[Sequence[Sequence[float]]],
    row_weights: Sequence[float],
    start: Sequence[float],
) -> list[float]:
    """Return the weights of the components from their predictions for each observed pair of each row.

    ``shares[row][pair][component]`` is the share that the component predicts for the observed relation.
    """
    found = list(start)
    rows = [(row, weight) for row, weight in zip(shares, row_weights, strict=True) if row]
    total = sum(weight for _, weight in rows)
    for _ in range(STEPS):
        sums = [PRIOR_ROWS * share for share in start]
        for row, weight in rows:
            for pair in row:
                mixed = sum(w * p for w, p in zip(found, pair, strict=True))
                for k, p in enumerate(pair):
                    sums[k] += weight * found[k] * p / mixed / len(row)
        found = [part / (PRIOR_ROWS + total) for part in sums]
    return found
