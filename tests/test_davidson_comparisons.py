"""Davidson's model of comparisons: SciPy and NumPy as oracles, effects, scales, robust errors, bad input."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from bucketrank import Davidson, PairCounts, from_comparisons, from_text

RIDGE = 0.05


def battles(seed: int = 0, rows: int = 400, labels: int = 5, **options: Any) -> Any:
    """Comparisons with an order effect, two covariates, weights and groups."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, labels, rows)
    second = (first + rng.integers(1, labels, rows)) % labels
    z = np.round(rng.normal(size=(rows, 2)), 1)
    eta = np.linspace(1, -1, labels)[first] - np.linspace(1, -1, labels)[second]
    eta = eta + 0.4 + z @ [0.5, -0.3]
    weights = np.exp(np.column_stack([eta / 2, np.full(rows, -0.5), -eta / 2]))
    draws = rng.random(rows) * weights.sum(axis=1)
    outcome = (draws[:, None] > weights.cumsum(axis=1)).sum(axis=1)
    names = np.array(list("abcdefgh"))
    chosen: dict[str, Any] = {
        "weight": rng.integers(1, 4, rows),
        "group": rng.integers(0, 40, rows),
        "covariates": {"length": z[:, 0], "price": z[:, 1]},
    }
    chosen = {name: value for name, value in chosen.items() if options.get(name, True)}
    spelled = np.array(["first", "tie", "second"])[outcome]
    return from_comparisons(names[first], names[second], spelled, **chosen)


class Oracle:
    """Objective, gradient per row and second derivatives in NumPy, with dense design matrices."""

    def __init__(self, data: Any, *, order: bool, half: bool) -> None:
        n, rows = len(data.labels), len(data)
        eye = np.eye(n)
        effects = [np.ones((rows, 1))] * order + [data.covariates]
        ties = [] if half else [np.zeros((rows, n))]
        self.net = np.hstack([eye[data.first] - eye[data.second], *ties, *effects]) / 2
        tied = eye[data.first] + eye[data.second]
        self.tie = np.hstack([np.zeros((rows, n)), tied, *(0 * e for e in effects)])
        if half:
            self.tie = np.zeros_like(self.net)
        self.half = half
        self.y = 1 - data.outcome.astype(float)
        self.t = (data.outcome == 1).astype(float)
        self.w = np.ones(rows) if data.weight is None else data.weight
        self.n = n

    def shares(self, x: np.ndarray) -> np.ndarray:
        eta, tie = self.net @ x, self.tie @ x
        logs = np.column_stack([eta, np.full_like(eta, -np.inf) if self.half else tie, -eta])
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        normalised: np.ndarray = shares / shares.sum(axis=1, keepdims=True)
        return normalised

    def objective(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        p = self.shares(x)
        if self.half:
            log = np.where(self.y > 0, np.log(p[:, 0]), np.log(p[:, 2]))
            log = np.where(self.t > 0, (np.log(p[:, 0]) + np.log(p[:, 2])) / 2, log)
        else:
            log = np.log(p[np.arange(len(p)), (1 - self.y).astype(int)])
        value = RIDGE / 2 * (x**2).sum() - (self.w * log).sum()
        return value, RIDGE * x - (self.w[:, None] * self.row_scores(x)).sum(axis=0)

    def row_scores(self, x: np.ndarray) -> np.ndarray:
        p = self.shares(x)
        net, tied = self.y - p[:, 0] + p[:, 2], self.t - p[:, 1]
        scores: np.ndarray = net[:, None] * self.net + tied[:, None] * self.tie
        return scores

    def hessian(self, x: np.ndarray) -> np.ndarray:
        p = self.shares(x)
        net = p[:, 0] - p[:, 2]
        vy = self.w * (p[:, 0] + p[:, 2] - net**2)
        vt, c = self.w * p[:, 1] * (1 - p[:, 1]), -self.w * net * p[:, 1]
        cross = (self.net * c[:, None]).T @ self.tie
        hessian: np.ndarray = (
            RIDGE * np.eye(len(x))
            + (self.net * vy[:, None]).T @ self.net
            + (self.tie * vt[:, None]).T @ self.tie
            + cross
            + cross.T
        )
        return hessian

    def optimum(self) -> np.ndarray:
        size = self.net.shape[1]
        best: Any = minimize(
            self.objective,
            np.zeros(size),
            jac=True,
            method="BFGS",
            options={"gtol": 1e-11, "maxiter": 5000},
        )
        x: np.ndarray = best.x
        # One Newton step from SciPy's optimum removes the error that its line search leaves.
        return x - np.linalg.solve(self.hessian(x), self.objective(x)[1])

    def covariance(self, x: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
        inverse = np.linalg.inv(self.hessian(x))
        if groups is not None:
            scores = self.w[:, None] * self.row_scores(x)
            sums = np.array([scores[groups == g].sum(axis=0) for g in np.unique(groups)])
            meat = len(sums) / (len(sums) - 1) * sums.T @ sums + RIDGE * np.eye(len(x))
            inverse = inverse @ meat @ inverse
        centre = np.eye(len(x))
        centre[: self.n, : self.n] -= 1 / self.n
        matrix: np.ndarray = centre @ inverse @ centre.T
        return matrix


@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("ties", ["model", "half"])
@pytest.mark.parametrize("errors", ["information", "auto"])
def test_fits_are_those_of_scipy_and_numpy(order: bool, ties: str, errors: str) -> None:
    data = battles()
    oracle = Oracle(data, order=order, half=ties == "half")
    best = oracle.optimum()
    fit = Davidson(RIDGE, order_effect=order, ties=ties, errors=errors).explain(data)
    details = fit.details
    found = [*details["utilities"], *details.get("tie_terms", [])]
    found += [details["order_effect"]] if order else []
    np.testing.assert_allclose([*found, *details["covariate_effects"]], best, atol=1e-6)
    groups = data.group if errors == "auto" else None
    expected = oracle.covariance(best, groups)
    np.testing.assert_allclose(fit.covariance, expected[:5, :5], atol=1e-6)
    sizes = np.sqrt(np.diag(expected))
    found = [*details["utility_errors"], *details.get("tie_term_errors", [])]
    found += [details["order_effect_error"]] if order else []
    np.testing.assert_allclose([*found, *details["covariate_effect_errors"]], sizes, atol=1e-6)
    assert details["errors"] == ("robust by groups" if errors == "auto" else "information")
    for u, v in combinations(range(5), 2):
        contrast = fit.contrast(data.labels[u], data.labels[v])
        change = np.eye(len(best))[u] - np.eye(len(best))[v]
        assert contrast.difference == pytest.approx(best[u] - best[v], abs=1e-6)
        assert contrast.error == pytest.approx(math.sqrt(change @ expected @ change), abs=1e-6)


def test_errors_of_rankings_are_robust_by_ranking() -> None:
    rng = np.random.default_rng(1)
    Y = rng.permuted(np.tile([1, 2, 2, 3], (60, 1)), axis=1)
    robust = Davidson(RIDGE).explain(Y)
    plain = Davidson(RIDGE, errors="information").explain(Y)
    assert robust.details["errors"] == "robust by rows"
    np.testing.assert_array_equal(robust.details["utilities"], plain.details["utilities"])
    pairs = list(combinations(range(4), 2))
    rows = [(i, u, v) for i in range(60) for u, v in pairs]
    data = from_comparisons(
        [u for _, u, _ in rows],
        [v for _, _, v in rows],
        [("first", "tie", "second")[int(np.sign(Y[i, u] - Y[i, v])) + 1] for i, u, v in rows],
        group=[i for i, _, _ in rows],
    )
    by_group = Davidson(RIDGE).explain(data)
    np.testing.assert_allclose(robust.covariance, by_group.covariance, atol=1e-12)
    assert abs(robust.details["utility_errors"] / plain.details["utility_errors"] - 1).max() > 0.05
    # A ranking of weight 2 counts as two independent rankings.
    twice = Davidson(RIDGE).explain(np.vstack([Y, Y]))
    weighted = Davidson(RIDGE).explain(Y, np.full(60, 2.0))
    np.testing.assert_allclose(twice.covariance, weighted.covariance, atol=1e-12)
    # Rankings of two labels are independent comparisons, so their errors need not be robust.
    pairs_only, _ = from_text(["a > b", "b ~ c"])
    assert Davidson().explain(pairs_only).details["errors"] == "information"


def test_the_order_of_rows_and_of_the_labels_in_a_row_does_not_matter() -> None:
    data = battles(rows=200)
    frame = data.to_pandas().sample(frac=1, random_state=0)
    shuffled = from_comparisons(
        "first", "second", "outcome", data=frame, weight="weight", covariates=["length", "price"]
    )
    model = Davidson(order_effect=True, errors="information")
    here, there = model.explain(data), model.explain(shuffled)
    np.testing.assert_array_equal(here.details["utilities"], there.details["utilities"])
    np.testing.assert_array_equal(model.aggregate(data), here.positions)
    # Without an order effect, mirrored rows change nothing.
    flip = {"first": "second", "second": "first", "tie": "tie"}
    mirrored = from_comparisons(
        frame["second"],
        frame["first"],
        frame["outcome"].map(flip),
        weight=frame["weight"],
        covariates=-frame[["length", "price"]],
    )
    plain = Davidson(errors="information")
    expected = plain.explain(data).details["utilities"]
    np.testing.assert_allclose(plain.explain(mirrored).details["utilities"], expected, atol=1e-9)


def test_elo_scale_and_anchor() -> None:
    data = battles(group=False, covariates=False)
    plain = Davidson(order_effect=True).explain(data)
    elo = Davidson(order_effect=True, scale="elo", anchor=("c", 1000)).explain(data)
    factor = 400 / math.log(10)
    shifted = factor * (plain.details["utilities"] - plain.details["utilities"][2]) + 1000
    np.testing.assert_allclose(elo.details["utilities"], shifted, atol=1e-9)
    assert elo.details["order_effect"] == pytest.approx(factor * plain.details["order_effect"])
    assert elo.details["utility_errors"][2] == 0
    expected = factor * plain.contrast("a", "c").error
    assert elo.details["utility_errors"][0] == pytest.approx(expected)
    assert elo.contrast("a", "b").error == pytest.approx(factor * plain.contrast("a", "b").error)
    np.testing.assert_array_equal(elo.positions, plain.positions)
    text = str(Davidson(order_effect=True).explain(battles()))
    assert "covariate_effects: length 0." in text
    assert "errors: robust by groups" in text


def test_a_label_that_always_wins_has_a_finite_utility_and_a_large_error() -> None:
    games = from_comparisons(
        ["best"] * 30 + ["a", "b"] * 20,
        ["a", "b"] * 15 + ["b", "a"] * 20,
        ["first"] * 30 + ["first"] * 40,
        group=np.arange(70) % 35,
    )
    for errors in ("information", "robust"):
        fit = Davidson(errors=errors).explain(games)
        index = fit.labels.index("best")
        assert np.isfinite(fit.details["utilities"]).all()
        assert fit.details["utility_errors"][index] > 1.5 * fit.details["utility_errors"][0]


@pytest.mark.parametrize("grouped", [False, True])
def test_robust_errors_of_extreme_weights_are_those_of_scaled_weights(grouped: bool) -> None:
    """Contests of weight above 1e9 are fitted with weights relative to the largest contest."""
    rng = np.random.default_rng(5)
    first, second = ["a"] * 20 + ["b"] * 20, ["b"] * 20 + ["c"] * 20
    outcome = rng.choice(["first", "second", "tie"], 40)
    weight = rng.integers(2, 9, 40) / 2
    group = np.arange(40) % 8 if grouped else None
    largest = max(weight[:20].sum(), weight[20:].sum())

    def errors(weight: np.ndarray) -> np.ndarray:
        games = from_comparisons(first, second, outcome, weight=weight, group=group)
        return np.asarray(Davidson(errors="robust").explain(games).details["utility_errors"])

    # A fractional weight makes each row one unit that carries its weight.
    np.testing.assert_allclose(errors(weight * 1e10 + 0.5), errors(weight / largest), rtol=1e-6)


def test_half_ties_are_half_wins() -> None:
    tied = from_comparisons(["a", "b", "a"], ["b", "c", "c"], ["tie", "first", "first"])
    split = from_comparisons(
        ["a", "a", "b", "a"],
        ["b", "b", "c", "c"],
        ["first", "second", "first", "first"],
        weight=[0.5, 0.5, 1, 1],
    )
    model = Davidson(ties="half")
    np.testing.assert_allclose(
        model.explain(tied).details["utilities"],
        model.explain(split).details["utilities"],
        atol=1e-9,
    )
    assert "tie_terms" not in model.explain(tied).details
    # Labels that nothing distinguishes are tied.
    assert model.aggregate(tied).tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"order_effect": 1}, TypeError, "order_effect is 1; expected True or False"),
        ({"ties": "drop"}, ValueError, "ties is 'drop'; expected 'model' or 'half'"),
        ({"scale": "Elo"}, ValueError, "scale is 'Elo'; expected 'utility' or 'elo'"),
        ({"errors": "hc3"}, ValueError, "errors is 'hc3'; expected"),
        ({"anchor": "a"}, TypeError, "anchor is 'a'; expected a label and its value"),
        ({"anchor": ("a", math.inf)}, ValueError, "value of the anchor is inf"),
    ],
)
def test_bad_options(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Davidson(**options)


def test_effects_that_are_not_identified() -> None:
    first, second, outcome = ["a", "b"] * 3, ["b", "c"] * 3, ["first", "tie", "second"] * 2
    one_order = from_comparisons(first, second, outcome)
    with pytest.raises(ValueError, match="the order effect is not identified"):
        Davidson(order_effect=True).explain(one_order)
    x = [1.0, 2.0, -1.0, 0.5, 0.0, 3.0]
    twice = from_comparisons(first, second, outcome, covariates=np.column_stack([x, x]) * [1, 2])
    with pytest.raises(ValueError, match="effect of covariate 1 is not identified"):
        Davidson().explain(twice)
    # Price of the first label minus that of the second; a costs 1, b 5 and c 7.
    price = [-4.0, -2.0] * 3
    by_label = from_comparisons(first, second, outcome, covariates={"price": price})
    with pytest.raises(ValueError, match="effect of covariate 0 is not identified"):
        Davidson().explain(by_label)


def test_input_that_cannot_be_fitted() -> None:
    with pytest.raises(ValueError, match="do not say which label was shown first"):
        Davidson(order_effect=True).aggregate([[1, 2]])
    with pytest.raises(ValueError, match="do not say which label was shown first"):
        Davidson(order_effect=True).explain(PairCounts.of(battles()))
    with pytest.raises(ValueError, match=r"anchor is .*expected one of the labels"):
        Davidson(anchor=("absent", 0)).explain([[1, 2]])
    with pytest.raises(ValueError, match="whose pairs depend on each other"):
        Davidson().explain(PairCounts.of([[1, 2, 3]]))
    with pytest.raises(ValueError, match="unknown label 'x'"):
        Davidson().explain([[1, 2]]).contrast("x", 1)
    one_group = from_comparisons(["a", "b"], ["b", "a"], ["tie", "tie"], group=["g", "g"])
    with pytest.raises(ValueError, match="the number of units to estimate robust errors from is 1"):
        Davidson(errors="robust").explain(one_group)


def test_every_consensus_is_a_writable_array() -> None:
    games = from_comparisons(["a", "b"], ["b", "a"], [1, 0])
    with_covariate = from_comparisons(["a", "b"], ["b", "a"], [1, 0], covariates={"z": [1, 2]})
    for model, data in ((Davidson(order_effect=True), games), (Davidson(), with_covariate)):
        consensus = model.aggregate(data)
        consensus[0] = 7
        assert model.explain(data).positions[0] != 7


def test_names_of_covariates_are_escaped() -> None:
    games = from_comparisons(["a", "b"], ["b", "a"], [1, 0], covariates={"esc\x1b[2J": [1, 2]})
    text = str(Davidson().explain(games))
    assert "\x1b" not in text
    assert r"esc\x1b[2J" in text
