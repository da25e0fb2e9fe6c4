"""Conversion to rankings: from scores, and from classification data by predicted class probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank._exact_numbers import as_exact_floats, unmasked
from bucketrank._phrases import pluralize
from bucketrank._validation import (
    as_number_array,
    as_real,
    as_seed,
    as_whole,
    is_missing,
    is_pandas,
)
from bucketrank.datasets.dataset import Dataset, as_features, column_names

__all__ = ["from_classification", "rank_scores"]

_TOLERANCE = 1e-9
"""Tolerance of the threshold for ties: absorbs rounding errors in differences of scores."""


def rank_scores(scores: Any, tie_threshold: float = 0.0) -> NDArray[np.int64]:
    """Rank labels by descending score, and tie neighbours whose scores are close.

    In descending order of score, a label joins the bucket of its predecessor when its score is lower by at most
    `tie_threshold`. Ties cascade: the first and the last label of a bucket may be further apart than the threshold.

    Parameters
    ----------
    scores : array-like of shape (n_rankings, n_labels)
        Finite numbers, for example class probabilities.
    tie_threshold : float, default 0
        Largest difference of score between tied neighbours; not negative. It has a tolerance of 1e-9.

    Returns
    -------
    ndarray of shape (n_rankings, n_labels)
        Positions.

    Examples
    --------
    >>> rank_scores([[0.05, 0.6, 0.35], [0.3, 0.38, 0.32]], tie_threshold=0.05)
    array([[3, 1, 2],
           [2, 1, 2]])
    """
    values = as_exact_floats(as_number_array(scores, "scores"), "scores")
    if values.ndim != 2:
        raise ValueError(
            f"scores has {pluralize(values.ndim, 'dimension')}, shape {values.shape}; "
            "expected 2-D: one row per ranking, one column per label"
        )
    if not np.isfinite(values).all():
        row, label = (int(index) for index in np.argwhere(~np.isfinite(values))[0])
        raise ValueError(
            f"scores, row {row}, label {label}: {values[row, label]}; expected a finite number"
        )
    return rank(values, _threshold(tie_threshold) + _TOLERANCE)


def from_classification(
    X: Any,
    y: ArrayLike,
    estimator: Any = None,
    *,
    tie_threshold: float = 0.02,
    n_folds: int = 5,
    random_state: int = 0,
    name: str = "classification",
    feature_names: Sequence[str] = (),
    label_names: Sequence[str] = (),
    source: str = "",
) -> Dataset:
    """Turn classification data into rankings of the classes.

    The classes of each row are ranked by their predicted probabilities, from a classifier that was fitted to the other
    folds (cross-validation). Classes of similar probability are tied, see :func:`rank_scores`. Most published datasets
    for label ranking were derived in this way; with the defaults, the numbers of buckets are close to those of
    the published datasets.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Finite numbers.
    y : array-like of shape (n_samples,)
        The class of each row; each class needs at least `n_folds` rows.
    estimator : classifier, optional
        Any scikit-learn classifier with ``predict_proba``; it is cloned, and every ``random_state``
        that is None is set. By default a random forest of 30 trees with at least 3 rows per leaf.
    tie_threshold : float, default 0.02
        Neighbours whose probabilities differ by at most this much are tied.
    n_folds : int, default 5
        Number of folds; they are shuffled and stratified.
    random_state : int, default 0
        Seed of the folds and of the classifier.
    name, source : str, optional
        Name and source of the dataset.
    feature_names : sequence of str, optional
        By default the columns of a DataFrame, or ``A1``, ``A2``, ...
    label_names : sequence of str, optional
        Names of the classes, in the sorted order of the classes; by default the classes themselves.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from bucketrank import to_text
    >>> X, y = make_classification(n_classes=3, n_informative=4, random_state=0)
    >>> data = from_classification(X, y, GaussianNB(), tie_threshold=0.05, label_names=["ash", "elm", "fir"])
    >>> data
    Dataset('classification': 100 rows, 20 features, 3 labels)
    >>> to_text(data.Y[:3], data.label_names)
    ['fir > elm > ash', 'ash > elm > fir', 'ash > elm ~ fir']
    """
    from sklearn.base import clone

    features = as_features(X)
    names = column_names(X, feature_names, "A", features.shape[1])
    classes, codes = _classes(y, len(features))
    if isinstance(label_names, str):
        raise TypeError(f"label_names is the string {label_names!r}; expected a sequence of names")
    label_names = tuple(label_names)
    if len(label_names) not in (0, len(classes)):
        raise ValueError(
            f"label_names has {pluralize(len(label_names), 'name')}; expected {len(classes)}, one per class: "
            f"{_first_classes(classes)}"
        )
    threshold = _threshold(tie_threshold)
    seed = as_seed(random_state, "random_state")
    model = _clone_with_seeds(estimator, seed)
    probabilities = np.zeros((len(features), len(classes)))
    # Keep a data frame as it is, because a pipeline may select columns by name.
    rows = X.iloc if is_pandas(X) else features
    for train, test in _folds(classes, codes, n_folds, seed):
        fitted = clone(model).fit(rows[train], classes[codes[train]])
        probabilities[test] = _probabilities(fitted, rows[test], classes)
    return Dataset(
        name=name,
        X=features,
        Y=rank(probabilities, threshold + _TOLERANCE),
        feature_names=names,
        label_names=label_names or tuple(map(str, classes.tolist())),
        source=source or f"class probabilities, neighbours within {threshold:g} tied",
    )


def rank(scores: NDArray[np.float64], largest_drop: float) -> NDArray[np.int64]:
    """Rank finite scores; neighbours whose scores differ by at most `largest_drop` are tied.

    With a negative `largest_drop` nothing is tied, and equal scores are ranked in the order of the labels.
    """
    order = np.argsort(-scores, axis=1, kind="stable")
    descending = np.take_along_axis(scores, order, axis=1)
    buckets = np.ones(scores.shape, dtype=np.int64)
    np.cumsum(descending[:, :-1] - descending[:, 1:] > largest_drop, axis=1, out=buckets[:, 1:])
    buckets[:, 1:] += 1
    positions = np.empty_like(buckets)
    np.put_along_axis(positions, order, buckets, axis=1)
    return positions


def _threshold(tie_threshold: Any) -> float:
    threshold = as_real(tie_threshold, "tie_threshold")
    if not 0 <= threshold < np.inf:
        raise ValueError(
            f"tie_threshold is {threshold}; expected a finite number that is not negative"
        )
    return threshold


def _classes(y: ArrayLike, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the classes in sorted order, and for each row the index of its class."""
    from sklearn.utils.multiclass import type_of_target

    target = np.asarray(unmasked(y))
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim != 1:
        raise ValueError(f"y has the shape {target.shape}; expected one class per row, ({n_rows},)")
    if len(target) != n_rows:
        raise ValueError(
            f"X has {pluralize(n_rows, 'row')} but y has {len(target)}; expected a class for each row"
        )
    missing = next((row for row, value in enumerate(target.tolist()) if is_missing(value)), None)
    if missing is not None:
        raise ValueError(f"y, row {missing}: {target[missing]}; expected a class")
    if type_of_target(target) not in ("binary", "multiclass"):
        raise ValueError(f"y holds {type_of_target(target)} values; expected classes")
    classes, codes = np.unique(target, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has only the class {classes.tolist()[0]!r}; expected two or more")
    return classes, codes


def _folds(
    classes: NDArray[Any], codes: NDArray[np.intp], n_folds: Any, seed: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return shuffled, stratified folds as pairs of training and test rows; each test fold has every class."""
    from sklearn.model_selection import StratifiedKFold

    number = as_whole(n_folds, "n_folds")
    if number < 2:
        raise ValueError(f"n_folds is {number}; expected at least 2")
    counts = np.bincount(codes)
    rarest = int(counts.argmin())
    if counts[rarest] < number:
        raise ValueError(
            f"class {classes[rarest].item()!r} has {pluralize(int(counts[rarest]), 'row')}; "
            f"expected at least n_folds={number} of each class, or fewer folds"
        )
    splitter = StratifiedKFold(number, shuffle=True, random_state=_small_seed(seed, 0))
    return list(splitter.split(codes, codes))


def _clone_with_seeds(estimator: Any, seed: int) -> Any:
    """Return an unfitted copy of the classifier with every unset ``random_state`` derived from `seed`."""
    from sklearn.base import clone
    from sklearn.ensemble import RandomForestClassifier

    if estimator is None:
        estimator = RandomForestClassifier(30, min_samples_leaf=3)
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"estimator is {estimator!r:.60}; expected a classifier with fit and predict_proba"
        )
    model = clone(estimator)
    unset = [
        key
        for key, value in sorted(model.get_params(deep=True).items())
        if value is None and (key == "random_state" or key.endswith("__random_state"))
    ]
    return model.set_params(**{key: _small_seed(seed, 1 + i) for i, key in enumerate(unset)})


def _small_seed(seed: int, stream: int) -> int:
    """Derive a 32-bit seed for scikit-learn from a 64-bit seed."""
    return int(np.random.SeedSequence(seed, spawn_key=(stream,)).generate_state(1)[0])


def _probabilities(fitted: Any, rows: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    probabilities = np.asarray(fitted.predict_proba(rows), dtype=np.float64)
    if probabilities.shape != (len(rows), len(classes)):
        raise ValueError(
            f"predict_proba of {type(fitted).__name__} returned the shape {probabilities.shape}; "
            f"expected {(len(rows), len(classes))}, one column per class"
        )
    if not np.isfinite(probabilities).all():
        raise ValueError(
            f"predict_proba of {type(fitted).__name__} returned NaN or infinity; expected probabilities"
        )
    return probabilities


def _first_classes(classes: NDArray[Any]) -> str:
    first = ", ".join(map(repr, classes[:5].tolist()))
    return first + (", ..." if len(classes) > 5 else "")
