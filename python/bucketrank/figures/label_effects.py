"""A bar chart of the features that place one label above another, by SHAP values of the scores of the labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._phrases import pluralize
from bucketrank._validation import NUMBERS, as_number_array, at_least, is_missing, label_names
from bucketrank.figures.style import name_text, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_label_effects"]

_FIRST, _SECOND = "#0072B2", "#D55E00"
"""Colours of features in favour of the first and of the second label."""


def plot_label_effects(
    shap: Any,
    first: Hashable,
    second: Hashable,
    *,
    base: Any = None,
    row: Any = None,
    features: Sequence[Hashable] | None = None,
    labels: Sequence[Hashable] | None = None,
    max_features: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw which features of a row push one label above another.

    Parameters
    ----------
    shap : array-like of shape (n_features, n_labels)
        The SHAP values of one row: an entry of the result of ``shap_values``.
    first, second : hashable
        Two different labels: names among `labels`, or column numbers without `labels`.
    base : array-like of shape (n_labels,), optional
        The result of ``shap_base_values``; adds a bar with the difference before any feature is known.
    row : array-like of shape (n_features,), optional
        The features of the row, shown beside their names: numbers, categories or missing values.
    features : sequence, optional
        Names of the features; by default 0, 1, ...
    labels : sequence, optional
        Names of the labels; by default 0, 1, ...
    max_features : int, default 10
        Largest number of features with a bar of their own; one more bar shows the sum of all others, or the only other.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        One bar per feature, the largest effects on top; the title states the sum of all bars.

    Examples
    --------
    >>> shap = [[0.5, -0.5], [-0.1, 0.1], [0.0, 0.25]]
    >>> axes = plot_label_effects(shap, "tea", "coffee", labels=["tea", "coffee"], features=["age", "hour", "sugar"])
    >>> [text.get_text() for text in axes.get_yticklabels()]
    ['age', 'sugar', 'hour']
    """
    table = np.asarray(as_number_array(shap, "shap", entries=NUMBERS), dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(
            f"shap has shape {table.shape}; expected the values of one row, of shape (n_features, n_labels)"
        )
    names = label_names(None, labels, table.shape[1])
    a, b = (_column(label, names, role) for label, role in ((first, "first"), (second, "second")))
    if a == b:
        raise ValueError(f"first and second are both {first!r}; expected two different labels")
    effects = table[:, a] - table[:, b]
    texts = _feature_texts(features, row, len(effects))
    bars = _largest(effects, texts, at_least(max_features, "max_features", 1))
    if base is not None:
        scores = _numbers(base, "base", table.shape[1])
        bars.append(("no feature known", float(scores[a] - scores[b])))
    axes = new_axes(ax, (7.2, 1.6 + 0.34 * len(bars)), "plot_label_effects")
    _draw(axes, bars, with_base=base is not None)
    above, below = name_text(names[a]), name_text(names[b])
    total = sum(effect for _, effect in bars)
    axes.set_title(
        f"{above} above {below}: score difference {_signed(total)}", fontsize="medium", loc="left"
    )
    axes.set_xlabel(
        f"\N{LEFTWARDS ARROW} in favour of {below}      in favour of {above} \N{RIGHTWARDS ARROW}"
    )
    return axes


def _column(label: Hashable, names: list[Any], role: str) -> int:
    if label in names:
        return names.index(label)
    shown = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    raise ValueError(f"{role} is {label!r}; expected one of the labels {shown}")


def _numbers(values: Any, name: str, length: int) -> NDArray[np.float64]:
    array = np.asarray(as_number_array(values, name, entries=NUMBERS), dtype=np.float64)
    if array.shape != (length,):
        raise ValueError(f"{name} has shape {array.shape}; expected ({length},)")
    return array


def _feature_texts(features: Sequence[Hashable] | None, row: Any, count: int) -> list[str]:
    names = [name_text(name) for name in (range(count) if features is None else features)]
    if len(names) != count:
        raise ValueError(f"features has {pluralize(len(names), 'name')}; expected {count}")
    if row is None:
        return names
    values = list(row) if np.ndim(row) == 1 else []
    if len(values) != count:
        raise ValueError(f"row has shape {np.shape(row)}; expected ({count},)")
    return [f"{name} = {_value_text(value)}" for name, value in zip(names, values, strict=True)]


def _value_text(value: Any) -> str:
    """Return the text of a value of a feature: a number, a category, or a missing value."""
    if is_missing(value):
        return "missing"
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return f"{value:.4g}" if is_number else name_text(value)


def _largest(effects: NDArray[np.float64], texts: list[str], limit: int) -> list[tuple[str, float]]:
    """Return the largest effects in descending order of size, and the sum of all others."""
    order = np.argsort(-np.abs(effects), kind="stable")
    shown = order if len(order) <= limit + 1 else order[:limit]
    bars = [(texts[i], float(effects[i])) for i in shown]
    others = order[len(shown) :]
    if len(others):
        bars.append((pluralize(len(others), "other feature"), float(effects[others].sum())))
    return bars


def _draw(axes: Axes, bars: list[tuple[str, float]], *, with_base: bool) -> None:
    from matplotlib import rcParams

    ink = rcParams["text.color"]
    heights = np.arange(len(bars), dtype=float)
    if with_base:
        # A gap separates the base from the features.
        heights[-1] += 0.4
    for height, (_, effect) in zip(heights, bars, strict=True):
        axes.barh(height, effect, height=0.7, color=_FIRST if effect >= 0 else _SECOND)
        offset, align = (4, "left") if effect >= 0 else (-4, "right")
        axes.annotate(
            _signed(effect), (effect, height), (offset, 0), textcoords="offset points",
            ha=align, va="center", fontsize="small", color=ink,
        )  # fmt: skip
    if with_base:
        axes.patches[-1].set_alpha(0.45)
        axes.axhline(heights[-1] - 0.7, color=ink, linewidth=0.6, alpha=0.4)
    axes.axvline(0, color=ink, linewidth=0.8)
    axes.set_yticks(heights, [text for text, _ in bars])
    axes.invert_yaxis()
    axes.margins(x=0.18)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", alpha=0.25, linewidth=0.7)
    axes.set_axisbelow(True)


def _signed(effect: float) -> str:
    text = f"{effect:+.2f}" if abs(effect) >= 0.005 or effect == 0 else f"{effect:+.1g}"
    return text.replace("-", "\N{MINUS SIGN}")
