"""
Why is this label above that one?
=================================

SHAP values divide the score of each label among the features of a row. The difference of two labels shows which
features place one above the other. Here a booster ranks the three cultivars of the wine data.
"""

import matplotlib.pyplot as plt
import numpy as np

from bucketrank import PartialLabelRankingBooster, to_text
from bucketrank.datasets import load
from bucketrank.figures import plot_label_effects

wine = load("wine")
names = list(wine.label_names)
booster = PartialLabelRankingBooster(random_state=0).fit(wine.X[::2], wine.Y[::2])
row = wine.X[75]
shap = booster.shap_values(wine.X[75:76])[0]
base = booster.shap_base_values()
prediction = to_text(booster.predict(wine.X[75:76]), names)[0]

# %%
# The bars add up to the difference of the two utilities. The last bar is the difference before any feature is known:
# how the labels compare over all training rows.

fig, ax = plt.subplots(figsize=(7.4, 4.8), layout="constrained")
plot_label_effects(
    shap,
    names[1],
    names[0],
    base=base,
    row=row,
    features=wine.feature_names,
    labels=names,
    max_features=8,
    ax=ax,
)
fig.suptitle(f"prediction: {prediction}")

# %%
# The mean size of the effects over many rows is an importance per feature *and label*, which the importances of the
# model cannot show.

shap = booster.shap_values(wine.X[1::2])
size = np.abs(shap - shap.mean(axis=2, keepdims=True)).mean(axis=0)
order = np.argsort(size.sum(axis=1))
fig, ax = plt.subplots(figsize=(7.4, 4.6), layout="constrained")
left = np.zeros(len(order))
for label, colour in zip(range(len(names)), ("#0072b2", "#e69f00", "#009e73"), strict=True):
    ax.barh(
        np.array(wine.feature_names)[order],
        size[order, label],
        left=left,
        color=colour,
        label=names[label],
    )
    left += size[order, label]
ax.set_xlabel("mean size of the effect on the utility of a label")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower right")
