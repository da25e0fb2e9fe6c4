"""Fit the recommenders of beta (the threshold for ties) that the package includes, and write them as JSON.

    python scripts/fit_beta_recommender.py --data FOLDER [--leave-out algae movies] [--jobs N]

The folder contains the datasets as CSV files. Datasets of 5000 rows or more have one repeat of the
cross-validation, others five.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bucketrank import __version__
from bucketrank.datasets import read_folder
from bucketrank.experiments import BetaRecommender, beta_study

OUT = Path(__file__).parents[1] / "python/bucketrank/experiments/default_betas.json"
LARGE = 5000
AGGREGATORS = ("borda", "copeland")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--leave-out", nargs="*", default=["algae", "movies"])
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    datasets = [d for d in read_folder(options.data) if d.name not in options.leave_out]
    groups = [
        ([d for d in datasets if d.n_samples < LARGE], 5),
        ([d for d in datasets if d.n_samples >= LARGE], 1),
    ]
    studies = [
        beta_study(group, AGGREGATORS, n_repeats=repeats, n_jobs=options.jobs)
        for group, repeats in groups
        if group
    ]
    for study in studies:
        print(study)
    settings = [study.study.settings for study in studies]
    hashes = {name: text for s in settings for name, text in s["datasets"].items()}
    content = {
        "models": {name: BetaRecommender(name).fit(studies).to_dict() for name in AGGREGATORS},
        "provenance": {
            "bucketrank": __version__,
            "datasets": dict(sorted(hashes.items())),
            "betas": studies[0].betas.tolist(),
            "missing": settings[0]["missing"],
            "folds": f"5 x 10, 1 x 10 for datasets of {LARGE} rows and more",
            "seed": settings[0]["seed"],
        },
    }
    OUT.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
