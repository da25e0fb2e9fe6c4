"""Gradient boosting for partial label ranking, a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bucketrank import _core
from bucketrank._validation import as_real, as_weights, as_whole, at_least, resolve_n_jobs
from bucketrank.aggregation import Aggregator, as_aggregator
from bucketrank.estimators.latent import LatentRanker
from bucketrank.estimators.tree_parameters import one_of

if TYPE_CHECKING:
    from bucketrank._core import _BoostOptions

__all__ = ["PartialLabelRankingBooster"]

_Self = TypeVar("_Self", bound="PartialLabelRankingBooster")

_DEFAULTS = _core.DEFAULTS["booster"]
_THRESHOLDS = ("all", "spaced")

_STAGES_AT_ONCE = 20
"""Number of rounds whose predictions are held in memory at once."""


class PartialLabelRankingBooster(LatentRanker):
    r"""Gradient boosting of a latent model of rankings with ties.

    Every label has a utility :math:`f` and a tie term :math:`h` that depend on the features. The shares of label u
    before, tied with and after label v are proportional to :math:`e^{(f_u - f_v)/2}`, :math:`e^{h_u + h_v}` and
    :math:`e^{(f_v - f_u)/2}`. Each round grows one tree on the derivatives of the log-likelihood of the training
    rankings, for all labels at once, and adds the values of its leaves. Rankings may tie labels and leave labels out;
    the utility of a label is estimated from all its comparisons.

    Parameters
    ----------
    aggregator : str or Aggregator, default "tau_x"
        Aggregator applied to the predicted shares of before, tied and after; see :func:`bucketrank.get_aggregator`.
    rounds : int, default 200
        Number of trees.
    learning_rate : float, default 0.1
        Fraction of the Newton step that each tree takes, above 0 and up to 1.
    max_depth : int, default 6
        Depth of the trees, up to 64. For ten thousand rows and more, 8 works well.
    min_samples_leaf : int, default 10
        Smallest number of rows in a leaf; only rows that are drawn for the tree count (see `row_share`).
    ridge : float, default 2.0
        Added to the curvature of a Newton step, which shrinks the steps towards 0; a positive number.
    row_share : float, default 0.6
        Probability that a row is drawn for a tree, above 0 and up to 1.
    feature_share : float, optional
        Share of the features drawn per node, above 0 and up to 1. By default a third of the features, or the square
        root of their number if that is larger. Features that are constant in the node are not counted.
    max_bins : int, default 256
        Features with more distinct values are split at about `max_bins` quantiles, others at every midpoint.
    thresholds : {"all", "spaced"}, default "all"
        Thresholds that a node tries for each feature. "all" tries every threshold between two bins. "spaced" takes up
        to a fifth less time with nearly the same accuracy: if more than 16 bins of the feature have rows in the node,
        the rows are divided, in the order of the feature, into 16 or more blocks of up to 16 rows, and only the first
        threshold of each block but the first is tried.
    validation_share : float, optional
        Share of the rows held out for early stopping, above 0 and below 1. Boosting stops when their log-likelihood no
        longer improves. By default there is no early stopping.
    patience : int, default 10
        Rounds without a better validation score before boosting stops.
    random_state : int, RandomState instance, optional
        Seed of all draws.
    n_jobs : int, optional
        Number of threads; None means 1, and -1 means one per core. The model does not depend on it.
    verbose : int, default 0
        Print a line every `verbose` rounds; 0 prints nothing.
    categorical_features : {"from_dtype"}, list or None, default "from_dtype"
        The features that are categories: columns of strings and of the dtypes category and string ("from_dtype"), a
        list of names or indices, a list of booleans, or none (None). A feature has at most 255 categories; a category
        that was not in the training data is a missing value.

    Attributes
    ----------
    booster_ : bucketrank._core.Booster
        The fitted trees.
    rounds_ : int
        Number of trees; with `validation_share`, trees after the best validation score are dropped.
    validation_scores_ : ndarray of shape (n_rounds,)
        Mean log-likelihood per held-out pair after each round, also after rounds whose trees were dropped; empty
        without `validation_share`.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the total gain of all splits.
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
    Rows of weight 0 are left out; other weights multiply the row's log-likelihood. If the largest weight is outside
    1e-9 to 1e9, all weights are divided by it first.

    References
    ----------
    R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments", Journal
    of the American Statistical Association 65 (1970). J. H. Friedman, "Greedy function approximation: a gradient
    boosting machine", Annals of Statistics 29 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from bucketrank import PartialLabelRankingBooster
    >>> X = np.arange(60.0).reshape(-1, 1)
    >>> y = np.where(X < 30, [[1, 2, 2]], [[3, 1, 2]])
    >>> booster = PartialLabelRankingBooster(random_state=0).fit(X, y)
    >>> booster.predict([[3], [55]])
    array([[1, 2, 2],
           [3, 1, 2]])
    """

    def __init__(
        self,
        aggregator: str | Aggregator = "tau_x",
        *,
        rounds: int = _DEFAULTS["rounds"],
        learning_rate: float = _DEFAULTS["learning_rate"],
        max_depth: int = _DEFAULTS["max_depth"],
        min_samples_leaf: int = _DEFAULTS["min_samples_leaf"],
        ridge: float = _DEFAULTS["ridge"],
        row_share: float = _DEFAULTS["row_share"],
        feature_share: float | None = None,
        max_bins: int = _DEFAULTS["max_bins"],
        thresholds: str = "all",
        validation_share: float | None = None,
        patience: int = 10,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        categorical_features: str | Sequence[Any] | NDArray[Any] | None = "from_dtype",
    ) -> None:
        self.aggregator = aggregator
        self.rounds = rounds
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.ridge = ridge
        self.row_share = row_share
        self.feature_share = feature_share
        self.max_bins = max_bins
        self.thresholds = thresholds
        self.validation_share = validation_share
        self.patience = patience
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.verbose = verbose

    def fit(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> _Self:
        """Boost the trees.

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
        PartialLabelRankingBooster
            The fitted estimator. An error or Ctrl-C leaves it unchanged.
        """
        values, positions, names, categories = self._training_data(X, y, sample_weight)
        aggregator = self._check_aggregator(as_aggregator(self.aggregator))
        aggregator._check_label_count(positions.shape[1])
        options = self._options()
        print_every = at_least(self.verbose, "verbose", 0)

        # Holds the last round until it is printed, so that the end of boosting is always printed.
        unprinted: list[tuple[int, float | None]] = []

        def print_round(done: int, score: float | None) -> None:
            shown = "" if score is None else f", validation log-likelihood {score:.6f}"
            print(f"round {done} of {options['rounds']}{shown}", flush=True)  # noqa: T201 (verbose)

        def after_round(done: int, score: float | None) -> None:
            unprinted[:] = [(done, score)]
            if done % print_every == 0:
                print_round(*unprinted.pop())

        booster = _core.Booster.fit(
            values,
            positions,
            as_weights(sample_weight),
            options,
            after_round if print_every else None,
        )
        for last_round in unprinted:
            print_round(*last_round)
        self._remember(X, names, aggregator, categories)
        return self._keep(booster)

    def _keep(self: _Self, booster: _core.Booster) -> _Self:
        """Store a fitted booster."""
        self.booster_ = booster
        self.rounds_ = booster.rounds
        self.validation_scores_ = booster.validation_scores()
        return self

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict bucket orders after each round.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; NaN marks a missing value.

        Yields
        ------
        ndarray or DataFrame of shape (n_samples, n_labels)
            The predictions of :meth:`predict` if boosting had ended after this round.
        """
        # Check X now, not at the first `next`.
        return self._stages(X, self._features(X))

    def _stages(self, X: Any, values: NDArray[np.float64]) -> Iterator[Any]:
        """Yield the predictions after each round; `values` are the checked rows of `X`."""
        for first in range(1, self.rounds_ + 1, _STAGES_AT_ONCE):
            stages = range(first, min(first + _STAGES_AT_ONCE, self.rounds_ + 1))
            for latent in self._staged_latent_values(values, list(stages)):
                yield self._in_container(self._positions_of(latent, [self.aggregator_])[0], X)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the total gain of all splits."""
        check_is_fitted(self)
        return self.booster_.feature_importances()

    def _options(self) -> _BoostOptions:
        """Check the types of all parameters; the core checks their ranges."""
        return {
            "rounds": as_whole(self.rounds, "rounds"),
            "learning_rate": as_real(self.learning_rate, "learning_rate"),
            "max_depth": as_whole(self.max_depth, "max_depth"),
            "min_samples_leaf": as_whole(self.min_samples_leaf, "min_samples_leaf"),
            "ridge": as_real(self.ridge, "ridge"),
            "row_share": as_real(self.row_share, "row_share"),
            "feature_share": _as_optional_real(self.feature_share, "feature_share"),
            "max_bins": as_whole(self.max_bins, "max_bins"),
            "thresholds": one_of(self.thresholds, "thresholds", _THRESHOLDS),
            "validation_share": _as_optional_real(self.validation_share, "validation_share"),
            "patience": as_whole(self.patience, "patience"),
            "seed": int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)),
            "n_jobs": resolve_n_jobs(self.n_jobs),
        }

    def _latent_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._staged_latent_values(values, [self.rounds_])[0]

    def _staged_latent_values(
        self, values: NDArray[np.float64], rounds: list[int]
    ) -> list[NDArray[np.float64]]:
        """Return the utilities and tie terms of checked rows after each of the given rounds."""
        return self.booster_.staged_scores(values, rounds, resolve_n_jobs(self.n_jobs))

    def _explained_model(self) -> tuple[_core.Booster]:
        """Return the booster as the core's SHAP functions take it: in a tuple, without further parameters."""
        return (self.booster_,)

    def _compared_labels(self) -> NDArray[np.bool_]:
        return self.booster_.compared_labels()


def _as_optional_real(value: Any, name: str) -> float | None:
    return None if value is None else as_real(value, name)
