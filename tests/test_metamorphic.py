"""Laws that relate two fits of the same estimator, for all estimators in one table.

Each law changes the data or the estimator and says what the predictions of the changed fit must be. The table `LAWS`
states per estimator whether a law is exact (the predictions are equal), holds within a tolerance of the predicted
shares (sums are formed in another order, so the last bits differ), or is not promised; then the entry is a text that
says why.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

import bucketrank as br
from tree_data import random_data, with_missing_labels

Array = NDArray[Any]

ESTIMATORS: dict[str, Any] = {
    "baseline": br.PartialLabelRankingBaseline(),
    "all tied": br.PartialLabelRankingBaseline("all_tied"),
    "tree": br.PartialLabelRankingTree(min_samples_split=2),
    "smooth tree": br.PartialLabelRankingTree(
        "tau_x", min_samples_split=2, shrinkage="path", routing="soft"
    ),
    "forest": br.PartialLabelRankingForest(n_estimators=8, random_state=0),
    "extra trees": br.PartialLabelRankingForest(
        n_estimators=8, variant="extra_trees", random_state=0
    ),
    "booster": br.PartialLabelRankingBooster(rounds=12, row_share=1.0, random_state=0),
    "linear": br.PartialLabelRankingLinear(tolerance=1e-9),
    "weighted labels": br.PartialLabelRankingForest(
        br.Kemeny(label_weights=(1, 2, 1, 3)), n_estimators=4, random_state=0
    ),
    "fast ranker": br.PartialLabelRanker(fast=True, n_estimators=5, rounds=8, random_state=0),
    "ranker": br.PartialLabelRanker(n_estimators=5, rounds=8, n_parts=2, random_state=0),
}

EXACT = "exact"
SUMS = 1e-5
"""Largest difference of predicted shares when sums are formed in another order; boosters add in single precision."""

DRAWS = "the seed draws rows or features by their index"

LAWS: dict[str, dict[str, str | float]] = {
    "row order": {
        "baseline": EXACT,
        "all tied": EXACT,
        "tree": EXACT,
        "smooth tree": EXACT,
        "forest": DRAWS,
        "extra trees": EXACT,
        "booster": SUMS,
        "linear": SUMS,
        "weighted labels": DRAWS,
        "fast ranker": DRAWS,
        "ranker": DRAWS,
    },
    "label order": {
        "baseline": EXACT,
        "all tied": EXACT,
        "tree": EXACT,
        "smooth tree": SUMS,
        "forest": SUMS,
        "extra trees": SUMS,
        "booster": SUMS,
        "linear": SUMS,
        "weighted labels": "the label weights belong to columns",
        "fast ranker": SUMS,
        "ranker": "rounding can change the chosen rounds, and the fit of the weights stops at a tolerance",
    },
    "monotone map": {
        "baseline": EXACT,
        "all tied": EXACT,
        "tree": EXACT,
        "smooth tree": "soft routing measures distances from thresholds",
        "forest": "half of its trees draw thresholds uniformly between the values",
        "extra trees": "thresholds are drawn uniformly between the values",
        "booster": EXACT,
        "linear": "linear in the features",
        "weighted labels": "half of its trees draw thresholds uniformly between the values",
        "fast ranker": "contains a mixed forest",
        "ranker": "contains a linear model and a mixed forest",
    },
    "weight 2": {
        "baseline": EXACT,
        "all tied": EXACT,
        "tree": EXACT,
        "smooth tree": "the windows of soft routing count rows",
        "forest": DRAWS,
        "extra trees": EXACT,
        "booster": "min_samples_leaf counts rows",
        "linear": SUMS,
        "weighted labels": DRAWS,
        "fast ranker": DRAWS,
        "ranker": DRAWS,
    },
}
ALWAYS = (
    "n_jobs",
    "refit",
    "pickle",
    "save",
    "clone",
    "copy",
    "failed fit",
    "read-only data",
    "column-major data",
)
"""Laws that are exact for every estimator."""


def data(seed: int) -> tuple[Array, Array]:
    X, Y = random_data(seed, rows=40, values=9)
    return X, with_missing_labels(Y, 0.15, seed)


def fit(estimator: Any, X: Array, Y: Array, weights: Array | None = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(estimator).fit(X, Y, weights)


def shares(model: Any, X: Array) -> Array:
    """Return the predicted shares as matrices of before, tied and after, or the positions if there are no shares."""
    if not hasattr(model, "predict_pair_shares"):
        return np.asarray(model.predict(X))
    table = model.predict_pair_shares(X)
    n = model.n_labels_in_
    planes = np.zeros((len(X), 3, n, n))
    u, v = np.triu_indices(n, 1)
    for plane, reverse in ((0, 2), (1, 1), (2, 0)):
        planes[:, plane, u, v] = table[..., plane]
        planes[:, reverse, v, u] = table[..., plane]
    return planes


def compare(law: str, name: str, found: Array, expected: Array) -> None:
    strength = LAWS.get(law, {}).get(name, EXACT)
    if strength == EXACT:
        np.testing.assert_array_equal(found, expected, err_msg=f"{law}, {name}")
    else:
        np.testing.assert_allclose(found, expected, atol=float(strength), err_msg=f"{law}, {name}")


def estimators_that_promise(law: str) -> list[str]:
    return [name for name in ESTIMATORS if LAWS[law][name] == EXACT or LAWS[law][name] == SUMS]


def check_row_order(name: str, seed: int) -> None:
    X, Y = data(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    first, second = fit(ESTIMATORS[name], X, Y), fit(ESTIMATORS[name], X[order], Y[order])
    compare("row order", name, shares(second, X), shares(first, X))


def check_label_order(name: str, seed: int) -> None:
    X, Y = data(seed)
    order = np.random.default_rng(seed).permutation(Y.shape[1])
    first, second = fit(ESTIMATORS[name], X, Y), fit(ESTIMATORS[name], X, Y[:, order])
    expected = shares(first, X)
    expected = expected[:, order] if expected.ndim == 2 else expected[..., order, :][..., order]
    compare("label order", name, shares(second, X), expected)


def check_monotone_map(name: str, seed: int) -> None:
    X, Y = data(seed)
    mapped = np.exp(X) * 3 - 40
    first, second = fit(ESTIMATORS[name], X, Y), fit(ESTIMATORS[name], mapped, Y)
    # Predict training rows only: a threshold may lie anywhere between two values, so other rows may change sides.
    compare("monotone map", name, shares(second, mapped), shares(first, X))


def check_weight_2(name: str, seed: int) -> None:
    X, Y = data(seed)
    twice = np.random.default_rng(seed).random(len(X)) < 0.4
    repeated = np.repeat(np.arange(len(X)), 1 + twice)
    first = fit(ESTIMATORS[name], X, Y, 1.0 + twice)
    second = fit(ESTIMATORS[name], X[repeated], Y[repeated])
    compare("weight 2", name, shares(second, X), shares(first, X))


CHECKS: dict[str, Callable[[str, int], None]] = {
    "row order": check_row_order,
    "label order": check_label_order,
    "monotone map": check_monotone_map,
    "weight 2": check_weight_2,
}


def test_the_table_is_complete() -> None:
    assert LAWS.keys() == CHECKS.keys()
    assert all(law.keys() == ESTIMATORS.keys() for law in LAWS.values())
    kinds = {type(estimator).__name__ for estimator in ESTIMATORS.values()}
    public = {name for name in br.__all__ if hasattr(getattr(br, name), "predict")}
    assert public == kinds, "add the estimator to the table"


@pytest.mark.parametrize(
    ("law", "name"), [(law, name) for law in LAWS for name in estimators_that_promise(law)], ids=str
)
def test_law(law: str, name: str) -> None:
    for seed in range(4):
        CHECKS[law](name, seed)


def variants(model: Any, X: Array, Y: Array, folder: Path) -> dict[str, Any]:
    """Return models that must predict exactly as the given one, by the name of the law."""
    many = clone(model)
    if hasattr(many, "n_jobs"):
        many.set_params(n_jobs=3)
    refitted = fit(model, X[:20], Y[:20])
    br.save_model(model, folder / "model.bin")
    frozen_X, frozen_Y = X.copy(), Y.copy()
    frozen_X.flags.writeable = frozen_Y.flags.writeable = False
    return {
        "n_jobs": many.fit(X, Y),
        "refit": refitted.fit(X, Y),
        "pickle": pickle.loads(pickle.dumps(model)),
        "save": br.load_model(folder / "model.bin"),
        "clone": fit(model, X, Y),
        "copy": copy.deepcopy(model),
        "failed fit": with_failed_fits(copy.copy(model), X, Y),
        "read-only data": clone(model).fit(frozen_X, frozen_Y),
        "column-major data": clone(model).fit(np.asfortranarray(X), np.asfortranarray(Y)),
    }


def with_failed_fits(model: Any, X: Array, Y: Array) -> Any:
    """Return the model after fits that raise an error."""
    before = vars(model).copy()
    invalid = np.where(np.arange(len(X))[:, None] == 5, np.inf, X)
    failing: list[tuple[Any, ...]] = [
        (invalid, Y),
        (X, Y[:-1]),
        (X, np.where(Y == 1, 0, Y)),
        (X, Y, -np.ones(len(X))),
        (X, None),
    ]
    for arguments in failing:
        with pytest.raises(ValueError, match=r"expected|Found|finite|NaN|infinity"):
            model.fit(*arguments)
    parameters = {"aggregator": "no such aggregator"}
    with pytest.raises(ValueError, match="no such aggregator"):
        model.set_params(**parameters).fit(X, Y)
    model.aggregator = before["aggregator"]
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    return model


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_laws_of_all_estimators(name: str, tmp_path: Path) -> None:
    X, Y = data(7)
    model = fit(ESTIMATORS[name], X, Y)
    expected = shares(model, X)
    others = variants(model, X, Y, tmp_path)
    assert others.keys() == {*ALWAYS}
    for law, other in others.items():
        np.testing.assert_array_equal(shares(other, X), expected, err_msg=f"{law}, {name}")
        np.testing.assert_array_equal(other.predict(X), model.predict(X), err_msg=law)
        assert other.get_params().keys() == model.get_params().keys()
