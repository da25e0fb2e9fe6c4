"""The recommended estimator: a mix of forest, booster and linear model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bucketrank import _core
from bucketrank._validation import (
    as_flag,
    at_least,
    bounded_count,
    resolve_n_jobs,
)
from bucketrank.aggregation import Aggregator, as_aggregator
from bucketrank.estimators.boosting import PartialLabelRankingBooster
from bucketrank.estimators.concurrent_fits import at_once
from bucketrank.estimators.explained import EstimatedScoreRanker
from bucketrank.estimators.forest import PartialLabelRankingForest
from bucketrank.estimators.importances import mixture_importances
from bucketrank.estimators.latent import PairShareRanker
from bucketrank.estimators.linear import PartialLabelRankingLinear
from bucketrank.estimators.mixture import Evidence, choose, row_blocks
from bucketrank.estimators.training_rows import TrainingRows, draw_rows, rows_with_weight

__all__ = ["PartialLabelRanker"]

_Self = TypeVar("_Self", bound="PartialLabelRanker")

_SNAPSHOTS = (10, 25, 50, 100, 150)
"""Numbers of rounds that the mixture chooses from, besides `rounds` itself."""

_MIXING_ROWS = 2000
"""Largest number of rows used to choose weights and rounds; more rows change the choice little."""

_LINEAR_ROWS = 4000
"""Largest number of rows used to fit a linear model: its few coefficients need no more."""

_LINEAR_TOLERANCE = 1e-3
"""A smaller tolerance takes most of the fitting time and does not change the mixture."""

_ROWS_TO_TRY = 100
"""Number of rows used to check that a component predicts finite shares."""

_SHORT = 50_000
"""Up to this many rows times labels, a booster is fitted in a fraction of a second."""

_LARGEST_SEED = 2**31 - 1


class _Fitted(NamedTuple):
    """Result of a fit: components, their weights and the number of boosting rounds."""

    components: dict[str, list[Any]]
    weights: dict[str, float]
    rounds: int


class PartialLabelRanker(PairShareRanker, EstimatedScoreRanker):
    r"""The recommended estimator: forest, boosting and a linear model, mixed by their held-out likelihood.

    The forest is grown on all rows and evaluated out-of-bag. As in cross-validation, one booster and one linear model
    are fitted per fold without its rows and evaluated on them; predictions average their shares over the folds. The
    number of rounds and the weights of the three components maximise the likelihood of the held-out relations, so a
    component that does not suit the data gets a small weight.

    Parameters
    ----------
    aggregator : str or Aggregator, default "tau_x"
        Aggregator applied to the mixed shares; see :func:`bucketrank.get_aggregator`.
    fast : bool, default False
        Only the forest and one booster with equal weights: a fraction of the time, nearly the accuracy, but no
        protection against a component that does not suit the data.
    n_estimators : int, default 100
        Number of trees of the forest.
    rounds : int, default 200
        Largest number of rounds of a booster.
    max_depth : int, default 6
        Depth of the boosted trees.
    n_parts : int, default 5
        Number of folds: each is held out by one booster and one linear model.
    random_state : int, RandomState instance, optional
        Seed of all draws.
    n_jobs : int, optional
        Number of threads; None means 1, and -1 means one per core. The model does not depend on it.

    Attributes
    ----------
    weights_ : dict
        Weight of ``"forest"``, ``"booster"`` and ``"linear"``; a component that failed has weight 0.
    rounds_ : int
        Number of boosting rounds used for predictions.
    components_ : dict
        The fitted estimators of each component, as lists.
    feature_importances_ : ndarray of shape (n_features,)
        Importances of the components, averaged with `weights_`: decrease of impurity in the forest, gain of all rounds
        of the booster, absolute coefficients of the linear model, each as shares of their sum over all features.
    aggregator_ : Aggregator
        The aggregator used for predictions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had string names for its columns.
    n_labels_in_ : int
        Number of labels.
    label_names_in_ : ndarray of shape (n_labels,)
        Names of the labels: the columns of y, or 0, 1, ...

    Notes
    -----
    Weights and rounds are chosen on at most 2000 rows, and a linear model is fitted on at most 4000. Rows of weight 0
    are left out. When the weights are chosen, each row counts by its `sample_weight` divided by the mean over these
    rows, regardless of the number of labels it ranks; the initial weights (0.4, 0.4 and 0.2) act as a prior worth 20
    rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bucketrank import PartialLabelRanker
    >>> X = np.arange(60.0).reshape(-1, 1)
    >>> y = np.where(X < 30, [[1, 2, 2]], [[3, 1, 2]])
    >>> ranker = PartialLabelRanker(random_state=0).fit(X, y)
    >>> ranker.predict([[3], [55]])
    array([[1, 2, 2],
           [3, 1, 2]])
    """

    def __init__(
        self,
        aggregator: str | Aggregator = "tau_x",
        *,
        fast: bool = False,
        n_estimators: int = 100,
        rounds: int = 200,
        max_depth: int = 6,
        n_parts: int = 5,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.aggregator = aggregator
        self.fast = fast
        self.n_estimators = n_estimators
        self.rounds = rounds
        self.max_depth = max_depth
        self.n_parts = n_parts
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> _Self:
        """Fit all components and choose their weights.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Finite numbers.
        y : array-like or DataFrame of shape (n_samples, n_labels)
            Positions: 1 is best, equal positions are ties, NaN marks a missing label.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights of the rows.

        Returns
        -------
        PartialLabelRanker
            The fitted estimator. An error or Ctrl-C leaves it as it was.
        """
        as_flag(self.fast, "fast")
        # Invalid parameters must raise here, not count as a failed component.
        for name in ("n_estimators", "rounds"):
            bounded_count(getattr(self, name), name)
        for name, least in (("max_depth", 1), ("n_parts", 2)):
            at_least(getattr(self, name), name, least)
        deepest = _core.LIMITS["booster_depth"]
        if self.max_depth > deepest:
            raise ValueError(f"max_depth is {self.max_depth}; expected at most {deepest}")
        resolve_n_jobs(self.n_jobs)
        values, positions, names = self._training_data(X, y)
        aggregator = self._usable(as_aggregator(self.aggregator))
        aggregator._check_label_count(positions.shape[1])
        if positions.shape[1] > _core.LIMITS["pair_labels"]:
            # No component can be fitted.
            raise ValueError(
                f"found {positions.shape[1]} labels; expected at most {_core.LIMITS['pair_labels']}"
            )
        rows = rows_with_weight(values, positions, sample_weight)
        draws = check_random_state(self.random_state)
        mix = self._fit_fast(rows, draws) if self.fast else self._fit_mixed(rows, draws)
        self._remember(X, names, aggregator)
        self.components_, self.weights_, self.rounds_ = mix
        return self

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Importances of the components, averaged with the weights of the mixture."""
        check_is_fitted(self)
        return mixture_importances(self.components_, self.weights_, self.n_features_in_)

    def _fit_fast(self, rows: TrainingRows, draws: np.random.RandomState) -> _Fitted:
        components: dict[str, list[Any]] = {
            "forest": _attempts("forest", [partial(self._forest(draws).fit, *rows)]),
            "booster": _attempts("booster", [partial(self._booster(draws).fit, *rows)]),
        }
        asked = rows.values[:_ROWS_TO_TRY]
        usable = {
            name: bool(models) and _are_finite(name, models, asked, self.rounds)
            for name, models in components.items()
        }
        fitted = sum(usable.values())
        if fitted == 0:
            raise ValueError("every component failed; the warnings say why")
        weights = {name: float(usable[name]) / fitted for name in components}
        return _Fitted(components, weights, self.rounds)

    def _fit_mixed(self, rows: TrainingRows, draws: np.random.RandomState) -> _Fitted:
        n_rows = len(rows.values)
        n_parts = min(self.n_parts, n_rows)
        part_of = draws.permutation(n_rows) % n_parts
        # A single row cannot be held out.
        parts = [rows if n_rows == 1 else rows.only(part_of != part) for part in range(n_parts)]
        seen = np.sort(draws.permutation(n_rows)[:_MIXING_ROWS])
        components = self._fit_components(rows, parts, draws)
        stages = [*(stage for stage in _SNAPSHOTS if stage < self.rounds), self.rounds]
        evidence = Evidence(
            rows.positions[seen], None if rows.weights is None else rows.weights[seen]
        )
        tables: dict[str, NDArray[np.float64]] = {}
        for name, models in components.items():
            if not models:
                continue
            tables[name] = evidence.empty(len(stages) if name == "booster" else 1)
            for part, model in enumerate(models):
                held_out = np.arange(len(seen))
                if name != "forest":
                    held_out = np.flatnonzero(part_of[seen] == part)
                ask = partial(_unseen_shares, model, rows.values, seen, stages)
                evidence.write(held_out, ask, tables[name])
        if not tables:
            raise ValueError("every component failed; the warnings say why")
        mix = choose(evidence, tables)
        for name, weight in mix.weights.items():
            if weight == 0:
                _warn_not_finite(name)
        weights = {name: mix.weights.get(name, 0.0) for name in components}
        return _Fitted(components, weights, stages[mix.stage])

    def _fit_components(
        self, rows: TrainingRows, parts: list[TrainingRows], draws: np.random.RandomState
    ) -> dict[str, list[Any]]:
        """Fit the forest on all rows, and a booster and a linear model on each part."""
        forest = self._forest(draws)
        boosters = [self._booster(draws) for _ in parts]
        linears = [PartialLabelRankingLinear(tolerance=_LINEAR_TOLERANCE) for _ in parts]
        # A large fit uses all threads; short fits run concurrently on one thread each, which scales better.
        n_jobs = resolve_n_jobs(self.n_jobs)
        side_by_side = n_jobs != 1 and rows.positions.size <= _SHORT
        for model in (*boosters, *linears):
            model.set_params(n_jobs=1 if side_by_side else self.n_jobs)
        fits: list[Callable[[], Any]] = [
            *(partial(model.fit, *part) for model, part in zip(boosters, parts, strict=True)),
            *(
                partial(model.fit, *draw_rows(part, _LINEAR_ROWS, draws))
                for model, part in zip(linears, parts, strict=True)
            ),
        ]
        components = {"forest": _attempts("forest", [partial(forest.fit, *rows)])}
        threads = min(n_jobs, len(fits)) if side_by_side else 1
        with warnings.catch_warnings(), at_once(fits, threads) as results:
            # A linear model that has not fully converged is good enough for the mixture.
            warnings.simplefilter("ignore", ConvergenceWarning)
            components["booster"] = _attempts("booster", results[: len(parts)])
            components["linear"] = _attempts("linear", results[len(parts) :])
        for model in (*boosters, *linears):
            model.set_params(n_jobs=self.n_jobs)
        return components

    def _forest(self, draws: np.random.RandomState) -> PartialLabelRankingForest:
        return PartialLabelRankingForest(
            n_estimators=self.n_estimators,
            random_state=draws.randint(_LARGEST_SEED),
            n_jobs=self.n_jobs,
        )

    def _booster(self, draws: np.random.RandomState) -> PartialLabelRankingBooster:
        return PartialLabelRankingBooster(
            rounds=self.rounds,
            max_depth=self.max_depth,
            random_state=draws.randint(_LARGEST_SEED),
            n_jobs=self.n_jobs,
        )

    def _pair_shares(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        names, models = self._models()
        shares, left_out = _core.mixture_pair_shares(models, values, resolve_n_jobs(self.n_jobs))
        _warn_left_out(names, left_out)
        return shares

    def _estimate_shap_values(
        self, values: Any, background: Any, orders: tuple[int, int]
    ) -> NDArray[np.float64]:
        names, models = self._models()
        n_jobs = resolve_n_jobs(self.n_jobs)
        shap, left_out = _core.mixture_shap_values(models, values, background, orders, n_jobs)
        _warn_left_out(names, left_out)
        return shap

    def _models(self) -> tuple[list[str], list[tuple[float, tuple[Any, ...]]]]:
        """Return the components with a weight above 0: their names, and their weights and fitted models."""
        names: list[str] = []
        models: list[tuple[float, tuple[Any, ...]]] = []
        for name, estimators in self.components_.items():
            share = self.weights_.get(name, 0.0) / max(1, len(estimators))
            for estimator in estimators if share > 0 else ():
                names.append(name)
                models.append((share, self._fitted_model(estimator)))
        return names, models

    def _fitted_model(self, estimator: Any) -> tuple[Any, ...]:
        if isinstance(estimator, PartialLabelRankingForest):
            return (estimator.forest_, estimator.shrinkage_strength_)
        if isinstance(estimator, PartialLabelRankingBooster):
            return (estimator.booster_, self.rounds_)
        return (estimator.model_,)

    def _positions(
        self, values: NDArray[np.float64], aggregators: list[Aggregator]
    ) -> list[NDArray[np.int64]]:
        n_jobs = resolve_n_jobs(self.n_jobs)
        if len(aggregators) == 1:
            names, models = self._models()
            spec = aggregators[0]._spec()
            positions, left_out = _core.mixture_consensus(spec, models, values, n_jobs)
            _warn_left_out(names, left_out)
            return [positions]
        found = [np.empty((len(values), self.n_labels_in_), dtype=np.int64) for _ in aggregators]
        for block in row_blocks(len(values), self.n_labels_in_):
            shares = self._pair_shares(values[block])
            for aggregator, positions in zip(aggregators, found, strict=True):
                spec = aggregator._spec()
                positions[block] = _core.aggregate_pair_shares(spec, shares, n_jobs)
        return found


def _warn_left_out(names: list[str], left_out: list[int]) -> None:
    """Warn once per component that was left out of some rows of a prediction."""
    for name in dict.fromkeys(names[index] for index in left_out):
        warnings.warn(
            f"the {name} gives shares that are not finite; it is left out of these rows",
            stacklevel=5,
        )


def _are_finite(name: str, models: list[Any], values: NDArray[np.float64], rounds: int) -> bool:
    """Whether all models of a component predict finite shares; warns if not."""
    for model in models:
        if not np.isfinite(next(_shares(model, values, [rounds]))).all():
            _warn_not_finite(name)
            return False
    return True


def _warn_not_finite(name: str) -> None:
    warnings.warn(f"the {name} gives shares that are not finite; its weight is 0", stacklevel=4)


def _shares(
    model: Any, values: NDArray[np.float64], rounds: list[int]
) -> Iterator[NDArray[np.float64]]:
    """Yield the pair shares that a model predicts; for a booster, one array per number of rounds."""
    if isinstance(model, PartialLabelRankingBooster):
        for scores in model._staged_scores(values, rounds):
            yield _core.latent_pair_shares(scores, model._compared_labels())
    else:
        yield model.predict_pair_shares(values)


def _unseen_shares(
    model: Any,
    values: NDArray[np.float64],
    seen: NDArray[np.intp],
    rounds: list[int],
    asked: NDArray[np.intp],
) -> Iterator[NDArray[np.float64]]:
    """Yield the held-out pair shares of some rows; for a forest, the out-of-bag shares."""
    rows = seen[asked]
    if not isinstance(model, PartialLabelRankingForest):
        yield from _shares(model, values[rows], rounds)
        return
    n_jobs = resolve_n_jobs(model.n_jobs)
    shares = model.forest_.out_of_bag_shares(
        values[rows], rows.tolist(), model.shrinkage_strength_, n_jobs
    )
    # A row that is in every bootstrap sample has no out-of-bag shares: use the uniform ones.
    shares[shares.sum(axis=2) == 0] = 1 / 3
    yield shares


def _attempts(name: str, fits: list[Callable[[], Any]]) -> list[Any]:
    """Fit all models of a component; warn and return none when the core refuses one, and raise any other error."""
    try:
        return [fit() for fit in fits]
    except (ValueError, RuntimeError) as error:
        warnings.warn(f"the {name} failed and has weight 0: {error}", stacklevel=4)
        return []
