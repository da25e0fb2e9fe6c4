"""Reports: sentences agree with the results, and the page contains the complete study."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bucketrank import PartialLabelRankingTree
from bucketrank.__main__ import main
from bucketrank.datasets import make_rankings
from bucketrank.experiments import Study, beta_study, compare
from bucketrank.experiments.report.findings import findings
from bucketrank.statistics import holm
from bucketrank.tables import escape_html
from studies import leading, synthetic_study

N_DATASETS = 14


def first_finding(means: Any, **options: Any) -> str:
    return findings(synthetic_study(means, **options))[0]


def test_a_method_that_leads_everywhere_is_significantly_ahead() -> None:
    text = first_finding(leading(N_DATASETS, [0, 0.1, 0.2]))
    assert text.startswith("At 0 % missing labels m0 leads with an average rank of 1.00")
    assert "over 14 datasets, significantly ahead of all others (Holm, level 0.05)." in text
    assert text.endswith("The mean τ_X of m0, 0.700, is the highest as well.")


def test_the_leader_has_the_best_average_rank() -> None:
    text = first_finding(leading(N_DATASETS, [0.2, 0.1, 0]), methods=["borda", "mc4", "copeland"])
    assert "copeland leads with an average rank of 1.00" in text
    assert "significantly ahead of all others" in text


def test_a_close_second_is_named_with_its_p_value() -> None:
    means = np.array(leading(N_DATASETS, [0, 0, 0.2, 0.3]))
    means[0, :9, 0] += 0.01
    means[0, 9:, 1] += 0.01
    text = first_finding(means)
    expected = holm(means[0])
    assert expected.not_different == ("method 2",)
    p_value = f"{expected.adjusted_p_value('method 2'):.3f}"
    assert (
        f"not significantly ahead of m1 (p = {p_value}), but significantly ahead of m2 and m3"
        in text
    )


def test_a_long_list_of_close_methods_is_cut() -> None:
    rng = np.random.default_rng(0)
    means = 0.5 + 0.01 * rng.random((1, 30, 9))
    means[0, :, 8] -= 0.4
    text = first_finding(means)
    assert re.search(
        r"not significantly ahead of (m\d \(p = [\d.]+\), ){2}m\d \(p = [\d.]+\) and 4 more,", text
    )
    assert "but significantly ahead of m8 (Holm" in text


def test_the_same_change_of_all_methods() -> None:
    means = np.array(leading(3, [0, 0.1], n_levels=2))
    means[1] *= 1.05
    text = " ".join(findings(synthetic_study(means)))
    assert (
        "to 30 % missing labels the mean τ_X of every one of m0 and m1 changes by +5.0 %." in text
    )


def test_no_leader_without_a_significant_difference() -> None:
    means = np.array(leading(6, [0, 0, 0]))
    means[0, [0, 1], 0] += 0.01
    means[0, [2, 3], 1] += 0.01
    means[0, 4, 2] += 0.01
    text = first_finding(means)
    assert "leads" not in text
    assert "no method is shown to differ from another (Friedman p = " in text
    assert "m0 and m1 share the best average rank" in text


def test_equal_scores() -> None:
    text = first_finding(leading(5, [0, 0, 0]))
    assert "m0, m1 and m2 share the best average rank, 2.00 over 5 datasets" in text
    assert "Friedman p = 1.000" in text
    assert text.endswith("All methods have the same mean τ_X, 0.700.")


def test_the_highest_mean_may_be_another_method_s() -> None:
    means = np.array(leading(N_DATASETS, [0, 0.01, 0.2]))
    means[0, 0, 1] += 0.5
    text = first_finding(means)
    assert "m0 leads" in text
    assert re.search(r"The highest mean τ_X is that of m1, 0\.\d{3} against 0\.700\.$", text)


def test_methods_can_differ_without_one_that_differs_from_the_leader() -> None:
    rng = np.random.default_rng(0)
    for _ in range(4000):
        means = rng.integers(0, 3, (1, 5, 3)) / 10
        test = holm(means[0])
        if test.friedman.rejected and not test.different:
            text = first_finding(means, methods=["method 1", "method 2", "method 3"])
            assert f"but none significantly from {test.control}." in text
            return
    pytest.fail("no such scores were found")


def test_one_dataset_allows_no_test() -> None:
    text = first_finding(leading(1, [0, 0.1]), datasets=["iris"])
    assert "on iris alone, m0 has the highest mean τ_X, 0.500 (one dataset allows no test" in text
    both = first_finding(leading(1, [0, 0, 0.1]))
    assert "m0 and m1 share the highest mean τ_X" in both
    assert "all methods reach the same mean τ_X" in first_finding(leading(1, [0, 0]))


def test_one_method_has_only_a_mean() -> None:
    text = findings(synthetic_study(leading(3, [0])))
    assert text == ("At 0 % missing labels m0 reaches a mean τ_X of 0.700 over 3 datasets.",)


def test_levels_are_compared() -> None:
    means = np.array(leading(4, [0, 0], n_levels=3))
    means[:, :2, 1] -= 0.02
    means[2, :, 0] -= 0.2
    means[2, :, 1] -= 0.05
    text = " ".join(findings(synthetic_study(means)))
    assert (
        "From 0 % to 60 % missing labels the mean τ_X changes most favourably with m1 (-7.2 %, 0.690 to 0.640) and "
        "least favourably with m0 (-28.6 %, 0.700 to 0.500), among the 2 methods that are not behind the best at 0 %."
        in text
    )
    assert "closest to the true one with m0 (off by 0.15 on average)" in text
    assert "farthest from it with m1 (off by 0.35)" in text
    assert "Training takes 26.5 ms per fold on average with every method" in text


def test_only_good_methods_hold_up() -> None:
    means = np.array(leading(N_DATASETS, [0, 0.001, 0.4], n_levels=2))
    means[:, ::2, 1] += 0.002
    means[1, :, 0] -= 0.1
    means[1, :, 1] -= 0.2
    text = " ".join(findings(synthetic_study(means)))
    assert (
        "the mean τ_X changes most favourably with m0 (-14.3 %, 0.700 to 0.600) and least favourably with m1 (-28.6 %, "
        "0.700 to 0.500), among the 2 methods that are not behind the best at 0 %." in text
    )
    alone = " ".join(findings(synthetic_study(means[:, :, [0, 2]], methods=["good", "bad"])))
    assert "the mean τ_X of good changes by -14.3 %." in alone
    one = " ".join(findings(synthetic_study(means[:, :1])))
    assert "among the 2 methods that are not behind the best at 0 %" in one


def test_differences_of_bucket_counts_do_not_cancel() -> None:
    study = synthetic_study(leading(2, [0, 0]))
    predicted = study.columns["buckets_predicted"].copy()
    first = study.columns["method"] == "m0"
    predicted[first] = study.columns["buckets_true"][first]
    predicted[first & (study.columns["dataset"] == "d0")] += 2
    predicted[first & (study.columns["dataset"] == "d1")] -= 2
    study.columns["buckets_predicted"] = predicted
    text = " ".join(findings(study))
    assert "closest to the true one with m1 (off by 0.45 on average)" in text
    assert "farthest from it with m0 (off by 2.00)" in text


def test_times_are_compared() -> None:
    means = leading(4, [0] * 40)
    text = findings(synthetic_study(means))[-1]
    assert text.startswith("Training takes from 26 ms (m0) to 65 ms (m39) per fold on average")
    assert "2.5 times as long, at 0 % missing labels." in text


def test_the_baseline_is_reported_separately() -> None:
    means = np.array(leading(3, [0, 0.1, 0.3], n_levels=2))
    methods = ["m0", "m1", "all_tied"]
    means[1, :, :2] *= 0.8
    text = findings(synthetic_study(means, methods=methods))
    assert "the mean τ_X of every one of m0 and m1 changes by -20.0 %." in text[2], (
        "not of the constant baseline"
    )
    assert "farthest from it with m1" in text[3]
    assert "(m0) to" in text[4] or "with every method" in text[4]
    assert "all_tied" not in text[4]
    mean = means[0, :, 2].mean()
    assert text[5] == (
        f"The all-tied baseline (all_tied) has a mean τ_X of {mean:.3f} at 0 % missing labels, and beats no "
        "method on any dataset."
    )
    means[0, 1, 2] = means[0, 1, 1] + 0.01
    assert text_of_baseline(means).endswith("and beats a method in 1 of 6 results.")
    means[0, 2, 2] = 0.99
    assert text_of_baseline(means).endswith("and beats every method on d2.")
    page = synthetic_study(means, methods=methods).report(format="markdown")
    assert r"The all-tied baseline (all\_tied) is in the tables only" in page


def text_of_baseline(means: Any) -> str:
    return findings(synthetic_study(means, methods=["m0", "m1", "all_tied"]))[-1]


class Page(HTMLParser):
    """Collects the links, ids and table titles of a page, and counts its table rows and figures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.references: list[str] = []
        self.names: list[str] = []
        self.titles: list[str] = []
        self.rows = 0
        self.figures = 0
        self._in_title = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.references += [
            values[key] or "" for key in ("src", "href", "xlink:href") if key in values
        ]
        self.names += [values["id"] or ""] if "id" in values else []
        self.rows += tag == "tr"
        self.figures += tag == "figure"
        self._in_title = tag == "h3"
        if self._in_title:
            self.titles.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_title &= tag != "h3"

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.titles[-1] += data


@pytest.fixture(scope="module")
def study() -> Study:
    rng = np.random.default_rng(0)
    means = rng.uniform(0.3, 0.9, (3, 6, 4)) - np.array([0, 0.05, 0.1, 0.3])
    return synthetic_study(means, methods=["borda", "mc_1", "a<b>&c", 'quo"te'])


@pytest.fixture(scope="module")
def page(study: Study) -> str:
    return study.report()


def test_the_page_is_self_contained(page: str) -> None:
    found = Page(page)
    outside = [ref for ref in found.references if not ref.startswith(("#", "data:"))]
    assert outside == []
    assert "@import" not in page
    assert not re.search(r"url\((?!#|\"?#)", page)
    assert "default-src 'none'" in page


def test_ids_on_the_page_are_unique(page: str) -> None:
    found = Page(page)
    assert len(found.names) == len(set(found.names)) > 100
    targets = {ref[1:] for ref in found.references if ref.startswith("#")}
    assert targets <= set(found.names)


def test_the_page_contains_all_tables_and_figures(page: str, study: Study) -> None:
    found = Page(page)
    for level in ("0 %", "30 %", "60 %"):
        assert f"τ_X at {level} missing labels" in found.titles
        assert f"Predicted − true number of buckets at {level} missing labels" in found.titles
    assert sum(title.startswith("Holm, control") for title in found.titles) == 3
    assert sum(title.startswith("Wilcoxon") for title in found.titles) == 3
    # One figure of agreement; per level two diagrams, one figure of buckets and one of times.
    assert found.figures == 1 + 3 * 4
    assert page.count("<svg ") == found.figures
    for dataset, content_hash in study.settings["datasets"].items():
        assert f"<td>{dataset}</td>" in page or f">{dataset}</td>" in page
        assert content_hash in page
    for sentence in findings(study):
        assert escape_html(sentence) in page


def test_names_from_data_do_not_become_markup(page: str) -> None:
    assert "a<b>" not in page
    assert "a&lt;b&gt;&amp;c" in page


def test_the_same_study_gives_the_same_page(study: Study, page: str) -> None:
    assert study.report() == page


def test_figures_follow_the_colour_of_the_text(page: str) -> None:
    assert "#010203" not in page
    assert page.count("currentColor") > 50


def test_a_study_that_is_not_finished_has_a_report() -> None:
    whole = synthetic_study(leading(4, [0, 0.1], n_levels=2))
    part = synthetic_study(leading(4, [0, 0.1], n_levels=2), finished=len(whole) - 13)
    page = part.report()
    assert "This study is not finished: 51 of 64 results are available." in page
    assert "4 datasets at 0 % and 2 datasets at 30 % missing labels" in page
    assert "not finished" not in whole.report(format="markdown")
    nothing = synthetic_study(leading(4, [0, 0.1]), finished=0)
    assert "At 0 % missing labels no dataset is finished yet." in nothing.report()
    assert "0 of 32 results" in nothing.report(format="markdown")
    with pytest.raises(ValueError, match=r"incomplete results at missing=0.3: m0 on d2 \(2 of 4\)"):
        part.holm(missing=0.3)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 3), (1, 3, 1), (2, 2, 2)])
def test_the_smallest_studies_have_reports(shape: tuple[int, int, int]) -> None:
    small = synthetic_study(np.full(shape, 0.5), noise=0)
    for form in ("html", "latex", "markdown"):
        text = small.report(format=form)
        assert "0.500" in text
        assert "nan" not in text.lower().replace("nanosecond", "")


def test_figures_grow_with_the_number_of_methods() -> None:
    # matplotlib warns when a legend leaves no room for the axes, and warnings are errors here.
    scores = np.random.default_rng(0).random((1, 4, 40))
    assert synthetic_study(scores).report().count("<svg ") == 4


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles_without_warnings(study: Study, tmp_path: Path) -> None:
    study.report(tmp_path / "report.tex", format="latex")
    call = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    if ".sty' not found" in done.stdout:
        pytest.skip("this pdflatex lacks the packages booktabs, float or geometry")
    assert done.returncode == 0, done.stdout
    assert "Overfull" not in done.stdout
    assert (tmp_path / "report.pdf").stat().st_size > 0


def test_latex_is_balanced(study: Study) -> None:
    text = study.report(format="latex")
    for name in ("document", "table", "tabular"):
        assert text.count(f"\\begin{{{name}}}") == text.count(f"\\end{{{name}}}") > 0
    assert "mc\\_1" in text
    bare = re.sub(r"\\[&%$#_{}]", "", text)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    for line in bare.splitlines():
        assert "#" not in line


def test_markdown_has_every_table(study: Study) -> None:
    text = study.report(format="markdown")
    assert text.startswith("# Comparison of methods for partial label ranking\n")
    assert len(re.findall(r"^\|[-:|]+\|$", text, flags=re.MULTILINE)) == len(
        re.findall(r"^### ", text, flags=re.MULTILINE)
    )


def test_statistics_of_a_study_are_those_of_its_scores(study: Study) -> None:
    scores = study.scores(0.3)
    expected = study.summary().mean[1]
    assert scores.values == pytest.approx(expected)
    assert study.holm(0.3).to_dict() == holm(scores).to_dict()
    assert study.average_ranks(0.3).ordered == study.nemenyi(0.3).methods
    assert study.friedman(0.3).p_value == study.holm(0.3).friedman.p_value
    assert study.wilcoxon(0.3).ranks.to_dict() == study.average_ranks(0.3).to_dict()
    assert study.win_tie_loss(0.3).methods == scores.methods
    differences = study.bucket_differences(0.3)
    assert differences.datasets == tuple(f"d{i}" for i in range(6))
    assert differences.column("borda") == pytest.approx([-i / 10 for i in range(6)])
    nearest = np.abs(differences.values)
    marked = [column.best for column in differences.table().columns[1:]]
    assert np.array_equal(np.transpose(marked), np.isclose(nearest, nearest.min(1, keepdims=True)))
    times = study.training_times(0.3)
    assert not times.higher_is_better
    assert times.values[2] == pytest.approx([0.031, 0.032, 0.033, 0.034])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda study: study.scores(0.25), "the study has the levels 0, 0.3, 0.6"),
        (lambda study: study.scores(0, "speed"), "measure is 'speed'; known: .*tau_x"),
        (lambda study: study.scores(0, "dataset"), "measure is 'dataset'"),
        (lambda study: study.holm(0, "absent"), "control 'absent' is not among the methods"),
        (lambda study: study.report(format="pdf"), "format is 'pdf'; expected one of 'html'"),
    ],
)
def test_bad_input(study: Study, call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(study)


@pytest.mark.parametrize("wrong", ["30%", None, True, [0.3]])
@pytest.mark.parametrize("method", ["scores", "holm", "wilcoxon", "bucket_differences"])
def test_a_level_is_a_number(study: Study, method: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"expected a number, one of the levels 0, 0\.3, 0\.6"):
        getattr(study, method)(missing=wrong)


def test_without_pandas_the_message_says_what_to_install(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make_rankings(20, 2, 3, random_state=0)
    tree = PartialLabelRankingTree().fit(data.X, data.Y).set_output(transform="pandas")
    betas = beta_study([data], ["borda"], betas=[0, 1], missing=0, n_repeats=1, n_folds=2)
    monkeypatch.setitem(sys.modules, "pandas", None)
    for call in (
        study.to_pandas,
        study.summary().to_pandas,
        study.holm().to_pandas,
        betas.to_pandas,
        lambda: tree.predict(data.X),
    ):
        with pytest.raises(
            ImportError, match=r"needs pandas.*pip install 'bucketrank\[datasets\]'"
        ):
            call()


def test_without_matplotlib_the_message_says_what_to_install(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(
        ImportError, match=r"a report with figures needs matplotlib.*bucketrank\[plot\]"
    ):
        study.report()
    assert study.report(format="markdown").startswith("# Comparison")


def test_the_command_line_writes_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "study.db"
    compare(["iris", "wine"], ["borda", "mc4"], missing=0, n_repeats=1, n_folds=3, store=store)
    page = tmp_path / "report.html"
    assert main(["report", str(store), "--out", str(page), "--title", "Tea & coffee"]) == 0
    assert "2 datasets" in capsys.readouterr().out
    assert "<title>Tea &amp; coffee</title>" in page.read_text(encoding="utf-8")
    assert main(["report", str(store), "--format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("# Comparison")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "matplotlib", None)
        without.delitem(sys.modules, "matplotlib.pyplot", raising=False)
        assert main(["report", str(store)]) == 1
        assert "bucketrank[plot]" in capsys.readouterr().err
    with sqlite3.connect(store) as connection:
        connection.execute("DELETE FROM result WHERE dataset = 'wine' AND fold = 2")
    connection.close()
    assert main(["report", str(store), "--format", "latex"]) == 2
    assert "15 of 18 results of a finished study are left" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "none.db")]) == 2
    assert "there is no store" in capsys.readouterr().err


def test_text_reports_do_not_import_matplotlib() -> None:
    code = (
        "import sys; import bucketrank.experiments, bucketrank.experiments.report, bucketrank.figures;"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
