"""
A tree that can be read
=======================

A tree of depth 2 on the iris data. Each leaf shows the consensus of its rankings, with ties, and the number of rows.
"""

import matplotlib.pyplot as plt

from bucketrank import PartialLabelRankingTree, plot_tree
from bucketrank.datasets import load, make_rankings

iris = load("iris")
tree = PartialLabelRankingTree("tau_x", max_depth=2).fit(iris.X, iris.Y)
print(f"tau_x on the training rows: {tree.score(iris.X, iris.Y):.3f}")

# %%
# The size of the figure is chosen from the tree, and the colour of a node is that of the first label of its consensus.

plot_tree(tree, feature_names=iris.feature_names, label_names=iris.label_names)

# %%
# A tree that is too large for the page shows its top, and says so.

data = make_rankings(2000, 6, 5, random_state=0)
large = PartialLabelRankingTree("tau_x").fit(data.X, data.Y)
plot_tree(large, feature_names=data.feature_names, label_names=data.label_names)
plt.show()
