"""Synthetic studies with known results."""

from __future__ import annotations

from typing import Any

import numpy as np

from bucketrank.experiments import Study

MISSING = (0.0, 0.3, 0.6)


def synthetic_study(
    means: Any,
    *,
    methods: list[str] | None = None,
    datasets: list[str] | None = None,
    missing: tuple[float, ...] = MISSING,
    n_folds: int = 4,
    noise: float = 0.01,
    finished: int | None = None,
) -> Study:
    """A study with these mean scores (levels × datasets × methods); the noise of folds cancels out."""
    scores = np.asarray(means, dtype=np.float64)
    n_levels, n_datasets, n_methods = scores.shape
    methods = methods or [f"m{j}" for j in range(n_methods)]
    datasets = datasets or [f"d{i}" for i in range(n_datasets)]
    wobble = np.resize([noise, -noise], n_folds)
    rows = [
        (
            datasets[i],
            missing[level],
            methods[j],
            0,
            fold,
            scores[level, i, j] + wobble[fold],
            3.0 + 0.5 * j,
            3.0 + i / 10,
            20.0,
            5.0,
            0.01 * (i + 1),
            0.001 * (j + 1),
        )
        for level in range(n_levels)
        for i in range(n_datasets)
        for fold in range(n_folds)
        for j in range(n_methods)
    ]
    settings = {
        "format": 1,
        "bucketrank": "0",
        "seed": 3,
        "n_repeats": 1,
        "n_folds": n_folds,
        "missing": list(missing[:n_levels]),
        "datasets": {name: f"{index:064x}" for index, name in enumerate(datasets)},
        "learners": {"tree": {"ranker": "made up"}},
        "methods": methods,
    }
    return Study(rows[:finished], settings, {"python": "3", "machine": "<none>"})


def leading(n_datasets: int, gaps: list[float], n_levels: int = 1) -> np.ndarray[Any, Any]:
    """Scores in which each method has a constant difference from the first on every dataset."""
    base = np.linspace(0.5, 0.9, n_datasets)
    return np.broadcast_to(base[:, None] - np.array(gaps), (n_levels, n_datasets, len(gaps)))
