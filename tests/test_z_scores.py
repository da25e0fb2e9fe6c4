"""z-scores of ``make reproduce`` for known results."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bucketrank.experiments import Study
from published import Cell
from z_scores import EXPLANATIONS, judge, verdict

METHODS = ["borda", "mc4", "maximal_lottery"]


def synthetic_study() -> Study:
    """Study whose repeats score 0.5 + 0.01 · (-2 .. 2) for every method.

    The variance of the five scores is 0.00025, and that of their mean 0.00005.
    """
    rows = [
        (
            "iris",
            missing,
            method,
            repeat,
            fold,
            0.5 + 0.01 * (repeat - 2),
            2.0,
            2.0,
            1.0,
            1.0,
            0.1,
            0.1,
        )
        for missing in (0.0, 0.3)
        for method in METHODS
        for repeat in range(5)
        for fold in range(2)
    ]
    settings = {
        "n_repeats": 5,
        "n_folds": 2,
        "missing": [0.0, 0.3],
        "datasets": {"iris": "0"},
        "methods": METHODS,
    }
    return Study(rows, settings, {})


def test_z_is_the_difference_in_standard_errors() -> None:
    error = math.sqrt(2 * 0.00005 + 1e-6 / 12)
    (one,) = judge(synthetic_study(), [Cell("iris", 0, "borda", 0.5, 0.48)])
    assert one.z == pytest.approx(0.02 / error)
    assert one.p_value == pytest.approx(0.1170, abs=2e-3)


def test_cells_that_cannot_match_do_not_change_the_verdict() -> None:
    near = [Cell("iris", 0, method, 0.5, 0.495) for method in METHODS]
    _, holds = verdict(judge(synthetic_study(), near))
    assert holds
    far = [
        Cell("iris", 30, "mc4", 0.5, 0.9),
        Cell("iris", 0, "maximal_lottery", 0.5, 0.9),
    ]
    table, holds = verdict(judge(synthetic_study(), [*near, *far]))
    assert holds
    assert set(table.columns[0].values) == {
        "all others",
        "maximal lottery",
        "Markov chains with missing labels",
    }
    assert {one.reason for one in judge(synthetic_study(), far)} <= set(EXPLANATIONS)
    _, holds = verdict(judge(synthetic_study(), [*near, Cell("iris", 30, "borda", 0.5, 0.9)]))
    assert not holds


def test_the_bound_is_rarely_exceeded_by_chance() -> None:
    rng = np.random.default_rng(0)
    error = math.sqrt(2 * 0.00005 + 1e-6 / 12)
    exceeded = 0
    for _ in range(50):
        # Five repeats estimate the error, so the ratio follows t with four degrees of freedom.
        cells = [Cell("iris", 0, "borda", 0.5, 0.5 + error * t) for t in rng.standard_t(4, 45)]
        exceeded += not verdict(judge(synthetic_study(), cells))[1]
    assert exceeded <= 6
