"""
Which methods differ? A critical-difference diagram
===================================================

Average ranks of nine methods over the paper's 15 synthetic datasets, at 30 % missing labels. A bar joins methods that
Nemenyi's test does not separate; methods without a common bar differ.
"""

import matplotlib.pyplot as plt
import numpy as np

from bucketrank.figures import plot_critical_difference
from bucketrank.statistics import ScoreTable, friedman, nemenyi

# %%
# Scores of other software are welcome: a table of datasets by methods is enough. These scores are from a run of
# ``make accuracy``.

methods = [
    "tree",
    "soft tree",
    "forest",
    "booster",
    "linear",
    "ranker",
    "fast ranker",
    "baseline",
    "all tied",
]
datasets = [
    *("authorship", "blocks", "breast", "ecoli", "glass", "iris", "libras", "segment"),
    *("vehicle", "vowel", "wine", "yeast", "letter", "pendigits", "satimage"),
]
values = np.array(
    [
        [0.748, 0.806, 0.856, 0.866, 0.852, 0.873, 0.867, 0.398, 0.181],
        [0.934, 0.946, 0.953, 0.955, 0.927, 0.955, 0.955, 0.874, 0.508],
        [0.735, 0.784, 0.814, 0.816, 0.761, 0.830, 0.817, 0.255, 0.215],
        [0.736, 0.763, 0.796, 0.810, 0.752, 0.816, 0.815, 0.488, 0.318],
        [0.738, 0.750, 0.804, 0.824, 0.762, 0.814, 0.817, 0.526, 0.179],
        [0.882, 0.896, 0.904, 0.918, 0.911, 0.913, 0.918, 0.167, 0.207],
        [0.592, 0.634, 0.707, 0.736, 0.629, 0.743, 0.735, 0.228, 0.197],
        [0.877, 0.884, 0.911, 0.915, 0.849, 0.917, 0.917, 0.482, 0.482],
        [0.739, 0.794, 0.833, 0.829, 0.774, 0.841, 0.839, 0.316, 0.169],
        [0.673, 0.714, 0.781, 0.792, 0.675, 0.798, 0.794, 0.239, 0.203],
        [0.783, 0.818, 0.884, 0.890, 0.849, 0.886, 0.888, 0.210, 0.107],
        [0.768, 0.799, 0.821, 0.828, 0.770, 0.833, 0.832, 0.617, 0.180],
        [0.691, 0.719, 0.758, 0.773, 0.626, 0.776, 0.774, 0.452, 0.452],
        [0.794, 0.828, 0.847, 0.855, 0.775, 0.858, 0.856, 0.520, 0.520],
        [0.825, 0.867, 0.899, 0.905, 0.810, 0.908, 0.906, 0.341, 0.341],
    ]
)
scores = ScoreTable(values, datasets=datasets, methods=methods)

# %%
# Friedman's test first: do the methods differ at all? Then all pairs.

print(friedman(scores).sentence())

fig, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
plot_critical_difference(nemenyi(scores), ax=ax)
