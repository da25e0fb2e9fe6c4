"""``bucketrank compare``: the aggregators side by side, on rankings that it makes itself."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from bucketrank._validation import as_seed
from bucketrank.aggregation import METHODS, aggregate
from bucketrank.metrics import tau_x, tau_x_samples
from bucketrank.notation import to_text
from bucketrank.rankings import drop_labels, pair_order_matrix, to_dense_ranks

LABELS = ["ash", "birch", "cedar", "elm", "fir"]


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "compare", help="compare the aggregators on noisy copies of a known ranking"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the rankings (default 0)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print generated rankings and what each aggregator makes of them."""
    rng = np.random.default_rng(as_seed(options.seed))
    truth = np.array([1, 2, 2, 3, 4])
    Y = to_dense_ranks(np.round(truth + rng.normal(scale=0.6, size=(200, len(truth)))))
    print(f"truth: {to_text(truth, LABELS)}\n")
    agreement = tau_x_samples(np.tile(truth, (len(Y), 1)), Y)
    print("the first of 200 noisy copies, and how well each agrees with the truth")
    for text, value in zip(to_text(Y[:4], LABELS), agreement, strict=False):
        print(f"  {text:<36} tau_x {value:+.3f}")
    print(f"  {'mean over all 200':<36} tau_x {agreement.mean():+.3f}\n")
    print("share of the copies that place the row's label first (ties count half)")
    print(" " * 8 + "".join(f"{label:>8}" for label in LABELS))
    for label, row in zip(LABELS, pair_order_matrix(Y), strict=True):
        print(f"  {label:<6}" + "".join(f"{share:8.2f}" for share in row))
    print("\nconsensus of the copies, and of copies that lost 60 % of their labels")
    incomplete = drop_labels(Y, 0.6, options.seed)
    for name in METHODS:
        cells = []
        for rankings in (Y, incomplete):
            consensus = aggregate(rankings, name)
            value = tau_x([truth], [consensus])
            cells.append(f"{to_text(consensus, LABELS):<34}{value:+.3f}")
        print(f"  {name:<17}" + "    ".join(cells))
    print("\ntry next: bucketrank aggregate --help")
    return 0
