"""
Do the methods agree with each other?
=====================================

The consensus of 200 random elections by ten methods, and the mean :math:`\\tau_X` between each pair of methods.
Davidson, TauX, Borda without a threshold and the third Markov chain nearly coincide; thresholds tie more labels; the
fourth Markov chain and the maximal lottery choose winners and tie the rest.
"""

import matplotlib.pyplot as plt
import numpy as np

from bucketrank import (
    Borda,
    BucketPivot,
    Copeland,
    Davidson,
    MarkovChain,
    MaximalLottery,
    TauX,
    tau_x,
    to_dense_ranks,
)

methods = {
    "Davidson()": Davidson(),
    "TauX()": TauX(),
    "Borda(0.5)": Borda(beta=0.5),
    "Copeland(0.1)": Copeland(beta=0.1),
    "BucketPivot(0.1)": BucketPivot(beta=0.1),
    "MarkovChain(3)": MarkovChain(3),
    "Borda(0)": Borda(beta=0),
    "Copeland(0)": Copeland(beta=0),
    "MarkovChain(4)": MarkovChain(4),
    "MaximalLottery()": MaximalLottery(),
}

# %%
# Elections of 15 voters and 7 labels. The quality of the labels differs little, so majorities often form cycles.

rng = np.random.default_rng(0)
quality = np.linspace(0, 2, 7)
sets = to_dense_ranks((quality + rng.normal(0, 1.5, (200, 15, 7))).reshape(-1, 7)).reshape(
    200, 15, 7
)
results = [method.aggregate_many(sets) for method in methods.values()]
agreement = np.array([[tau_x(one, other) for other in results] for one in results])

fig, ax = plt.subplots(figsize=(7.5, 6), layout="constrained")
image = ax.imshow(agreement, cmap="viridis", vmin=agreement.min(), vmax=1)
for (i, j), value in np.ndenumerate(agreement):
    colour = "white" if value < (agreement.min() + 1) / 2 else "black"
    ax.text(j, i, f"{value:.2f}".lstrip("0"), ha="center", va="center", color=colour, fontsize=9)
ax.set_xticks(range(10), list(methods), rotation=40, ha="right", rotation_mode="anchor")
ax.set_yticks(range(10), list(methods))
fig.colorbar(image, label=r"mean $\tau_X$", shrink=0.8)
