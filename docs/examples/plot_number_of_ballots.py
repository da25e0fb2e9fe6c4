"""
How many ballots are enough?
============================

Voters rank ten labels of a true bucket order with noise. The more ballots, the closer the consensus comes to the truth;
methods that can tie labels get there. Borda without a threshold orders everything and stops short of it, and the fourth
Markov chain ties everything but the winners.
"""

import matplotlib.pyplot as plt
import numpy as np

from bucketrank import Borda, Copeland, MarkovChain, TauX, tau_x, to_dense_ranks

truth = np.array([1, 1, 2, 2, 2, 3, 3, 4, 4, 5])
sizes = [3, 5, 10, 20, 50, 100, 200, 500]
methods = {
    "TauX()": TauX(),
    "Copeland(beta=0.1)": Copeland(beta=0.1),
    "Borda(beta=0.9)": Borda(),
    "Borda(beta=0)": Borda(beta=0),
    "MarkovChain(4)": MarkovChain(4),
}
rng = np.random.default_rng(5)
agreement = {name: [] for name in methods}
for size in sizes:
    # 100 elections at once; ratings are rounded, so ballots have ties.
    ballots = np.round(truth + rng.normal(0, 1.2, (100, size, 10)))
    sets = to_dense_ranks(ballots.reshape(-1, 10)).reshape(100, size, 10)
    for name, method in methods.items():
        consensus = method.aggregate_many(sets)
        agreement[name].append(tau_x(np.tile(truth, (100, 1)), consensus))

fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
colours = ["#0072b2", "#009e73", "#cc79a7", "#e69f00", "#d55e00"]
for (name, curve), colour, marker in zip(agreement.items(), colours, "osD^v", strict=True):
    ax.plot(sizes, curve, color=colour, marker=marker, label=name)
ax.set(
    xscale="log",
    xticks=sizes,
    xlabel="ballots",
    ylabel=r"mean $\tau_X$ with the truth",
    ylim=(None, 1.01),
)
ax.set_xticklabels(sizes)
ax.minorticks_off()
ax.axhline(1, color="0.7", linewidth=0.8)
ax.legend(frameon=False, loc="center right", bbox_to_anchor=(1, 0.4))
ax.spines[["top", "right"]].set_visible(False)
