"""Thresholds for ties: choice by cross-validation, studies, and recommendation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from bucketrank import (
    Borda,
    BucketPivot,
    Copeland,
    MarkovChain,
    PartialLabelRankingTree,
    _core,
    tau_x,
)
from bucketrank.datasets import Dataset, make_rankings
from bucketrank.estimators.beta_search import _USED_FOLDS, with_chosen_beta
from bucketrank.experiments import BetaRecommender, beta_study, compare
from bucketrank.experiments.beta_recommender import included_models
from bucketrank.experiments.beta_study import MetaFeatures
from bucketrank.experiments.job import training_fold
from bucketrank.experiments.plan import Job, Plan, make_plan
from test_experiments import numbers, small

WITH_BETA = [Borda, Copeland, BucketPivot]


SMOOTHED: list[dict[str, Any]] = [
    {"shrinkage": "path", "min_samples_split": 2},
    {"shrinkage": "m-estimate"},
    {"routing": "soft"},
    {"shrinkage": "path", "routing": "soft", "min_samples_split": 2},
]


def best_of_inner_folds(kind: Any, data: Any, weights: Any = None, **params: Any) -> Any:
    """The threshold with the best score over the inner folds, computed with the public interface."""
    candidates = kind("auto")._candidate_betas(*data.Y.shape)
    folds = _core.fold_of_rows(len(data.Y), 3, 0, 0)
    scores = np.zeros(len(candidates))
    for fold in range(_USED_FOLDS):
        test = folds == fold
        inner = PartialLabelRankingTree(kind(), **params)
        inner.fit(data.X[~test], data.Y[~test], None if weights is None else weights[~test])
        predictions = inner.predict_many(data.X[test], [kind(beta=b) for b in candidates])
        held_out = None if weights is None else weights[test]
        scores += [tau_x(data.Y[test], p, held_out, missing="ignore") for p in predictions]
    ties = [b for b, score in zip(candidates, scores, strict=True) if score >= scores.max() - 1e-9]
    return kind(beta=min(ties, key=lambda beta: abs(beta - kind().beta)))


class TestAuto:
    data = make_rankings(120, 4, 5, noise=0.3, ties=0.4, missing=0.2, random_state=3)

    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("kind", WITH_BETA)
    def test_the_chosen_beta_is_the_best_of_the_inner_folds(self, kind: Any, seed: int) -> None:
        data = make_rankings(121, 4, 5, noise=0.3, ties=0.4, missing=0.2, random_state=seed)
        expected = best_of_inner_folds(kind, data)
        tree = PartialLabelRankingTree(kind(beta="auto")).fit(data.X, data.Y)
        assert tree.aggregator_ == expected
        plain = PartialLabelRankingTree(expected).fit(data.X, data.Y)
        np.testing.assert_array_equal(tree.predict(data.X), plain.predict(data.X))

    @pytest.mark.parametrize("params", SMOOTHED)
    @pytest.mark.parametrize("kind", WITH_BETA)
    def test_inner_trees_shrink_and_route_like_the_tree(self, kind: Any, params: Any) -> None:
        for seed in range(4):
            data = make_rankings(120, 4, 5, noise=0.3, ties=0.4, missing=0.2, random_state=seed)
            tree = PartialLabelRankingTree(kind(beta="auto"), **params).fit(data.X, data.Y)
            assert tree.aggregator_ == best_of_inner_folds(kind, data, **params)

    def test_smoothed_trees_raise_and_fall_back_like_other_trees(self) -> None:
        tree = PartialLabelRankingTree(Borda(beta="auto"), shrinkage="path", n_jobs=2)
        tree.set_output(transform="pandas").fit(self.data.X, self.data.Y)
        alone = PartialLabelRankingTree(Borda(beta="auto"), shrinkage="path")
        assert tree.aggregator_ == alone.fit(self.data.X, self.data.Y).aggregator_
        only_one = np.full((6, 3), np.nan)
        only_one[:, 0] = 1
        assert clone(tree).fit(np.arange(6.0)[:, None], only_one).aggregator_ == Borda()
        with pytest.raises(ValueError, match=r"5 .*120"):
            clone(tree).fit(self.data.X[:5], self.data.Y)

    @pytest.mark.parametrize("chosen", [["city"], [0], [True, False]])
    def test_smoothed_trees_choose_beta_with_named_categories(self, chosen: Any) -> None:
        city = np.where(self.data.X[:, 0] < np.median(self.data.X[:, 0]), "Bern", "Cork")
        X = pd.DataFrame({"city": city, "age": self.data.X[:, 1]})
        betas = [
            PartialLabelRankingTree(
                Borda(beta="auto"), shrinkage="path", categorical_features=categorical
            )
            .fit(X, self.data.Y)
            .aggregator_
            for categorical in (chosen, "from_dtype")
        ]
        assert betas[0] == betas[1]

    def test_held_out_rows_do_not_affect_beta(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: dict[tuple[str, bytes], Any] = {}

        def recorded(aggregator: Any, tree: Any, X: Any, *rest: Any) -> Any:
            seen[str(tree.shrinkage), X.tobytes()] = with_chosen_beta(aggregator, tree, X, *rest)
            return seen[str(tree.shrinkage), X.tobytes()]

        def choices(Y: Any) -> dict[tuple[str, bytes], Any]:
            seen.clear()
            shrunk = PartialLabelRankingTree(Borda("auto"), shrinkage="path")
            data = Dataset("a", self.data.X, Y)
            methods: dict[str, Any] = {
                "aggregators": {"auto": Borda("auto")},
                "rankers": {"shrunk": shrunk},
            }
            compare([data], **methods, missing=0.3, n_repeats=1, n_folds=3)
            return dict(seen)

        for module in ("bucketrank.estimators.tree", "bucketrank.experiments.learners"):
            monkeypatch.setattr(f"{module}.with_chosen_beta", recorded)
        # The folds depend on the contents of the data, which change below.
        monkeypatch.setattr(Plan, "dataset_seed", lambda _plan, _name: 7)
        X, Y = self.data.X, self.data.Y
        before = choices(Y)
        assert len(before) == 6
        folds = _core.fold_of_rows(len(Y), 3, 7, 0)
        rng = np.random.default_rng(0)
        n_changed = 0
        for fold in range(3):
            shuffled = Y.copy()
            shuffled[folds == fold] = rng.permuted(shuffled[folds == fold], axis=1)
            after = choices(shuffled)
            for shrinkage in ("None", "path"):
                own = shrinkage, X[folds != fold].tobytes()
                assert after[own] == before[own]
            n_changed += sum(after[key] != before[key] for key in before)
        assert n_changed > 0, "training labels matter"

    def test_beta_is_independent_of_threads_and_refits(self) -> None:
        fits = [
            PartialLabelRankingTree(Copeland(beta="auto"), n_jobs=n).fit(self.data.X, self.data.Y)
            for n in (1, 1, 2, 3)
        ]
        assert len({tree.aggregator_ for tree in fits}) == 1

    @pytest.mark.parametrize("params", [{}, *SMOOTHED])
    def test_weights_apply_in_the_inner_folds_and_weight_0_equals_removal(
        self, params: Any
    ) -> None:
        X, Y = self.data.X, self.data.Y
        tree = PartialLabelRankingTree(Borda(beta="auto"), **params)
        weights = np.ones(120)
        weights[100:] = 0
        weighted = clone(tree).fit(X, Y, sample_weight=weights).aggregator_
        assert weighted == clone(tree).fit(X[:100], Y[:100]).aggregator_
        chosen = set()
        for seed in range(4):
            uneven = np.random.default_rng(seed).integers(1, 40, 120).astype(float)
            expected = best_of_inner_folds(Borda, self.data, uneven, **params)
            assert clone(tree).fit(X, Y, sample_weight=uneven).aggregator_ == expected
            if tree.shrinkage is None:
                assert clone(tree).fit(X, Y, sample_weight=4 * uneven).aggregator_ == expected
            chosen.add(expected)
        assert len(chosen) > 1, "weights matter"

    def test_default_beta_without_comparable_rows(self) -> None:
        tree = PartialLabelRankingTree(Borda(beta="auto"))
        assert clone(tree).fit([[0.0]], [[1, 2]]).aggregator_ == Borda()
        only_one = np.full((6, 3), np.nan)
        only_one[:, 0] = 1
        assert clone(tree).fit(np.arange(6.0)[:, None], only_one).aggregator_ == Borda()

    def test_auto_beta_outside_a_tree_is_rejected(self) -> None:
        with pytest.raises(ValueError, match="a threshold for ties that only a tree chooses"):
            Borda(beta="auto").aggregate([[1, 2]])
        with pytest.raises(TypeError, match="expected a number or 'auto'"):
            Borda(beta="automatic")
        fitted = PartialLabelRankingTree().fit(self.data.X, self.data.Y)
        with pytest.raises(ValueError, match="a threshold for ties that only a tree chooses"):
            fitted.with_aggregator(Copeland(beta="auto")).predict(self.data.X)

    def test_auto_beta_works_in_grid_search_and_compare(self) -> None:
        grid = {"aggregator__beta": ["auto", 0.5]}
        search = GridSearchCV(PartialLabelRankingTree(), grid, cv=2)
        search.fit(self.data.X, self.data.Y)
        assert search.best_params_["aggregator__beta"] in ("auto", 0.5)
        study = compare([self.data], {"auto": Borda(beta="auto")}, missing=0.2, n_folds=3)
        again = compare([self.data], {"auto": Borda(beta="auto")}, missing=0.2, n_folds=3, n_jobs=2)
        assert numbers(study) == numbers(again)

    @pytest.mark.parametrize("criterion", ["disagreements", "distance"])
    def test_criteria_that_aggregate(self, criterion: str) -> None:
        tree = PartialLabelRankingTree(Copeland(beta="auto"), criterion=criterion)
        assert tree.fit(self.data.X[:40], self.data.Y[:40]).aggregator_ != tree.aggregator


class TestBetaStudy:
    data = (small("a", 1), small("b", 2, labels=5))
    study = beta_study(data, betas=[0, 0.5, 1], missing=[0, 0.4], n_repeats=1, n_folds=4)

    def test_every_threshold_equals_a_separate_comparison(self) -> None:
        assert self.study.mean.shape == (2, 2, 2, 3)
        for index, beta in enumerate([0, 0.5, 1]):
            plain = compare(
                self.data,
                {"borda": Borda(beta=beta), "copeland": Copeland(beta=beta)},
                missing=[0, 0.4],
                n_repeats=1,
                n_folds=4,
                baseline=False,
            )
            expected = np.moveaxis(plain.summary().mean, 2, 0)
            np.testing.assert_allclose(self.study.mean[..., index], expected)

    def test_levels_are_drawn_in_increasing_order(self) -> None:
        turned = beta_study(self.data, betas=[0, 0.5, 1], missing=[0.4, 0], n_repeats=1, n_folds=4)
        drawn, expected = (
            [np.asarray(line.get_ydata(), dtype=float) for line in study.plot().get_lines()]
            for study in (turned, self.study)
        )
        np.testing.assert_allclose(drawn, expected)

    def test_best_and_peaks(self) -> None:
        curve = self.study.curve("borda")
        np.testing.assert_allclose(curve, self.study.mean[0].mean(axis=1))
        assert self.study.peaks("borda").tolist() == [
            self.study.betas[row.argmax()] for row in curve
        ]
        assert self.study.best("copeland").shape == (2, 2)
        assert len(self.study.to_pandas()) == 24
        assert "best beta of copeland" in str(self.study)

    def test_the_section_of_a_report_states_the_peaks_and_the_best_thresholds(self) -> None:
        plain = compare(self.data, ["borda"], missing=[0, 0.4], n_repeats=1, n_folds=4)
        section = self.study.section()
        page = plain.report(format="markdown", sections=[section])
        assert "The threshold for ties, β" in page
        low, high = sorted(self.study.peaks("borda"))
        assert f"β = {low:g}{'' if low == high else f' to {high:g}'} for borda" in page
        (table,) = section.tables
        borda = {column.name: column.values for column in table.columns}["borda 40 %"]
        assert list(borda) == [*self.study.best("borda")[1], self.study.peaks("borda")[1]]
        html = plain.report(sections=[section])
        assert html.count("<svg ") == plain.report().count("<svg ") + 1

    def test_meta_features(self) -> None:
        complete = self.study.meta_features["b", 0.0]
        assert (complete.features, complete.labels, complete.missing) == (3, 5, 0)
        assert complete.instances == 45
        assert complete.mean_buckets == pytest.approx(self.data[1].Y.max(axis=1).mean(), abs=0.1)
        incomplete = self.study.meta_features["b", 0.4]
        assert incomplete.missing == pytest.approx(0.4, abs=0.1)
        assert incomplete.mean_buckets < complete.mean_buckets

    @pytest.mark.parametrize("given", [Borda(), [Borda("auto")], "borda", iter(["borda"])])
    def test_aggregators_are_named_by_their_methods(self, given: Any) -> None:
        study = beta_study(self.data, given, betas=0.5, missing=0.4, n_repeats=1, n_folds=4)
        assert study.aggregators == ["borda"]
        assert repr(study) == "BetaStudy(borda: 1 threshold, 2 datasets, 1 level)"
        assert study.best("borda").tolist() == [[0.5, 0.5]]
        np.testing.assert_array_equal(study.mean[0, 0, :, 0], self.study.mean[0, 1, :, 1])
        assert "best beta of borda" in str(study)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"aggregators": ["mc1"]}, "has no beta"),
            ({"aggregators": [MarkovChain(1)]}, "has no beta"),
            ({"aggregators": ["borda", Borda(0.2)]}, "must not be repeated"),
            ({"betas": []}, "betas is empty"),
            ({"betas": [0, 0]}, "must not be repeated"),
            ({"betas": [-1]}, "beta is -1"),
            ({"missing": [2]}, "from 0 to below 1"),
        ],
    )
    def test_bad_settings(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            beta_study(self.data, **settings)
        with pytest.raises(ValueError, match="unknown aggregator 'mc1'"):
            self.study.best("mc1")


class TestRecommender:
    def test_recommender_is_a_linear_regression_on_the_best_thresholds(self) -> None:
        study = TestBetaStudy.study
        recommender = BetaRecommender("borda").fit(study)
        features = np.array(
            [
                [getattr(study.meta_features[d, m], name) for name in MetaFeatures.names()]
                for m in study.study.missing
                for d in study.study.datasets
            ]
        )
        fitted = features @ recommender.coef_ + recommender.intercept_
        residual = study.best("borda").ravel() - fitted
        np.testing.assert_allclose(residual.sum(), 0, atol=1e-9)
        np.testing.assert_allclose(features.T @ residual, 0, atol=1e-6)
        assert recommender.n_points_ == 4

    def test_recommendations_are_within_the_limits(self) -> None:
        for name, limit in (("borda", 2.0), ("copeland", 0.5)):
            recommender = BetaRecommender.default(name)
            for seed in range(3):
                data = make_rankings(50, 2, 3 + seed, random_state=seed)
                beta = recommender.recommend(data.X, data.Y)
                assert 0 <= beta <= limit
                assert recommender.aggregator_for(data.X, data.Y).beta == beta

    def test_meta_features_accept_all_forms_of_rankings(self) -> None:
        top_two = [[1, 2, np.inf, np.inf], [1, 1, np.inf, np.nan]]
        assert MetaFeatures.of(np.zeros((2, 3)), top_two) == MetaFeatures(2, 3, 4, 2.5, 0.125)
        recommend = BetaRecommender.default("borda").recommend
        for bad in ([[0, 1]], [[1, -1]]):
            with pytest.raises(ValueError, match="row 0"):
                recommend([[0.0]], bad)
        with pytest.raises(ValueError, match="X has 3 rows and Y 2"):
            recommend(np.zeros((3, 1)), [[1, 2], [2, 1]])
        with pytest.raises(ValueError, match="X has 1 dimension"):
            recommend([0.0, 1.0], [[1, 2], [2, 1]])

    def test_provenance(self) -> None:
        provenance = included_models()["provenance"]
        assert len(provenance["datasets"]) == 15
        assert len(provenance["missing"]) == 7

    def test_compare_applies_the_recommender_per_training_fold(self) -> None:
        data = small("a", 1)
        recommender = BetaRecommender.default("borda")
        study = compare(
            [data], {"borda": recommender}, missing=0.3, n_repeats=1, n_folds=3, baseline=False
        )
        rows = []
        for fold in range(3):
            plan = make_plan(
                [data],
                aggregators=["borda"],
                tree=PartialLabelRankingTree(),
                rankers=None,
                missing=0.3,
                n_repeats=1,
                n_folds=3,
                seed=0,
            )
            job = Job("a", 0.3, 0, fold, "tree")
            part = training_fold(data, job, 3, plan.dataset_seed("a"))
            chosen = recommender.aggregator_for(part.X, part.Y)
            tree = PartialLabelRankingTree(chosen).fit(part.X, part.Y)
            rows.append(tau_x(part.Y_test, tree.predict(part.X_test)))
        np.testing.assert_allclose(study.columns["tau_x"], rows)

    def test_bad_input(self) -> None:
        with pytest.raises(ValueError, match="expected one of 'borda'"):
            BetaRecommender("mc1").fit(TestBetaStudy.study)
        with pytest.raises(ValueError, match="unknown aggregator 'bucket_pivot'"):
            BetaRecommender("bucket_pivot").fit(TestBetaStudy.study)
        with pytest.raises(ValueError, match="no recommender for 'bucket_pivot'"):
            BetaRecommender.default("bucket_pivot")
        with pytest.raises(ValueError, match="expected at least 2"):
            BetaRecommender("borda").fit([])

        study = TestBetaStudy.study
        wrongs: list[Any] = [None, 5, study.study, [study, 5], "borda"]
        for wrong in wrongs:
            with pytest.raises(TypeError, match="expected a BetaStudy"):
                BetaRecommender("borda").fit(wrong)

        class Subclass(PartialLabelRankingTree):
            pass

        with pytest.raises(ValueError, match="chosen from the training data"):
            compare([small("a", 1)], {"borda": BetaRecommender.default("borda")}, tree=Subclass())


def test_rankers_are_refused_before_the_study_is_run() -> None:
    rankers = {"plain": PartialLabelRankingTree()}
    with pytest.raises(ValueError, match=r"rankers is \['plain'\]; expected none"):
        beta_study([small("a", 1)], ["borda"], [0, 1], 0, 1, 3, rankers=rankers)


def test_printed_thresholds_are_exact_and_names_escaped() -> None:
    data = {"line\nbreak": small("a", 1)}
    study = beta_study(data, ["borda"], betas=[0.25], missing=0, n_repeats=1, n_folds=3)
    lines = str(study).splitlines()
    assert lines[-2:] == [r"line\nbreak   0.25", "all           0.25"]


def test_thresholds_in_any_order_are_drawn() -> None:
    settings: dict[str, Any] = {"missing": [0.3, 0], "n_repeats": 1, "n_folds": 3}
    drawn = [
        beta_study([small("a", 1)], ["borda"], betas, **settings).plot().get_lines()
        for betas in ([0, 0.5, 1], [1, 0, 0.5])
    ]
    for first, second in zip(*drawn, strict=True):
        np.testing.assert_array_equal(first.get_xydata(), second.get_xydata())
