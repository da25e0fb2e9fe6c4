"""The function that makes a leaderboard from comparisons of two labels, rankings, or counts of comparisons."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank import _core
from bucketrank._validation import (
    as_flag,
    as_positions,
    as_real,
    as_seed,
    as_weights,
    as_whole,
    label_names,
    resolve_n_jobs,
)
from bucketrank.aggregation import Aggregator, Davidson, get_aggregator
from bucketrank.aggregation.methods import WITH_SCORES
from bucketrank.boards.result import Leaderboard
from bucketrank.comparisons import Comparisons, PairCounts
from bucketrank.experiments.progress import progress_bar
from bucketrank.notation import LabelledRankings
from bucketrank.preflib import WeightedRankings

__all__ = ["leaderboard"]

_MOST_LABELS = 2048
_MOST_RESAMPLES = 1_000_000


def leaderboard(
    data: Any,
    method: str | Aggregator = Davidson(),  # noqa: B008 (aggregators are immutable)
    *,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    unit: str | None = None,
    simultaneous: bool = True,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: bool = True,
) -> Leaderboard:
    r"""Rank labels by score, with intervals, and find out which are statistically tied.

    The data is resampled with replacement, and the scores of each resample are computed by the same method. Let
    :math:`s` be the scores of the data, :math:`s^b` the scores of resample b, :math:`d_{ij} = s_i - s_j` and
    :math:`d^b_{ij} = s^b_i - s^b_j` the differences, and :math:`se_{ij}` the standard deviation of :math:`d^b_{ij}`
    over the resamples. Label i is *ahead* of j when :math:`d_{ij} / se_{ij} > c`.

    Parameters
    ----------
    data : Comparisons, PairCounts, LabelledRankings, WeightedRankings, or array-like of shape (n_rankings, n_labels)
        Comparisons of two labels per row, counts of comparisons, or rankings: positions with NaN for missing labels, or
        the result of :func:`bucketrank.from_text` or :func:`bucketrank.read_preflib`.
    method : str or Aggregator, default Davidson()
        A method with scores: Davidson, Borda, Copeland, MarkovChain or MaximalLottery. Scores of Davidson are utilities
        on its scale.
    n_resamples : int, default 1000
        Number of resamples; at least 2.
    confidence : float, default 0.95
        Confidence of the intervals, and of one label being ahead of another; above 0 and below 1.
    unit : {"row", "group"}, optional
        Unit of resampling: single rows (comparisons or rankings), or whole groups of comparisons. By default groups, if
        the comparisons have any. If all weights are whole numbers, a row of weight k stands for k rows; otherwise each
        row is drawn with its weight.
    simultaneous : bool, default True
        Whether `confidence` holds for all pairs at once: c is then the `confidence` quantile, over the resamples, of
        :math:`\max_{i<j} |d^b_{ij} - d_{ij}| / se_{ij}`. Otherwise `confidence` holds for each pair on its own, and c
        is the two-sided normal quantile.
    random_state : int, default 0
        Seed of the resamples.
    n_jobs : int, optional
        Number of threads; None means 1, and -1 means one per core. The result does not depend on it.
    progress : bool, default True
        Whether to show a progress bar for work that takes more than a second, on terminals and in notebooks, if tqdm is
        installed.

    Returns
    -------
    Leaderboard

    Notes
    -----
    Single comparisons without covariates are drawn as one multinomial number per distinct pair and outcome: the time
    does not grow with the number of comparisons. With Davidson, each resample also draws the centre of the prior: a
    score that is determined by the prior alone, such as that of a label that won every comparison, has a wide interval.
    Labels that no chain of comparisons connects are not comparable: each connected component is ranked on its own.

    References
    ----------
    M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for ranks with applications to mobility across
    neighbourhoods and academic achievement across countries", Review of Economic Studies 91 (2024).

    Examples
    --------
    >>> from bucketrank import datasets, leaderboard
    >>> battles = datasets.make_battles(3000, n_labels=4, n_tiers=2, random_state=1)
    >>> board = leaderboard(battles.comparisons, n_resamples=200)
    >>> board.tiers().tolist()
    [1, 1, 2, 2]
    """
    options = _Options(n_resamples, confidence, unit, simultaneous, random_state)
    aggregator = _check_method(method)
    core_data, labels, counts = _read(data, aggregator)
    if isinstance(aggregator, Davidson) and aggregator.anchor is not None:
        aggregator._anchor_index(labels)
    by_group = options.draws_groups(data)
    sampling = {
        "order_effect": isinstance(aggregator, Davidson) and aggregator.order_effect,
        "by_group": by_group,
        "resamples": options.resamples,
        "seed": options.seed,
        "n_jobs": resolve_n_jobs(n_jobs),
    }
    spec = aggregator._fit_spec() if isinstance(aggregator, Davidson) else aggregator._spec()
    wanted = as_flag(progress, "progress")
    with progress_bar(options.resamples, 0, wanted=wanted, unit="resample", delay=1) as advance:
        sample = _core.resample_scores(spec, core_data, sampling, _Counter(advance))
    scores, resampled, tolerance = _scale(aggregator, labels, sample)
    components = _core.connected_components(counts._input())
    # Ranks, tiers, and which labels are ahead of which.
    separation = _core.separate_labels(
        scores,
        resampled,
        components.tolist(),
        {"simultaneous": options.simultaneous, "level": options.level, "tolerance": tolerance},
    )
    return Leaderboard._from_scores(
        labels=labels,
        counts=counts,
        components=components,
        scores=scores,
        resampled=resampled,
        separation=separation,
        settings={
            "method": repr(aggregator),
            "n_resamples": options.resamples,
            "confidence": options.confidence,
            "unit": "group" if by_group else "row",
            "simultaneous": options.simultaneous,
            "random_state": options.seed,
        },
    )


class _Options:
    """Checked options of a leaderboard."""

    def __init__(
        self, n_resamples: Any, confidence: Any, unit: Any, simultaneous: Any, random_state: Any
    ) -> None:
        self.resamples = as_whole(n_resamples, "n_resamples")
        if not 2 <= self.resamples <= _MOST_RESAMPLES:
            raise ValueError(
                f"n_resamples is {self.resamples}; expected a whole number from 2 to {_MOST_RESAMPLES}"
            )
        self.confidence = as_real(confidence, "confidence")
        if not 0 < self.confidence < 1:
            raise ValueError(
                f"confidence is {self.confidence:g}; expected a number above 0 and below 1"
            )
        if unit not in (None, "row", "group"):
            raise ValueError(f"unit is {unit!r:.60}; expected 'row', 'group' or None")
        self.unit = unit
        self.simultaneous = as_flag(simultaneous, "simultaneous")
        self.seed = as_seed(random_state, "random_state")

    @property
    def level(self) -> float:
        """The confidence if it holds for all pairs at once, else the critical value c, which needs no resamples."""
        if self.simultaneous:
            return self.confidence
        # From the lower tail, because the upper quantile would round to 1 for a confidence close to 1.
        return -NormalDist().inv_cdf((1 - self.confidence) / 2)

    def draws_groups(self, data: Any) -> bool:
        """Whether whole groups of comparisons are resampled, not single rows."""
        has_groups = isinstance(data, Comparisons) and data.group is not None
        if self.unit == "group" and not has_groups:
            raise ValueError(
                "unit is 'group', but the data has no groups; expected comparisons of from_comparisons(..., group=...)"
            )
        return has_groups if self.unit is None else self.unit == "group"


class _Counter:
    """Advances a progress bar by the number of resamples that were finished since the last call."""

    def __init__(self, advance: Any) -> None:
        self.advance = advance
        self.finished = 0

    def __call__(self, finished: int) -> None:
        self.advance(finished - self.finished)
        self.finished = finished


def _check_method(method: Any) -> Aggregator:
    aggregator = get_aggregator(method)
    if not isinstance(aggregator, (Davidson, *WITH_SCORES)):
        raise ValueError(
            f"{aggregator!r} has no scores to rank labels by; expected Davidson, Borda, Copeland, MarkovChain or "
            "MaximalLottery"
        )
    return aggregator


def _read(data: Any, aggregator: Aggregator) -> tuple[dict[str, Any], list[Any], PairCounts]:
    """Return the data as the core reads it, the names of the labels, and the counts of all pairs."""
    if isinstance(data, Comparisons):
        _check_label_count(len(data.labels))
        return data._input(), data.labels, PairCounts.of(data)
    if isinstance(aggregator, Davidson):
        # Raises if the model needs to know which label was shown first.
        aggregator._spec()
    if isinstance(data, PairCounts):
        _check_label_count(len(data.labels))
        if data.largest_ranking > 2:
            raise ValueError(
                f"the counts come from rankings of up to {data.largest_ranking} labels, whose pairs depend on each "
                "other; expected the rankings themselves"
            )
        return data._input(), data.labels, data
    labels = weights = None
    if isinstance(data, LabelledRankings):
        data, labels = data
    elif isinstance(data, WeightedRankings):
        data, labels, weights = data
    positions = as_positions(data, "data")
    _check_label_count(positions.shape[1])
    names = label_names(data, labels, positions.shape[1])
    counts = PairCounts.of(positions, weights, labels=names)
    return {"positions": positions, "weights": as_weights(weights)}, names, counts


def _check_label_count(found: int) -> None:
    if found > _MOST_LABELS:
        raise ValueError(f"found {found} labels; expected at most {_MOST_LABELS} on a leaderboard")


def _scale(
    aggregator: Aggregator, labels: list[Any], sample: dict[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return scores, scores of the resamples, and the tolerance for equal scores, all on the scale of the method."""
    if not isinstance(aggregator, Davidson):
        return sample["scores"], sample["resampled"], sample["tolerance"]
    return (
        aggregator._scaled(sample["scores"], labels),
        aggregator._scaled(sample["resampled"], labels),
        aggregator._factor * sample["tolerance"],
    )
