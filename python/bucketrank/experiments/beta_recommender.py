"""Recommendation of β, the threshold for ties, by linear regression on meta-features of the training data."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import astuple
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import check_is_fitted

from bucketrank._validation import describe_value
from bucketrank.aggregation import WithBeta, get_aggregator
from bucketrank.experiments.beta_study import BetaStudy, MetaFeatures

_LARGEST_BETAS = {"borda": 2.0, "copeland": 0.5, "bucket_pivot": 0.5}
"""Largest threshold per aggregator: the end of the range in studies for Borda; for the others, 0.5 ties all labels."""

_DEFAULT = "default_betas.json"


class BetaRecommender(BaseEstimator):
    """Recommends β from the numbers of instances, features, labels and buckets and the share of missing labels.

    Parameters
    ----------
    aggregator : {"borda", "copeland", "bucket_pivot"}, default "borda"
        Aggregator whose threshold is recommended.

    Attributes
    ----------
    coef_ : ndarray of shape (5,)
        Change of the threshold with each meta-feature, in the order of ``MetaFeatures.names()``.
    intercept_ : float
    n_points_ : int
        Number of points of the regression: one per dataset and level of missing labels.

    Examples
    --------
    >>> from bucketrank.datasets import load
    >>> from bucketrank.experiments import BetaRecommender
    >>> iris = load("iris")
    >>> beta = BetaRecommender.default("borda").recommend(iris.X, iris.Y)
    >>> 0 <= beta <= 2
    True
    """

    def __init__(self, aggregator: str = "borda") -> None:
        self.aggregator = aggregator

    def fit(self, studies: BetaStudy | Iterable[BetaStudy], y: None = None) -> BetaRecommender:  # noqa: ARG002
        """Fit the regression to the best threshold of each dataset and level of missing labels.

        Parameters
        ----------
        studies : BetaStudy or iterable of BetaStudy
            Studies that include this aggregator.
        y : None
            Not used.

        Returns
        -------
        BetaRecommender
        """
        self._check_aggregator()
        features, targets = [], []
        for beta_study in _as_studies(studies):
            # A BetaStudy contains the Study with its levels and datasets.
            best, study = beta_study.best(self.aggregator), beta_study.study
            for i, level in enumerate(study.missing):
                for j, dataset in enumerate(study.datasets):
                    features.append(astuple(beta_study.meta_features[dataset, level]))
                    targets.append(best[i, j])
        if len(targets) < 2:
            raise ValueError(
                f"the number of pairs of a dataset and a level of missing labels is {len(targets)}; "
                "expected at least 2 to fit the regression"
            )
        model = LinearRegression().fit(np.array(features), np.array(targets))
        self.coef_ = model.coef_
        self.intercept_ = float(model.intercept_)
        self.n_points_ = len(targets)
        return self

    def recommend(self, X: Any, Y: Any) -> float:
        """Return the threshold for these training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        Y : array-like of shape (n_samples, n_labels)
            Positions; NaN for missing labels.

        Returns
        -------
        float
            From 0 to 2 for Borda, from 0 to 0.5 for the others.
        """
        return self.recommend_by(MetaFeatures.of(X, Y))

    def recommend_by(self, meta_features: MetaFeatures) -> float:
        """Return the threshold for training data with these meta-features; see :meth:`recommend`."""
        check_is_fitted(self)
        values = np.array(astuple(meta_features))
        limit = _LARGEST_BETAS[self.aggregator]
        return float(np.clip(values @ self.coef_ + self.intercept_, 0, limit))

    def aggregator_for(self, X: Any, Y: Any) -> WithBeta:
        """Return the aggregator with the recommended threshold for these training data."""
        chosen = get_aggregator(self.aggregator, beta=self.recommend(X, Y))
        assert isinstance(chosen, WithBeta)
        return chosen

    @classmethod
    def default(cls, aggregator: str = "borda") -> BetaRecommender:
        """Return the fitted recommender that is included in the package.

        Parameters
        ----------
        aggregator : {"borda", "copeland"}, default "borda"
            Aggregator whose threshold is recommended.

        Returns
        -------
        BetaRecommender
            Fitted to studies of 15 datasets with 7 levels of missing labels.
        """
        recommender = cls(aggregator)
        recommender._check_aggregator()
        models = included_models()["models"]
        if aggregator not in models:
            raise ValueError(
                f"the package includes no recommender for {aggregator!r}; "
                f"expected one of {', '.join(models)}"
            )
        model = models[aggregator]
        recommender.coef_ = np.array([model["coefficients"][n] for n in MetaFeatures.names()])
        recommender.intercept_ = float(model["intercept"])
        recommender.n_points_ = int(model["points"])
        return recommender

    def to_dict(self) -> dict[str, Any]:
        """Return the coefficients of the model, ready for JSON."""
        check_is_fitted(self)
        coefficients = dict(zip(MetaFeatures.names(), self.coef_.tolist(), strict=True))
        return {
            "coefficients": coefficients,
            "intercept": self.intercept_,
            "points": self.n_points_,
        }

    def _check_aggregator(self) -> None:
        if self.aggregator not in _LARGEST_BETAS:
            known = ", ".join(map(repr, _LARGEST_BETAS))
            raise ValueError(f"aggregator is {self.aggregator!r}; expected one of {known}")


def _as_studies(studies: Any) -> list[BetaStudy]:
    several = [studies]
    if isinstance(studies, Iterable) and not isinstance(studies, (str, bytes)):
        several = list(studies)
    for study in several:
        if not isinstance(study, BetaStudy):
            raise TypeError(
                f"studies is or contains {describe_value(study)}; expected a BetaStudy, as returned by beta_study"
            )
    return several


def included_models() -> dict[str, Any]:
    """Return the coefficients of the included recommenders, and the provenance of the data they were fitted to.

    ``scripts/fit_beta_recommender.py`` fits them and writes the file.
    """
    text = (files("bucketrank.experiments") / _DEFAULT).read_text(encoding="utf-8")
    included: dict[str, Any] = json.loads(text)
    return included
