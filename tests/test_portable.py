"""The same results with and without the machine's widest vector instructions."""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
import hashlib
import numpy as np
import bucketrank as br

digest = hashlib.sha256()
rng = np.random.default_rng(8)
for n_labels in (3, 26, 130):
    Y = br.to_dense_ranks(rng.integers(0, 9, (500, n_labels)))
    Z = br.to_dense_ranks(rng.integers(0, 9, (500, n_labels)))
    weights = rng.random(500)
    incomplete = br.drop_labels(Y, 0.3, seed=1)
    for result in (
        br.tau_x_samples(Y, Z),
        br.tau_x(Y, Z),
        br.pair_order_matrix(incomplete),
        br.pair_order_matrix(incomplete, weights),
        *(br.aggregate(incomplete, method) for method in br.METHODS),
    ):
        digest.update(np.ascontiguousarray(result).tobytes())
X = np.c_[rng.integers(0, 16, (3000, 4)), rng.random((3000, 2))]
Y = br.to_dense_ranks(rng.integers(0, 5, (3000, 12)))
for rankings in (Y, br.drop_labels(Y, 0.3, seed=2)):
    tree = br.PartialLabelRankingTree(min_samples_split=2).fit(X, rankings)
    nodes = tree.tree_.nodes()
    for name in ("feature", "rows", "impurity"):
        digest.update(np.ascontiguousarray(nodes[name]).tobytes())
    digest.update(repr([list(t) for t in nodes["thresholds"]]).encode())
    digest.update(tree.predict(X).tobytes())
print(digest.hexdigest())
"""


def test_portable_kernels_compute_the_same() -> None:
    digests = set()
    for choice in ("", "portable"):
        result = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "BUCKETRANK_SIMD": choice},
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        digests.add(result.stdout)
    assert len(digests) == 1
