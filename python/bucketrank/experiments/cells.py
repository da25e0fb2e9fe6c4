"""Means over repeats and folds: one number for each level of missing labels, dataset and method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bucketrank.estimators.baseline import ALL_TIED
from bucketrank.statistics import ScoreTable

if TYPE_CHECKING:
    from bucketrank.experiments.study import Study

__all__ = ["Cells"]


@dataclass(frozen=True, eq=False)
class Cells:
    """Means of something that a study measured.

    Attributes
    ----------
    measure : str
        What was measured.
    missing : list of float
        Levels of missing labels.
    datasets, methods : list of str
        Names.
    mean : ndarray of shape (n_levels, n_datasets, n_methods)
        NaN where there is no result.
    count : ndarray of the same shape
        Number of results of each mean.
    expected : int
        Number of results of each mean in a finished study.
    """

    measure: str
    missing: list[float]
    datasets: list[str]
    methods: list[str]
    mean: NDArray[np.float64]
    count: NDArray[np.int64]
    expected: int

    @classmethod
    def of(cls, study: Study, measure: str, values: NDArray[np.float64] | None = None) -> Cells:
        """Average a column of a study, or numbers of its rows that go by the name `measure`."""
        numbers = study.columns[measure] if values is None else values
        shape = (len(study.missing), len(study.datasets), len(study.methods))
        place = np.ravel_multi_index(
            (
                _places(study.columns["missing"], study.missing),
                _places(study.columns["dataset"], study.datasets),
                _places(study.columns["method"], study.methods),
            ),
            shape,
        )
        size = int(np.prod(shape))
        count = np.bincount(place, minlength=size)
        total = np.bincount(place, numbers, size)
        mean = np.divide(total, count, out=np.full(size, np.nan), where=count > 0)
        expected = int(study.settings["n_repeats"]) * int(study.settings["n_folds"])
        return cls(
            measure,
            study.missing,
            study.datasets,
            study.methods,
            mean.reshape(shape),
            count.reshape(shape),
            expected,
        )

    def without_baseline(self) -> Cells:
        """Return the cells of the methods beside the one that ties all labels, unless it is the only one."""
        kept = [j for j, method in enumerate(self.methods) if method != ALL_TIED]
        if not kept:
            return self
        names = [self.methods[j] for j in kept]
        return replace(
            self, methods=names, mean=self.mean[:, :, kept], count=self.count[:, :, kept]
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
        """Return the indices of the datasets for which no method lacks a result."""
        return np.flatnonzero((self.count[level] == self.expected).all(axis=1)).tolist()

    def scores(
        self, level: int, *, higher_is_better: bool = True, zero_is_best: bool = False
    ) -> ScoreTable:
        """Return one level as a table for statistics; the error says which cells are incomplete."""
        short = [
            f"{self.methods[j]} on {self.datasets[i]} ({self.count[level, i, j]} of {self.expected})"
            for i, j in np.argwhere(self.count[level] < self.expected).tolist()
        ]
        if short:
            rest = f" and {len(short) - 5} more" if len(short) > 5 else ""
            raise ValueError(
                f"incomplete results at missing={self.missing[level]:g}: {', '.join(short[:5])}{rest}; "
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
        """Return one level for the datasets that are finished; None where too few are for statistics."""
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


def _places(values: NDArray[Any], names: list[Any]) -> NDArray[np.int64]:
    place = {name: index for index, name in enumerate(names)}
    return np.array([place[value] for value in values.tolist()], dtype=np.int64)
