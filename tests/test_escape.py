"""Hostile names are shown as text in every output: one table of names, one table of outputs, one check per format.

The checks compare structure: an output with hostile names has the same tags, commands and cells as the same output with
harmless names.
"""

from __future__ import annotations

import csv
import html.parser
import io
import re
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import pyplot

import bucketrank as br
from bucketrank import figures, statistics
from bucketrank.__main__ import main
from bucketrank.calibration import reliability_curve
from bucketrank.datasets import Dataset, describe
from bucketrank.experiments import Study, compare
from bucketrank.tables import Column, Table

NAMES = [
    "<script>alert(1)</script>",
    r"\input{/etc/passwd}",
    r"\write18{ls}",
    "a|b",
    "`code`",
    "$x$",
    "$",
    "nul\x00byte",
    "nul at the end\x00",
    "esc\x1b[2J",
    "=cmd|' /C calc'!A0",
    "+1+cmd",
    "-2+cmd",
    "@SUM(A1)",
    "~^{}#%&_",
    "[link](javascript:alert)",
    "line\nbreak",
    "carriage\rreturn",
    "\u202eright to left",
    "]]>",
    "-->",
    "\"double\" and 'single'",
    '" onmouseover="alert(1)',
    "&lt;b&gt;",
    "{{7*7}}%s",
    "x" * 3000,
    "\u2028separator",
    "c1\x9b31m",
]
HARMLESS = [f"name {index}" for index in range(len(NAMES))]


@cache
def study(hostile: bool, step: int = 2) -> Study:
    """A study whose methods and datasets have every `step`-th name; with all names it would take too long."""
    names = NAMES if hostile else HARMLESS
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 2)), np.tile([[1, 2, 3], [2, 1, 3]], (6, 1))
    methods = dict.fromkeys(names[1::step], "borda") | {names[5]: "mc4", names[9]: "copeland"}
    datasets = [Dataset(name, X, Y) for name in names[::step]]
    return compare(datasets, methods, missing=[0, 0.3], n_repeats=1, n_folds=2, progress=False)


@cache
def board(hostile: bool) -> br.Leaderboard:
    """A leaderboard with a note, because it has two groups of labels that were never compared with each other."""
    labels = [*(NAMES if hostile else HARMLESS), "" if hostile else "last name"]
    pairs = [*pairwise(labels[:-2]), (labels[-2], labels[-1])] * 3
    firsts, seconds = zip(*pairs, strict=True)
    games = br.from_comparisons(firsts, seconds, ["first"] * len(pairs))
    return br.leaderboard(games, n_resamples=20, random_state=0)


@cache
def tree(hostile: bool, first: int = 0) -> br.PartialLabelRankingTree:
    """Return a tree whose labels and features have these names, beginning with the name of index `first`."""
    import pandas as pd

    names = NAMES if hostile else HARMLESS
    names = [*names[first:], *names[:first]]
    X = pd.DataFrame(np.eye(len(names)) + np.arange(len(names))[:, None], columns=names)
    Y = np.tile(np.arange(1, len(names) + 1), (len(names), 1))
    Y[::2] = Y[::2, ::-1]
    frame = pd.DataFrame(Y, columns=names)
    return br.PartialLabelRankingTree(min_samples_split=2, max_depth=2).fit(X, frame)


def table(hostile: bool) -> Table:
    names = NAMES if hostile else HARMLESS
    columns = (Column.of("name", names), *(Column.of(name, range(len(names))) for name in names))
    return Table(names[0], columns, note=names[1], meaning=names[9])


def description(hostile: bool) -> Any:
    names = NAMES if hostile else HARMLESS
    return describe([Dataset(name, [[1], [2]], [[1, 2], [2, 1]]) for name in names])


def explanation(aggregator: Any, hostile: bool) -> str:
    names = NAMES if hostile else HARMLESS
    return str(aggregator.explain([list(range(1, len(names) + 1))] * 2, labels=names))


def draw(plot: Callable[[bool, Any], Any]) -> Callable[[bool], str]:
    """Return a function that draws a figure and returns it as SVG, with text as characters instead of outlines."""

    def svg(hostile: bool) -> str:
        pyplot.switch_backend("agg")  # works without a display
        figure, axes = pyplot.subplots(figsize=(6, 4))
        with pyplot.rc_context({"svg.fonttype": "none"}):
            plot(hostile, axes)
            stream = io.StringIO()
            figure.savefig(stream, format="svg")
        pyplot.close(figure)
        return stream.getvalue()

    return svg


def scores(hostile: bool) -> Any:
    return study(hostile).scores()


def curves(hostile: bool) -> Any:
    return {name: [0.1, 0.2 + i / 99] for i, name in enumerate(NAMES if hostile else HARMLESS)}


def reliability(hostile: bool) -> Any:
    curve = reliability_curve([[1, 2], [2, 1]], [[[0.8, 0.1, 0.1]], [[0.2, 0.2, 0.6]]])
    return dict.fromkeys(NAMES if hostile else HARMLESS, curve)


TESTS: dict[str, Callable[[Any], Any]] = {
    "ranks": statistics.average_ranks,
    "friedman": statistics.friedman,
    "holm": statistics.holm,
    "nemenyi": statistics.nemenyi,
    "wilcoxon": statistics.wilcoxon,
    "win_tie_loss": statistics.win_tie_loss,
}
EXPLAINED = (br.Borda(), br.MaximalLottery(), br.Davidson(), br.Schulze())


def outputs_of_tests(method: str) -> dict[str, Callable[[bool], str]]:
    """Map each statistical test to a function that returns its result in the format that `method` writes."""

    def output(test: Callable[[Any], Any], hostile: bool) -> str:
        return str(getattr(test(scores(hostile)), method)())

    return {name: partial(output, test) for name, test in TESTS.items()}


OUTPUTS: dict[str, dict[str, Callable[[bool], str]]] = {
    "text": {
        "table": lambda h: str(table(h)),
        "summary": lambda h: study(h).summary().to_text(),
        "study": lambda h: f"{study(h)}{study(h)!r}",
        "description": lambda h: str(description(h)),
        "leaderboard": lambda h: str(board(h)),
        "export_text": lambda h: br.export_text(tree(h)),
        **{f"explain {type(a).__name__}": partial(explanation, a) for a in EXPLAINED},
        **outputs_of_tests("__str__"),
    },
    "csv": {
        "table": lambda h: table(h).to_csv(),
        "summary": lambda h: study(h).summary().to_csv(),
        "study": lambda h: study(h).to_csv(),
        "description": lambda h: description(h).to_csv(),
        "leaderboard": lambda h: board(h).to_csv(),
        **outputs_of_tests("to_csv"),
    },
    "latex": {
        "table": lambda h: table(h).to_latex(),
        "summary": lambda h: study(h).summary().to_latex(),
        "report": lambda h: study(h).report(format="latex"),
        "description": lambda h: description(h).to_latex(),
        "leaderboard": lambda h: board(h).report(format="latex", title=title(h)),
        **outputs_of_tests("to_latex"),
    },
    "markdown": {
        "table": lambda h: table(h).to_markdown(),
        "report": lambda h: study(h).report(format="markdown"),
        "leaderboard": lambda h: board(h).report(format="markdown", title=title(h)),
        **outputs_of_tests("to_markdown"),
    },
    "html": {
        "table": lambda h: table(h).to_html(),
        "report": lambda h: study(h, 4).report(),
        "leaderboard": lambda h: board(h).report(title=title(h)),
        "leaderboard in a notebook": lambda h: board(h)._repr_html_(),
        **outputs_of_tests("to_html"),
    },
    "svg": {
        "critical difference": draw(
            lambda h, ax: figures.plot_critical_difference(statistics.nemenyi(scores(h)), ax=ax)
        ),
        "accuracy": draw(lambda h, ax: figures.plot_accuracy([0, 0.5], curves(h), ax=ax)),
        "beta": draw(lambda h, ax: figures.plot_beta_curves([0, 0.5], curves(h), ax=ax)),
        "bucket differences": draw(
            lambda h, ax: figures.plot_bucket_differences(
                study(h).bucket_differences(), [1.0] * len(study(h).datasets), ax=ax
            )
        ),
        "training times": draw(
            lambda h, ax: figures.plot_training_times(
                study(h).training_times(),
                reference=[1.0] * len(study(h).datasets),
                reference_name=title(h),
                ax=ax,
            )
        ),
        "pair order": draw(
            lambda h, ax: figures.plot_pair_order(
                np.full((len(NAMES), len(NAMES)), 0.5), labels=NAMES if h else HARMLESS, ax=ax
            )
        ),
        "intervals": draw(lambda h, ax: board(h).plot(ax=ax)),
        "pairs": draw(lambda h, ax: board(h).plot("pairs", ax=ax)),
        # A node shows only its first labels, so begin with the name that matplotlib could read as a formula.
        "tree": draw(lambda h, ax: br.plot_tree(tree(h, NAMES.index("$x$")), ax=ax)),
        "label effects": draw(
            lambda h, ax: figures.plot_label_effects(
                np.array([[0.3, -0.1]] * len(NAMES)),
                "a",
                NAMES[5] if h else HARMLESS[5],
                labels=["a", NAMES[5] if h else HARMLESS[5]],
                features=NAMES if h else HARMLESS,
                max_features=len(NAMES),
                ax=ax,
            )
        ),
        "reliability": draw(lambda h, ax: figures.plot_reliability(reliability(h), ax=ax)),
    },
    "dot": {"export_graphviz": lambda h: br.export_graphviz(tree(h))},
}


def title(hostile: bool) -> str:
    return " ".join(NAMES[:10]) if hostile else "title"


def check_text(text: str, _: str = "") -> None:
    """Check that there are no control characters, bidirectional overrides or line separators."""
    assert not re.search(
        "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", text
    )


def check_csv(text: str, harmless: str = "") -> None:
    """Check that spreadsheets see no formulas, and that no cell was added or split."""
    check_text(text)
    rows = list(csv.reader(io.StringIO(text)))
    for cell in (cell for row in rows for cell in row):
        assert not re.match(r"[=+@\t\r]|-(?![\d.]+(e-?\d+)?$)", cell), cell[:40]
    if harmless:
        assert list(map(len, rows)) == list(map(len, csv.reader(io.StringIO(harmless))))


ESCAPES = {"textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater"}


def check_latex(text: str, harmless: str) -> None:
    """Check that names add no commands, formulas, comments, columns or groups."""
    check_text(text)
    commands = {*re.findall(r"\\([a-zA-Z]+)", text)} - ESCAPES
    assert commands <= {*re.findall(r"\\([a-zA-Z]+)", harmless)}
    plain = re.sub(r"\\(" + "|".join(ESCAPES) + r")\{\}|\\[{}]", "", text)
    assert plain.count("{") == plain.count("}")
    assert len(re.findall(r"(?<!\\)\$", text)) % 2 == 0
    for special in (r"(?<!\\)&", r"(?<!\\)%", r"(?<!\\)#", r"\\\\"):
        assert len(re.findall(special, text)) == len(re.findall(special, harmless))


def check_markdown(text: str, harmless: str) -> None:
    """Check that names are no markup, HTML or links, and add no lines or columns."""
    check_text(text)
    for special in ("`", r"\$", "<", r"\[", r"\|"):
        plain = re.findall(rf"(?<!\\){special}", text)
        assert len(plain) == len(re.findall(rf"(?<!\\){special}", harmless)), special
    assert text.count("\n") == harmless.count("\n")


class Structure(html.parser.HTMLParser):
    """Tags with the names of their attributes, and the content of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []
        self.code: list[str] = []
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, *(name for name, _ in attrs)))
        for name, value in attrs:
            assert not name.startswith("on")
            assert not (name in ("href", "src") and re.match(r"\s*javascript:", value or "", re.I))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in ("script", "style"):
            self.code.append(data)


def check_html(text: str, harmless: str) -> None:
    """Check that names add no tags, attributes or code."""
    found, expected = Structure(text), Structure(harmless)
    check_text(re.sub(r"<(script|style)>.*?</\1>", "", text, flags=re.DOTALL))
    assert {tag for tag, *_ in found.tags} - {"wbr"} == {t for t, *_ in expected.tags} - {"wbr"}
    attributes = [{name for _, *names in page.tags for name in names} for page in (found, expected)]
    assert attributes[0] <= attributes[1]
    assert found.code == expected.code
    for tag in ("table", "tr", "td", "th", "script", "p", "li", "section", "figure"):
        own, other = ([t[0] for t in page.tags].count(tag) for page in (found, expected))
        assert own == other, tag


def check_svg(text: str, harmless: str) -> None:
    """Check that the figure is well-formed XML without scripts, and that names are not read as formulas."""
    check_text(text)
    kinds = [{node.tag for node in ElementTree.fromstring(t).iter()} for t in (text, harmless)]
    assert kinds[0] - {"{http://www.w3.org/2000/svg}tspan"} <= kinds[1]
    assert "<script" not in text
    assert "$" in text


def check_dot(text: str, harmless: str) -> None:
    """Check that names stay inside quoted strings."""
    check_text(text)
    quoted = r'"(?:[^"\\]|\\.)*"'
    assert re.sub(quoted, '""', text) == re.sub(quoted, '""', harmless)


CHECKS: dict[str, Callable[[str, str], None]] = {
    "text": check_text,
    "csv": check_csv,
    "latex": check_latex,
    "markdown": check_markdown,
    "html": check_html,
    "svg": check_svg,
    "dot": check_dot,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, outputs in OUTPUTS.items() for name in outputs]
)
def test_names_are_inert(kind: str, name: str) -> None:
    output = OUTPUTS[kind][name]
    CHECKS[kind](output(True), output(False))


def test_every_figure_is_tested() -> None:
    # Every function of `figures` (two of them called by Leaderboard.plot), and plot_tree.
    assert len(OUTPUTS["svg"]) == len(figures.__all__) + 1


def test_negative_numbers_are_not_escaped_in_csv() -> None:
    text = Table("", (Column.of("x", [-1.5, 2, "-3"]),)).to_csv()
    assert text == "x\n-1.5\n2\n-3\n"


def test_markdown_tables_keep_their_columns() -> None:
    lines = table(True).to_markdown().split("\n")
    assert {line.count("|") - line.count(r"\|") for line in lines} == {len(NAMES) + 2}


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = [name for name in NAMES if "\x00" not in name and name.strip() == name]
    # The command line would read an argument that begins with a dash as an option.
    labels = [name for name in labels if name[0] != "-"]
    file, model = tmp_path / "data.csv", tmp_path / "model.bin"
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(labels)
        writer.writerows([range(1, len(labels) + 1)] * 4)
    for arguments in (
        ["aggregate", str(file), "--format", "csv"],
        ["fit", str(file), "--labels", *labels[:-1], "--method", "tree", "--out", str(model)],
        ["predict", str(model), str(file)],
    ):
        assert main(arguments) == 0
        check_csv(capsys.readouterr().out)
    for kind in ("table", "json"):
        main(["aggregate", str(file), "--format", kind])
        captured = capsys.readouterr()
        check_text(captured.out)
        check_text(captured.err)


def test_errors_of_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in NAMES:
        path = str(tmp_path / name.replace("/", "").replace("\x00", "")[:200])
        for arguments in (["aggregate", path], ["predict", path, path], ["datasets", path]):
            assert main(arguments) in (1, 2)
            captured = capsys.readouterr()
            check_text(captured.out)
            check_text(captured.err)
    with pytest.raises(SystemExit):
        main(["aggregate", "a.csv", *NAMES])
    check_text(capsys.readouterr().err)
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n\x1b[2J,1\n", encoding="utf-8")
    assert main(["aggregate", str(bad)]) == 2
    check_text(capsys.readouterr().err)


@pytest.mark.parametrize("name", ["[x]", "*", "[1cm] wide", "*starred"])
def test_latex_rows_do_not_continue_the_line_break_above(name: str) -> None:
    table = Table("", (Column.of("dataset", [name, name]), Column.of("rank", [1, 2])))
    assert not re.search(r"(\\\\|\\midrule)\s*[\[*]", table.to_latex())
