"""The estimators of a mixture's components: made with the parameters of a ranker, then filled with fitted models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bucketrank.aggregation import as_aggregator
from bucketrank.estimators.boosting import PartialLabelRankingBooster
from bucketrank.estimators.forest import PartialLabelRankingForest
from bucketrank.estimators.linear import PartialLabelRankingLinear

if TYPE_CHECKING:
    from bucketrank._core import _MixtureFit
    from bucketrank.estimators.ranker import PartialLabelRanker

__all__ = ["ComponentEstimators", "linear_component"]

_LINEAR_TOLERANCE = 2e-3
"""A smaller tolerance would take most of the fitting time without improving the mixture."""

_SEED_LIMIT = 2**31 - 1
"""Seeds are drawn below this number."""


class ComponentEstimators(NamedTuple):
    """The estimators of a mixture, with their parameters."""

    forest: PartialLabelRankingForest
    boosters: list[PartialLabelRankingBooster]
    linears: list[PartialLabelRankingLinear]

    @classmethod
    def unfitted(
        cls, ranker: PartialLabelRanker, n_fits: int, draws: np.random.RandomState
    ) -> ComponentEstimators:
        """Make the estimators of a ranker, with `n_fits` boosters and linear models."""
        forest = PartialLabelRankingForest(
            n_estimators=ranker.n_estimators,
            random_state=draws.randint(_SEED_LIMIT),
            n_jobs=ranker.n_jobs,
        )
        boosters = [
            PartialLabelRankingBooster(
                rounds=ranker.rounds,
                max_depth=ranker.max_depth,
                thresholds="spaced",
                random_state=draws.randint(_SEED_LIMIT),
                n_jobs=ranker.n_jobs,
            )
            for _ in range(n_fits)
        ]
        n_linears = 0 if ranker.fast else n_fits
        return cls(forest, boosters, [linear_component(ranker.n_jobs) for _ in range(n_linears)])

    def fitted(
        self, fit: _MixtureFit, values: NDArray[np.float64], n_labels: int
    ) -> dict[str, list[Any]]:
        """Store the fitted models in the estimators, by component; a component that failed has an empty list."""
        forest, boosters, linears = self
        for estimator in (forest, *boosters, *linears):
            estimator._remember(values, list(range(n_labels)), as_aggregator(estimator.aggregator))
        forests = []
        if fit["forest"] is not None:
            forest._keep(fit["forest"], forest._seed, forest._data)
            forest.shrinkage_strength_ = forest._strength()
            forests.append(forest)
        # The core returns the models that predict: those of all folds, or only the last one, fitted on all rows.
        boosters = boosters[len(boosters) - len(fit["boosters"]) :]
        components: dict[str, list[Any]] = {
            "forest": forests,
            "booster": [e._keep(model) for e, model in zip(boosters, fit["boosters"], strict=True)],
        }
        if linears:
            linears = linears[len(linears) - len(fit["linears"]) :]
            models = zip(linears, fit["linears"], strict=True)
            components["linear"] = [estimator._keep(model, {}) for estimator, model in models]
        return components


def linear_component(n_jobs: int | None) -> PartialLabelRankingLinear:
    """Make the linear model of a mixture."""
    return PartialLabelRankingLinear(tolerance=_LINEAR_TOLERANCE, n_jobs=n_jobs)
