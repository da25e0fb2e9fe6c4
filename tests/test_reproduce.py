"""Output and report of ``make reproduce`` for known results."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bucketrank.aggregation import PAPER_AGGREGATORS
from bucketrank.datasets import read_csv
from bucketrank.experiments import BetaRecommender, Study, compare
from published import Published, sections
from real_betas import SCORING, beta_table
from reproduce import JUDGEMENT, print_cells, print_explanations, wrapped
from studies import synthetic_study
from z_scores import judge, verdict


@pytest.fixture(scope="module")
def published(shared_dir: Path) -> Published:
    return Published.read(shared_dir / "paper")


@pytest.fixture(scope="module")
def paper_study(published: Published) -> Study:
    """A study whose means equal the published scores."""
    datasets = list(dict.fromkeys(row["dataset"] for row in published.accuracy))
    methods = list(PAPER_AGGREGATORS)
    means = np.array(
        [
            [[published.score(name, level, method) for method in methods] for name in datasets]
            for level in (0, 30, 60)
        ]
    )
    return synthetic_study(means, methods=methods, datasets=datasets)


def test_terminal_output_fits_80_columns(
    paper_study: Study, published: Published, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = list(published.cells(paper_study))
    print_cells(cells)
    table, holds = verdict(judge(paper_study, cells))
    print(f"{table}\n{wrapped(JUDGEMENT)}")
    print_explanations()
    lines = capsys.readouterr().out.splitlines()
    assert holds
    assert max(map(len, lines)) <= 80
    # Three blocks of methods per level.
    assert sum(line.startswith("letter ") for line in lines) == 9
    assert sum(line.startswith("maximal lottery ") for line in lines) == 4


def test_the_paper_compared_with_itself_has_no_differences(
    paper_study: Study, published: Published, count_comparisons: Callable[[str, int], None]
) -> None:
    cells = list(published.cells(paper_study))
    assert len(cells) == 17 * 8 * 3
    assert max(abs(cell.difference) for cell in cells) < 1e-9
    scores, tests, times = sections(paper_study, published, None)
    assert scores.paragraphs[0].startswith("408 scores of the paper and ours")
    assert "the largest 0.000" in scores.paragraphs[0]
    assert [len(table.columns) for table in scores.tables] == [9, 9, 9]
    assert len(scores.more[0].columns[0].texts) == 408
    assert len(times.tables) + len(times.more) == 3
    assert len(times.figures) == 3
    count_comparisons("the paper's tables compared with themselves", len(cells))
    by_name = {column.name: column for column in tests.tables[2].columns}
    place = by_name["method"].texts.index("mc3")
    assert by_name["rank"].texts[place] == by_name["paper's rank"].texts[place] == "4.26"
    assert by_name["p"].values[place] == pytest.approx(
        by_name["paper's p"].values[place], rel=0.005
    )
    assert by_name["win/tie/loss"].texts[place] == by_name["paper's win/tie/loss"].texts[place]


def test_the_report_has_the_papers_tables(paper_study: Study, published: Published) -> None:
    text = paper_study.report(format="markdown", sections=sections(paper_study, published, None))
    for heading in ("agreement", "significance", "training times"):
        assert f"## Comparison with the paper: {heading}" in text
    assert text.index("Comparison with the paper") < text.index("## Settings")
    assert "| 0.780 / 0.780 |" in text


def test_thresholds_of_the_real_datasets(
    shared_dir: Path, published: Published, count_comparisons: Callable[[str, int], None]
) -> None:
    real = [read_csv(shared_dir / "data" / f"{name}.csv") for name in ("algae", "movies")]
    rules = {name: BetaRecommender.default(name) for name in SCORING}
    study = compare(real, rules, missing=(0, 0.6), n_repeats=1, n_folds=3, progress=False)
    table = beta_table(real, study, published, n_jobs=1)
    columns = {column.name: column.values for column in table.columns}
    assert len(columns["case"]) == 8
    for name, paper, bound in (
        ("recommended β", "paper's", 0.3),
        ("τ_X", "paper's τ_X", 0.12),
        ("τ_X at best", "paper's τ_X at best", 0.06),
    ):
        assert columns[name] == pytest.approx(columns[paper], abs=bound), name
    for recommended, best in zip(columns["τ_X"], columns["τ_X at best"], strict=True):
        # The sweep includes values close to every recommendation.
        assert recommended <= best + 0.01
    count_comparisons("the paper's thresholds", 3 * len(columns["case"]))


def test_missing_tables_are_empty(tmp_path: Path, paper_study: Study) -> None:
    with (tmp_path / "accuracy.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["dataset", "missing", "aggregator", "tau_x_mean", "tau_x_sd"])
        writer.writerow(["iris", 0, "borda", 0.9, 0.1])
    part = Published.read(tmp_path)
    assert [cell.paper for cell in part.cells(paper_study)] == [0.9]
    assert part.holm == part.beta == part.training_time == []
    assert np.isnan(part.score("wine", 0, "borda"))
    assert len(sections(paper_study, part, None)) == 3
