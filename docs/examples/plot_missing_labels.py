"""
How much do missing labels cost?
================================

Labels are dropped from the training rankings at random; the held-out rankings stay complete. A model that shares what
it learns about a label between all comparisons loses less than one that needs every pair to be observed.
"""

import matplotlib.pyplot as plt
import numpy as np

from bucketrank import PartialLabelRankingBooster, PartialLabelRankingForest
from bucketrank.datasets import make_rankings
from bucketrank.experiments import compare
from bucketrank.figures import plot_accuracy

data = make_rankings(300, n_features=6, n_labels=7, noise=0.15, ties=0.2, random_state=1)
levels = [0, 0.2, 0.4, 0.6, 0.8]
study = compare(
    [data],
    ["mc4", "borda", "tau_x"],
    missing=levels,
    n_repeats=1,
    n_folds=5,
    rankers={
        "forest": PartialLabelRankingForest(n_estimators=50, random_state=0),
        "booster": PartialLabelRankingBooster(rounds=80, random_state=0),
    },
)
means = study.summary().mean[:, 0]

# %%
# The all-tied baseline ignores the features: a model that scores below it is worse than no model at all.

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
curves = {name: means[:, j] for j, name in enumerate(study.methods) if name != "all_tied"}
plot_accuracy(levels, curves, ax=ax)
baseline = means[:, study.methods.index("all_tied")]
percent = 100 * np.array(levels)
ax.plot(percent, baseline, color="0.5", linestyle=":", zorder=0)
ax.annotate(
    "all labels tied", (40, baseline[0]), textcoords="offset points", xytext=(0, 5), color="0.4"
)
