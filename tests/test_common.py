"""Every estimator follows scikit-learn's conventions."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import bucketrank as br

ESTIMATORS: list[Any] = [
    br.PartialLabelRanker,
    br.PartialLabelRankingBaseline,
    br.PartialLabelRankingBooster,
    br.PartialLabelRankingForest,
    br.PartialLabelRankingLinear,
    br.PartialLabelRankingTree,
]


def test_the_list_of_estimators_is_complete() -> None:
    public = [getattr(br, name) for name in br.__all__]
    assert {c for c in public if isinstance(c, type) and hasattr(c, "fit")} == set(ESTIMATORS)


@pytest.mark.parametrize("method", ["fit", "score"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_target_is_named_y(estimator: Any, method: str) -> None:
    names = list(inspect.signature(getattr(estimator, method)).parameters)
    assert names == ["self", "X", "y", "sample_weight"]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_arguments_can_be_passed_by_name(estimator: Any) -> None:
    X, y = [[0.0], [1.0], [2.0], [3.0]], [[1, 2], [1, 2], [2, 1], [2, 1]]
    model = estimator().fit(X=X, y=y, sample_weight=[1, 1, 2, 2])
    assert -1 <= model.score(X=X, y=y, sample_weight=[1, 1, 2, 2]) <= 1
    with pytest.raises(TypeError, match="unexpected keyword argument 'Y'"):
        estimator().fit(X, Y=y)
    with pytest.raises(TypeError, match=r"y has dtype .*\(row 0, label 0: 'a'\)"):
        estimator().fit(X, y=[["a", "b"]] * 4)
