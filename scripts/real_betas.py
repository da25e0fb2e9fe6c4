"""Thresholds for ties (β) on the paper's real datasets: recommended, best, and chosen by cross-validation.

The paper is by Wang, Alfaro and Bengs (2025); its real datasets are algae and movies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bucketrank import PartialLabelRankingTree, get_aggregator
from bucketrank.datasets import Dataset
from bucketrank.experiments import BetaRecommender, Study, beta_study, compare
from bucketrank.experiments.job import training_fold
from bucketrank.experiments.plan import Job, Plan, make_plan
from bucketrank.tables import Column, Table
from published import Published

SCORING = ("borda", "copeland")
"""Methods that order labels by scores; their thresholds are recommended per training fold."""


class Row(NamedTuple):
    """A row of the table; fields with the prefix `paper_` are published values.

    `recommended` and `deviation` are the mean and the standard deviation of the thresholds that are recommended per
    training fold, and `auto_tau_x` is the score of thresholds chosen by cross-validation.
    """

    dataset: str
    missing: int
    aggregator: str
    recommended: float
    deviation: float
    paper_recommended: float
    tau_x: float
    paper_tau_x: float
    best: float
    paper_best: float
    best_tau_x: float
    paper_best_tau_x: float
    auto_tau_x: float


def beta_table(real: list[Dataset], study: Study, published: Published, *, n_jobs: int) -> Table:
    """Return recommended and best thresholds with their scores, ours and the paper's.

    `study` includes the real datasets with recommended thresholds; other thresholds are evaluated on the same folds.
    """
    settings = study.settings
    shared: dict[str, Any] = {
        name: settings[name] for name in ("missing", "n_repeats", "n_folds", "seed")
    }
    automatic = {name: get_aggregator(name, beta="auto") for name in SCORING}
    plan = make_plan(
        real, aggregators=automatic, tree=PartialLabelRankingTree(), rankers=None, **shared
    )
    sweep = beta_study(real, SCORING, n_jobs=n_jobs, **shared)
    auto = compare(real, automatic, baseline=False, n_jobs=n_jobs, **shared).summary()
    ours = study.summary()
    rows = []
    for line in published.beta:
        dataset, missing, name = line["dataset"], int(line["missing"]), line["aggregator"]
        if dataset not in auto.datasets or missing / 100 not in auto.missing:
            continue
        level, row = auto.missing.index(missing / 100), auto.datasets.index(dataset)
        betas = _recommended(plan, dataset, missing / 100, name)
        scores = sweep.mean[sweep.aggregators.index(name), level, row]
        rows.append(
            Row(
                dataset,
                missing,
                name,
                float(betas.mean()),
                float(betas.std(ddof=1)),
                float(line["predicted_beta_mean"]),
                ours.mean[level, ours.datasets.index(dataset), ours.methods.index(name)],
                published.score(dataset, missing, name),
                sweep.best(name)[level, row],
                float(line["best_beta"]),
                scores.max(),
                published.score(dataset, missing, f"{name}_best"),
                auto.mean[level, row, auto.methods.index(name)],
            )
        )
    return _table(rows)


def _recommended(plan: Plan, dataset: str, missing: float, name: str) -> NDArray[np.float64]:
    """Return the recommended threshold of each training fold."""
    model, data = BetaRecommender.default(name), plan.datasets[dataset]
    seed = plan.dataset_seed(dataset)
    betas = []
    for repeat in range(plan.n_repeats):
        for number in range(plan.n_folds):
            fold = training_fold(
                data, Job(dataset, missing, repeat, number, "tree"), plan.n_folds, seed
            )
            betas.append(model.recommend(fold.X, fold.Y))
    return np.array(betas)


def _table(rows: list[Row]) -> Table:
    def column(name: str, field: str, text: Any = str) -> Column:
        return Column.of(name, [getattr(row, field) for row in rows], text)

    three, one = "{:.3f}".format, "{:.1f}".format
    unmarked = [False] * len(rows)
    recommended = [row.recommended for row in rows]
    deviations = [row.deviation for row in rows]
    columns = (
        # One column, because only the first column is repeated when a wide table is broken into blocks.
        Column.of("case", [f"{row.dataset} {row.aggregator} {row.missing} %" for row in rows]),
        Column.with_spread("recommended β", recommended, deviations, unmarked, unmarked),
        column("paper's", "paper_recommended", three),
        column("τ_X", "tau_x", three),
        column("paper's τ_X", "paper_tau_x", three),
        column("best β", "best", one),
        column("paper's best", "paper_best", one),
        column("τ_X at best", "best_tau_x", three),
        column("paper's τ_X at best", "paper_best_tau_x", three),
        column("τ_X of beta=auto", "auto_tau_x", three),
    )
    return Table("Thresholds for ties on the real datasets", columns)
