"""
Do methods tie as much as the truth?
====================================

Predicted minus true number of buckets on four datasets, sorted by how many buckets their rankings have. Above 0 a
method orders labels that are tied in truth; below 0 it ties too much. With six labels, the first
three Markov chains order almost everything, whether the truth has many ties or few; the fourth and the lottery choose
winners and tie the rest; a fixed threshold fits some data and not others.
"""

import matplotlib.pyplot as plt

from bucketrank.datasets import load, make_rankings
from bucketrank.experiments import compare
from bucketrank.figures import plot_bucket_differences

datasets = [
    load("iris"),
    load("wine"),
    make_rankings(300, n_labels=6, ties=0.5, random_state=0, name="many ties"),
    make_rankings(300, n_labels=6, ties=0.1, random_state=0, name="few ties"),
]
study = compare(datasets, missing=0, n_repeats=1, n_folds=5, baseline=False)

fig, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
buckets = {data.name: data.describe().mean_buckets for data in datasets}
plot_bucket_differences(study.bucket_differences(), buckets, ax=ax)
