"""Choice of beta, the threshold for ties of an aggregator, by cross-validation within the training data.

Used for trees whose aggregator has ``beta="auto"``. The smaller beta, the fewer labels are tied.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from bucketrank import _core
from bucketrank._validation import Positions, as_weights, resolve_n_jobs
from bucketrank.aggregation import Aggregator, WithBeta
from bucketrank.aggregation.base import Spec
from bucketrank.estimators.tree_parameters import smoothing_of, tree_options

if TYPE_CHECKING:
    from bucketrank.estimators.tree import PartialLabelRankingTree

_FOLDS = 3
"""Number of folds: each training set keeps two thirds of the rows."""

_USED_FOLDS = 2
"""Number of folds that are evaluated; the third fold would take 50 % more time and hardly change the choice."""

_SEED = 0
"""Fixed seed of the folds, so that the choice is deterministic."""

_SLACK = 1e-9
"""Scores that differ by at most this are equal, so that rounding does not affect the choice."""


def needs_beta(aggregator: Aggregator) -> bool:
    """Whether the aggregator has beta "auto"."""
    return isinstance(aggregator, WithBeta) and aggregator.beta == "auto"


def with_default_beta(aggregator: Aggregator) -> Aggregator:
    """Return the aggregator with beta "auto" replaced by the default threshold."""
    if isinstance(aggregator, WithBeta) and aggregator.beta == "auto":
        return replace(aggregator, beta=aggregator._default_beta)
    return aggregator


def with_chosen_beta(
    aggregator: Aggregator,
    tree: PartialLabelRankingTree,
    X: NDArray[np.float64],
    Y: Positions,
    sample_weight: ArrayLike | None,
) -> Aggregator:
    r"""Return the aggregator with the threshold that predicts best, by the mean :math:`\tau_X` over folds of `X`.

    Ties are broken towards the default threshold, which is also returned when the folds cannot be scored: with fewer
    than two rows of positive weight, or a fold in which no row ranks two labels.
    """
    assert isinstance(aggregator, WithBeta)
    default = with_default_beta(aggregator)
    weights = as_weights(sample_weight)
    weights = None if weights is None else _core.check_weights(weights, len(Y))
    if weights is not None and (weights == 0).any():
        kept = weights > 0
        X, Y, weights = X[kept], Y[kept], weights[kept]
    n_folds = min(_FOLDS, len(Y))
    if n_folds < 2:
        return default
    betas = aggregator._candidate_betas(*Y.shape)
    # Creating the problem checks the data, also for `_smoothed_scores`, which does not use it.
    problem = _core.Problem(X, Y, weights, _SEED)
    if smoothing_of(tree) is None:
        specs: list[Spec] = [(aggregator._method, beta) for beta in betas]
        scores = _unsmoothed_scores(specs, default, tree, problem, (*X.shape, Y.shape[1]), n_folds)
    else:
        candidates: list[Aggregator] = [replace(aggregator, beta=beta) for beta in betas]
        scores = _smoothed_scores(candidates, default, tree, (X, Y, weights), n_folds)
    if scores is None:
        return default
    best_score = max(scores)
    best = [beta for beta, score in zip(betas, scores, strict=True) if score >= best_score - _SLACK]
    return replace(
        aggregator, beta=min(best, key=lambda beta: abs(beta - aggregator._default_beta))
    )


def _unsmoothed_scores(
    candidates: list[Spec],
    default: Aggregator,
    tree: PartialLabelRankingTree,
    problem: _core.Problem,
    shape: tuple[int, int, int],
    n_folds: int,
) -> list[float] | None:
    """Return the mean score of each candidate over the folds, for trees without shrinkage and soft routing.

    Trees are grown with the aggregator `default`; the candidates are applied to the rankings in the leaves. None when a
    fold cannot be scored.
    """
    rows, features, labels = shape
    n_used = min(_USED_FOLDS, n_folds)
    # If the rows do not divide evenly, the first folds have one row more.
    sizes = [rows // n_folds + int(fold < rows % n_folds) for fold in range(n_used)]
    results: dict[int, list[float]] = {}
    failure = _core.cross_validate(
        [problem],
        # Index of the problem, fraction of missing labels, repeat, fold, index in "trees", index in "aggregators".
        [(0, 0.0, 0, fold, int(size != sizes[0]), 0) for fold, size in enumerate(sizes)],
        {
            "trees": [
                tree_options(tree, (rows - size, features), labels) for size in dict.fromkeys(sizes)
            ],
            "tree_aggregator": default._spec(),
            "aggregators": [candidates],
        },
        n_folds,
        resolve_n_jobs(tree.n_jobs),
        # The last entry of a result has one outcome per candidate, which begins with its tau_x.
        lambda fold, result: results.update({fold: [outcome[0] for outcome in result[4]]}),
    )
    if failure is not None:
        return None
    # Average in the order of the folds, so that rounding does not depend on threads.
    return _mean_scores([results[fold] for fold in range(n_used)])


def _smoothed_scores(
    candidates: list[Aggregator],
    default: Aggregator,
    tree: PartialLabelRankingTree,
    data: tuple[NDArray[np.float64], Positions, NDArray[np.float64] | None],
    n_folds: int,
) -> list[float] | None:
    """Return what :func:`_unsmoothed_scores` returns, for trees with shrinkage or soft routing."""
    X, Y, weights = data
    fold_of = _core.fold_of_rows(len(Y), n_folds, _SEED, 0)
    by_fold = []
    for fold in range(min(_USED_FOLDS, n_folds)):
        test = fold_of == fold
        _, seed = _core.split_seeds(_SEED, 0.0, 0, fold)
        # X already holds indices of categories in place of their values, so all its columns are numbers.
        inner = clone(tree).set_params(
            aggregator=default, random_state=seed % 2**32, categorical_features=None
        )
        inner.fit(X[~test], Y[~test], None if weights is None else weights[~test])
        predictions = inner._positions_from_pair_orders(X[test], candidates)
        truth, truth_weights = Y[test], None if weights is None else weights[test]
        try:
            # Each row is scored on the labels that it ranks.
            by_fold.append([_core.tau_x_ranked(truth, p, truth_weights) for p in predictions])
        except ValueError:  # no held-out row ranks two labels
            return None
    return _mean_scores(by_fold)


def _mean_scores(by_fold: list[list[float]]) -> list[float]:
    """Return the mean over the folds for each candidate."""
    return [sum(taus) / len(by_fold) for taus in zip(*by_fold, strict=True)]
