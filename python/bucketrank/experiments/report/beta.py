"""The section of a report about β, the threshold for ties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bucketrank.experiments.report.document import Figure, Section
from bucketrank.tables import Column, Table, join_names, percent, pluralize

if TYPE_CHECKING:
    from bucketrank.experiments.beta_study import BetaStudy

__all__ = ["beta_section"]


def beta_section(beta_study: BetaStudy) -> Section:
    """Return the section with the curves and the best thresholds of a study of β."""
    peaks = join_names(
        [f"{_span(beta_study.peaks(name))} for {name}" for name in beta_study.aggregators]
    )
    text = (
        f"How the mean τ_X over {pluralize(len(beta_study.study.datasets), 'dataset')} depends on the threshold for "
        f"ties. It is highest at β = {peaks}, over {pluralize(len(beta_study.study.missing), 'level')} of missing "
        "labels. The best threshold of a single dataset may differ."
    )
    title = "Mean τ_X against β; lines fade with the share of missing labels, markers are maxima"
    figure = Figure(title, beta_study.plot, (8.4, 5.0))
    return Section("The threshold for ties, β", (text,), (_best(beta_study),), (figure,))


def _best(beta_study: BetaStudy) -> Table:
    columns = [Column.of("dataset", [*beta_study.study.datasets, "all datasets"])]
    for name in beta_study.aggregators:
        best, peaks = beta_study.best(name), beta_study.peaks(name)
        for level, share in enumerate(beta_study.study.missing):
            values = [*best[level], peaks[level]]
            columns.append(Column.of(f"{name} {percent(share)}", values, "{:g}".format))
    return Table("Best β by share of missing labels", tuple(columns))


def _span(betas: NDArray[np.float64]) -> str:
    low, high = betas.min(), betas.max()
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
