"""Statistical tests of differences between methods.

The functions take scores of methods on datasets, as a :class:`ScoreTable` or in a form that :meth:`ScoreTable.of`
accepts, and return a result that prints as a table and has the methods ``to_pandas``, ``to_latex`` and ``to_dict``.
Only :func:`holm_adjusted` takes an array of p-values and returns an array.

Examples
--------
>>> from bucketrank.statistics import ScoreTable, holm
>>> scores = ScoreTable(
...     [[0.78, 0.77, 0.65], [0.94, 0.93, 0.90], [0.76, 0.77, 0.70], [0.90, 0.91, 0.82]],
...     datasets=["authorship", "blocks", "breast", "iris"],
...     methods=["bucket_pivot", "borda", "mc4"],
... )
>>> test = holm(scores, control="borda")
>>> test.not_different
('bucket_pivot', 'mc4')
"""

from __future__ import annotations

from bucketrank.statistics.control import HolmTest, holm, holm_adjusted
from bucketrank.statistics.pairwise import PairwiseTest, nemenyi, wilcoxon
from bucketrank.statistics.ranks import (
    AverageRanks,
    FriedmanTest,
    average_ranks,
    friedman,
)
from bucketrank.statistics.score_table import ScoreTable
from bucketrank.statistics.wins import WinTieLoss, win_tie_loss

__all__ = [
    "AverageRanks",
    "FriedmanTest",
    "HolmTest",
    "PairwiseTest",
    "ScoreTable",
    "WinTieLoss",
    "average_ranks",
    "friedman",
    "holm",
    "holm_adjusted",
    "nemenyi",
    "wilcoxon",
    "win_tie_loss",
]
