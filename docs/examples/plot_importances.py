"""
Which features matter?
======================

Importances of a forest and a booster on the wine data, beside the loss of :math:`\\tau_X` when the values of a feature
are shuffled on held-out rows. The three agree on the leading features, although each measures something else.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import permutation_importance

from bucketrank import PartialLabelRankingBooster, PartialLabelRankingForest
from bucketrank.datasets import load

wine = load("wine")
forest = PartialLabelRankingForest(random_state=0).fit(wine.X[::2], wine.Y[::2])
booster = PartialLabelRankingBooster(random_state=0).fit(wine.X[::2], wine.Y[::2])
shuffled = permutation_importance(forest, wine.X[1::2], wine.Y[1::2], n_repeats=10, random_state=0)

# %%
# Each panel is sorted in the same way, by the importance in the forest.

order = np.argsort(forest.feature_importances_)
names = np.array(wine.feature_names)[order]
fig, axes = plt.subplots(1, 3, figsize=(9, 4.4), sharey=True, layout="constrained")
axes[0].barh(names, forest.feature_importances_[order], color="#0072b2")
axes[0].set_title("forest: decrease of impurity")
axes[1].barh(names, booster.feature_importances_[order], color="#e69f00")
axes[1].set_title("booster: gain")
axes[2].barh(
    names, shuffled.importances_mean[order], xerr=shuffled.importances_std[order], color="#009e73"
)
axes[2].set_title("forest: loss when shuffled")
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
