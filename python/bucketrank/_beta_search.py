"""``beta="auto"``: the threshold for ties that predicts best in a cross-validation within the training data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank import _core
from bucketrank._tree_parameters import tree_options
from bucketrank._validation import Positions, as_weights, resolve_n_jobs
from bucketrank.aggregation import Aggregator, WithBeta

if TYPE_CHECKING:
    from bucketrank.tree import PartialLabelRankingTree

_FOLDS = 3
"""Few, because each costs a tree: together they take about twice the time of the fit itself."""

_MANY_ROWS = 2000
"""From so many rows on two of the folds tell enough, and the third would only take time."""

_SEED = 0
"""The folds are part of the definition, like the order in which splits are tried."""

_SLACK = 1e-9
"""Scores this close are equal: rounding must not choose."""


def needs_beta(aggregator: Aggregator) -> bool:
    """Whether the aggregator waits for a tree to choose its threshold."""
    return isinstance(aggregator, WithBeta) and aggregator.beta == "auto"


def with_usual_beta(aggregator: Aggregator) -> Aggregator:
    """Return the aggregator with its usual threshold where it waits for a choice, else as it is."""
    if isinstance(aggregator, WithBeta) and aggregator.beta == "auto":
        return replace(aggregator, beta=aggregator._usual_beta)
    return aggregator


def with_chosen_beta(
    aggregator: Aggregator,
    tree: PartialLabelRankingTree,
    X: NDArray[np.float64],
    Y: Positions,
    sample_weight: ArrayLike | None,
) -> Aggregator:
    r"""Return the aggregator with the threshold that predicts best, by the mean :math:`\\tau_X` over inner folds.

    Of equally good thresholds the one nearest the usual threshold is taken. The usual one is also taken where there is
    nothing to choose by: fewer than two rows with weight, or a fold without two ranked labels in any row.
    """
    assert isinstance(aggregator, WithBeta)
    usual = with_usual_beta(aggregator)
    weights = as_weights(sample_weight)
    weights = None if weights is None else _core.check_weights(weights, len(Y))
    if weights is not None and (weights == 0).any():
        kept = weights > 0
        X, Y, weights = X[kept], Y[kept], weights[kept]
    n_folds = min(_FOLDS, len(Y))
    if n_folds < 2:
        return usual
    betas = sorted(aggregator._candidates, key=lambda beta: abs(beta - aggregator._usual_beta))
    scores = _inner_scores(
        [replace(aggregator, beta=beta) for beta in betas],
        usual,
        tree,
        _core.Problem(X, Y, weights, _SEED),
        (*X.shape, Y.shape[1]),
        n_folds,
    )
    if scores is None:
        return usual
    # Nearest to the usual first, so the first of the best is the nearest.
    return replace(aggregator, beta=betas[int(np.argmax(scores >= scores.max() - _SLACK))])


def _inner_scores(
    candidates: list[Aggregator],
    usual: Aggregator,
    tree: PartialLabelRankingTree,
    problem: _core.Problem,
    shape: tuple[int, int, int],
    n_folds: int,
) -> NDArray[np.float64] | None:
    rows, features, labels = shape
    n_used = n_folds if rows < _MANY_ROWS else 2
    results: list[Any] = []
    failure = _core.cross_validate(
        [problem],
        [(0, 0.0, 0, fold, int(fold >= rows % n_folds), 0) for fold in range(n_used)],
        {
            "trees": [
                tree_options(tree, (rows - size, features), labels)
                for size in (rows // n_folds + 1, rows // n_folds)
            ],
            "tree_aggregator": usual._spec(),
            "aggregators": [[candidate._spec() for candidate in candidates]],
        },
        n_folds,
        resolve_n_jobs(tree.n_jobs),
        lambda fold, row: results.append((fold, [tau_x for tau_x, _, _ in row[4]])),
    )
    if failure is not None:
        return None
    # In the order of the folds, not of finishing, so that rounding does not depend on threads.
    return np.asarray(np.mean([taus for _, taus in sorted(results)], axis=0))
