"""A report before it is written in some format: sections of words, tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bucketrank.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Document", "Figure", "Section"]


@dataclass(frozen=True)
class Figure:
    """A figure that is drawn when it is needed.

    Attributes
    ----------
    title : str
        Caption, which also stands in for the figure where it cannot be seen.
    draw : callable
        Draws on the axes that it is given.
    size : tuple of float
        Width and height in inches.
    """

    title: str
    draw: Callable[[Axes], Any]
    size: tuple[float, float] = (8.0, 4.2)


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Attributes
    ----------
    title : str
        Heading.
    paragraphs : tuple of str
        Words before tables and figures.
    tables : tuple of Table
        Tables that every reader wants.
    figures : tuple of Figure
        Figures.
    more : tuple of Table
        Tables that some readers want; folded away where the format can.
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    more: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Document:
    """A whole report.

    Attributes
    ----------
    title : str
        What was studied.
    subtitle : str
        How large the study is.
    warning : str
        What a reader must know before anything else, such as that results are missing; may be empty.
    summary : tuple of str
        What came out, in words.
    sections : tuple of Section
        Everything else.
    """

    title: str
    subtitle: str
    warning: str
    summary: tuple[str, ...]
    sections: tuple[Section, ...]
