"""Learners of a study: a tree with several aggregators, or any scikit-learn compatible ranker.

A learner is fitted once per fold. An aggregator turns the rankings of a leaf, or other predictions, into one bucket
order (a ranking with ties). Each aggregator of a learner is a method of the study; without aggregators, the learner
itself is the method.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bucketrank import _core
from bucketrank._validation import Positions, as_positions
from bucketrank.aggregation import METHODS, PAPER_AGGREGATORS, Aggregator, get_aggregator
from bucketrank.aggregation.base import Spec
from bucketrank.estimators.baseline import ALL_TIED, PartialLabelRankingBaseline
from bucketrank.estimators.beta_search import needs_beta, with_chosen_beta
from bucketrank.estimators.tree import PartialLabelRankingTree

_WITHOUT_EFFECT = ("n_jobs", "verbose", "random_state")
"""Parameters that do not affect the results: a seed is derived for each fold and replaces ``random_state``."""


class Outcome(NamedTuple):
    """Means of one method over the held-out rows, size of the model, and times.

    The means are the rank correlation tau_x and the numbers of buckets in the predicted and in the true rankings.

    `consensus_seconds` is the time for the consensus of the leaves, or, for a RankerLearner, the time to predict.
    """

    tau_x: float
    buckets_predicted: float
    buckets_true: float
    leaves: float
    depth: float
    fit_seconds: float
    consensus_seconds: float


class Fold(NamedTuple):
    """Training data with missing labels, and held-out rows with their indices in the dataset."""

    X: NDArray[np.float64]
    Y: NDArray[np.float64]
    X_test: NDArray[np.float64]
    Y_test: NDArray[np.float64]
    test_rows: NDArray[np.int64]
    seed: int


@runtime_checkable
class AggregatorRule(Protocol):
    """Chooses an aggregator from the training data of each fold.

    An example is a BetaRecommender, which recommends beta, the threshold up to which an aggregator ties labels.
    """

    def aggregator_for(self, X: Any, Y: Any) -> Aggregator:
        """Return the aggregator for these training data."""

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters of the rule, ready for JSON."""


@dataclass(frozen=True)
class TreeLearner:
    """A tree that is fitted once per fold and predicts with several aggregators."""

    tree: PartialLabelRankingTree
    aggregators: dict[str, Aggregator | AggregatorRule]

    @property
    def has_fixed_aggregators(self) -> bool:
        """Whether the aggregators are the same on every fold."""
        return all(
            isinstance(aggregator, Aggregator) and not needs_beta(aggregator)
            for aggregator in self.aggregators.values()
        )

    def specs_for(self, fold: Fold | None) -> list[Spec]:
        """Return the aggregators in the format of the Rust engine.

        Aggregators that are chosen from the training data need a fold; None if all aggregators are fixed.
        """
        specs = []
        for aggregator in self.aggregators.values():
            chosen = aggregator
            if fold is not None and isinstance(chosen, AggregatorRule):
                chosen = chosen.aggregator_for(fold.X, fold.Y)
            if fold is not None and isinstance(chosen, Aggregator) and needs_beta(chosen):
                chosen = with_chosen_beta(chosen, self.tree, fold.X, fold.Y, None)
            assert isinstance(chosen, Aggregator)
            specs.append(chosen._spec())
        return specs

    @property
    def methods(self) -> list[str]:
        """Names of the methods, which are the names of the aggregators."""
        return list(self.aggregators)

    def describe(self) -> dict[str, Any]:
        """Return everything that the results depend on, ready for JSON."""
        methods = {
            name: aggregator.to_dict()
            if isinstance(aggregator, AggregatorRule)
            else repr(aggregator)
            for name, aggregator in self.aggregators.items()
        }
        return {"ranker": _describe(self.tree), "aggregators": methods}


@dataclass(frozen=True)
class RankerLearner:
    """A scikit-learn compatible estimator, which predicts by itself or with several aggregators."""

    name: str
    ranker: Any
    aggregators: dict[str, Aggregator] | None

    @property
    def methods(self) -> list[str]:
        """Names of the methods: the aggregators, or the ranker itself."""
        return [self.name] if self.aggregators is None else list(self.aggregators)

    def describe(self) -> dict[str, Any]:
        """Return everything that the results depend on, ready for JSON."""
        described: dict[str, Any] = {"ranker": _describe(self.ranker)}
        if self.aggregators is not None:
            methods = {name: repr(aggregator) for name, aggregator in self.aggregators.items()}
            described["aggregators"] = methods
        return described

    def evaluate(self, fold: Fold) -> list[Outcome]:
        """Fit a clone to the training data and score its predictions on the held-out rows."""
        ranker = clone(self.ranker)
        seeds = [key for key in ranker.get_params() if key.split("__")[-1] == "random_state"]
        ranker.set_params(**dict.fromkeys(seeds, fold.seed % 2**32))
        started = perf_counter()
        ranker.fit(fold.X, fold.Y)
        fit_seconds = perf_counter() - started
        outcomes = []
        for predict in self._predictions(ranker):
            started = perf_counter()
            predicted = as_positions(predict(fold.X_test), "predictions")
            seconds = perf_counter() - started
            _check_complete(predicted, fold)
            outcomes.append(
                Outcome(
                    tau_x=_core.tau_x_ranked(fold.Y_test, predicted, None),
                    # Positions may have gaps; parsing renumbers them from 1 without gaps.
                    buckets_predicted=float(_core.parse_positions(predicted).max(axis=1).mean()),
                    buckets_true=float(np.nanmax(fold.Y_test, axis=1, initial=0).mean()),
                    leaves=_call_if_available(ranker, "get_n_leaves"),
                    depth=_call_if_available(ranker, "get_depth"),
                    fit_seconds=fit_seconds,
                    consensus_seconds=seconds,
                )
            )
        return outcomes

    def _predictions(self, ranker: Any) -> list[Callable[[Any], Any]]:
        if self.aggregators is None:
            return [ranker.predict]
        if hasattr(ranker, "with_aggregator"):
            return [ranker.with_aggregator(a).predict for a in self.aggregators.values()]
        return [partial(_predict_by_pair_order, ranker, a) for a in self.aggregators.values()]


Learner = TreeLearner | RankerLearner


def learners_of(
    tree: Any, aggregators: Any, rankers: Mapping[str, Any] | None, *, baseline: bool
) -> dict[str, Learner]:
    """Validate tree, aggregators and rankers, and return the learners by name.

    With `baseline`, the all-tied baseline is added unless it is already included.
    """
    learners: dict[str, Learner] = {}
    if tree is not None:
        learner = _main_learner(tree, aggregators)
        learners[learner.name if isinstance(learner, RankerLearner) else "tree"] = learner
    if rankers is not None and not isinstance(rankers, Mapping):
        raise TypeError(
            f"rankers is {rankers!r}; expected a dictionary from names to unfitted estimators"
        )
    for name, ranker in (rankers or {}).items():
        _check_ranker(ranker, f"ranker {name!r}")
        if str(name) in learners:
            raise ValueError(
                f"rankers has the name {name!r}, which is already in use; expected another name"
            )
        learners[str(name)] = RankerLearner(str(name), ranker, None)
    methods = [method for learner in learners.values() for method in learner.methods]
    if not methods:
        raise ValueError("found 0 methods; expected aggregators for the tree, or rankers")
    for method in methods:
        if methods.count(method) > 1:
            raise ValueError(f"method {method!r} appears twice; expected different methods")
    if baseline and ALL_TIED not in methods and not any(map(_is_all_tied, learners.values())):
        ranker = PartialLabelRankingBaseline(ALL_TIED)
        learners[ALL_TIED] = RankerLearner(ALL_TIED, ranker, None)
    return learners


def _is_all_tied(learner: Learner) -> bool:
    if not isinstance(learner, RankerLearner):
        return False
    ranker = learner.ranker
    return isinstance(ranker, PartialLabelRankingBaseline) and ranker.strategy == ALL_TIED


def _main_learner(tree: Any, aggregators: Any) -> Learner:
    _check_ranker(tree, "tree")
    has_pair_order = hasattr(tree, "predict_pair_order") or hasattr(tree, "with_aggregator")
    by_itself = aggregators is None or (aggregators is PAPER_AGGREGATORS and not has_pair_order)
    if by_itself:
        return RankerLearner(type(tree).__name__, tree, None)
    named = _named_aggregators(aggregators)
    if _can_share_tree(tree):
        return TreeLearner(tree, named)
    name = type(tree).__name__
    for method, aggregator in named.items():
        if isinstance(aggregator, AggregatorRule) or needs_beta(aggregator):
            raise ValueError(
                f"aggregator {method!r} is chosen from the training data, which only "
                f"PartialLabelRankingTree supports; found {name}"
            )
    fixed = {
        name: aggregator for name, aggregator in named.items() if isinstance(aggregator, Aggregator)
    }
    if not has_pair_order:
        raise ValueError(
            f"{name} has neither with_aggregator nor predict_pair_order, so aggregators cannot be "
            "applied; pass aggregators=None for its own predictions"
        )
    if not hasattr(tree, "with_aggregator"):
        for method, aggregator in fixed.items():
            if aggregator._needs != "pair order":
                raise ValueError(
                    f"aggregator {method!r} needs {aggregator._needs}, but {name} only predicts pair order "
                    "matrices; expected aggregators that need nothing else"
                )
    return RankerLearner(name, tree, fixed)


def _can_share_tree(tree: Any) -> bool:
    """Whether the Rust engine can fit this tree once for all aggregators; a subclass may predict differently."""
    is_exact_type = type(tree) is PartialLabelRankingTree
    return is_exact_type and tree.shrinkage is None and tree.routing == "hard"


def _check_ranker(ranker: Any, argument: str) -> None:
    lacking = [name for name in ("fit", "predict", "get_params") if not hasattr(ranker, name)]
    if lacking or isinstance(ranker, type):
        found = f"the class {ranker.__name__}" if isinstance(ranker, type) else repr(ranker)
        raise TypeError(
            f"{argument} is {found}; expected an estimator with fit, predict and get_params"
        )


def _named_aggregators(aggregators: Any) -> dict[str, Aggregator | AggregatorRule]:
    if isinstance(aggregators, (str, Aggregator)):
        aggregators = [aggregators]
    if not isinstance(aggregators, Iterable):
        raise TypeError(f"aggregators is {aggregators!r}; expected a list of aggregators")
    has_names = isinstance(aggregators, Mapping)
    named: dict[str, Aggregator | AggregatorRule] = {}
    for key in aggregators:
        value: Any = aggregators[key] if isinstance(aggregators, Mapping) else key
        is_rule = has_names and isinstance(value, AggregatorRule)
        aggregator = value if is_rule else get_aggregator(value)
        name = str(key) if has_names else _name_of(aggregator)
        if name in named:
            raise ValueError(f"aggregator {name!r} appears twice; expected different aggregators")
        named[name] = aggregator
    return named


def _name_of(aggregator: Aggregator) -> str:
    """Return the short name of an aggregator with default parameters, else its repr."""
    return next((name for name in METHODS if get_aggregator(name) == aggregator), repr(aggregator))


def _describe(ranker: Any) -> str:
    """Return the class of an estimator and the parameters that affect its results."""
    params = {
        key: value
        for key, value in sorted(ranker.get_params().items())
        if key.split("__")[-1] not in _WITHOUT_EFFECT
    }
    # Print arrays in full: by default NumPy abbreviates long arrays and rounds numbers.
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        listed = ", ".join(f"{key}={value!r}" for key, value in params.items())
    return f"{type(ranker).__module__}.{type(ranker).__qualname__}({listed})"


def _predict_by_pair_order(ranker: Any, aggregator: Aggregator, X: Any) -> Any:
    """Apply an aggregator to predicted pair order matrices: shares of u before v, ties counting half."""
    return aggregator.aggregate_pair_order(ranker.predict_pair_order(X))


def _check_complete(predicted: Positions, fold: Fold) -> None:
    """Raise if a position is missing, which the score would leave out."""
    missing = np.argwhere(np.isnan(predicted))
    if len(missing) and len(predicted) == len(fold.test_rows):
        row, label = missing[0].tolist()
        raise ValueError(
            f"prediction for row {fold.test_rows[row]}, label {label}: position missing (NaN); "
            "expected a position for each label"
        )


def _call_if_available(ranker: Any, method: str) -> float:
    """Return the number that a method of the ranker returns; NaN if there is no such method."""
    return float(getattr(ranker, method)()) if hasattr(ranker, method) else float("nan")
