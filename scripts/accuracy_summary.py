"""Sections of the accuracy report: standard errors, paired differences and regrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Scores = Mapping[float, NDArray[np.float64]]
"""Scores by level of missing labels, with one row per dataset and one column per method."""


@dataclass(frozen=True)
class Results:
    """Mean scores of all methods on all datasets."""

    scores: Scores
    datasets: Sequence[str]
    methods: Sequence[str]

    def column(self, level: float, method: str) -> NDArray[np.float64]:
        values: NDArray[np.float64] = self.scores[level][:, self.methods.index(method)]
        return values


def standard_error(values: NDArray[np.float64]) -> float:
    """Return the standard error of a mean over datasets."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def differences(results: Results, rows: Sequence[int], control: str) -> Iterator[str]:
    """Yield a table of means with standard errors, and of the paired differences of `control` from each method."""
    yield f"| mean ± standard error over {len(rows)} datasets | score | {control} minus this |"
    yield "|---|---|---|"
    for method in results.methods:
        scores, gaps = [], []
        for level in results.scores:
            values = results.column(level, method)[list(rows)]
            gap = results.column(level, control)[list(rows)] - values
            scores.append(f"{values.mean():.3f} ± {standard_error(values):.3f}")
            gaps.append(f"{gap.mean():+.4f} ± {standard_error(gap):.4f}")
        shown = "" if method == control else ", ".join(gaps)
        yield f"| {method} | {', '.join(scores)} | {shown} |"


def regrets(results: Results, ranker: str, components: Sequence[str]) -> Iterator[str]:
    """Yield a table of the best component's score minus that of the ranker, per dataset and level."""
    levels = list(results.scores)
    regret = np.column_stack(
        [
            np.max([results.column(level, name) for name in components], axis=0)
            - results.column(level, ranker)
            for level in levels
        ]
    )
    yield f"| regret of {ranker} | " + " | ".join(f"{level:.0%} missing" for level in levels) + " |"
    yield "|---" * (len(levels) + 1) + "|"
    for name, values in zip(results.datasets, regret, strict=True):
        yield f"| {name} | " + " | ".join(f"{value:+.3f}" for value in values) + " |"
    yield "| mean | " + " | ".join(f"{value:+.4f}" for value in regret.mean(axis=0)) + " |"
    yield ""
    row, column = divmod(int(regret.argmax()), len(levels))
    yield (
        f"- regret against the best of {', '.join(components)}: mean {regret.mean():+.4f}, largest "
        f"{regret.max():+.3f} ({results.datasets[row]}, {levels[column]:.0%} missing)"
    )
