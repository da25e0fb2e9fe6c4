"""
Nine ballots and their consensus
================================

Each thin line is one ballot, from the best bucket at the top to the last at the bottom; the thick line is the
consensus. Labels at the same height are tied. One sees at a glance on which labels the voters agree.
"""

import matplotlib.pyplot as plt
import numpy as np

from bucketrank import TauX, from_text, to_text

ballots = [
    "tea > coffee ~ juice > water > milk",
    "coffee ~ juice > tea > water > milk",
    "tea > coffee ~ juice > milk ~ water",
    "tea > juice > coffee > milk > water",
    "coffee ~ tea > juice > water > milk",
    "juice > tea > coffee > water > milk",
    "tea > coffee > juice > milk ~ water",
    "milk > tea > coffee ~ juice > water",
    "tea > juice ~ coffee > water > milk",
]
Y, labels = from_text(ballots)
consensus = TauX().aggregate(Y)
print(to_text(consensus, labels))

# %%
# Labels are sorted by the consensus. A little noise separates ballots that coincide.

order = np.argsort(consensus, kind="stable")
rng = np.random.default_rng(0)
fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for ballot in Y:
    ax.plot(
        range(5),
        ballot[order] + rng.uniform(-0.09, 0.09),
        color="#0072b2",
        alpha=0.45,
        linewidth=1.2,
    )
ax.plot(
    range(5),
    consensus[order],
    color="#d55e00",
    linewidth=4,
    marker="o",
    markersize=10,
    label="consensus",
)
ax.set(
    xticks=range(5), xticklabels=[labels[i] for i in order], ylabel="position", yticks=range(1, 6)
)
ax.invert_yaxis()
ax.plot([], [], color="#0072b2", alpha=0.6, label="ballot")
ax.legend(frameon=False, loc="lower left")
ax.spines[["top", "right"]].set_visible(False)
