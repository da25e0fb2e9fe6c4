"""``bucketrank compare``: a first look at rankings with ties, on rankings that it makes itself."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from bucketrank.metrics import tau_x, tau_x_samples
from bucketrank.notation import to_text
from bucketrank.rankings import drop_labels, pair_order_matrix, to_dense_ranks

LABELS = ["ash", "birch", "cedar", "elm", "fir"]


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "compare", help="compare generated rankings with the order that they are noisy copies of"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the rankings (default 0)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print generated rankings, how well they agree with the truth, and their pair order matrix."""
    rng = np.random.default_rng(options.seed)
    truth = np.array([[1, 2, 2, 3, 4]])
    noisy = truth + rng.normal(scale=0.6, size=(200, truth.shape[1]))
    Y = to_dense_ranks(np.round(noisy))
    agreement = tau_x_samples(np.repeat(truth, len(Y), axis=0), Y)
    print(f"truth: {to_text(truth[0], LABELS)}\n")
    print("the first of 200 rankings, and how well each agrees with the truth")
    for text, value in zip(to_text(Y[:5], LABELS), agreement, strict=False):
        print(f"  {text:<36} tau_x {value:+.3f}")
    mean = tau_x(np.repeat(truth, len(Y), axis=0), Y)
    print(f"  mean over all 200 {'':<18} tau_x {mean:+.3f}\n")
    for title, rankings in (
        ("share of the rankings that place the row's label first (ties count half)", Y),
        (
            "the same from rankings that lost 60 % of their labels",
            drop_labels(Y, 0.6, options.seed),
        ),
    ):
        print(title)
        print(" " * 8 + "".join(f"{label:>8}" for label in LABELS))
        for label, row in zip(LABELS, pair_order_matrix(rankings), strict=True):
            print(f"  {label:<6}" + "".join(f"{share:8.2f}" for share in row))
        print()
    return 0
