"""Text, Graphviz and matplotlib exports of trees."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from bucketrank import (
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
    """matplotlib without a display; skips the test if it is not installed."""
    pytest.importorskip("matplotlib").use("agg")


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
    assert plot_tree(tree)[1].get_text().startswith(order)
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
    with pytest.raises(ValueError, match="feature_names has 1 names; expected 2"):
        export(tree, feature_names=["s"])
    with pytest.raises(TypeError, match="label_names is the string 'abc'"):
        export(tree, label_names="abc")
    with pytest.raises(TypeError, match=r"max_depth is 1\.5; expected a whole number"):
        export(tree, max_depth=1.5)


def test_boxes_of_a_drawn_tree_do_not_overlap() -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    X, Y = random_data(0, rows=200, features=3, labels=5)
    tree = PartialLabelRankingTree(max_depth=3).fit(X, Y)
    figure, axes = pyplot.subplots()
    boxes = [box.get_window_extent() for box in plot_tree(tree, ax=axes)]
    pyplot.close(figure)
    assert len(boxes) > 8
    assert not [(a, b) for a in boxes for b in boxes if a is not b and a.overlaps(b)]
