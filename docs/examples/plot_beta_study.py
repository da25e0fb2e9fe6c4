"""
How large should β be?
======================

Borda ties neighbouring labels whose scores differ by at most β; for Copeland, a comparison is a draw if its share
differs from ½ by at most β. Too small a threshold orders labels that are tied in truth, too large a threshold ties
everything. The curves show mean :math:`\\tau_X` of held-out rows; the markers are the
maxima, and paler lines have more missing labels.
"""

from bucketrank.datasets import make_rankings
from bucketrank.experiments import beta_study

datasets = [
    make_rankings(
        300, n_features=5, n_labels=labels, ties=0.35, random_state=labels, name=f"n = {labels}"
    )
    for labels in (4, 6, 8)
]
result = beta_study(datasets, missing=(0, 0.3, 0.6), n_repeats=1, n_folds=5)
print(result.peaks("borda"), result.peaks("copeland"))

result.plot()
