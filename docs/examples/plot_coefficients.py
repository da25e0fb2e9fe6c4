"""
What moves a label up? Coefficients with intervals
==================================================

The linear model gives every label one coefficient per feature: the change of its utility per standard deviation of the
feature. With standard errors, one sees which effects stand out from 0.
"""

import matplotlib.pyplot as plt
import numpy as np

from bucketrank import PartialLabelRankingLinear
from bucketrank.datasets import load

iris = load("iris")
linear = PartialLabelRankingLinear(ridge=1.0, standard_errors=True).fit(iris.X, iris.Y)

fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
rows = np.arange(len(iris.feature_names))
for j, (name, colour, marker) in enumerate(
    zip(iris.label_names, ["#0072b2", "#e69f00", "#009e73"], "os^", strict=True)
):
    ax.errorbar(
        linear.coef_[j],
        rows + 0.2 * (j - 1),
        xerr=1.96 * linear.coef_standard_error_[j],
        fmt=marker,
        color=colour,
        capsize=3,
        label=str(name),
    )
ax.axvline(0, color="0.6", linewidth=0.8)
ax.set(
    yticks=rows, yticklabels=iris.feature_names, xlabel="change of utility per standard deviation"
)
ax.invert_yaxis()
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
