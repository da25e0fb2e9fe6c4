"""Means over repeats and folds: one number per level of missing labels, dataset and method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bucketrank.estimators.baseline import ALL_TIED
from bucketrank.statistics import ScoreTable
from bucketrank.tables.rounding import as_printed

if TYPE_CHECKING:
    from bucketrank.experiments.study import Study

__all__ = ["MeanCube", "bucket_difference_means", "bucket_error_means", "training_time_means"]


_Self = TypeVar("_Self", bound="MeanCube")

_INTERVAL = 1.96
"""Half the width of an interval, in standard deviations."""


@dataclass(frozen=True, eq=False)
class MeanCube:
    """Means and standard deviations of one measure over the repeats and folds of a study.

    Attributes
    ----------
    measure : str
        Name of the measure.
    missing : list of float
        Levels of missing labels: probabilities of dropping each label of a training ranking.
    datasets, methods : list of str
        Names.
    mean, sd : ndarray of shape (n_levels, n_datasets, n_methods)
        NaN where there is no result. The deviation divides by n - 1.
    count : ndarray of the same shape
        Number of results per mean.
    expected : int
        Number of results per mean in a finished study.
    """

    measure: str
    missing: list[float]
    datasets: list[str]
    methods: list[str]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    count: NDArray[np.int64]
    expected: int

    @classmethod
    def of(
        cls: type[_Self],
        study: Study,
        measure: str = "tau_x",
        values: NDArray[np.float64] | None = None,
    ) -> _Self:
        """Average a column of a study, or `values` with one number per row of the study."""
        numbers = study.columns[measure] if values is None else values
        shape = (len(study.missing), len(study.datasets), len(study.methods))
        cell = np.ravel_multi_index(
            (
                _indices(study.columns["missing"], study.missing),
                _indices(study.columns["dataset"], study.datasets),
                _indices(study.columns["method"], study.methods),
            ),
            shape,
        )
        size = int(np.prod(shape))
        count = np.bincount(cell, minlength=size)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.bincount(cell, numbers, size) / count
            squares = np.bincount(cell, (numbers - mean[cell]) ** 2, size)
            sd = np.sqrt(squares / np.where(count > 1, count - 1, np.nan))
        return cls(
            measure,
            study.missing,
            study.datasets,
            study.methods,
            mean.reshape(shape),
            sd.reshape(shape),
            count.reshape(shape),
            int(study.settings["n_repeats"]) * int(study.settings["n_folds"]),
        )

    @property
    def best(self) -> NDArray[np.bool_]:
        """Mask of the methods with the highest mean on their dataset, to three decimals."""
        rounded = as_printed(self.mean)
        return np.asarray(rounded == _row_maximum(rounded))

    @property
    def near_best(self) -> NDArray[np.bool_]:
        """Mask of the methods whose interval, mean ± 1.96 standard deviations, overlaps the interval of the best."""
        half_width = np.nan_to_num(_INTERVAL * self.sd)
        lowest = np.where(self.mean == _row_maximum(self.mean), self.mean - half_width, -np.inf)
        return np.asarray(self.mean + half_width >= _row_maximum(lowest))

    def without_baseline(self: _Self) -> _Self:
        """Return the means without the all-tied baseline, unless it is the only method."""
        kept = [j for j, method in enumerate(self.methods) if method != ALL_TIED]
        if not kept:
            return self
        names = [self.methods[j] for j in kept]
        return replace(
            self,
            methods=names,
            mean=self.mean[:, :, kept],
            sd=self.sd[:, :, kept],
            count=self.count[:, :, kept],
        )

    def level(self, missing: Any) -> int:
        """Return the index of a level of missing labels."""
        known = ", ".join(f"{level:g}" for level in self.missing)
        if isinstance(missing, (bool, np.bool_)) or not isinstance(missing, Real):
            raise TypeError(
                f"missing is {missing!r}; expected a number, one of the levels {known} of the study"
            )
        for index, level in enumerate(self.missing):
            if abs(level - float(missing)) < 1e-9:
                return index
        raise ValueError(f"missing is {missing!r}; the study has the levels {known}")

    def finished(self, level: int) -> list[int]:
        """Return the indices of the datasets with all results of all methods."""
        return np.flatnonzero((self.count[level] == self.expected).all(axis=1)).tolist()

    def scores(
        self, level: int, *, higher_is_better: bool = True, zero_is_best: bool = False
    ) -> ScoreTable:
        """Return the means of one level as a table for statistical tests; the error lists the incomplete cells."""
        incomplete = [
            f"{self.methods[j]} on {self.datasets[i]} ({self.count[level, i, j]} of {self.expected})"
            for i, j in np.argwhere(self.count[level] < self.expected).tolist()
        ]
        if incomplete:
            rest = f" and {len(incomplete) - 5} more" if len(incomplete) > 5 else ""
            raise ValueError(
                f"incomplete results at missing={self.missing[level]:g}: {', '.join(incomplete[:5])}{rest}; "
                "resume the study, or compare fewer datasets and methods"
            )
        return ScoreTable(
            self.mean[level],
            self.datasets,
            self.methods,
            higher_is_better=higher_is_better,
            zero_is_best=zero_is_best,
            measure=self.measure,
        )

    def finished_scores(
        self, level: int, *, higher_is_better: bool = True, least: int = 2
    ) -> ScoreTable | None:
        """Return the means of one level for its finished datasets.

        None if fewer than `least` datasets are finished, or if there are fewer than 2 methods.
        """
        rows = self.finished(level)
        if len(rows) < least or len(self.methods) < 2:
            return None
        return ScoreTable(
            self.mean[level, rows],
            [self.datasets[i] for i in rows],
            self.methods,
            higher_is_better=higher_is_better,
            measure=self.measure,
        )


def bucket_difference_means(study: Study) -> MeanCube:
    """Average the number of predicted buckets minus that of true buckets."""
    difference = study.columns["buckets_predicted"] - study.columns["buckets_true"]
    return MeanCube.of(study, "predicted − true buckets", difference)


def bucket_error_means(study: Study) -> MeanCube:
    """Average the absolute difference between the mean numbers of predicted and true buckets of each test fold."""
    difference = study.columns["buckets_predicted"] - study.columns["buckets_true"]
    return MeanCube.of(study, "|predicted − true buckets|", np.abs(difference))


def training_time_means(study: Study) -> MeanCube:
    """Average the seconds per fold: for a tree to grow it and aggregate its leaves, else to fit and to predict."""
    seconds = study.columns["fit_seconds"] + study.columns["consensus_seconds"]
    return MeanCube.of(study, "seconds", seconds)


def _indices(values: NDArray[Any], names: list[Any]) -> NDArray[np.int64]:
    index = {name: i for i, name in enumerate(names)}
    return np.array([index[value] for value in values.tolist()], dtype=np.int64)


def _row_maximum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the maximum of each row, ignoring NaN; minus infinity for a row of NaN."""
    return np.asarray(np.where(np.isnan(values), -np.inf, values).max(axis=-1, keepdims=True))
