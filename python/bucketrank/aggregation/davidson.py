"""Davidson's model of comparisons with ties: fit, standard errors and contrasts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bucketrank import _core
from bucketrank._validation import as_flag, as_positions, as_real, as_weights, label_names
from bucketrank.aggregation.base import Aggregator, Spec
from bucketrank.aggregation.explanation import Explanation
from bucketrank.comparisons import Comparisons, PairCounts
from bucketrank.tables import escape_text

__all__ = ["Contrast", "Davidson", "DavidsonExplanation"]

_CHOICES = {
    "ties": ("model", "half"),
    "scale": ("utility", "elo"),
    "errors": ("auto", "information", "robust"),
}
"""Values of the parameters that are strings."""

_ELO_PER_UTILITY = 400 / math.log(10)


@dataclass(frozen=True, repr=False)
class Davidson(Aggregator):
    r"""Labels ordered by the utilities of a fitted model of comparisons with ties.

    Every label gets a utility :math:`f` and a tie term :math:`h`; the probabilities that label u is placed before, tied
    with or after label v are proportional to :math:`e^{(f_u - f_v)/2}`, :math:`e^{h_u + h_v}` and
    :math:`e^{(f_v - f_u)/2}`. Newton's method finds the most probable values, given the data and normal priors around
    0. Pairs that no row compares are estimated from comparisons of these labels with others.

    ``aggregate`` turns these probabilities into the bucket order with the largest expected rank correlation: labels in
    one bucket are those whose comparisons are best predicted as ties, not those whose difference is uncertain. For
    labels that are *statistically* tied use :func:`bucketrank.leaderboard`.

    Parameters
    ----------
    ridge : float, default 0.1
        Inverse variance of the priors; a positive number. If the largest weight of a pair is below 1e-9 or above 1e9,
        weights are divided by it first.
    order_effect : bool, default False
        Whether to estimate an advantage of the label shown first, which is added to its utility; needs comparisons.
    ties : {"model", "half"}, default "model"
        With ``"half"`` a tie is half a win and half a loss, without tie terms: the model of Bradley and Terry.
        ``aggregate`` then orders labels by utility, and ties only equal utilities.
    scale : {"utility", "elo"}, default "utility"
        Scale of utilities and effects; Elo is 400 / ln 10 times the utility: a label that is 400 higher wins ten times
        as often as it loses.
    anchor : tuple of (label, float), optional
        A label and its value on the scale; by default the utilities add up to 0.
    errors : {"auto", "information", "robust"}, default "auto"
        Standard errors. ``"information"``: by the inverse information, which assumes that all comparisons are
        independent. ``"robust"``: robust against dependence within a group, a ranking or a row. ``"auto"``: robust for
        comparisons with groups (see :func:`bucketrank.from_comparisons`) and for rankings of more than two labels, if
        there are at least two groups or rankings, else by the inverse information.

    Notes
    -----
    ``explain`` gives a :class:`DavidsonExplanation`: utilities, tie terms and effects with standard errors, their
    covariance, and contrasts. Only differences of utilities have a meaning: errors are those of the difference from the
    mean, or from the anchor. A label that was never compared has the error of its prior. Covariates of the comparisons
    enter with one effect each, added to the utility of the first label; the prior holds for effects, too.

    The fit ends when no entry of the gradient exceeds 1e-10 times the largest weight of a label; a fit that does not
    reach this raises a RuntimeError. Robust errors are those of the sandwich estimator, with the factor G / (G - 1) for
    G groups and the prior as a part of the information.

    References
    ----------
    R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments", Journal
    of the American Statistical Association 65 (1970).

    Examples
    --------
    >>> nan = float("nan")
    >>> Davidson().aggregate([[1, 2, nan], [nan, 1, 2]])
    array([1, 2, 3])
    >>> from bucketrank import from_comparisons
    >>> games = from_comparisons(["a", "b", "a"], ["b", "c", "c"], ["first", "tie", "first"])
    >>> print(Davidson(scale="elo", ties="half", anchor=("c", 1000)).explain(games))
    Davidson(ridge=0.1, ties='half', scale='elo', anchor=('c', 1000.0))
    position  label  utilities  utility_errors
           1  a      1421.9947        403.0012
           2  b      1000.0000        299.1543
           2  c      1000.0000          0.0000
    errors: information
    """

    ridge: float = 0.1
    order_effect: bool = False
    ties: str = "model"
    scale: str = "utility"
    anchor: tuple[Hashable, float] | None = None
    errors: str = "auto"

    _needs = "rankings"

    def __post_init__(self) -> None:
        ridge = as_real(self.ridge, "ridge")
        if not 0 < ridge <= 1e12:
            raise ValueError(f"ridge is {ridge}; expected a number above 0 and up to 1e12")
        object.__setattr__(self, "ridge", ridge)
        object.__setattr__(self, "order_effect", as_flag(self.order_effect, "order_effect"))
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                expected = " or ".join(map(repr, choices))
                raise ValueError(f"{name} is {value!r:.60}; expected {expected}")
        if self.anchor is not None:
            object.__setattr__(self, "anchor", _as_anchor(self.anchor))

    def __repr__(self) -> str:
        shown = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if field.name == "ridge" or getattr(self, field.name) != field.default
        ]
        return f"Davidson({', '.join(shown)})"

    def _spec(self) -> Spec:
        if self.order_effect:
            raise ValueError(
                f"{self!r} needs comparisons: rankings and counts do not say which label was shown first; "
                "expected order_effect=False, or comparisons of from_comparisons"
            )
        return self._fit_spec()

    def _fit_spec(self) -> tuple[str, float]:
        """Return name and parameter for the core, without the check of `_spec` that there is no order effect."""
        return ("davidson_half" if self.ties == "half" else "davidson"), self.ridge

    def aggregate(self, Y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Return the consensus of rankings or comparisons; see :meth:`Aggregator.aggregate`."""
        if isinstance(Y, Comparisons) and (self.order_effect or Y.covariate_names):
            return self.explain(Y, sample_weight)._positions_like(Y)
        return super().aggregate(Y, sample_weight)

    def explain(
        self,
        Y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        labels: Sequence[Hashable] | None = None,
    ) -> DavidsonExplanation:
        """Fit the model and return its estimates.

        Parameters
        ----------
        Y : array-like or DataFrame of shape (n_rankings, n_labels), Comparisons or PairCounts
            Positions with NaN for missing labels, or comparisons of two labels per row, or counts of them.
        sample_weight : array-like of shape (n_rankings,), optional
            Non-negative weights of rankings.
        labels : sequence, optional
            Names of the labels of rankings; by default a DataFrame's columns, or 0, 1, ...

        Returns
        -------
        DavidsonExplanation
            Prints as a table with the largest utility first.
        """
        data, names = self._input(Y, sample_weight, labels)
        has_groups = isinstance(Y, Comparisons) and Y.group is not None
        options = {
            "order_effect": self.order_effect,
            "by_group": has_groups and self.errors != "information",
            "robust": {"auto": None, "robust": True, "information": False}[self.errors],
        }
        fit = _core.fit_davidson(self._fit_spec(), data, options)
        covariates = Y.covariate_names if isinstance(Y, Comparisons) else []
        units = "groups" if has_groups else "rows"
        source = f"robust by {units}" if fit.pop("robust") else "information"
        return DavidsonExplanation._of_fit(self, names, covariates, source, fit)

    def _input(
        self, Y: Any, sample_weight: ArrayLike | None, labels: Sequence[Hashable] | None
    ) -> tuple[dict[str, Any], list[Hashable]]:
        """Return the data as the core reads it, and the names of the labels."""
        if isinstance(Y, Comparisons):
            # Checks that there are no sample weights and not too many labels; the counts are not used.
            PairCounts.of(Y, sample_weight)
            return Y._input(), Y.labels
        if isinstance(Y, PairCounts):
            if Y.largest_ranking > 2 and self.errors != "information":
                raise ValueError(
                    f"the counts come from rankings of up to {Y.largest_ranking} labels, whose pairs depend on each "
                    "other; expected the rankings themselves, or errors='information'"
                )
            # Raises if an order effect is wanted.
            self._spec()
            return PairCounts.of(Y, sample_weight)._input(), Y.labels
        # Raises if an order effect is wanted.
        self._spec()
        positions = as_positions(Y)
        weights = as_weights(sample_weight)
        return {"positions": positions, "weights": weights}, label_names(
            Y, labels, positions.shape[1]
        )

    def _scaled(
        self, values: NDArray[np.float64], labels: Sequence[Hashable]
    ) -> NDArray[np.float64]:
        """Return utilities on the scale of this model; the last axis of `values` has the labels."""
        scaled = values * self._factor
        if self.anchor is None:
            return scaled
        index = self._anchor_index(labels)
        return scaled - scaled[..., index : index + 1] + self.anchor[1]

    @property
    def _factor(self) -> float:
        return _ELO_PER_UTILITY if self.scale == "elo" else 1.0

    def _anchor_index(self, labels: Sequence[Hashable]) -> int:
        if self.anchor is None or self.anchor[0] not in labels:
            raise ValueError(
                f"anchor is {self.anchor!r:.60}; expected one of the labels of the data"
            )
        return list(labels).index(self.anchor[0])


class Contrast(NamedTuple):
    """Difference of the utilities of two labels, its standard error and the two-sided normal p-value."""

    difference: float
    error: float
    p_value: float


@dataclass(frozen=True, eq=False)
class DavidsonExplanation(Explanation):
    """A fitted model of comparisons: utilities, tie terms and effects with standard errors.

    The details are ``utilities`` and ``utility_errors``; ``tie_terms`` and ``tie_term_errors`` unless ties count half;
    ``order_effect`` and ``order_effect_error`` with an order effect; ``covariate_effects`` and
    ``covariate_effect_errors`` with covariates; and ``errors``, the source of the standard errors.

    Attributes
    ----------
    covariance : ndarray of shape (n_labels, n_labels)
        Covariance of the utilities on the scale of the model, relative to the mean utility or to the anchor.
    covariates : list of str
        Names of the covariates.

    Examples
    --------
    >>> from bucketrank import Davidson
    >>> explanation = Davidson().explain([[1, 2], [1, 2], [2, 1]], labels=["ada", "bob"])
    >>> explanation.details["utilities"].round(2)
    array([ 0.34, -0.34])
    """

    covariance: NDArray[np.float64]
    covariates: list[str]

    @classmethod
    def _of_fit(
        cls,
        model: Davidson,
        labels: list[Hashable],
        covariates: list[str],
        source: str,
        fit: dict[str, Any],
    ) -> DavidsonExplanation:
        """Return the explanation of a fit of the core; `source` says how the standard errors were computed."""
        n = len(labels)
        # The covariance of the utilities, tie terms and effects, in this order.
        full = fit["covariance"]
        errors = np.sqrt(np.maximum(np.diag(full), 0))
        # A matrix that subtracts the utility of the anchor, if there is one, from all utilities.
        to_anchor = np.eye(n)
        if model.anchor is not None:
            to_anchor -= np.eye(n)[model._anchor_index(labels)]
        covariance = model._factor**2 * (to_anchor @ full[:n, :n] @ to_anchor.T)
        details: dict[str, Any] = {
            "utilities": model._scaled(fit["utilities"], labels),
            "utility_errors": np.sqrt(np.maximum(np.diag(covariance), 0)),
        }
        if model.ties == "model":
            details["tie_terms"] = fit["tie_terms"]
            details["tie_term_errors"] = errors[n : 2 * n]
        effects = (model._factor * fit["effects"]).tolist()
        effect_errors = (model._factor * errors[len(errors) - len(effects) :]).tolist()
        if model.order_effect:
            details["order_effect"] = effects.pop(0)
            details["order_effect_error"] = effect_errors.pop(0)
        if covariates:
            details["covariate_effects"] = effects
            details["covariate_effect_errors"] = effect_errors
        details["errors"] = source
        return cls(repr(model), labels, fit["positions"], details, covariance, covariates)

    def contrast(self, first: Hashable, second: Hashable) -> Contrast:
        """Compare the utilities of two labels.

        Parameters
        ----------
        first, second : hashable
            Names of the labels.

        Returns
        -------
        Contrast
            The difference, first minus second, its standard error, and the two-sided p-value of no difference.

        Examples
        --------
        >>> from bucketrank import Davidson
        >>> fit = Davidson().explain([[1, 2], [1, 2], [2, 1]] * 20, labels=["a", "b"])
        >>> difference, error, p_value = fit.contrast("a", "b")
        >>> round(difference, 2), round(error, 2), round(p_value, 3)
        (0.69, 0.27, 0.011)
        """
        signs = np.zeros(len(self.labels))
        signs[self._index(first)] += 1
        signs[self._index(second)] -= 1
        difference = float(signs @ self._details["utilities"])
        error = math.sqrt(max(float(signs @ self.covariance @ signs), 0.0))
        p_value = math.erfc(abs(difference) / error / math.sqrt(2)) if error > 0 else 1.0
        return Contrast(difference, error, p_value)

    def _index(self, label: Hashable) -> int:
        if label not in self.labels:
            raise ValueError(f"unknown label {label!r:.60}; expected one of the labels of the data")
        return self.labels.index(label)

    def _row_order(self) -> NDArray[np.int64]:
        return np.argsort(-self._details["utilities"], kind="stable")

    def _format_detail(self, name: str, value: Any) -> str:
        if name in ("covariate_effects", "covariate_effect_errors"):
            pairs = zip(self.covariates, value, strict=True)
            return ", ".join(
                f"{escape_text(covariate)} {number:.4g}" for covariate, number in pairs
            )
        return super()._format_detail(name, value)


def _as_anchor(anchor: Any) -> tuple[Hashable, float]:
    if not isinstance(anchor, (tuple, list)) or len(anchor) != 2:
        raise TypeError(f"anchor is {anchor!r:.60}; expected a label and its value")
    value = as_real(anchor[1], "value of the anchor")
    if not math.isfinite(value):
        raise ValueError(f"value of the anchor is {value}; expected a finite number")
    return anchor[0], value
