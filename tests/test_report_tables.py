"""Tables of the report and of terminals: intervals, order, layout, explanations and warnings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bucketrank.experiments import Study
from bucketrank.experiments.intervals import half_widths, not_worse
from bucketrank.experiments.means import MeanCube
from bucketrank.experiments.report.agreement import agreement_section, methods_section
from bucketrank.experiments.report.few_data import few_data_warning
from bucketrank.figures import plot_accuracy
from bucketrank.tables import Column, Table
from studies import leading, synthetic_study


def test_intervals_are_corrected_for_repeated_folds() -> None:
    study = synthetic_study(leading(2, [0, 0.1]), n_folds=10, noise=0.02)
    cube = MeanCube.of(study, "tau_x")
    # By hand: s² = 10 · 0.02² / 9, variance (1/10 + 1/9) s², quantile of t with 9 degrees of freedom.
    expected = 2.2621571628 * math.sqrt((1 / 10 + 1 / 9) * 10 * 0.02**2 / 9)
    assert half_widths(cube, 10) == pytest.approx(np.full((1, 2, 2), expected))


def test_not_worse_is_the_corrected_paired_test() -> None:
    rng = np.random.default_rng(0)
    study = synthetic_study(leading(3, [0, 0.02, 0.05, 0.3]), n_folds=10)
    study.columns["tau_x"] = study.columns["tau_x"] + rng.normal(0, 0.05, len(study))
    found = not_worse(study)[0]
    scores = study.columns["tau_x"].reshape(3, 4, 10).transpose(0, 2, 1)
    for i, row in enumerate(scores):
        best = row.mean(axis=0).argmax()
        for j in range(4):
            behind = row[:, best] - row[:, j]
            error = behind.std(ddof=1) * math.sqrt(1 / 10 + 1 / 9)
            p_value = 1.0 if j == best else 2 * stats.t.sf(behind.mean() / error, 9)
            assert found[i, j] == (p_value > 0.05)
    assert 0 < found.sum() < found.size


def first_table(study: Study) -> Table:
    return agreement_section(study).tables[0]


def test_methods_are_columns_in_the_order_of_their_ranks_with_a_mean_row() -> None:
    table = first_table(synthetic_study(leading(6, [0.2, 0, 0.1])))
    assert [column.name for column in table.columns] == ["dataset", "m1", "m2", "m0"]
    assert table.columns[0].values[-2:] == ("mean", "average rank")
    assert table.n_footer == 2
    assert table.columns[1].values[-2:] == (pytest.approx(0.7), 1.0)
    assert table.to_html().count("<tfoot>") == 1


def test_methods_are_rows_when_there_are_more_methods_than_datasets() -> None:
    table = first_table(synthetic_study(leading(2, [0.03 * j for j in range(5)][::-1])))
    assert [column.name for column in table.columns] == [
        *("method", "average rank", "mean", "d0", "d1"),
    ]
    assert table.columns[0].values == ("m4", "m3", "m2", "m1", "m0")
    assert table.columns[3].best == (True, False, False, False, False)
    assert table.n_footer == 0


def test_many_columns_are_continued_in_further_tables() -> None:
    study = synthetic_study(leading(20, [0.001 * j for j in range(18)]))
    tables = agreement_section(study).tables
    assert [table.title[-8:] for table in tables] == ["(1 of 2)", "(2 of 2)"]
    shown = [column.name for table in tables for column in table.columns[1:]]
    assert sorted(shown) == sorted(study.methods)
    assert max(len(table.columns) for table in tables) <= 13


def test_methods_that_are_not_the_paper_s_are_explained() -> None:
    study = synthetic_study(
        leading(2, [0, 0.1, 0.2, 0.3]), methods=["borda", "tau_x", "mine", "all_tied"]
    )
    study.settings["learners"]["mine"] = {
        "ranker": "bucketrank.estimators.forest.PartialLabelRankingForest(n_estimators=3)"
    }
    section = methods_section(study)
    assert section is not None
    names, texts = (column.values for column in section.tables[0].columns)
    assert names == ("tau_x", "mine", "all_tied")
    assert texts[0].startswith("The bucket order with the largest expected τ_X")
    assert "forest" in texts[1]
    assert "PartialLabelRankingForest(n_estimators=3)" in texts[1]
    assert "are those that" in section.paragraphs[0]
    assert methods_section(synthetic_study(leading(2, [0]), methods=["mc4"])) is None


def test_methods_that_share_a_forest_are_not_said_to_use_a_tree() -> None:
    study = synthetic_study(leading(2, [0]), methods=["tau_x"])
    forest = "bucketrank.estimators.forest.PartialLabelRankingForest(n_estimators=3)"
    study.settings["learners"] = {
        "PartialLabelRankingForest": {"ranker": forest, "aggregators": {"tau_x": "TauX()"}}
    }
    section = methods_section(study)
    assert section is not None
    (text,) = section.tables[0].columns[1].values
    assert text.endswith("Applied to the predictions of the shared model.")
    # No paragraph about the paper's methods, because the study has none of them.
    assert section.paragraphs == ()


def test_few_folds_and_few_datasets_cause_a_warning() -> None:
    few = few_data_warning(synthetic_study(leading(2, [0, 0.1]), n_folds=3))
    assert "3 folds only" in few
    assert "no power with 2 datasets" in few
    assert few_data_warning(synthetic_study(leading(5, [0, 0.1]), n_folds=10)) == ""


def test_coinciding_curves_share_a_line() -> None:
    curves = {"a": [0.7, 0.6], "b": [0.8, 0.7], "c": [0.7001, 0.5999]}
    axes = plot_accuracy([0, 0.5], curves)
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["b", "a, c"]
    assert len(axes.get_lines()) == 2


@pytest.mark.parametrize("n_methods", [1, 5, 19])
def test_terminal_tables_fit_80_columns(n_methods: int) -> None:
    names = [f"method_number_{j}" for j in range(n_methods)]
    study = synthetic_study(leading(3, [0.01 * j for j in range(n_methods)]), methods=names)
    text = str(study.summary())
    assert max(map(len, text.splitlines())) <= 80
    table = Table("p", (Column.of("name", ["x", "y"]), *(Column.of(n, [0.5, 0.25]) for n in names)))
    lines = str(table).splitlines()
    assert max(map(len, lines)) <= 80
    for name in names:
        assert sum(name in line.split() for line in lines) == 1
        assert name.rpartition("_")[2] in text


@pytest.mark.parametrize("names", [["mean"], ["d0", "mean"], ["average rank", "d1"]])
@pytest.mark.parametrize("finished", [None, 6])
def test_datasets_named_like_summaries_have_columns(names: list[str], finished: int | None) -> None:
    study = synthetic_study(leading(len(names), [0, 0.1, 0.2]), datasets=names, finished=finished)
    columns = [column.name for column in first_table(study).columns]
    assert columns[-len(names) :] == names


def test_summaries_of_unfinished_studies_have_empty_cells_in_latex() -> None:
    # One result of each of the first two methods, none of the third.
    study = synthetic_study(leading(1, [0, 0.1, 0.2]), finished=2, missing=(0.0,))
    (row,) = [line for line in study.to_latex().splitlines() if line.startswith("d0")]
    assert row == r"d0 & $\mathbf{0.510}$ & $0.410$ &  \\"


def test_close_levels_have_entries_of_their_own() -> None:
    missing = (0.1234567, 0.1234568, 0.3)
    study = synthetic_study(leading(1, [0, 0.1], 3), missing=missing)
    assert list(study.summary().to_dict()) == ["0.1234567", "0.1234568", "0.3"]
