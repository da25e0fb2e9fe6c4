"""
From battles to tiers
=====================

Comparisons of models, two at a time, become a leaderboard: scores with intervals, and tiers of models that are
statistically tied.
"""

from bucketrank import Davidson, datasets, leaderboard

# %%
# 8,000 battles between ten models of four strengths; the model shown first has an advantage.

battles = datasets.make_battles(8000, n_labels=10, n_tiers=4, order_effect=0.3, random_state=5)
board = leaderboard(battles.comparisons, Davidson(order_effect=True), n_resamples=500)
print(board)

# %%
# Models in a shaded band are not separated from the best of the band, with 95 % confidence for all pairs at once.

board.plot()

# %%
# How the battles of each pair ended.

board.plot("pairs")
