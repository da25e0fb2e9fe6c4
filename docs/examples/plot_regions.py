"""
Where does the predicted ranking change?
========================================

Predictions of three estimators over two features. Each colour is one bucket order; points are the training rows. The
tree cuts in rectangles, the forest follows the data, and the linear model draws straight boundaries with a band of
ties between the orders.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from bucketrank import (
    PartialLabelRankingForest,
    PartialLabelRankingLinear,
    PartialLabelRankingTree,
    to_dense_ranks,
    to_text,
)

# %%
# Three labels; the best one depends on the direction from the centre. Values that are close are tied.

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (250, 2))
angles = np.array([90, 210, 330]) * np.pi / 180
utility = X @ np.array([np.cos(angles), np.sin(angles)]) + rng.normal(0, 0.12, (250, 3))
Y = to_dense_ranks(-np.round(2 * utility))
labels = ["a", "b", "c"]

# %%
# One colour per bucket order: orders with the same best label have similar colours.

grid = np.stack(np.meshgrid(np.linspace(-1, 1, 160), np.linspace(-1, 1, 160)), axis=-1)
models = {
    "tree": PartialLabelRankingTree("tau_x"),
    "forest": PartialLabelRankingForest(random_state=0),
    "linear": PartialLabelRankingLinear(),
}
texts = {
    name: np.array(to_text(model.fit(X, Y).predict(grid.reshape(-1, 2)), labels)).reshape(160, 160)
    for name, model in models.items()
}
orders = sorted({text for drawn in texts.values() for text in drawn.ravel()})
base = {"a": "Blues", "b": "Oranges", "c": "Greens"}
colours = []
for text in orders:
    first = text.split(" > ")[0]
    alike = [other for other in orders if other.split(" > ")[0] == first]
    if "~" in first:
        colours.append(
            plt.get_cmap("Greys")(
                0.15 + 0.4 * alike.index(text) / len(alike) + 0.1 * len(first) / 9
            )
        )
    else:
        colours.append(plt.get_cmap(base[first])(0.3 + 0.5 * alike.index(text) / len(alike)))

fig, axes = plt.subplots(1, 3, figsize=(10, 4.6), sharey=True, layout="constrained")
for ax, (name, drawn) in zip(axes, texts.items(), strict=True):
    codes = np.searchsorted(orders, drawn)
    ax.imshow(
        codes,
        origin="lower",
        extent=(-1, 1, -1, 1),
        cmap=ListedColormap(colours),
        vmin=-0.5,
        vmax=len(orders) - 0.5,
    )
    ax.scatter(*X.T, s=4, color="black", alpha=0.35)
    ax.set(title=name, xticks=[-1, 0, 1], yticks=[-1, 0, 1])
handles = [Patch(color=colour, label=text) for text, colour in zip(orders, colours, strict=True)]
fig.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
