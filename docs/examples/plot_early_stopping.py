"""
When should boosting stop?
==========================

Staged predictions show :math:`\\tau_X` after every number of rounds. On the training rows it keeps rising; on new rows
it levels off. Early stopping looks at the likelihood of held-out training rows and stops near the plateau.
"""

import matplotlib.pyplot as plt

from bucketrank import PartialLabelRankingBooster, tau_x
from bucketrank.datasets import make_rankings

data = make_rankings(600, n_features=8, n_labels=6, noise=0.4, ties=0.25, random_state=2)
X, Y = data.X[:300], data.Y[:300]
X_new, Y_new = data.X[300:], data.Y[300:]

booster = PartialLabelRankingBooster(rounds=300, random_state=0).fit(X, Y)
stopped = PartialLabelRankingBooster(rounds=300, validation_share=0.2, random_state=0).fit(X, Y)
curves = {
    "training rows": [tau_x(Y, predicted) for predicted in booster.staged_predict(X)],
    "new rows": [tau_x(Y_new, predicted) for predicted in booster.staged_predict(X_new)],
}

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, curve), colour in zip(curves.items(), ["#0072b2", "#d55e00"], strict=True):
    ax.plot(range(1, len(curve) + 1), curve, color=colour)
    ax.annotate(
        name,
        (len(curve), curve[-1]),
        xytext=(-4, -14),
        textcoords="offset points",
        color=colour,
        ha="right",
    )
ax.axvline(stopped.rounds_, color="0.4", linestyle="--")
ax.annotate(
    f"early stopping: {stopped.rounds_} rounds",
    (stopped.rounds_, min(curves["new rows"])),
    xytext=(6, 4),
    textcoords="offset points",
    color="0.3",
)
ax.set(xlabel="rounds", ylabel=r"$\tau_X$", xlim=(1, 300))
ax.spines[["top", "right"]].set_visible(False)
