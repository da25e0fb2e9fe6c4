"""Metrics that compare predicted with true rankings."""

from collections.abc import Sequence
from fractions import Fraction

from .pairs import Weights, exact_weights
from .rankings import CleanRow, Row, buckets, clean_row


def ahead_or_tied(positions: CleanRow, u: int, v: int) -> int:
    """Return a(u,v): +1 if u is before or tied with v, else -1."""
    p, q = positions[u], positions[v]
    if p is None or q is None:
        raise ValueError("a missing label has no order")
    return 1 if p <= q else -1


def common_labels(a: CleanRow, b: CleanRow) -> list[int]:
    """Return the labels that both rows rank; at least two are needed to compare the rows."""
    if len(a) != len(b):
        raise ValueError(f"rows of {len(a)} and {len(b)} labels")
    common = [u for u in range(len(a)) if a[u] is not None and b[u] is not None]
    if len(common) < 2:
        raise ValueError("fewer than two labels are ranked by both rows")
    return common


def tau_x(y_true: Row, y_pred: Row) -> Fraction:
    """Return the mean of a(u,v) * b(u,v) over ordered pairs u != v that both rows rank."""
    a, b = clean_row(y_true), clean_row(y_pred)
    common = common_labels(a, b)
    products = [
        ahead_or_tied(a, u, v) * ahead_or_tied(b, u, v) for u in common for v in common if u != v
    ]
    return Fraction(sum(products), len(products))


def weighted_mean(values: Sequence[Fraction], weights: Weights) -> Fraction:
    """Return the sum of weight times value over the sum of weights."""
    exact = exact_weights(weights, len(values))
    total = sum(w * x for w, x in zip(exact, values, strict=True))
    return Fraction(total) / sum(exact)


def mean_tau_x(Y_true: Sequence[Row], Y_pred: Sequence[Row], weights: Weights = None) -> Fraction:
    """Return the weighted mean of `tau_x` over the rows."""
    return weighted_mean([tau_x(a, b) for a, b in zip(Y_true, Y_pred, strict=True)], weights)


def kendall_tau(a: Row, b: Row) -> Fraction:
    """Return (concordant - discordant) / pairs of two total orders (no ties)."""
    first, second = clean_row(a), clean_row(b)
    common = common_labels(first, second)
    p = [x for u in common if (x := first[u]) is not None]
    q = [x for u in common if (x := second[u]) is not None]
    if len(set(p)) < len(p) or len(set(q)) < len(q):
        raise ValueError("Kendall's tau compares total orders; a row has ties")
    score = pairs = 0
    for i in range(len(p)):
        for j in range(i):
            score += 1 if (p[i] < p[j]) == (q[i] < q[j]) else -1
            pairs += 1
    return Fraction(score, pairs)


def bucket_count_difference(
    Y_true: Sequence[Row], Y_pred: Sequence[Row], weights: Weights = None
) -> Fraction:
    """Return the weighted mean of (predicted - true) number of buckets over the rows."""
    differences = [
        Fraction(len(buckets(predicted)) - len(buckets(true)))
        for true, predicted in zip(Y_true, Y_pred, strict=True)
    ]
    return weighted_mean(differences, weights)
