"""Baselines from the literature, built on scikit-learn: pairwise classifiers and nearest neighbours.

References: E. Hüllermeier, J. Fürnkranz, W. Cheng and K. Brinker, *Label ranking by learning pairwise preferences*,
Artificial Intelligence 172, 2008; K. Brinker and E. Hüllermeier, *Case-based label ranking*, ECML 2006.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bucketrank import TauX

_Array = NDArray[np.float64]


class PairwiseRanker(BaseEstimator):
    """Ranking by pairwise comparison: one classifier of before, tied and after per pair of labels."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: Any) -> PairwiseRanker:
        values, positions = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        self.models_ = [
            self._fit_pair(values, difference) for difference in _pair_differences(positions).T
        ]
        return self

    def _fit_pair(self, X: _Array, difference: _Array) -> Any:
        """Return a classifier, the only relation that was observed, or None for a pair without evidence."""
        observed = ~np.isnan(difference)
        relations = 1 + np.sign(difference[observed]).astype(int)
        classes = np.unique(relations)
        if len(classes) < 2:
            return int(classes[0]) if len(classes) else None
        return clone(self.classifier).fit(X[observed], relations)

    def predict(self, X: Any) -> NDArray[np.int64]:
        values = np.asarray(X, dtype=float)
        shares = np.zeros((len(values), len(self.models_), 3))
        for pair, model in enumerate(self.models_):
            if model is None:
                shares[:, pair] = 1 / 3
            elif isinstance(model, int):
                shares[:, pair, model] = 1
            else:
                shares[:, pair, model.classes_] = model.predict_proba(values)
        return TauX().aggregate_pair_shares(shares)


class NeighbourRanker(BaseEstimator):
    """Consensus of the rankings of the nearest training rows, with standardised features."""

    def __init__(self, n_neighbors: int = 10) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any) -> NeighbourRanker:
        values, positions = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        self.scaler_ = StandardScaler().fit(values)
        n_neighbors = min(self.n_neighbors, len(values))
        self.index_ = NearestNeighbors(n_neighbors=n_neighbors).fit(self.scaler_.transform(values))
        self.differences_ = _pair_differences(positions)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        rows = self.index_.kneighbors(self.scaler_.transform(np.asarray(X, dtype=float)))[1]
        differences = self.differences_[rows]
        counts = np.stack([(differences < 0), (differences == 0), (differences > 0)], axis=-1).sum(
            axis=1
        )
        totals = counts.sum(axis=-1, keepdims=True)
        # A pair that no neighbour ranks has uniform shares.
        shares = np.where(totals > 0, counts / np.maximum(totals, 1), 1 / 3)
        return TauX().aggregate_pair_shares(shares)


def _pair_differences(positions: _Array) -> _Array:
    """Return the differences of positions of all pairs u < v; NaN where a label is missing."""
    u, v = np.triu_indices(positions.shape[1], 1)
    difference: _Array = positions[:, u] - positions[:, v]
    return difference


def baseline_rankers(n_jobs: int) -> dict[str, Any]:
    """Return the baselines by name."""
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    return {
        "pairwise logistic regression": PairwiseRanker(logistic),
        "pairwise random forest": PairwiseRanker(
            RandomForestClassifier(100, random_state=0, n_jobs=n_jobs)
        ),
        "10 nearest neighbours": NeighbourRanker(10),
        "20 nearest neighbours": NeighbourRanker(20),
    }
