"""Study of β, the threshold up to which an aggregator ties labels: accuracy at many thresholds on the same trees.

Accuracy is τ_X, the rank correlation of predicted and true rankings with ties.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank import _core
from bucketrank._optional import import_pandas
from bucketrank._phrases import pluralize
from bucketrank._validation import as_positions, as_real
from bucketrank.aggregation import Aggregator, WithBeta, get_aggregator
from bucketrank.datasets import Dataset
from bucketrank.estimators.tree import PartialLabelRankingTree
from bucketrank.experiments.comparison import compare
from bucketrank.experiments.job import training_fold
from bucketrank.experiments.plan import Job, Plan, make_plan
from bucketrank.experiments.study import Study
from bucketrank.tables import escape_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from bucketrank.experiments.report import Section

BETAS = tuple(round(0.1 * step, 1) for step in range(21))
"""Default thresholds."""

LEVELS = tuple(round(0.1 * step, 1) for step in range(7))
"""Default levels of missing labels; a level is the probability of dropping each label of a training ranking."""


@dataclass(frozen=True)
class MetaFeatures:
    """Properties of training data from which a threshold is recommended."""

    instances: float
    features: float
    labels: float
    mean_buckets: float
    missing: float

    @classmethod
    def of(cls, X: ArrayLike, Y: Any) -> MetaFeatures:
        """Compute the meta-features from features and positions, with NaN for missing labels."""
        positions = _core.parse_positions(as_positions(Y))
        n_rows, n_labels = positions.shape
        shape = np.shape(X)
        if len(shape) != 2:
            raise ValueError(
                f"X has {pluralize(len(shape), 'dimension')}, shape {shape}; "
                "expected 2-D: one row per ranking, one column per feature"
            )
        if shape[0] != n_rows or n_rows == 0:
            raise ValueError(
                f"X has {pluralize(shape[0], 'row')} and Y {n_rows}; expected equal numbers of rows, at least 1"
            )
        buckets, absent = positions.max(axis=1), positions == 0
        return cls(n_rows, shape[1], n_labels, float(buckets.mean()), float(absent.mean()))

    @classmethod
    def mean(cls, several: Iterable[MetaFeatures]) -> MetaFeatures:
        """Return the mean of each meta-feature."""
        return cls(*np.mean([astuple(one) for one in several], axis=0).tolist())

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the meta-features, in the order of the fields."""
        return [field.name for field in fields(cls)]


@dataclass(frozen=True, eq=False)
class BetaStudy:
    """Accuracy (mean τ_X) of aggregators at many thresholds and levels of missing labels.

    Attributes
    ----------
    study : Study
        The underlying study with all results; each of its methods is an aggregator with a threshold, such as
        ``"borda 0.9"``.
    aggregators : list of str
        Names of the aggregators.
    betas : ndarray
        The thresholds.
    mean : ndarray of shape (n_aggregators, n_levels, n_datasets, n_betas)
        Mean accuracy over repeats and folds.
    meta_features : dict from (dataset, level) to MetaFeatures
        Meta-features of the training data, the mean over the folds of the first repeat.

    Examples
    --------
    >>> from bucketrank.experiments import beta_study
    >>> result = beta_study(["iris"], ["borda"], betas=[0, 0.5, 1], missing=0, n_repeats=1, n_folds=3)
    >>> result.mean.shape
    (1, 1, 1, 3)
    """

    study: Study
    aggregators: list[str]
    betas: NDArray[np.float64]
    mean: NDArray[np.float64]
    meta_features: dict[tuple[str, float], MetaFeatures]

    def curve(self, aggregator: str) -> NDArray[np.float64]:
        """Return the mean accuracy over datasets at each level and threshold.

        Parameters
        ----------
        aggregator : str
            One of :attr:`aggregators`.

        Returns
        -------
        ndarray of shape (n_levels, n_betas)
        """
        return np.asarray(self._means_of(aggregator).mean(axis=1))

    def peaks(self, aggregator: str) -> NDArray[np.float64]:
        """Return the threshold at which the curve of each level is highest.

        Parameters
        ----------
        aggregator : str
            One of :attr:`aggregators`.

        Returns
        -------
        ndarray of shape (n_levels,)
        """
        return np.asarray(self.betas[self.curve(aggregator).argmax(axis=-1)])

    def best(self, aggregator: str) -> NDArray[np.float64]:
        """Return the best threshold for each level and dataset; the first of :attr:`betas` if several are equally good.

        Parameters
        ----------
        aggregator : str
            One of :attr:`aggregators`.

        Returns
        -------
        ndarray of shape (n_levels, n_datasets)
        """
        return np.asarray(self.betas[self._means_of(aggregator).argmax(axis=-1)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curves of all aggregators and levels; see :func:`bucketrank.figures.plot_beta_curves`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from bucketrank.figures import plot_beta_curves

        # The study may have levels and thresholds in any order.
        by_level, by_beta = np.argsort(self.study.missing, kind="stable"), np.argsort(self.betas)
        curves = {name: self.curve(name)[np.ix_(by_level, by_beta)] for name in self.aggregators}
        missing = np.asarray(self.study.missing)[by_level]
        return plot_beta_curves(self.betas[by_beta], curves, missing=missing, ax=ax)

    def section(self) -> Section:
        """Return the curves and best thresholds as a section for :meth:`Study.report`."""
        from bucketrank.experiments.report.beta import beta_section

        return beta_section(self)

    def to_pandas(self) -> DataFrame:
        """Return one row for each aggregator, level, dataset and threshold; needs pandas.

        Returns
        -------
        pandas.DataFrame
        """
        pd = import_pandas("to_pandas")
        axes = [self.aggregators, self.study.missing, self.study.datasets, self.betas.tolist()]
        index = pd.MultiIndex.from_product(axes, names=["aggregator", "missing", "dataset", "beta"])
        frame: DataFrame = pd.DataFrame({"tau_x": self.mean.ravel()}, index=index).reset_index()
        return frame

    def __repr__(self) -> str:
        names = " and ".join(self.aggregators)
        return (
            f"BetaStudy({names}: {pluralize(len(self.betas), 'threshold')}, "
            f"{pluralize(len(self.study.datasets), 'dataset')}, "
            f"{pluralize(len(self.study.missing), 'level')})"
        )

    def __str__(self) -> str:
        lines = [repr(self)]
        names = [escape_text(dataset) for dataset in self.study.datasets]
        width = max(7, *map(len, names))
        for aggregator in self.aggregators:
            lines += ["", f"best beta of {aggregator}"]
            heads = [f"{100 * level:g} %" for level in self.study.missing]
            lines.append(" " * width + "".join(f" {head:>6}" for head in heads))
            best = self.best(aggregator)
            for index, name in enumerate(names):
                lines.append(f"{name:<{width}}" + "".join(f" {b:6g}" for b in best[:, index]))
            peaks = "".join(f" {b:6g}" for b in self.peaks(aggregator))
            lines.append(f"{'all':<{width}}{peaks}")
        return "\n".join(lines)

    def _means_of(self, aggregator: str) -> NDArray[np.float64]:
        if aggregator not in self.aggregators:
            known = ", ".join(self.aggregators)
            raise ValueError(f"unknown aggregator {aggregator!r}; the study has: {known}")
        return np.asarray(self.mean[self.aggregators.index(aggregator)])


def beta_study(
    datasets: Any,
    aggregators: str | Aggregator | Iterable[str | Aggregator] = ("borda", "copeland"),
    betas: float | Iterable[float] = BETAS,
    missing: float | Iterable[float] = LEVELS,
    n_repeats: int = 5,
    n_folds: int = 10,
    *,
    seed: int = 0,
    **settings: Any,
) -> BetaStudy:
    """Evaluate aggregators at many thresholds for ties, all on the same trees.

    Parameters
    ----------
    datasets : list of Dataset or str, or dict
        As in :func:`compare`.
    aggregators : str, Aggregator or iterable of them, default ("borda", "copeland")
        Aggregators with a parameter ``beta``, which is set to each of `betas`. Results use their short names, such
        as ``"borda"``.
    betas : float or iterable of float, default 0, 0.1, ..., 2
        The thresholds.
    missing : float or iterable of float, default 0, 0.1, ..., 0.6
        Levels of missing labels.
    n_repeats, n_folds : int, default 5 and 10
        Number of repeats of the cross-validation, and folds per repeat.
    seed : int, default 0
        Seed of the folds and the missing labels.
    **settings
        Further parameters of :func:`compare`, such as ``n_jobs`` and ``store``.

    Returns
    -------
    BetaStudy

    Examples
    --------
    >>> from bucketrank.experiments import beta_study
    >>> study = beta_study(["iris"], ["borda"], betas=[0, 0.5, 1], missing=[0], n_repeats=1, n_folds=5)
    >>> study
    BetaStudy(borda: 3 thresholds, 1 dataset, 1 level)
    >>> study.best("borda").shape
    (1, 1)
    """
    if settings.get("rankers"):
        raise ValueError(
            f"rankers is {list(settings['rankers'])}; expected none: a study of beta compares thresholds only"
        )
    names = _short_names(aggregators)
    thresholds = np.array([as_real(beta, "betas") for beta in _as_list(betas)])
    if not len(thresholds):
        raise ValueError("betas is empty; expected at least one threshold")
    methods = {
        f"{name} {beta:g}": get_aggregator(name, beta=float(beta))
        for name in names
        for beta in thresholds
    }
    if len(methods) < len(names) * len(thresholds):
        raise ValueError("aggregators and betas must not be repeated")
    plan = make_plan(
        datasets,
        aggregators=methods,
        tree=PartialLabelRankingTree(),
        rankers=None,
        missing=missing,
        n_repeats=n_repeats,
        n_folds=n_folds,
        seed=seed,
    )
    study = compare(
        list(plan.datasets.values()),
        methods,
        plan.missing,
        n_repeats,
        n_folds,
        baseline=False,
        seed=seed,
        **settings,
    )
    mean = study.summary().mean
    shape = (*mean.shape[:2], len(names), len(thresholds))
    meta = {
        (name, level): _meta_features(plan, data, level)
        for name, data in plan.datasets.items()
        for level in plan.missing
    }
    return BetaStudy(study, names, thresholds, np.moveaxis(mean.reshape(shape), 2, 0), meta)


def _short_names(aggregators: Any) -> list[str]:
    """Return the short names of aggregators, such as "borda"; the thresholds of the given aggregators are ignored."""
    names = []
    for item in _as_list(aggregators):
        aggregator = get_aggregator(item)
        if not isinstance(aggregator, WithBeta):
            raise ValueError(
                f"aggregator {item!r} has no beta; expected borda, copeland or bucket_pivot"
            )
        names.append(aggregator._method)
    return names


def _as_list(given: Any) -> list[Any]:
    """Return an iterable as a list, and a string or single value as a list of one."""
    is_single = isinstance(given, str) or not isinstance(given, Iterable)
    return [given] if is_single else list(given)


def _meta_features(plan: Plan, data: Dataset, level: float) -> MetaFeatures:
    """Return the mean meta-features of the training data in the first repeat."""
    seed = plan.dataset_seed(data.name)
    jobs = [Job(data.name, level, 0, fold, "tree") for fold in range(plan.n_folds)]
    folds = [training_fold(data, job, plan.n_folds, seed) for job in jobs]
    return MetaFeatures.mean(MetaFeatures.of(fold.X, fold.Y) for fold in folds)
