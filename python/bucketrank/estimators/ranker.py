"""The recommended estimator: a mixture of forest, booster and linear model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bucketrank import _core
from bucketrank._validation import Positions, as_flag, as_weights, as_whole, resolve_n_jobs
from bucketrank.aggregation import Aggregator, as_aggregator
from bucketrank.estimators.boosting import PartialLabelRankingBooster
from bucketrank.estimators.categories import category_counts
from bucketrank.estimators.explained import EstimatedScoreRanker
from bucketrank.estimators.forest import PartialLabelRankingForest, hash_data
from bucketrank.estimators.held_out_rows import (
    LEAST_PARTS,
    draw_linear_rows,
    draw_parts,
    draw_selection_rows,
)
from bucketrank.estimators.importances import mixture_importances
from bucketrank.estimators.latent import PairShareRanker
from bucketrank.estimators.mixture_components import ComponentEstimators, linear_component
from bucketrank.estimators.tree_parameters import forest_options

if TYPE_CHECKING:
    from bucketrank._core import _MixtureOptions, _Pool

__all__ = ["PartialLabelRanker"]

_Self = TypeVar("_Self", bound="PartialLabelRanker")

_NAMES = ("forest", "booster", "linear")
"""Names of the components, in the order of the core."""

_WHOLE_NUMBERS = ("n_estimators", "rounds", "max_depth")
"""Parameters that must be whole numbers."""

_SHARES_AT_ONCE = 1 << 23
"""Largest number of shares held in memory at once: 64 MiB."""


class PartialLabelRanker(PairShareRanker, EstimatedScoreRanker):
    r"""The recommended estimator: forest, boosting and a linear model, mixed by their held-out likelihood.

    Each of these three components predicts the shares of before, tied and after for every pair of labels. The forest is
    grown on all rows and evaluated out-of-bag. As in cross-validation, one booster and one linear model are fitted per
    fold without its rows and evaluated on them; predictions average their shares over the folds, or use models that are
    fitted on all rows if the rankings hold few comparisons (see `n_parts`). The number of rounds and the weights of the
    components maximise the likelihood of the pairs of labels in held-out rankings, so a component that does not suit
    the data gets a small weight. Predictions mix two combinations of the components' shares: their weighted mean, and
    their weighted geometric mean, whose parameters maximise the same likelihood.

    Parameters
    ----------
    aggregator : str or Aggregator, default "tau_x"
        Aggregator applied to the mixed shares; see :func:`bucketrank.get_aggregator`.
    fast : bool, default False
        Only the forest and one booster with equal weights: a fraction of the time and nearly the same accuracy, but no
        protection against a component that does not suit the data.
    n_estimators : int, default 100
        Number of trees of the forest.
    rounds : int, default 200
        Largest number of rounds of a booster.
    max_depth : int, default 6
        Depth of the boosted trees.
    n_parts : int, optional
        Number of folds: each is held out by one booster and one linear model. None means 2000 divided by the number of
        comparisons (a row that ranks k labels holds k - 1), but at least 5 and at most 20. With at most 100
        comparisons, models of folds only choose rounds and weights; one booster and one linear model that are fitted on
        all rows predict.
    random_state : int, RandomState instance, optional
        Seed of all draws.
    n_jobs : int, optional
        Number of threads; None means 1, and -1 means one per core. The model does not depend on it.
    categorical_features : {"from_dtype"}, list or None, default "from_dtype"
        The features that are categories: columns of strings and of the dtypes category and string ("from_dtype"), a
        list of names or indices, a list of booleans, or none (None). A feature has at most 255 categories; a category
        that was not in the training data is a missing value.

    Attributes
    ----------
    weights_ : dict
        Weight of ``"forest"``, ``"booster"`` and ``"linear"`` in the weighted mean; a component that failed has
        weight 0.
    log_weights_ : dict or None
        Parameters of the weighted geometric mean, None with `fast`. Let :math:`x_k` be component k's log ratio of
        before and after, and :math:`y_k` its log ratio of tied and not tied. The log ratios of the geometric mean are
        :math:`\sum_k \alpha_k x_k` and :math:`\sum_k \beta_k y_k + \gamma`. ``"order"`` holds the weights
        :math:`\alpha` by component, ``"tie"`` the weights :math:`\beta`, and ``"tie_offset"`` is :math:`\gamma`.
        ``"share"`` is the share of the geometric mean in the mixed shares; the rest is the weighted mean.
    rounds_ : int
        Number of boosting rounds used for predictions.
    components_ : dict
        The fitted estimators of each component, as lists.
    feature_importances_ : ndarray of shape (n_features,)
        Importances of the components, averaged with `weights_`: decrease of impurity in the forest, gain of all rounds
        of the booster, absolute coefficients of the linear model, each as shares of their sum over all features.
    aggregator_ : Aggregator
        The aggregator used for predictions.
    categories_ : dict
        By the index of each categorical feature: its categories, in an order learnt from the rankings. May be empty.
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
    are left out. When the weights are chosen, a row that ranks k labels counts as k - 1 comparisons, times its
    `sample_weight` divided by the mean over these rows; the initial weights act as a prior worth 10 comparisons: 0.25,
    0.25 and 0.5, or more than 0.5 for the linear model if predictions use models fitted on all rows. The parameters of
    the geometric mean start at the weights of the mean, with a ridge penalty of 3 on the distance from them; its share
    of the mixed shares is 0.75. More than 65 labels use fewer rows: about four million pairs, but at least 50 rows.

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
        n_parts: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        categorical_features: str | Sequence[Any] | NDArray[Any] | None = "from_dtype",
    ) -> None:
        self.aggregator = aggregator
        self.fast = fast
        self.n_estimators = n_estimators
        self.rounds = rounds
        self.max_depth = max_depth
        self.n_parts = n_parts
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features

    def fit(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> _Self:
        """Fit all components and choose their weights.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.
        y : array-like or DataFrame of shape (n_samples, n_labels)
            Positions: 1 is best, equal positions are ties, NaN marks a missing label.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights of the rows.

        Returns
        -------
        PartialLabelRanker
            The fitted estimator. An error or Ctrl-C leaves it unchanged.
        """
        as_flag(self.fast, "fast")
        # Invalid parameters must raise here, not count as a failed component.
        _core.check_ranker_counts(self._counts())
        resolve_n_jobs(self.n_jobs)
        values, positions, names, categories = self._training_data(X, y, sample_weight)
        aggregator = self._check_aggregator(as_aggregator(self.aggregator))
        aggregator._check_label_count(positions.shape[1])
        if positions.shape[1] > _core.LIMITS["pair_labels"]:
            # No component can be fitted.
            raise ValueError(
                f"found {positions.shape[1]} labels; expected at most {_core.LIMITS['pair_labels']}"
            )
        weights = as_weights(sample_weight)
        estimators, options = self._plan(values.shape[1], positions, weights)
        options["categorical"] = category_counts(categories)
        fit = _core.fit_mixture(values, positions, weights, options)
        for name, why in fit["failed"]:
            warnings.warn(f"component {name!r} {why}", stacklevel=2)
        if not any(fit["weights"]):
            raise ValueError("every component failed; the warnings say why")
        self._remember(X, names, aggregator, categories)
        if weights is not None:
            kept = weights > 0
            values, positions, weights = values[kept], positions[kept], weights[kept]
        estimators.forest._seed = options["tree"]["seed"]
        estimators.forest._data = hash_data(values, positions, weights)
        self.components_ = estimators.fitted(fit, values, positions.shape[1])
        self.weights_ = {name: fit["weights"][_NAMES.index(name)] for name in self.components_}
        self.log_weights_ = _log_weights(fit["pool"])
        self.rounds_ = fit["rounds"]
        return self

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Importances of the components, averaged with the weights of the mixture."""
        check_is_fitted(self)
        return mixture_importances(self.components_, self.weights_, self.n_features_in_)

    def _plan(
        self, n_features: int, positions: Positions, weights: NDArray[np.float64] | None
    ) -> tuple[ComponentEstimators, _MixtureOptions]:
        """Return the estimators of a fit, and the options of the core with all random draws."""
        # The core rejects weights of another shape.
        if weights is not None and weights.shape == positions.shape[:1]:
            positions = positions[weights > 0]
        n_rows, n_labels = positions.shape
        draws = check_random_state(self.random_state)
        part_of = selection_rows = np.empty(0, dtype=np.int64)
        n_fits = 1
        if not self.fast:
            part_of, n_fits = draw_parts(positions, self.n_parts, draws)
            selection_rows = draw_selection_rows(n_rows, n_labels, draws)
        estimators = ComponentEstimators.unfitted(self, n_fits, draws)
        fits = range(0 if self.fast else n_fits)
        linear_rows = [draw_linear_rows(part_of, fit, draws) for fit in fits]
        return estimators, {
            "tree": forest_options(estimators.forest, (max(1, n_rows), n_features), n_labels),
            "variant": estimators.forest.variant,
            "trees": self.n_estimators,
            "shrinkage_strength": estimators.forest._strength(),
            "boosters": [booster._options() for booster in estimators.boosters],
            "linear": linear_component(self.n_jobs)._options(),
            "categorical": [],
            "held_out": None if self.fast else (part_of, selection_rows, linear_rows),
            "n_jobs": resolve_n_jobs(self.n_jobs),
        }

    def _counts(self) -> dict[str, int]:
        """Return the parameters that are whole numbers, for the checks of the core."""
        counts = {name: as_whole(getattr(self, name), name) for name in _WHOLE_NUMBERS}
        if self.n_parts is None:
            return counts | {"n_parts": LEAST_PARTS}
        return counts | {"n_parts": as_whole(self.n_parts, "n_parts", "a whole number or None")}

    def _pair_shares(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        names, models, pool = self._models()
        n_jobs = resolve_n_jobs(self.n_jobs)
        shares, left_out = _core.mixture_pair_shares(models, pool, values, n_jobs)
        _warn_left_out(names, left_out)
        return shares

    def _estimate_shap_values(
        self, values: Any, background: Any, orders: tuple[int, int]
    ) -> NDArray[np.float64]:
        names, models, pool = self._models()
        n_jobs = resolve_n_jobs(self.n_jobs)
        shap, left_out = _core.mixture_shap_values(models, pool, values, background, orders, n_jobs)
        _warn_left_out(names, left_out)
        return shap

    def _models(self) -> tuple[list[str], list[tuple[float, list[Any]]], _Pool | None]:
        """Return names, weights with models, and parameters of the geometric mean; only for components with weight."""
        used = {
            name: models for name, models in self.components_.items() if self.weights_.get(name)
        }
        components = [
            (self.weights_[name], [self._fitted_model(estimator) for estimator in estimators])
            for name, estimators in used.items()
        ]
        logs = self.log_weights_
        if logs is None:
            return list(used), components, None
        order, tie = ([logs[kind][name] for name in used] for kind in ("order", "tie"))
        return list(used), components, (order, tie, logs["tie_offset"], logs["share"])

    def _fitted_model(self, estimator: Any) -> tuple[Any, ...]:
        """Return the fitted model, and its shrinkage strength (forest) or number of rounds (booster)."""
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
            names, models, pool = self._models()
            spec = aggregators[0]._spec()
            positions, left_out = _core.mixture_consensus(spec, models, pool, values, n_jobs)
            _warn_left_out(names, left_out)
            return [positions]
        found = [np.empty((len(values), self.n_labels_in_), dtype=np.int64) for _ in aggregators]
        for block in _row_blocks(len(values), self.n_labels_in_):
            shares = self._pair_shares(values[block])
            for aggregator, positions in zip(aggregators, found, strict=True):
                spec = aggregator._spec()
                positions[block] = _core.aggregate_pair_shares(spec, shares, n_jobs)
        return found


def _warn_left_out(names: list[str], left_out: list[int]) -> None:
    """Warn once per component that was left out of some rows of a prediction."""
    for name in [names[index] for index in left_out]:
        warnings.warn(
            f"component {name!r} gives shares that are not finite for some rows; it is left out of these rows",
            stacklevel=5,
        )


def _row_blocks(n_rows: int, n_labels: int) -> Iterator[slice]:
    """Yield slices of rows whose pair shares fit in the memory limit."""
    size = max(1, _SHARES_AT_ONCE // (3 * n_labels * (n_labels - 1) // 2))
    for start in range(0, n_rows, size):
        yield slice(start, start + size)


def _log_weights(pool: _Pool | None) -> dict[str, Any] | None:
    """Name the parameters of the weighted geometric mean, a log-linear pool of shares."""
    if pool is None:
        return None
    order, tie, offset, share = pool
    return {
        "order": dict(zip(_NAMES, order, strict=True)),
        "tie": dict(zip(_NAMES, tie, strict=True)),
        "tie_offset": offset,
        "share": share,
    }
