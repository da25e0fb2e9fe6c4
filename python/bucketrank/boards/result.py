"""The leaderboard: a table of labels with intervals and tiers, and which labels are ahead of which."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._files import write_file
from bucketrank._optional import import_pandas
from bucketrank._read_only import ReadOnlyArrays
from bucketrank.boards.rendering import board_table, describe_board, terminal_table
from bucketrank.comparisons import PairCounts
from bucketrank.tables import Table, TabularResult, to_csv_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["Leaderboard"]

_MISSING_IF_ALONE = ("tier", "rank", "rank_low", "rank_high")
"""Columns that are missing for labels that were never compared.

Such a label is alone in its component, the set of labels that are connected with it by comparisons.
"""


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(ReadOnlyArrays, TabularResult):
    """Labels ranked by score, with intervals and tiers of statistically tied labels.

    Made by :func:`bucketrank.leaderboard`. Prints as a table, best label first; arrays are read-only and in the order
    of `labels`.

    Attributes
    ----------
    labels : list
        Names of the labels, in the order of the data.
    scores, score_low, score_high : ndarray of shape (n_labels,)
        Scores, and percentile intervals that each hold for one label, not for all at once; NaN for labels that were
        never compared.
    rank, rank_low, rank_high : ndarray of shape (n_labels,)
        Rank within the component: 1 + the number of labels with a higher score. The lowest possible rank is 1 + the
        number of labels that are `ahead` of the label; the highest is the size of the component minus the number of
        labels that the label is ahead of. 0 for labels that were never compared.
    tier : ndarray of shape (n_labels,)
        Tier within the component, from 1: a label joins the tier unless the first label of the tier is ahead of it. 0
        for labels that were never compared.
    crosses_tier : ndarray of bool of shape (n_labels,)
        Whether the rank interval reaches outside the tier.
    ahead : ndarray of bool of shape (n_labels, n_labels)
        Whether the row label is ahead of the column label: its score is larger by more than `critical_value` standard
        errors.
    probability_ahead : ndarray of shape (n_labels, n_labels)
        Share of the resamples in which the row label scores higher, equal scores counting half; NaN for labels that are
        not comparable.
    components : ndarray of shape (n_labels,)
        Connected component of each label; component 0 is the largest. Labels of different components are not
        comparable.
    critical_value : float
        Number of standard errors of the difference by which the score of a label must be larger to be ahead of another.
    counts : PairCounts
        How often each pair was compared, by outcome.
    resampled : ndarray of shape (n_resamples, n_labels)
        Scores of data drawn from the rows with replacement, one row per draw.
    settings : dict
        method, n_resamples, confidence, unit (of resampling: "row" or "group"), simultaneous (whether `confidence`
        holds for all pairs at once) and random_state.

    Examples
    --------
    >>> from bucketrank import from_comparisons, leaderboard
    >>> games = from_comparisons(["ada"] * 40, ["bob"] * 40, ["first"] * 34 + ["second"] * 6)
    >>> board = leaderboard(games, n_resamples=50)
    >>> board.tiers()
    array([1, 2])
    """

    labels: list[Hashable]
    scores: NDArray[np.float64]
    score_low: NDArray[np.float64]
    score_high: NDArray[np.float64]
    rank: NDArray[np.int64]
    rank_low: NDArray[np.int64]
    rank_high: NDArray[np.int64]
    tier: NDArray[np.int64]
    crosses_tier: NDArray[np.bool_]
    ahead: NDArray[np.bool_]
    probability_ahead: NDArray[np.float64]
    components: NDArray[np.int64]
    critical_value: float
    counts: PairCounts
    resampled: NDArray[np.float64]
    settings: dict[str, Any]

    @classmethod
    def _from_scores(
        cls,
        *,
        labels: list[Hashable],
        counts: PairCounts,
        components: NDArray[np.int64],
        scores: NDArray[np.float64],
        resampled: NDArray[np.float64],
        separation: dict[str, Any],
        settings: dict[str, Any],
    ) -> Leaderboard:
        """Return a leaderboard; `separation` has ranks, tiers and which labels are ahead, as the core returns them."""
        alone = np.bincount(components)[components] == 1
        outside = 1 - settings["confidence"]
        low, high = np.quantile(resampled, [outside / 2, 1 - outside / 2], axis=0)
        intervals = {
            name: np.where(alone, np.nan, values)
            for name, values in {"scores": scores, "score_low": low, "score_high": high}.items()
        }
        ranks = {name: np.where(alone, 0, separation[name]) for name in _MISSING_IF_ALONE}
        return cls(
            labels=labels,
            **intervals,
            **ranks,
            crosses_tier=_crosses_tier(ranks, components),
            ahead=separation["ahead"],
            probability_ahead=separation["probability"],
            components=components,
            critical_value=separation["critical"],
            counts=counts,
            resampled=resampled,
            settings=settings,
        )

    def __post_init__(self) -> None:
        self._freeze_arrays()

    def __repr__(self) -> str:
        return f"Leaderboard({describe_board(self)})"

    def __str__(self) -> str:
        return str(terminal_table(self))

    def order(self) -> NDArray[np.int64]:
        """Return the indices of the labels in the order of the printed rows: by component, then by score."""
        scores = np.where(np.isnan(self.scores), -np.inf, self.scores)
        return np.lexsort((np.arange(len(self.labels)), -scores, self.components))

    def tiers(self, component: int = 0) -> NDArray[Any]:
        """Return the tiers as a bucket order: positions of the labels.

        Parameters
        ----------
        component : int, default 0
            Component whose labels have positions; the largest by default.

        Returns
        -------
        ndarray of shape (n_labels,)
            ``int64``, or ``float64`` with NaN for labels of other components.
        """
        inside = (self.components == component) & (self.tier > 0)
        if not inside.any():
            raise ValueError(
                f"component is {component!r}; expected a component with compared labels, from 0 to "
                f"{int(self.components[self.tier > 0].max())}"
            )
        return self.tier.copy() if inside.all() else np.where(inside, self.tier, np.nan)

    @property
    def wins(self) -> NDArray[np.float64]:
        """Weight of the comparisons that each label won."""
        wins: NDArray[np.float64] = self.counts.before.sum(axis=1)
        return wins

    @property
    def losses(self) -> NDArray[np.float64]:
        """Weight of the comparisons that each label lost."""
        losses: NDArray[np.float64] = self.counts.before.sum(axis=0)
        return losses

    @property
    def ties(self) -> NDArray[np.float64]:
        """Weight of the ties of each label."""
        ties: NDArray[np.float64] = self.counts.tied.sum(axis=1)
        return ties

    def table(self) -> Table:
        """Return one row per label, best first, with full names; ``print(board)`` cuts them to fit a terminal."""
        return board_table(self)

    def to_pandas(self) -> DataFrame:
        """Return one row per label, best first; needs pandas.

        Returns
        -------
        pandas.DataFrame
            Columns tier, label, score, score_low, score_high, rank, rank_low, rank_high, wins, ties, losses and
            comparisons; and component if there are several. Tiers and ranks of labels that were never compared are
            missing.
        """
        frame: DataFrame = import_pandas("to_pandas").DataFrame(self._columns())
        for name in _MISSING_IF_ALONE:
            frame[name] = frame[name].astype("Int64").where(frame[name] > 0)
        if not (frame["tier"].isna()).any():
            frame = frame.astype(dict.fromkeys(_MISSING_IF_ALONE, "int64"))
        return frame

    def to_csv(self) -> str:
        """Return the columns of :meth:`to_pandas` as CSV; missing numbers are empty cells."""
        columns = self._columns()
        for name in _MISSING_IF_ALONE:
            columns[name] = [number or None for number in columns[name].tolist()]
        rows = zip(*(map(_to_json, values) for values in columns.values()), strict=True)
        return to_csv_text([list(columns), *rows])

    def to_dict(self) -> dict[str, Any]:
        """Return settings, table, and per label the labels that it is ahead of, as plain Python values for JSON."""
        columns = self._columns()
        rows = [
            {name: _to_json(values[row]) for name, values in columns.items()}
            for row in range(len(self.labels))
        ]
        order = self.order()
        names = [_to_json(self.labels[i]) for i in order]
        ahead = [[names[j] for j in np.flatnonzero(self.ahead[i][order])] for i in order.tolist()]
        return {
            "settings": dict(self.settings),
            "critical_value": self.critical_value,
            "labels": rows,
            "ahead_of": dict(zip(map(str, names), ahead, strict=True)),
        }

    def plot(self, kind: str = "intervals", *, ax: Axes | None = None) -> Axes:
        """Draw the leaderboard; needs matplotlib.

        Parameters
        ----------
        kind : {"intervals", "pairs"}, default "intervals"
            Scores with intervals and shaded tiers, or a heat map of the outcomes of all pairs.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from bucketrank.figures.board import plot_pair_outcomes, plot_score_intervals

        draw = {"intervals": plot_score_intervals, "pairs": plot_pair_outcomes}
        if kind not in draw:
            raise ValueError(f"kind is {kind!r:.60}; expected 'intervals' or 'pairs'")
        return draw[kind](self, ax=ax)

    def report(
        self,
        path: str | Path | None = None,
        *,
        format: str = "html",  # noqa: A002 (the usual name of this parameter)
        title: str = "Leaderboard",
    ) -> str:
        """Write the leaderboard as one self-contained page: a summary in words, tables and figures.

        Parameters
        ----------
        path : str or Path, optional
            File to write to, in addition to returning the text.
        format : {"html", "latex", "markdown"}, default "html"
            HTML has figures and needs matplotlib (``pip install 'bucketrank[plot]'``).
        title : str, default "Leaderboard"
            Heading of the page.

        Returns
        -------
        str
        """
        from bucketrank.boards.report import board_document
        from bucketrank.experiments.report import RENDERERS

        if format not in RENDERERS:
            known = ", ".join(map(repr, RENDERERS))
            raise ValueError(f"format is {format!r}; expected one of {known}")
        text = RENDERERS[format](board_document(self, title))
        if path is not None:
            write_file(path, text)
        return text

    def _columns(self) -> dict[str, Any]:
        """Return the columns of the data frame."""
        order = self.order()
        names = np.empty(len(order), dtype=object)
        names[:] = [self.labels[i] for i in order]
        played = self.wins + self.ties + self.losses
        columns = {
            "tier": self.tier[order],
            "label": names,
            "score": self.scores[order],
            "score_low": self.score_low[order],
            "score_high": self.score_high[order],
            "rank": self.rank[order],
            "rank_low": self.rank_low[order],
            "rank_high": self.rank_high[order],
            "wins": self.wins[order],
            "ties": self.ties[order],
            "losses": self.losses[order],
            "comparisons": played[order],
        }
        for name in ("wins", "ties", "losses", "comparisons"):
            is_whole = (columns[name] == np.floor(columns[name])) & (columns[name] < 2**53)
            if is_whole.all():
                columns[name] = columns[name].astype(np.int64)
        if self.components.max() > 0:
            columns["component"] = self.components[order]
        return columns


def _crosses_tier(
    ranks: dict[str, NDArray[np.int64]], components: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether each rank interval reaches outside the ranks of the label's tier."""
    crosses = np.zeros(len(components), dtype=bool)
    for component in np.unique(components):
        start = 1
        inside = components == component
        for tier in range(1, int(ranks["tier"][inside].max()) + 1):
            members = inside & (ranks["tier"] == tier)
            end = start + int(members.sum()) - 1
            crosses |= members & ((ranks["rank_low"] < start) | (ranks["rank_high"] > end))
            start = end + 1
    return crosses


def _to_json(value: Any) -> Any:
    """Convert a value for JSON: NumPy numbers to Python numbers, NaN to None, labels of other types to strings."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value != value:
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
