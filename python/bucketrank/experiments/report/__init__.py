"""Reports: a study as one page for people, with its tables, figures and a summary in words."""

from __future__ import annotations

from bucketrank.experiments.report.document import Document, Figure, Section
from bucketrank.experiments.report.writing import write_report

__all__ = ["Document", "Figure", "Section", "write_report"]
