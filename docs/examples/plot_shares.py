"""
How sure is the model? Shares along a feature
=============================================

A booster predicts, for each pair of labels, the shares of before, tied and after. Along one feature the shares show
where the order turns around, and how wide the zone of ties is.
"""

import matplotlib.pyplot as plt
import numpy as np

from bucketrank import PartialLabelRankingBooster, to_dense_ranks

# %%
# Tea is preferred late in the day, coffee early; in the early afternoon many are undecided.

rng = np.random.default_rng(1)
hour = rng.uniform(6, 22, 800)
tea = (hour - 14) / 4 + rng.normal(0, 0.7, 800)
Y = to_dense_ranks(-np.round(np.c_[tea, np.zeros(800)]))
booster = PartialLabelRankingBooster(
    rounds=40, max_depth=2, min_samples_leaf=60, random_state=0
).fit(hour[:, None], Y)

hours = np.linspace(6, 22, 200)
shares = booster.predict_pair_shares(hours[:, None])[:, 0]
consensus = booster.predict(hours[:, None])
where_tied = hours[consensus[:, 0] == consensus[:, 1]]

fig, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
ax.stackplot(
    hours,
    shares.T,
    labels=["tea before coffee", "tied", "coffee before tea"],
    colors=["#009e73", "#cccccc", "#a6611a"],
)
for edge in (where_tied.min(), where_tied.max()):
    ax.axvline(edge, color="black", linewidth=0.8)
ax.text(where_tied.mean(), 0.5, "predicted\ntie", ha="center", va="center")
ax.set(xlabel="hour", ylabel="share", xlim=(6, 22), ylim=(0, 1))
fig.legend(loc="outside upper center", ncols=3, frameon=False)
