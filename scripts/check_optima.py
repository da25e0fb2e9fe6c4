"""Check the exact searches of Kemeny and TauX.

They are compared with all bucket orders of up to 6 labels, and Kemeny with corankco's solver for up to 12 labels.

python scripts/check_optima.py [CASES] [CASES OF CORANKCO]
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache
from itertools import product
from typing import Any

import numpy as np

import bucketrank as br

TOLERANCE = 1e-9


@cache
def bucket_orders(n: int) -> tuple[Any, Any]:
    """Return all bucket orders of n labels: relations of the pairs (0 before, 1 tied, 2 after), numbers of buckets."""
    rows = np.array(
        [row for row in product(range(n), repeat=n) if set(row) == set(range(max(row) + 1))]
    )
    u, v = np.triu_indices(n, 1)
    return np.sign(rows[:, u] - rows[:, v]) + 1, rows.max(axis=1) + 1


def pair_counts(Y: Any, weights: Any) -> Any:
    """Return the weights of before, tied and after per pair, over the rows that rank both labels."""
    u, v = np.triu_indices(Y.shape[1], 1)
    difference = Y[:, u] - Y[:, v]
    return np.stack(
        [
            (weights[:, None] * condition).sum(axis=0)
            for condition in (difference < 0, difference == 0, difference > 0)
        ]
    )


def random_profile(rng: np.random.Generator, n: int, rows: int) -> Any:
    """Return rankings with ties and missing labels around a random order."""
    noise = rng.choice([0.3, 1.0, 5.0])
    table = rng.integers(0, n, n) + noise * rng.normal(size=(rows, n))
    Y = np.round(table / rng.choice([0.5, 1.0, 2.0])).astype(float)
    Y -= Y.min() - 1
    Y[rng.random(Y.shape) < rng.choice([0.0, 0.3])] = np.nan
    return br.to_dense_ranks(Y)


def check_by_enumeration(cases: int) -> Counter[str]:
    """Compare Kemeny and TauX with the best of all bucket orders."""
    counts: Counter[str] = Counter()
    rng = np.random.default_rng(0)
    for _ in range(cases):
        n, rows = int(rng.integers(2, 7)), int(rng.integers(1, 9))
        Y, weights = random_profile(rng, n, rows), rng.integers(1, 4, rows).astype(float)
        kind = ("any", "strict", "exactly", "at most", "label weights", "tau_x", "tau_x strict")[
            int(rng.integers(7))
        ]
        check = _check_tau_x if kind.startswith("tau_x") else _check_kemeny
        is_right = check(kind, Y, weights, rng)
        counts[f"{kind}: {'equal' if is_right else 'DIFFERENT'}"] += 1
    return counts


def _check_kemeny(kind: str, Y: Any, weights: Any, rng: np.random.Generator) -> bool:
    n = Y.shape[1]
    relations, buckets = bucket_orders(n)
    penalty = float(rng.choice([0.25, 0.5, 0.75, 1.0]))
    before, tied, after = pair_counts(Y, weights)
    costs = np.stack([after + penalty * tied, penalty * (before + after), before + penalty * tied])
    k = int(rng.integers(1, n + 1))
    allowed = {"strict": buckets == n, "exactly": buckets == k, "at most": buckets <= k}.get(
        kind, buckets > 0
    )
    restrictions: dict[str, dict[str, Any]] = {
        "strict": {"ties": False},
        "exactly": {"n_buckets": k},
        "at most": {"n_buckets": (1, k)},
    }
    params = restrictions.get(kind, {})
    if kind == "label weights":
        label_weights = rng.integers(1, 4, n).astype(float)
        u, v = np.triu_indices(n, 1)
        costs *= label_weights[u] * label_weights[v]
        params = {"label_weights": tuple(label_weights)}
    best = np.take_along_axis(costs.T, relations.T, axis=1).sum(axis=0)[allowed].min()
    found = br.Kemeny(penalty, search="exact", **params).explain(Y, weights).details
    return bool(found["optimal"] and abs(found["distance"] - best) < TOLERANCE)


def _check_tau_x(kind: str, Y: Any, weights: Any, rng: np.random.Generator) -> bool:  # noqa: ARG001 (one signature)
    n = Y.shape[1]
    relations, buckets = bucket_orders(n)
    before, tied, after = pair_counts(Y, weights)
    total = np.maximum(before + tied + after, 1e-300)
    values = np.stack([(before - after) / total, tied / total, (after - before) / total])
    allowed = buckets == n if kind == "tau_x strict" else buckets > 0
    best = np.take_along_axis(values.T, relations.T, axis=1).mean(axis=0)[allowed].max()
    found = br.TauX("exact", ties=kind != "tau_x strict").explain(Y, weights).details
    return bool(found["optimal"] and abs(found["expected_tau_x"] - best) < TOLERANCE)


def check_by_corankco(cases: int) -> Counter[str]:
    """Compare distances with those of corankco's integer program, penalty 1/2."""
    import corankco
    from corankco.algorithms.exact.exactalgorithmpulp import ExactAlgorithmPulp

    scheme = corankco.ScoringScheme([[0, 1, 0.5, 0, 0, 0], [0.5, 0.5, 0, 0, 0, 0]])
    counts: Counter[str] = Counter()
    rng = np.random.default_rng(1)
    while sum(counts.values()) < cases:
        n, rows = int(rng.integers(3, 13)), int(rng.integers(2, 12))
        Y = random_profile(rng, n, rows)
        Y = Y[np.isfinite(Y).any(axis=1)]
        if not (len(Y) and np.isfinite(Y).any(axis=0).all()):
            # corankco knows only the labels that are ranked.
            continue
        rankings = [corankco.Ranking([set(bucket) for bucket in row]) for row in br.to_buckets(Y)]
        peer = ExactAlgorithmPulp().compute_consensus_rankings(
            corankco.Dataset(rankings), scheme, True
        )
        found = br.Kemeny(search="exact").explain(Y).details
        is_right = found["optimal"] and abs(found["distance"] - peer.kemeny_score) < 1e-6
        counts["equal" if is_right else "DIFFERENT"] += 1
    return counts


def main() -> int:
    cases, peer_cases = (
        int(number) for number in (sys.argv[1:] + ["5000", "500"][len(sys.argv) - 1 :])
    )
    found = check_by_enumeration(cases)
    print(f"all bucket orders of 2 to 6 labels, {cases} cases")
    for name, count in sorted(found.items()):
        print(f"    {name} {count}")
    peers = check_by_corankco(peer_cases) if peer_cases else Counter()
    print(f"corankco's exact solver, 3 to 12 labels, {peer_cases} cases: {dict(peers)}")
    return int(any("DIFFERENT" in name for name in [*found, *peers]))


if __name__ == "__main__":
    sys.exit(main())
