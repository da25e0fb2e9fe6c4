"""
A tree that can be read
=======================

A tree of depth 2 on the iris data. Each leaf shows the consensus of its rankings, with ties, and the number of rows.
"""

import matplotlib.pyplot as plt

from bucketrank import PartialLabelRankingTree, plot_tree
from bucketrank.datasets import load

iris = load("iris")
tree = PartialLabelRankingTree("tau_x", max_depth=2).fit(iris.X, iris.Y)
print(f"tau_x on the training rows: {tree.score(iris.X, iris.Y):.3f}")

# %%
# Short names of the three species make room for larger text.

fig, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
plot_tree(tree, feature_names=iris.feature_names, label_names=["set", "ver", "vir"], ax=ax)
