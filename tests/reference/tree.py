"""The entropy tree: pairwise impurity, best binary split, growth."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

from .pairs import Weights, exact_weights, pair_counts
from .rankings import CleanRow, Row, clean_row

Number: TypeAlias = int | Fraction
"""An exact weight; integers where possible, because they are faster than fractions."""

Counts: TypeAlias = list[list[Number]]
"""For each pair u < v the weights [before, tied, after] of the rows that rank both."""

IMPROVEMENT_TOLERANCE = 1e-12
"""A later candidate must be better by more than this, so that rounding errors do not matter."""


@dataclass
class Node:
    """A node; `feature` is None in a leaf. Rows with x[feature] <= threshold are in `left`.

    A row whose value is missing (NaN) is in `left` if `missing_left`.
    """

    rows: list[int]
    impurity: float
    feature: int | None = None
    threshold: float | None = None
    missing_left: bool = False
    left: "Node | None" = None
    right: "Node | None" = None


@dataclass
class Sample:
    """The training data; a row of weight 0 is in no node."""

    X: Sequence[Sequence[float]]
    Y: list[CleanRow]
    weights: list[Number]

    @property
    def labels(self) -> int:
        """The number of labels n."""
        return len(self.Y[0])


@dataclass
class Limits:
    """Stopping rules; the two minima count rows, not weights."""

    min_samples_split: int
    min_samples_leaf: int
    max_depth: int | None


@dataclass
class Split:
    """A candidate split: its improvement and the rows of each child."""

    improvement: float
    feature: int
    threshold: float
    missing_left: bool
    left: list[int]
    right: list[int]


def no_counts(labels: int) -> Counts:
    """Return zero counts for all pairs u < v."""
    return [[0, 0, 0] for _ in combinations(range(labels), 2)]


def add_row(counts: Counts, positions: CleanRow, weight: Number) -> None:
    """Add one ranking to the counts; a pair with a missing label is skipped."""
    for pair, (p, q) in zip(counts, combinations(positions, 2), strict=True):
        if p is not None and q is not None:
            pair[0 if p < q else 1 if p == q else 2] += weight


def count_rows(sample: Sample, rows: Sequence[int]) -> Counts:
    """Return the pair counts of the given rows."""
    counts = no_counts(sample.labels)
    for row in rows:
        add_row(counts, sample.Y[row], sample.weights[row])
    return counts


def subtract(total: Counts, part: Counts) -> Counts:
    """Return the counts of the rows in `total` that are not in `part`; exact."""
    return [[x - y for x, y in zip(a, b, strict=True)] for a, b in zip(total, part, strict=True)]


def entropy(counts: Counts) -> float:
    """Return the mean over all pairs of the base-2 entropy of the shares before, tied, after.

    A pair without rankings contributes 0 but counts in the mean.
    """
    terms = []
    for pair in counts:
        total = sum(pair)
        for count in pair:
            if count > 0:
                share = float(count / total)
                terms.append(-share * math.log2(share))
    return math.fsum(terms) / max(len(counts), 1)


def is_pure(counts: Counts) -> bool:
    """Whether all rows that rank a pair agree on it, for every pair."""
    return all(sum(count > 0 for count in pair) <= 1 for pair in counts)


def midpoint(low: float, high: float) -> float:
    """Return the middle of low < high, but never high itself, which must go right."""
    middle = (low + high) / 2
    if math.isinf(middle):
        middle = low / 2 + high / 2
    return middle if middle < high else low


def candidates(sample: Sample, rows: Sequence[int], limits: Limits) -> Iterator[Split]:
    """Yield every valid split, in ascending order of feature, side of missing values and threshold.

    The improvement is impurity - sum of (weight share) * (child impurity). Missing values go right first, where the
    threshold inf separates all values from them, and then left. If the node has no missing values, its split sends
    them to the heavier child.
    """
    for feature in range(len(sample.X[0])):
        values = [sample.X[row][feature] for row in rows]
        known = [row for row, value in zip(rows, values, strict=True) if not math.isnan(value)]
        missing = [row for row, value in zip(rows, values, strict=True) if math.isnan(value)]
        known.sort(key=lambda row: sample.X[row][feature])
        yield from cuts(sample, (known, [], missing), feature, limits)
        if missing and known:
            yield from cuts(sample, (known, missing, []), feature, limits)


def cuts(
    sample: Sample, order: tuple[list[int], list[int], list[int]], feature: int, limits: Limits
) -> Iterator[Split]:
    """Yield the splits of sorted rows, given the rows that are always left and always right."""
    known, start, end = order
    rows = [*start, *known, *end]
    total = count_rows(sample, rows)
    impurity = entropy(total)
    weight = sum(sample.weights[row] for row in rows)
    left_counts = count_rows(sample, start)
    left_weight: Number = sum((sample.weights[row] for row in start), Fraction(0))
    for size in range(1, len(known) + bool(end)):
        moved = known[size - 1]
        add_row(left_counts, sample.Y[moved], sample.weights[moved])
        left_weight += sample.weights[moved]
        low = sample.X[moved][feature]
        high = sample.X[known[size]][feature] if size < len(known) else math.inf
        left_rows, right_rows = [*start, *known[:size]], [*known[size:], *end]
        if low == high or min(len(left_rows), len(right_rows)) < limits.min_samples_leaf:
            continue
        left = float(left_weight / weight) * entropy(left_counts)
        right_counts = subtract(total, left_counts)
        right = float((weight - left_weight) / weight) * entropy(right_counts)
        threshold = midpoint(low, high) if size < len(known) else math.inf
        missing_left = bool(start) or (not end and 2 * left_weight > weight)
        yield Split(
            impurity - left - right, feature, threshold, missing_left, left_rows, right_rows
        )


def best_split(sample: Sample, rows: Sequence[int], limits: Limits) -> Split | None:
    """Return the first candidate that no later candidate exceeds by more than the tolerance."""
    best: Split | None = None
    for split in candidates(sample, rows, limits):
        if best is None or split.improvement > best.improvement + IMPROVEMENT_TOLERANCE:
            best = split
    return best


def grow_node(sample: Sample, rows: list[int], limits: Limits, depth: int) -> Node:
    """Grow the subtree of the given rows.

    A node that meets no stopping rule is split even if the best improvement is not positive,
    which missing labels make possible.
    """
    counts = count_rows(sample, rows)
    node = Node(rows, entropy(counts))
    if limits.max_depth is not None and depth >= limits.max_depth:
        return node
    if len(rows) < limits.min_samples_split or is_pure(counts):
        return node
    split = best_split(sample, rows, limits)
    if split is not None:
        node.feature, node.threshold = split.feature, split.threshold
        node.missing_left = split.missing_left
        node.left = grow_node(sample, sorted(split.left), limits, depth + 1)
        node.right = grow_node(sample, sorted(split.right), limits, depth + 1)
    return node


def grow(
    X: Sequence[Sequence[float]],
    Y: Sequence[Row],
    weights: Weights = None,
    min_samples_split: int = 2,
    min_samples_leaf: int = 1,
    max_depth: int | None = None,
) -> Node:
    """Grow an entropy tree; `rows` of its nodes are indices into X in ascending order."""
    exact: list[Number] = [
        w.numerator if w.denominator == 1 else w for w in exact_weights(weights, len(Y))
    ]
    sample = Sample(X, [clean_row(row) for row in Y], exact)
    rows = [row for row in range(len(Y)) if exact[row] > 0]
    return grow_node(sample, rows, Limits(min_samples_split, min_samples_leaf, max_depth), 0)


def leaf_of(node: Node, x: Sequence[float]) -> Node:
    """Return the leaf that x falls into."""
    while node.feature is not None:
        assert node.threshold is not None
        assert node.left is not None
        assert node.right is not None
        value = x[node.feature]
        goes_left = node.missing_left if math.isnan(value) else value <= node.threshold
        node = node.left if goes_left else node.right
    return node


def mean_pair_cost(
    Y: Sequence[Row], weights: Weights, consensus: Sequence[int], costs: dict[str, tuple[int, ...]]
) -> Fraction:
    """Return the mean over all pairs u < v of cost / T, where T is the weight of the rows that rank the pair.

    `costs["strict"]` holds the costs of rows in which the label that the consensus prefers is before, tied with and
    after the other label; `costs["tie"]` holds the costs of before, tied and after for a pair that the consensus ties.
    A pair without rankings costs 0.
    """
    before, tied = pair_counts(Y, weights)
    shares = [Fraction(0)]
    for u, v in combinations(range(len(consensus)), 2):
        good, bad = (u, v) if consensus[u] <= consensus[v] else (v, u)
        cost = costs["tie" if consensus[u] == consensus[v] else "strict"]
        seen = (before[good][bad], tied[u][v], before[bad][good])
        if sum(seen) > 0:
            paid = sum((c * w for c, w in zip(cost, seen, strict=True)), Fraction(0))
            shares.append(paid / sum(seen))
    return sum(shares, Fraction(0)) / max(math.comb(len(consensus), 2), 1)


def disagreements(Y: Sequence[Row], weights: Weights, consensus: Sequence[int]) -> Fraction:
    """Return the mean over pairs of the share of rows that order the pair differently."""
    return mean_pair_cost(Y, weights, consensus, {"strict": (0, 1, 1), "tie": (1, 0, 1)})


def distance(Y: Sequence[Row], weights: Weights, consensus: Sequence[int]) -> Fraction:
    """Return the mean over pairs of (2 after + tied) / T, or (before + after) / T for a pair tied in the consensus."""
    return mean_pair_cost(Y, weights, consensus, {"strict": (0, 1, 2), "tie": (1, 0, 1)})
