"""Write pages of the documentation from measured results and from the help of the command line.

    python scripts/write_pages.py [FOLDER]

Reads ``docs/measured``: ``accuracy.md`` is the output of ``make accuracy``, and ``speed.txt`` the output of
``benches/peers.py``. ``make docs`` writes the pages by ``docs/_ext/written_pages.py``, which uses this module; they are
not part of the repository.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout, suppress
from pathlib import Path
from unittest.mock import patch

from bucketrank.__main__ import main as command_line

LEVELS = ("0 %", "30 %", "60 %")
DOCS = Path(__file__).resolve().parents[1] / "docs"

FURTHER_TABLES = {
    "## Differences from the ranker, with standard errors": "| mean ±",
    "## Regret against the best component": "| regret of",
    "## Baselines of the literature, on five datasets": "| dataset | pairwise",
}
"""Per heading of a further table of ``accuracy.md``, how the first line of this table begins."""

_COMPARISON = re.compile(r"^(?P<what>\S.*?) / (?P<peer>.*?) +([\d.]+) ms +([\d.]+) ms +([\d.]+)x")
_TREE = re.compile(r"^    (\w+) +([\d.]+) +([\d.]+) +([\d.]+)x +(\d+)")
_FOREST = re.compile(r"^    (\w+) +([\d.]+) \([\d.]+\) +([\d.]+)x \(")
_SKLEARN_FOREST = re.compile(r"^    scikit-learn, from .*? +([\d.]+) \(")
_BOARD = re.compile(r"^leaderboard, (.*?): ([\d.]+) s(?:, ([\w-]+) ([\d.]+) s, ([\d.]+)x)?")
_EXACT = re.compile(r"^    (\S.*, (?:Kemeny|TauX)) +([\d.]+) ms +proven (\d+ of \d+)")


def accuracy(measured: Path) -> str:
    """Return the page about accuracy: means first, then one table per level, then regrets and tests."""
    text = (measured / "accuracy.md").read_text(encoding="utf-8")
    results, *generated = text.partition("## Regret on generated datasets")
    scores, *further = re.findall(r"(?:^\|.*\n)+", results, re.MULTILINE)
    rows = [_cells(line) for line in scores.splitlines()]
    methods, (*datasets, means) = rows[0][1:], rows[2:]
    intro = text.split("\n\n")[1]
    parts = ["# Accuracy", intro]
    parts += ["## Means over the 15 synthetic datasets", _by_level(methods, means[1:])]
    for level, share in enumerate(LEVELS):
        parts += [
            f"## Every dataset, {share} missing labels",
            _one_level(methods, datasets, level),
        ]
    # An item of the list may continue on indented lines.
    facts = "".join(re.findall(r"^- .*\n(?:  .*\n)*", results, re.MULTILINE))
    parts += ["## Bounds and comparisons", facts]
    for heading, start in FURTHER_TABLES.items():
        parts += [part for table in further if table.startswith(start) for part in (heading, table)]
    parts.append("".join(generated))
    for share, test in zip(LEVELS, re.findall(r"```text\n.*?```", results, re.DOTALL), strict=True):
        parts += [f"## Tests across datasets, {share} missing labels", test]
    return "\n\n".join(map(str.strip, parts)) + "\n"


def speed(measured: Path) -> str:
    """Return the page about speed: the comparisons as tables, then the complete output."""
    text = (measured / "speed.txt").read_text(encoding="utf-8")
    lines = text.splitlines()
    kernels: list[list[str]] = []
    threads: list[list[str]] = []
    for match in filter(None, map(_COMPARISON.match, lines)):
        what, peer, *times = match.groups()
        ours, theirs, ratio = map(_rounded, times)
        row = [what, peer, f"{ours} ms", f"{theirs} ms", f"{ratio} ×"]
        (threads if peer == "1" else kernels).append(row)
    trees = [match.groups() for match in filter(None, map(_TREE.match, lines))]
    forests = [match.groups() for match in filter(None, map(_FOREST.match, lines))]
    (forest_peer,) = [match[1] for match in filter(None, map(_SKLEARN_FOREST.match, lines))]
    exact = [match.groups() for match in filter(None, map(_EXACT.match, lines))]
    parts = [
        "# Speed",
        "Output of `benches/peers.py`, which measures bucketrank and other libraries alternately, in the same run. "
        "Times depend on the machine and its load; only the ratios are meaningful. Each side uses one thread, unless a "
        "line states another number.",
        "## Metrics and aggregators",
        _table(["task", "compared with", "bucketrank", "other", "ratio"], kernels, "llrrr"),
        "## Fully grown trees",
        "Processor seconds on generated data with the shapes of the paper's datasets; scikit-learn grows a "
        "multi-output tree on one code per pair of labels, which is the same tree.",
        _table(
            ["shape of", "leaves", "bucketrank", "scikit-learn", "ratio"],
            (
                [name, leaves, f"{ours} s", f"{peer} s", f"{ratio} ×"]
                for name, ours, peer, ratio, leaves in trees
            ),
            "lrrrr",
        ),
        "## Forests of 100 trees",
        f"20,000 rows, 16 features, 26 labels, two threads; scikit-learn's forest on pair codes takes {forest_peer} s, "
        "estimated from 2 and 6 trees.",
        _table(
            ["variant", "seconds", "ratio"],
            ([name, seconds, f"{ratio} ×"] for name, seconds, ratio in forests),
            "lrr",
        ),
        "## Leaderboards",
        "Comparisons × labels. The others are a bootstrap with evalica's Bradley–Terry model and one with "
        "scikit-learn's logistic regression, estimated from 10 resamples.",
        _table(["task", "bucketrank", "compared with", "other", "ratio"], _boards(lines), "lrlrr"),
        "## Exact consensus",
        "50 rankings drawn around a centre (Mallows; a larger φ is more noise) or uniformly; the slowest sample, and "
        "how many samples were proven optimal.",
        _table(
            ["rankings and method", "slowest", "proven"],
            ([what, f"{_rounded(time)} ms", proven] for what, time, proven in exact),
            "lrr",
        ),
        "## Two threads",
        "Ratio of the time with one thread to the time with two, on two cores with other load.",
        _table(
            ["task", "two threads", "one thread", "ratio"],
            ([what.removesuffix(", 2 threads"), *times] for what, _, *times in threads),
            "lrrr",
        ),
        "## Complete output",
        f"```text\n{text.rstrip()}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _boards(lines: list[str]) -> list[list[str]]:
    """Return a row per leaderboard and library that it is compared with, or a row without a comparison."""
    boards = filter(None, map(_BOARD.match, lines))
    return [
        [what, f"{ours} s", peer, f"{theirs} s", f"{_rounded(ratio)} ×"]
        if peer
        else [what, f"{ours} s", "–", "", ""]
        for what, ours, peer, theirs, ratio in (board.groups() for board in boards)
    ]


def commands(measured: Path) -> str:  # noqa: ARG001 (the signature of all pages)
    """Return the page about the command line: the help of every command."""
    overview = _help([])
    names = re.findall(r"^    (\w+)(?: |$)", overview, re.MULTILINE)
    parts = ["# Command line", f"```text\n{overview}```"]
    for name in names:
        parts += [f"## bucketrank {name}", f"```text\n{_help([name])}```"]
    return "\n\n".join(parts) + "\n"


PAGES: dict[str, Callable[[Path], str]] = {
    "accuracy": accuracy,
    "command_line": commands,
    "speed": speed,
}
"""Per page name, the function that returns its text, given the folder of measured results."""


def _help(command: list[str]) -> str:
    stream = io.StringIO()
    # Without colours, and as wide as a page of the documentation.
    with (
        patch.dict(os.environ, {"COLUMNS": "90", "NO_COLOR": "1"}),
        redirect_stdout(stream),
        suppress(SystemExit),
    ):
        command_line([*command, "--help"])
    return stream.getvalue()


def _rounded(number: str) -> str:
    """Round to about three significant digits: times of other runs differ in the third one already."""
    value = float(number)
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:,.{decimals}f}"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _by_level(methods: list[str], triples: list[str]) -> str:
    """Return a table with a column per level; a triple, such as .789/.767/.708, has the scores of the three levels."""
    order = sorted(range(len(methods)), key=lambda j: -_mean(triples[j]))
    rows = ([methods[j], *triples[j].split("/")] for j in order)
    return _table(["method", *(f"{share} missing" for share in LEVELS)], rows, "lrrr")


def _one_level(methods: list[str], datasets: list[list[str]], level: int) -> str:
    rows = []
    for name, *triples in datasets:
        values = [triple.split("/")[level] for triple in triples]
        best = max(values, key=float)
        rows.append([name, *(f"**{value}**" if value == best else value for value in values)])
    names = ["best of eight" if method.startswith("best of") else method for method in methods]
    return _table(["dataset", *names], rows, "l" + "r" * len(names))


def _mean(triple: str) -> float:
    values = [float(value) for value in triple.split("/")]
    return sum(values) / len(values)


def _table(heads: list[str], rows: Iterable[Iterable[str]], align: str) -> str:
    rules = ["---:" if letter == "r" else "---" for letter in align]
    return "\n".join("| " + " | ".join(row) + " |" for row in (heads, rules, *rows))


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / f"{name}.md").write_text(page(DOCS / "measured"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
