"""Format-independent representation of a report: sections of text, tables and figures."""

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
    """A figure that is drawn on demand.

    Attributes
    ----------
    title : str
        Caption, also used as the alternative text.
    draw : callable
        Function that draws on the given axes.
    size : tuple of float
        Width and height in inches.
    is_narrow : bool
        Whether the figure fits the screen of a phone: its width is at most that of a paragraph, and it never scrolls.
    """

    title: str
    draw: Callable[[Axes], Any]
    size: tuple[float, float] = (8.0, 4.2)
    is_narrow: bool = False


@dataclass(frozen=True)
class Section:
    """A section of a report.

    Attributes
    ----------
    title : str
        Heading.
    paragraphs : tuple of str
        Text before the tables and figures.
    tables : tuple of Table
        Main tables.
    figures : tuple of Figure
        Figures.
    more : tuple of Table
        Further tables; collapsed in HTML.
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    more: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Document:
    """A complete report.

    Attributes
    ----------
    title : str
        Title of the report.
    subtitle : str
        Size of the study or the leaderboard.
    warning : str
        Warning at the top, such as missing results; may be empty.
    summary : tuple of str
        Main findings, one paragraph per entry.
    sections : tuple of Section
        Sections after the summary.
    """

    title: str
    subtitle: str
    warning: str
    summary: tuple[str, ...]
    sections: tuple[Section, ...]
