"""HTML of results in notebooks: well-formed, complete and escaped."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import bucketrank as br
from bucketrank import datasets, statistics
from bucketrank.experiments import compare
from bucketrank.tables import Column, Table, notebook_html

EVIL = '<script>alert("a")</script>&'
VOID = {"br", "wbr"}
KINDS = [
    *("Explanation", "pivots", "DavidsonExplanation", "Dataset", "Description", "DescriptionTable"),
    *("Leaderboard", "Study", "Summary", "ScoreTable", "AverageRanks", "HolmTest", "PairwiseTest"),
    *("WinTieLoss", "Table"),
]


class Page(HTMLParser):
    """Collects the text of an HTML fragment and checks that its elements are closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002
        self.elements.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def results(name: str) -> dict[str, Any]:
    """One result of each kind, with `name` wherever a name is shown."""
    labels = [name, "b", "c"]
    ballots = [[1, 2, 2], [1, 3, 2], [2, 1, 3]]
    battles = br.from_comparisons(
        [name, "b", "c"] * 4, ["b", "c", name] * 4, ["left", "tie", "right"] * 4
    )
    data = datasets.Dataset(name, np.arange(12.0).reshape(-1, 1), ballots * 4, [name], labels)
    study = compare([data], ["borda", "copeland"], missing=[0, 0.3], n_repeats=1, n_folds=3)
    scores = statistics.ScoreTable(
        [[0.9, 0.8], [0.7, 0.6], [0.4, 0.5]], datasets=[name, "y", "z"], methods=[f"{name}m", "n"]
    )
    return {
        "Explanation": br.TauX().explain(ballots, labels=labels),
        "pivots": br.BucketPivot().explain(ballots, labels=labels),
        "DavidsonExplanation": br.Davidson().explain(battles),
        "Dataset": data,
        "Description": data.describe(),
        "DescriptionTable": datasets.describe([data]),
        "Leaderboard": br.leaderboard(battles, n_resamples=50, random_state=0),
        "Study": study,
        "Summary": study.summary(),
        "ScoreTable": scores,
        "AverageRanks": statistics.average_ranks(scores),
        "HolmTest": statistics.holm(scores),
        "PairwiseTest": statistics.nemenyi(scores),
        "WinTieLoss": statistics.win_tie_loss(scores),
        "Table": Table(name, (Column.of(name, [name]),), note=name, meaning=name),
    }


@pytest.fixture(scope="module")
def evil() -> dict[str, Any]:
    found = results(EVIL)
    assert list(found) == KINDS
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_escaped(kind: str, evil: dict[str, Any]) -> None:
    page = Page(evil[kind]._repr_html_())
    assert set(page.elements) <= {
        *("div", "style", "p", "br", "wbr"),
        *("table", "thead", "tbody", "tfoot", "tr", "th", "td"),
    }
    assert "table" in page.elements
    assert "<script>" in page.text


def test_friedman() -> None:
    scores = statistics.ScoreTable(
        [[0.9, 0.8], [0.7, 0.6]], datasets=["x", "y"], methods=["a", "b"]
    )
    assert "Friedman" in Page(statistics.friedman(scores)._repr_html_()).text


def test_an_explanation_shows_all_numbers() -> None:
    explanation = results("tea")["Explanation"]
    text = Page(explanation._repr_html_()).text
    assert explanation.aggregator in text
    for line in str(explanation).splitlines()[5:]:
        assert line in text


def test_a_dataset_shows_its_first_rows() -> None:
    wine = datasets.load("wine")
    text = Page(wine._repr_html_()).text
    assert "Dataset('wine': 178 rows, 13 features, 3 labels)" in text
    assert br.to_text(wine.Y[0], wine.label_names) in text
    assert "Not shown: 173 more rows, 7 more features." in text
    assert Page(wine._repr_html_()).elements.count("tr") == 6


def test_a_study_shows_every_level() -> None:
    study = results("tea")["Study"]
    page = Page(study._repr_html_())
    assert repr(study) in page.text
    assert page.elements.count("table") == 2
    assert "30 % of the training labels missing" in page.text
    best = study.summary().mean[0, 0].max()
    assert f"{best:.3f}" in page.text


def test_marks_are_explained() -> None:
    table = Table(
        "scores",
        (Column.of("x", [1, 2], marked=[True, False], best=[False, True]),),
        meaning="close to the best",
        best_meaning="the best",
    )
    assert "Bold: the best. Shaded: close to the best." in Page(notebook_html(table)).text
