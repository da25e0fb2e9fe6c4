"""
Which labels are ahead of which?
================================

The cell of row *u* and column *v* is the share of the rankings that place *u* before *v*, ties counting half. Sorted by
a consensus, the matrix shows its structure: saturated blocks are clear orders, pale blocks are labels that the
rankings do not separate, and the lines are the boundaries between buckets.
"""

import matplotlib.pyplot as plt
import numpy as np

from bucketrank import TauX, pair_order_matrix, to_dense_ranks, to_text
from bucketrank.figures import plot_pair_order

# %%
# Sixty judges rate ten wines. The wines are of four qualities, so wines of the same quality differ by taste only.

names = ["Alba", "Brac", "Cour", "Dão", "Elba", "Frau", "Gave", "Hvar", "Iona", "Jura"]
quality = np.array([3.0, 3.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0])
rng = np.random.default_rng(7)
ratings = np.round(quality + rng.normal(0, 0.9, (60, 10)))
shuffled = rng.permutation(10)
Y = to_dense_ranks(-ratings)[:, shuffled]
wines = [names[i] for i in shuffled]

# %%
# The consensus finds the four qualities again; the matrix shows why.

print(to_text(TauX().aggregate(Y), wines))

fig, ax = plt.subplots(figsize=(7, 6), layout="constrained")
plot_pair_order(pair_order_matrix(Y), TauX().aggregate(Y), labels=wines, ax=ax)
