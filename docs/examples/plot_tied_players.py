"""
Which players are tied? Buckets with intervals
==============================================

Eight players meet at random, and some games are drawn. Davidson's model gives each a utility with a standard error;
its consensus is a bucket order, whose buckets are shaded.
"""

import matplotlib.pyplot as plt
import numpy as np

from bucketrank import Davidson, to_buckets

# %%
# 600 games between players of three strengths. A draw is likely between players of equal strength.

names = ["Ada", "Bob", "Cyd", "Dan", "Eva", "Fay", "Gus", "Hal"]
strength = np.array([1.6, 1.6, 0.5, 0.5, 0.5, -0.9, -0.9, -0.9])
rng = np.random.default_rng(3)
Y = np.full((600, 8), np.nan)
for game in Y:
    u, v = rng.choice(8, 2, replace=False)
    weights = np.exp([(strength[u] - strength[v]) / 2, -0.6, (strength[v] - strength[u]) / 2])
    outcome = rng.choice(3, p=weights / weights.sum())
    game[[u, v]] = [(1, 2), (1, 1), (2, 1)][outcome]

explanation = Davidson().explain(Y, labels=names)
print(explanation)

# %%
# Intervals of 95 %, best player first.

utility, error = explanation.details["utilities"], explanation.details["utility_errors"]
order = np.lexsort((-utility, explanation.positions))
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
place = {names[player]: row for row, player in enumerate(order)}
for number, bucket in enumerate(to_buckets(explanation.positions, names)):
    rows = [place[name] for name in bucket]
    ax.axhspan(
        min(rows) - 0.5, max(rows) + 0.5, color="0.88" if number % 2 == 0 else "white", zorder=0
    )
    ax.text(2.75, np.mean(rows), f"bucket {number + 1}", va="center", ha="right", color="0.35")
ax.errorbar(utility[order], range(8), xerr=1.96 * error[order], fmt="o", color="#0072b2", capsize=3)
ax.scatter(
    strength[order] - strength.mean(),
    range(8),
    marker="|",
    s=160,
    color="#d55e00",
    label="true strength",
)
ax.set(
    xlabel="utility",
    yticks=range(8),
    yticklabels=[names[i] for i in order],
    ylim=(7.5, -0.5),
    xlim=(-2.4, 2.8),
)
ax.legend(loc="lower right", frameon=False)
