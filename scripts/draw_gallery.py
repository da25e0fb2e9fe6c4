"""Draw the figures of docs/gallery.md from the embedded datasets.

python scripts/draw_gallery.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

from bucketrank import PartialLabelRankingTree
from bucketrank.datasets import load, names
from bucketrank.experiments import beta_study, compare
from bucketrank.figures import (
    plot_accuracy,
    plot_bucket_differences,
    plot_critical_difference,
    plot_pair_order,
    plot_training_times,
)

SEED = 0


def main() -> int:
    mpl.use("agg")
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/gallery")
    folder.mkdir(parents=True, exist_ok=True)
    datasets = [load(name) for name in names()]
    study = compare(datasets, n_repeats=2, baseline=False, seed=SEED, n_jobs=-1)
    means = study.summary().mean.mean(axis=1)
    curves = {method: means[:, j] for j, method in enumerate(study.methods)}
    buckets = {data.name: data.describe().mean_buckets for data in datasets}
    digits = load("digits")
    tree = PartialLabelRankingTree(max_depth=2).fit(digits.X, digits.Y)
    drawn = {
        "accuracy": plot_accuracy(study.missing, curves),
        "critical_difference": plot_critical_difference(study.nemenyi(0)),
        "control": plot_critical_difference(study.holm(0, "bucket_pivot")),
        "buckets": plot_bucket_differences(study.bucket_differences(0), buckets),
        "times": plot_training_times(study.training_times(0)),
        "beta": beta_study(datasets, missing=(0, 0.2, 0.4, 0.6), n_repeats=1, n_jobs=-1).plot(),
        "pair_order": plot_pair_order(
            tree.predict_pair_order(digits.X[:1])[0], "bucket_pivot", labels=digits.label_names
        ),
    }
    for name, axes in drawn.items():
        axes.get_figure(root=True).savefig(folder / f"{name}.png", dpi=100)  # type: ignore[union-attr]
    return 0


if __name__ == "__main__":
    sys.exit(main())
