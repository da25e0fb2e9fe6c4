"""Confidence intervals of means over repeated folds, corrected for the overlap of training sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bucketrank.experiments.means import MeanCube

if TYPE_CHECKING:
    from bucketrank.experiments.study import Study

__all__ = ["half_widths", "not_worse"]

CONFIDENCE = 0.95


def half_widths(cube: MeanCube, n_folds: int) -> NDArray[np.float64]:
    r"""Half-width of the 95 % confidence interval of each mean of the cube (levels × datasets × methods).

    Scores of folds are not independent, because their training sets overlap. The variance of the mean of J scores is
    therefore estimated by :math:`(1/J + n_{test}/n_{train}) s^2` instead of :math:`s^2/J`, with the t distribution of
    J - 1 degrees of freedom. With k folds, :math:`n_{test}/n_{train} = 1/(k - 1)`. Means of fewer than two
    results have NaN. See C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52 (2003).
    """
    return _quantile(cube.count) * cube.sd * np.sqrt(_variance_factor(cube.count, n_folds))


def not_worse(study: Study) -> NDArray[np.bool_]:
    """Mask of the methods that are not shown to be worse than the method with the best mean on the same dataset.

    The differences from the best method on the same folds are compared with 0 by the corrected t-test of Nadeau and
    Bengio, two-sided at the significance level 0.05. The mask has one entry per level of missing labels, dataset and
    method. It is True for the best method, and False where there is no result.
    """
    cube = MeanCube.of(study, "tau_x")
    filled = np.where(np.isnan(cube.mean), -np.inf, cube.mean)
    best = np.asarray(cube.methods, dtype=np.object_)[filled.argmax(axis=2)]
    columns = study.columns
    keys = [columns[name].tolist() for name in ("missing", "dataset", "repeat", "fold")]
    scores = dict(
        zip(
            zip(*keys, columns["method"].tolist(), strict=True),
            columns["tau_x"].tolist(),
            strict=True,
        )
    )
    level_index = {value: index for index, value in enumerate(cube.missing)}
    dataset_index = {name: index for index, name in enumerate(cube.datasets)}
    best_scores = [
        scores.get((*key, best[level_index[key[0]], dataset_index[key[1]]]), np.nan)
        for key in zip(*keys, strict=True)
    ]
    deficit = MeanCube.of(
        study, "behind the best", np.array(best_scores, dtype=np.float64) - columns["tau_x"]
    )
    width = half_widths(deficit, int(study.settings["n_folds"]))
    is_best = cube.mean == filled.max(axis=2, keepdims=True)
    return np.asarray(is_best | (deficit.mean <= np.nan_to_num(width)))


def _quantile(count: NDArray[np.int64]) -> NDArray[np.float64]:
    freedom = np.where(count > 1, count - 1, 1)
    return np.asarray(stats.t.ppf((1 + CONFIDENCE) / 2, freedom))


def _variance_factor(count: NDArray[np.int64], n_folds: int) -> NDArray[np.float64]:
    return np.asarray(1 / np.maximum(count, 1) + 1 / (n_folds - 1))
