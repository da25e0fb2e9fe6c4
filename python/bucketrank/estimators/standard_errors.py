"""Standard errors of a linear model: from its observed information, or cluster-robust with a cluster per ranking.

The model has two outputs per label: a utility (larger is better) and a tie term (larger for more ties).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ERROR_NAMES = (
    "coef_standard_error_",
    "tie_coef_standard_error_",
    "intercept_standard_error_",
    "tie_intercept_standard_error_",
)

CATEGORY_ERROR_NAMES = ("category_coef_standard_error_", "category_tie_coef_standard_error_")

MAX_COEFFICIENTS = 4000
"""Largest number of coefficients, which bounds the information matrix at 128 MB; its inversion needs several copies."""

Floats = NDArray[np.float64]


def check_size(n_inputs: int, n_labels: int) -> None:
    """Raise when there are too many coefficients for standard errors.

    Inputs are features, categories and indicators of missing values.
    """
    count = 2 * n_labels * (n_inputs + 1)
    if count > MAX_COEFFICIENTS:
        raise ValueError(
            f"{n_labels} labels and {n_inputs} inputs make 2 * {n_labels} * ({n_inputs} + 1) = {count} "
            f"coefficients; standard_errors=True expects at most {MAX_COEFFICIENTS}"
        )


def standard_errors(
    information: Floats,
    products: Floats | None,
    compared: NDArray[np.bool_],
    ridges: tuple[float, float],
) -> dict[str, Floats]:
    """Return the standard errors of coefficients and intercepts, by the names of the attributes.

    `information` holds the second derivatives, with coefficients ordered by input and the intercept last; each input
    has n coefficients of utilities, then n of tie terms, for n labels. `products` is the middle matrix of the sandwich
    estimator for cluster-robust errors (products of the gradients of the rankings, and the penalty); None if all pairs
    are independent. `compared` says per label whether the training rankings compare it with another label. `ridges` are
    the penalties of coefficients and of intercepts.
    """
    n = len(compared)
    inputs = len(information) // (2 * n)
    ridge = np.r_[np.full(inputs - 1, ridges[0]), ridges[1]]
    variances = _variances(information, products, compared, ridge)
    by_input = np.sqrt(variances).reshape(inputs, 2 * n)
    # The inputs are the standardised features divided by the square root of their number.
    coefficients = by_input[:-1].T / np.sqrt(inputs - 1)
    intercepts = by_input[-1]
    parts = (coefficients[:n], coefficients[n:], intercepts[:n], intercepts[n:])
    return {name: part.copy() for name, part in zip(ERROR_NAMES, parts, strict=True)}


def _variances(
    information: Floats, products: Floats | None, compared: NDArray[np.bool_], ridge: Floats
) -> Floats:
    """Return the variances of all coefficients, without a common shift of the utilities of compared labels.

    They are the diagonal of the covariance: of the inverse of the information if `products` is None, else of that
    inverse times the products times that inverse. Per input, the shift is an eigenvector of the information and of the
    products, with the ridge as its eigenvalue. In the information, this eigenvalue is raised to the size of the others,
    so that a small ridge does not make the inverse inaccurate. The known variance of the shift is subtracted.
    """
    n = len(compared)
    inputs = len(ridge)
    labels = np.flatnonzero(compared)
    raised = information.copy()
    shift_variances = np.zeros((inputs, 2 * n))
    for j in range(inputs if len(labels) else 0):
        utilities = 2 * n * j + labels
        increase = information[utilities, utilities].mean()
        raised[np.ix_(utilities, utilities)] += increase / len(labels)
        eigenvalue = ridge[j] + increase
        share = 1 if products is None else ridge[j] / eigenvalue
        shift_variances[j, labels] = share / (len(labels) * eigenvalue)
    # Scale the diagonal to 1, because penalties and weights may differ by many orders of magnitude.
    unit = 1 / np.sqrt(raised.diagonal())
    try:
        inverse = np.linalg.inv(raised * unit * unit[:, None])
    except np.linalg.LinAlgError:
        inverse = np.zeros_like(raised)
    if products is None:
        covariance = inverse.diagonal()
    else:
        covariance = ((inverse @ (products * unit * unit[:, None])) * inverse).sum(axis=1)
    variances: Floats = covariance * unit**2 - shift_variances.ravel()
    if not (np.isfinite(variances) & (variances > 0)).all():
        raise ValueError(
            "the matrix of second derivatives has no inverse in floating point, so there are no standard errors; "
            "a larger ridge or intercept_ridge helps"
        )
    return variances
