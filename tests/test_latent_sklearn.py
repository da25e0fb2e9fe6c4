"""Boosters and linear models with scikit-learn's tools."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bucketrank import PartialLabelRankingBooster, PartialLabelRankingLinear, TauX, tau_x
from tree_data import Array, random_data, with_missing_labels

QUICK: list[Any] = [
    PartialLabelRankingBooster(rounds=8, random_state=0),
    PartialLabelRankingLinear(),
]
models = pytest.mark.parametrize("model", QUICK, ids=lambda model: type(model).__name__)


@pytest.fixture
def data() -> tuple[Array, Array]:
    X, Y = random_data(4, rows=80)
    return X, with_missing_labels(Y, 0.2, 4)


@models
def test_clone_copies_only_parameters(model: Any, data: tuple[Array, Array]) -> None:
    model = clone(model).set_output(transform="pandas").fit(*data)
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert not hasattr(other, "n_labels_in_")
    assert isinstance(other.fit(*data).predict(data[0]), pd.DataFrame)


@models
def test_copies_predict_the_same(model: Any, data: tuple[Array, Array], tmp_path: Path) -> None:
    X, Y = data
    model = clone(model).fit(X, Y, np.arange(len(X)))
    joblib.dump(model, tmp_path / "model.joblib")
    copies = [
        *(pickle.loads(pickle.dumps(model, protocol)) for protocol in range(2, 6)),
        copy.copy(model),
        copy.deepcopy(model),
        joblib.load(tmp_path / "model.joblib"),
    ]
    for other in copies:
        assert other.get_params() == model.get_params()
        np.testing.assert_array_equal(other.predict_utilities(X), model.predict_utilities(X))
        np.testing.assert_array_equal(other.predict(X), model.predict(X))


@models
def test_grid_search_in_a_pipeline(model: Any, data: tuple[Array, Array]) -> None:
    X, Y = data
    pipeline = make_pipeline(StandardScaler(), clone(model))
    step = pipeline.steps[-1][0]
    grid = {f"{step}__ridge": [0.1, 5.0], f"{step}__aggregator": ["borda", TauX("local")]}
    search = GridSearchCV(pipeline, grid, cv=KFold(3, shuffle=True, random_state=0)).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(X).shape == Y.shape


@models
def test_nested_parameters_replace_the_aggregator(model: Any) -> None:
    model = clone(model).set_params(aggregator="borda")
    assert model.set_params(aggregator__beta=0.25).get_params()["aggregator__beta"] == 0.25
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        model.set_params(depth=1)


@models
def test_cross_validation_with_missing_labels(model: Any, data: tuple[Array, Array]) -> None:
    X, Y = data
    scores = cross_val_score(model, X, Y, cv=3)
    for score, (train, test) in zip(scores, KFold(3).split(X), strict=True):
        predicted = clone(model).fit(X[train], Y[train]).predict(X[test])
        assert score == tau_x(Y[test], predicted, missing="ignore")


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_an_interrupted_fit_leaves_the_estimator_unfitted() -> None:
    code = """
        import os, signal, sys, threading, time
        sys.path.insert(0, {tests!r})
        from bucketrank import PartialLabelRankingBooster
        from tree_data import letter_like
        X, Y = letter_like(4000)
        booster = PartialLabelRankingBooster(rounds=100_000, n_jobs=2)
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        try:
            booster.fit(X, Y)
        except KeyboardInterrupt:
            print("interrupted", hasattr(booster, "booster_"), time.monotonic() - start < 20)
    """
    program = textwrap.dedent(code.format(tests=str(Path(__file__).parent)))
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["interrupted", "False", "True"]
