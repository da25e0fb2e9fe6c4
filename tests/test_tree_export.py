"""Text, Graphviz and matplotlib exports of trees."""

from __future__ import annotations

import re
import sys
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from bucketrank import (
    PartialLabelRankingBaseline,
    PartialLabelRankingTree,
    export_graphviz,
    export_text,
    from_text,
    plot_tree,
    to_text,
)
from tree_data import random_data

EXPORTS = [export_text, export_graphviz, plot_tree]


@pytest.fixture
def tree() -> PartialLabelRankingTree:
    Y, labels = from_text(["a > b ~ c", "a > b ~ c", "c > b", "c > b", "b > a ~ c", "b > a > c"])
    X = pd.DataFrame({"size": [0.0, 1, 2, 3, 2, 3], "age": [5, 5, 5, 5, 6, 6]})
    frame = pd.DataFrame(Y, columns=labels)
    return PartialLabelRankingTree("borda", min_samples_split=3).fit(X, frame)


@pytest.fixture
def drawing() -> None:
    """Use matplotlib without a display."""
    matplotlib.use("agg")


def test_text_shows_splits_and_bucket_orders(tree: PartialLabelRankingTree) -> None:
    assert export_text(tree) == "\n".join(
        [
            "|-- age <= 5.50",
            "|   |-- size <= 1.50: a > b ~ c (2 rows)",
            "|   |-- size > 1.50: a ~ b ~ c (2 rows)",
            "|-- age > 5.50: b > a ~ c (2 rows)",
        ]
    )
    named = export_text(tree, feature_names=["s", "t"], label_names=["x", "y", "z"], decimals=0)
    assert named.startswith("|-- t <= 6\n|   |-- s <= 2: x > y ~ z (2 rows)")
    assert export_text(tree, max_depth=1).startswith("|-- age <= 5.50: ... (4 rows)")
    assert export_text(tree, max_depth=0) == "... (6 rows)"


def test_every_leaf_shows_its_prediction() -> None:
    X, Y = random_data(1, rows=60)
    tree = PartialLabelRankingTree("copeland", splitter="equal_frequency", max_splits=4).fit(X, Y)
    text = export_text(tree)
    for order in set(to_text(tree.predict(X))):
        assert f": {order} (" in text
    assert text.count("rows)") + text.count("row)") == tree.get_n_leaves()
    assert " in (" in text
    assert export_graphviz(tree).count(" -> ") == len(tree.tree_.nodes()["parent"]) - 1


def test_a_single_leaf(tree: PartialLabelRankingTree) -> None:
    stump = PartialLabelRankingTree().fit([[1.0]], [[1, 2]])
    assert export_text(stump) == "0 > 1 (1 row)"
    assert "->" not in export_graphviz(stump)
    assert export_text(tree.with_aggregator("copeland")) != export_text(tree)


def test_graphviz_escapes_names(tree: PartialLabelRankingTree) -> None:
    text = export_graphviz(tree, feature_names=['the "size"', "back\\slash"])
    assert r"the \"size\"" in text
    assert r"back\\slash" in text
    assert '0 -> 1 [label="<= 5.50"];' in text


@pytest.mark.usefixtures("drawing")
def test_names_with_relation_signs_are_quoted() -> None:
    Y = pd.DataFrame([[1, 2, 2], [2, 1, 1]], columns=["a>x", "b ~ y", 'say "c"\n'])
    tree = PartialLabelRankingTree(min_samples_split=2).fit([[0.0], [1.0]], Y)
    order = r'''"a>x" > "b ~ y" ~ "say \"c\"\n"'''
    assert export_text(tree).startswith(f"|-- x0 <= 0.50: {order} (1 row)")
    escaped = order.replace("\\", "\\\\").replace('"', r"\"")
    assert f'1 [label="{escaped}\\nimpurity' in export_graphviz(tree)
    assert plot_tree(tree)[1].get_text().replace("\n", " ").startswith(order)
    with pytest.raises(ValueError, match="'a>x' cannot be written as text"):
        to_text(Y)
    with pytest.raises(TypeError, match="label_names is 5; expected a list of names"):
        export_text(tree, label_names=5)  # type: ignore[arg-type]


@pytest.mark.usefixtures("drawing")
def test_drawing_shows_bucket_orders(tree: PartialLabelRankingTree) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    boxes = plot_tree(tree, ax=axes, fontsize=8)
    texts = [box.get_text() for box in boxes]
    assert len(texts) == 5
    assert texts[0].startswith("age\nimpurity")
    assert "a > b ~ c" in texts[2]
    figure.canvas.draw()
    places = np.array([box.xy for box in boxes])
    assert len(np.unique(places, axis=0)) == 5
    assert ((places > 0) & (places < 1)).all()
    pyplot.close(figure)
    assert len(plot_tree(tree, max_depth=1)) == 3
    pyplot.close("all")


def test_drawing_without_matplotlib(
    tree: PartialLabelRankingTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'bucketrank\[plot\]'"):
        plot_tree(tree)


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize("export", EXPORTS)
def test_bad_arguments(tree: PartialLabelRankingTree, export: object) -> None:
    assert callable(export)
    with pytest.raises(NotFittedError):
        export(PartialLabelRankingTree())
    with pytest.raises(ValueError, match="feature_names has 1 name; expected 2"):
        export(tree, feature_names=["s"])
    with pytest.raises(TypeError, match="label_names is the string 'abc'"):
        export(tree, label_names="abc")
    with pytest.raises(TypeError, match=r"max_depth is 1\.5; expected a whole number"):
        export(tree, max_depth=1.5)
    with pytest.raises(ValueError, match=r"max_depth is -1; expected .* at least 0"):
        export(tree, max_depth=-1)
    with pytest.raises(ValueError, match=r"decimals is -1; expected .* at least 0"):
        export(tree, decimals=-1)
    baseline = PartialLabelRankingBaseline().fit([[0], [1]], [[1, 2], [2, 1]])
    with pytest.raises(TypeError, match="expected a PartialLabelRankingTree"):
        export(baseline)


def overlaps(boxes: list[Any]) -> list[Any]:
    extents = [box.get_window_extent() for box in boxes]
    return [(a, b) for a in extents for b in extents if a is not b and a.overlaps(b)]


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize("max_depth", [None, 3, 5])
@pytest.mark.parametrize("own_axes", [False, True])
def test_boxes_of_a_drawn_tree_do_not_overlap(max_depth: int | None, own_axes: bool) -> None:
    from matplotlib import pyplot

    X, Y = random_data(0, rows=300, features=3, labels=5)
    tree = PartialLabelRankingTree(max_depth=5).fit(X, Y)
    axes = pyplot.subplots()[1] if own_axes else None
    boxes = plot_tree(tree, ax=axes, max_depth=max_depth)
    pyplot.gcf().canvas.draw()
    assert overlaps(boxes) == []
    assert len(boxes) > 2
    pyplot.close("all")


@pytest.mark.usefixtures("drawing")
def test_a_large_tree_shows_its_top_and_says_so() -> None:
    from matplotlib import pyplot

    X, Y = random_data(0, rows=2000, features=5, labels=6, values=50)
    tree = PartialLabelRankingTree(min_samples_split=2).fit(X, Y)
    assert tree.get_n_leaves() > 1000
    boxes = plot_tree(tree)
    figure = pyplot.gcf()
    depth = round(np.log2(len(boxes) + 1)) - 1
    assert figure.axes[0].get_title().startswith(f"Top {depth} of {tree.get_depth()} levels")
    assert f"{tree.get_n_leaves():,} leaves" in figure.axes[0].get_title()
    assert 3 <= len(boxes) < 50
    assert max(figure.get_size_inches()) <= 16
    assert min(float(box.get_fontsize()) for box in boxes) > 7
    hidden = [re.search(r"\.\.\. ([\d,]+) leaves below", box.get_text()) for box in boxes]
    counts = [int(found[1].replace(",", "")) for found in hidden if found]
    shown = len(boxes) - (len(boxes) - 1) // 2 - len(counts)
    assert sum(counts) + shown == tree.get_n_leaves()
    pyplot.close("all")


@pytest.mark.usefixtures("drawing")
def test_a_small_tree_is_shown_completely(tree: PartialLabelRankingTree) -> None:
    from matplotlib import pyplot

    boxes = plot_tree(tree)
    assert len(boxes) == 5
    assert pyplot.gcf().axes[0].get_title() == ""
    assert {box.get_fontsize() for box in boxes} == {10}
    legend = pyplot.gcf().axes[0].get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["a", "b", "another, or many tied"]
    pyplot.close("all")


@pytest.mark.usefixtures("drawing")
def test_colours_name_the_first_label(tree: PartialLabelRankingTree) -> None:
    from matplotlib import pyplot
    from matplotlib.colors import to_hex

    fills = dict(re.findall(r'(\d+) \[label=.*fillcolor="(#\w+)"\]', export_graphviz(tree)))
    patches: list[Any] = [box.get_bbox_patch() for box in plot_tree(tree)]
    drawn = [to_hex(patch.get_facecolor()) for patch in patches]
    pyplot.close("all")
    indices = [0, 1, 3, 4, 2]  # depth first, as the boxes are drawn
    assert drawn == [fills[str(index)].lower() for index in indices]

    def hue(colour: str) -> float:
        return float(rgb_to_hsv([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])[0])

    from matplotlib.colors import rgb_to_hsv

    first, tied, second = (fills[str(index)] for index in (3, 4, 2))
    assert abs(hue(first) - hue(second)) > 0.1
    assert len({tied[i : i + 2] for i in (1, 3, 5)}) == 1  # grey: all labels are tied


@pytest.mark.usefixtures("drawing")
def test_dollar_signs_are_not_formulas() -> None:
    from matplotlib import pyplot

    y = pd.DataFrame([[1, 2], [2, 1]], columns=["$a_{", "b$"])
    tree = PartialLabelRankingTree(min_samples_split=2).fit([[0.0], [1.0]], y)
    boxes = plot_tree(tree, feature_names=["x$^"])
    pyplot.gcf().canvas.draw()
    assert "$a_{ > b$" in boxes[1].get_text()
    pyplot.close("all")


@pytest.mark.usefixtures("drawing")
def test_long_orders_are_wrapped() -> None:
    from matplotlib import pyplot

    names = [f"label number {i}" for i in range(12)]
    y = pd.DataFrame([range(1, 13), range(12, 0, -1)], columns=names)
    tree = PartialLabelRankingTree(min_samples_split=2).fit([[0.0], [1.0]], y)
    lines = plot_tree(tree)[1].get_text().split("\n")
    assert max(map(len, lines)) <= 30
    assert len(lines) == 5
    assert lines[2].endswith("...")
    pyplot.close("all")


def test_conditions_name_categories() -> None:
    X = pd.DataFrame({"city": ["Bern", "Oslo", "Riga", "Cork"] * 6})
    Y = [[1, 2, 3], [3, 2, 1], [2, 1, 3], [1, 2, 3]] * 6
    tree = PartialLabelRankingTree(min_samples_split=2).fit(X, Y)
    text = export_text(tree)
    assert "city is Oslo" in text
    assert "city in {" in text
    assert "<=" not in text
    many = pd.DataFrame({"city": [f"c{i:02}" for i in range(20)] * 3})
    Y = [[1, 2] if i < 10 else [2, 1] for i in range(20)] * 3
    text = export_text(PartialLabelRankingTree(min_samples_split=2).fit(many, Y))
    assert text.count("5 others}") == 2
