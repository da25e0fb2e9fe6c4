"""Hash models and predictions, to prove that a refactoring changed none of them.

Record the fingerprints with the code before and after a change, then compare the two files:

    python scripts/fingerprint.py record before.json --data ../shared/data
    python scripts/fingerprint.py record after.json --data ../shared/data
    python scripts/fingerprint.py compare before.json after.json

Trees, forests, aggregators and studies must be bit-identical, for one and for two threads. Boosters, linear models and
mixtures are compared by the largest difference of their predicted shares instead, because a change of the order of
summation changes their last bits.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import bucketrank as br
from bucketrank import datasets, experiments

MISSING = (0.0, 0.3, 0.6)
THREADS = (1, 2)
AGGREGATORS = (*br.PAPER_AGGREGATORS, "tau_x", "davidson")
SAMPLE = 40
"""Number of rows whose predicted shares are kept for a comparison within rounding."""


def digest(*arrays: Any) -> str:
    """Hash of the values, shapes and types of arrays."""
    hasher = hashlib.sha256()
    for array in arrays:
        values = np.ascontiguousarray(array)
        hasher.update(f"{values.dtype.str} {values.shape}".encode())
        hasher.update(values.tobytes())
    return hasher.hexdigest()[:24]


def aggregations(Y: Any) -> Iterator[tuple[str, str]]:
    """Hashes of the consensus and of the pair order matrix.

    Both are hashed for all rows, with and without weights; the consensus also for unweighted batches of 20 rows.
    """
    rows = len(Y)
    whole = np.random.default_rng(0).integers(1, 5, rows).astype(float)
    weights = {"unit": None, "whole": whole, "fractional": whole / 7}
    batches = [Y[start : start + 20] for start in range(0, rows, 20)]
    for method in AGGREGATORS:
        aggregator = br.get_aggregator(method)
        for name, values in weights.items():
            yield f"{method}, {name} weights", digest(aggregator.aggregate(Y, values))
        for n_jobs in THREADS:
            yield f"{method}, batches", digest(aggregator.aggregate_many(batches, n_jobs=n_jobs))
    yield "pair order", digest(*(br.pair_order_matrix(Y, values) for values in weights.values()))


def tree_models(labels: int, rows: int) -> Iterator[tuple[str, Any]]:
    tree = br.PartialLabelRankingTree
    yield "paper", tree.paper()
    yield "path shrinkage", tree(min_samples_split=2, shrinkage="path")
    yield "full", tree.paper(min_samples_split=2)
    yield "random thresholds", tree(splitter="random", random_state=1)
    yield "drawn features", tree(max_features="sqrt", random_state=2)
    yield "leaves of 3", tree(min_samples_leaf=3, max_depth=6)
    if rows * labels < 10_000:
        yield "soft", tree(shrinkage="path", routing="soft")
        yield "m-estimate", tree(shrinkage="m-estimate")
        for criterion in ("disagreements", "distance"):
            yield criterion, tree.paper(criterion=criterion)
        for splitter in ("equal_frequency", "equal_width"):
            yield splitter, tree.paper(splitter=splitter, max_splits=4)


def trees(X: Any, Y: Any) -> Iterator[tuple[str, str]]:
    whole = np.random.default_rng(1).integers(0, 4, len(Y)).astype(float)
    for name, model in tree_models(Y.shape[1], len(Y)):
        for n_jobs in THREADS:
            model.set_params(n_jobs=n_jobs).fit(X, Y)
            yield name, digest(model.apply(X), model.predict(X), model.feature_importances_)
    for name, weights in (("whole weights", whole), ("fractional weights", whole / 7 + 0.01)):
        if name == "whole weights" or Y.size < 20_000:
            model = br.PartialLabelRankingTree().fit(X, Y, weights)
            yield name, digest(model.apply(X), model.predict(X))


def forests(X: Any, Y: Any) -> Iterator[tuple[str, str]]:
    for variant in ("bootstrap", "extra_trees", "mixed"):
        for n_jobs in THREADS:
            model = br.PartialLabelRankingForest(
                n_estimators=6, variant=variant, random_state=3, n_jobs=n_jobs
            ).fit(X, Y)
            sampled = X[::5][:500]
            yield variant, digest(model.apply(X), model.predict(sampled))
            yield f"{variant} shares", digest(model.predict_pair_shares(sampled[:100]))


def latent_models(X: Any, Y: Any) -> Iterator[tuple[str, Any]]:
    """Predicted pair shares per model; their last bits may depend on the order of summation."""
    few = slice(0, 1500)
    models = {
        "booster": br.PartialLabelRankingBooster(rounds=15, random_state=4),
        "linear": br.PartialLabelRankingLinear(),
        "ranker": br.PartialLabelRanker(n_estimators=6, rounds=15, random_state=5),
    }
    for name, model in models.items():
        for n_jobs in THREADS:
            model.set_params(n_jobs=n_jobs).fit(X[few], Y[few])
            yield name, model.predict_pair_shares(X[:SAMPLE])


def study_digest(data: list[Any], n_jobs: int) -> str:
    """Hash of the results of a study, without the times."""
    study = experiments.compare(data, n_repeats=1, n_folds=5, n_jobs=n_jobs, progress=False)
    table = study.to_pandas()
    columns = [name for name in table.columns if "time" not in name and "second" not in name]
    return digest(*(table[name].to_numpy(str) for name in columns))


def record(data: list[Any]) -> dict[str, Any]:
    hashes: dict[str, str] = {}
    shares: dict[str, list[float]] = {}
    kinds: dict[str, Callable[..., Iterator[tuple[str, str]]]] = {"tree": trees, "forest": forests}

    def keep(case: str, results: Iterator[tuple[str, str]]) -> None:
        for index, (name, value) in enumerate(results):
            hashes[f"{case}: {name} #{index}"] = value

    for dataset in data:
        for missing in MISSING:
            Y = br.drop_labels(dataset.Y, fraction=missing, seed=6) if missing else dataset.Y
            case = f"{dataset.name} {missing:.0%}"
            keep(f"{case}, consensus", aggregations(Y))
            for kind, results in kinds.items():
                keep(f"{case}, {kind}", results(dataset.X, Y))
            for index, (name, values) in enumerate(latent_models(dataset.X, Y)):
                shares[f"{case}, {name} #{index}"] = np.asarray(values).ravel().tolist()
            print(case, len(hashes), file=sys.stderr, flush=True)
    for n_jobs in THREADS:
        hashes[f"study on {n_jobs} threads"] = study_digest(data, n_jobs)
    return {"hashes": hashes, "shares": shares}


def compare(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Print the differences; return True if hashes are equal and shares differ by rounding only."""
    names = sorted(before["hashes"].keys() | after["hashes"].keys())
    different = [n for n in names if before["hashes"].get(n) != after["hashes"].get(n)]
    for name in different:
        print(f"different: {name}")
    print(f"{len(names) - len(different)} of {len(names)} hashes are equal")
    largest: dict[str, float] = {}
    for name in sorted(before["shares"].keys() & after["shares"].keys()):
        kind = name.rpartition(", ")[2].partition(" ")[0]
        difference = np.abs(np.subtract(before["shares"][name], after["shares"][name])).max()
        largest[kind] = max(largest.get(kind, 0.0), float(difference))
    for kind, difference in largest.items():
        print(f"{kind}: shares differ by at most {difference:.1e}")
    missing = before["shares"].keys() ^ after["shares"].keys()
    return not different and not missing and all(value < 1e-6 for value in largest.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="hash all models on the datasets of a folder")
    recording.add_argument("out", type=Path)
    recording.add_argument("--data", type=Path, required=True)
    recording.add_argument("--only", nargs="*", help="names of datasets; all by default")
    comparing = commands.add_parser("compare", help="compare two recordings")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "record":
        data = datasets.read_folder(arguments.data)
        data = [d for d in data if not arguments.only or d.name in arguments.only]
        arguments.out.write_text(json.dumps(record(data)))
        return 0
    files = (json.loads(path.read_text()) for path in (arguments.before, arguments.after))
    return 0 if compare(*files) else 1


if __name__ == "__main__":
    sys.exit(main())
