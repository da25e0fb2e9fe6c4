"""Generator of comparisons from a model with known parameters, and the reader of arena battles.

The larger the difference of the utilities of two labels, the more often the label with the larger utility wins.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bucketrank._validation import as_real, as_seed, at_least, is_missing
from bucketrank.comparisons import Comparisons, from_comparisons
from bucketrank.csv_reader import read_text
from bucketrank.csv_records import BadFileError

__all__ = ["Battles", "make_battles", "read_battles"]


@dataclass(frozen=True, eq=False)
class Battles:
    """Generated comparisons, and the parameters they were drawn with.

    Attributes
    ----------
    comparisons : Comparisons
        The comparisons.
    utilities : ndarray of shape (n_labels,)
        True utilities of the labels; those of a tier are equal.
    tiers : ndarray of shape (n_labels,)
        True positions of the labels: labels of equal utility are tied.
    order_effect : float
        True advantage of the label shown first.
    covariate_effects : ndarray of shape (n_covariates,)
        True effects of the covariates.

    Examples
    --------
    >>> from bucketrank.datasets import make_battles
    >>> battles = make_battles(50, 3, random_state=0)
    >>> len(battles.comparisons)
    50
    """

    comparisons: Comparisons
    utilities: NDArray[np.float64]
    tiers: NDArray[np.int64]
    order_effect: float
    covariate_effects: NDArray[np.float64]


def make_battles(
    n_comparisons: int = 10_000,
    n_labels: int = 12,
    *,
    n_tiers: int | None = None,
    spread: float = 2.0,
    ties: float = 0.2,
    order_effect: float = 0.0,
    covariate_effects: Any = (),
    n_groups: int | None = None,
    group_spread: float = 0.5,
    random_state: int = 0,
) -> Battles:
    """Generate comparisons of two labels from Davidson's model with known utilities.

    Parameters
    ----------
    n_comparisons, n_labels : int
        Size of the data; at least 1 and 2. Each comparison has two random labels in a random order.
    n_tiers : int, optional
        Number of different utilities, which are equally spaced; by default all labels differ.
    spread : float, default 2
        Difference of the largest and the smallest utility.
    ties : float, default 0.2
        Probability of a tie of two labels of equal utility; at least 0 and below 1.
    order_effect : float, default 0
        Added to the utility of the label shown first.
    covariate_effects : array-like of shape (n_covariates,), optional
        Effects of standard normal covariates.
    n_groups : int, optional
        Number of groups; by default there are none. Each group has utilities of its own around the true ones, so that
        its comparisons depend on each other.
    group_spread : float, default 0.5
        Standard deviation of the utilities of groups around the true ones.
    random_state : int, default 0
        Seed of the random numbers.

    Returns
    -------
    Battles

    Examples
    --------
    >>> battles = make_battles(500, n_labels=4, n_tiers=2, order_effect=0.3, n_groups=20)
    >>> battles.comparisons
    Comparisons(500 rows, 4 labels, 20 groups)
    >>> battles.tiers
    array([1, 1, 2, 2])
    """
    rows, labels = at_least(n_comparisons, "n_comparisons", 1), at_least(n_labels, "n_labels", 2)
    tier_count = labels if n_tiers is None else at_least(n_tiers, "n_tiers", 1)
    if tier_count > labels:
        raise ValueError(f"n_tiers is {tier_count}; expected at most n_labels={labels}")
    width, tie_share = _finite(spread, "spread"), as_real(ties, "ties")
    if not 0 <= tie_share < 1:
        raise ValueError(f"ties is {tie_share}; expected a share of at least 0 and below 1")
    rng = np.random.default_rng(as_seed(random_state, "random_state"))
    effects = np.array(covariate_effects, dtype=np.float64).reshape(-1)
    if not np.isfinite(effects).all():
        raise ValueError(f"covariate_effects is {effects.tolist()}; expected finite numbers")
    tiers = 1 + np.arange(labels) * tier_count // labels
    utilities = (
        width * (0.5 - (tiers - 1) / max(tier_count - 1, 1)) if tier_count > 1 else np.zeros(labels)
    )
    first = rng.integers(0, labels, rows)
    second = (first + rng.integers(1, labels, rows)) % labels
    covariates = rng.standard_normal((rows, len(effects)))
    gap = (
        utilities[first]
        - utilities[second]
        + _finite(order_effect, "order_effect")
        + covariates @ effects
    )
    group = None
    if n_groups is not None:
        groups = at_least(n_groups, "n_groups", 1)
        group = rng.integers(0, groups, rows)
        deviations = _finite(group_spread, "group_spread") * rng.standard_normal((groups, labels))
        gap += deviations[group, first] - deviations[group, second]
    names = np.array([f"m{label:0{len(str(labels - 1))}d}" for label in range(labels)])
    comparisons = from_comparisons(
        names[first],
        names[second],
        _draw_outcomes(rng, gap, tie_share),
        group=group,
        covariates=covariates if len(effects) else None,
    )
    if len(comparisons.labels) < labels:
        raise ValueError(
            f"n_comparisons is {rows}: only {len(comparisons.labels)} of {labels} labels are compared; expected more"
        )
    return Battles(comparisons, utilities, tiers, float(order_effect), effects)


def _draw_outcomes(
    rng: np.random.Generator, gap: NDArray[np.float64], ties: float
) -> NDArray[np.str_]:
    """Draw outcomes: first, tie and second have the weights e^(gap/2), a constant and e^(-gap/2)."""
    # Labels of equal utility have the weights 1, w and 1: a tie has the probability w / (2 + w).
    tied = 2 * ties / (1 - ties)
    # Beyond these limits the outcome is certain, and the weights would overflow.
    half = np.clip(gap / 2, -700, 700)
    before, after = np.exp(half), np.exp(-half)
    draws = rng.random(len(gap)) * (before + tied + after)
    codes = np.where(draws < before, 0, np.where(draws < before + tied, 1, 2))
    return np.array(["first", "tie", "second"])[codes]


def read_battles(
    path: Any,
    *,
    first: str = "model_a",
    second: str = "model_b",
    outcome: str = "winner",
    weight: str | None = None,
    group: str | None = None,
    covariates: Any = None,
    outcomes: Any = None,
) -> Comparisons:
    r"""Read comparisons from a CSV or JSON file, such as the published battles of chatbot arenas; needs pandas.

    Parameters
    ----------
    path : str or Path
        A CSV file, a JSON file with a list of records, or a file with one JSON record per line (``.jsonl``).
    first, second, outcome : str
        Names of the columns; the defaults are those of the arena files.
    weight, group : str, optional
        Names of the columns with weights and groups.
    covariates : list of str, optional
        Names of the columns with covariates: the value of the first label minus that of the second.
    outcomes : mapping, optional
        See :func:`bucketrank.from_comparisons`.

    Returns
    -------
    Comparisons

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bucketrank.datasets import read_battles
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "games.csv")
    ...     _ = path.write_text("model_a,model_b,winner\nada,bob,model_a\nbob,ada,tie\n")
    ...     len(read_battles(path))
    2
    """
    from bucketrank._optional import pandas

    pd = pandas("read_battles")
    name = str(path)
    # Groups are read as texts, because 001 and 1 are different groups.
    texts = [column for column in (first, second, group) if column is not None]
    try:
        if name.endswith((".json", ".jsonl")):
            frame = pd.DataFrame(_read_json(name, texts), dtype=object).infer_objects()
        else:
            frame = _read_csv(pd, path, texts)
    except BadFileError:
        raise
    except OSError as error:
        raise BadFileError(f"{name}: {error.strerror or error}") from None
    except (ValueError, pd.errors.ParserError) as error:
        raise BadFileError(f"{name}: {str(error).strip()}") from None
    try:
        return from_comparisons(
            first,
            second,
            outcome,
            data=frame,
            weight=weight,
            group=group,
            covariates=covariates,
            outcomes=outcomes,
        )
    except (TypeError, ValueError) as error:
        raise BadFileError(f"{name}: {error}") from error


def _read_json(name: str, texts: list[str]) -> dict[str, list[Any]]:
    """Read records as columns; numbers in the columns `texts` become texts."""
    text = read_text(name)
    if name.endswith(".jsonl"):
        lines = enumerate(text.split("\n"), start=1)
        records = [_parse_json(line, f"line {number}: ") for number, line in lines if line.strip()]
    else:
        records = _parse_json(text, "")
    columns = _columns(records)
    for column in columns.keys() & texts:
        columns[column] = [
            str(cell) if isinstance(cell, (int, float)) and not is_missing(cell) else cell
            for cell in columns[column]
        ]
    return columns


def _columns(records: Any) -> dict[str, list[Any]]:
    """Return the cells of records by column."""
    if isinstance(records, dict) and all(isinstance(cells, dict) for cells in records.values()):
        # pandas writes columns with an index.
        return {column: list(cells.values()) for column, cells in records.items()}
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise ValueError("expected a list of records, or one record per line in a .jsonl file")
    names = dict.fromkeys(column for record in records for column in record)
    return {column: [record.get(column) for record in records] for column in names}


def _parse_json(text: str, location: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{location}{error}") from None
    except RecursionError:
        raise ValueError(f"{location}the values are nested too deeply") from None


def _read_csv(pd: Any, path: Any, texts: list[str]) -> Any:
    """Read a CSV table; cells of the columns `texts` are texts without the spaces around them, or missing."""
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0]
    columns = [cell.strip() or f"column {number}" for number, cell in enumerate(header, start=1)]
    for number, column in enumerate(columns, start=1):
        if column in columns[: number - 1]:
            raise ValueError(
                f"column {number}: {column!r} is already the name of column {columns.index(column) + 1}; expected a "
                "different name for each column"
            )
    with warnings.catch_warnings():
        # pandas warns when it leaves out the cells of rows that are longer than the header.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(
                path,
                header=0,
                names=columns,
                index_col=False,
                dtype=dict.fromkeys(texts, str),
                # An empty cell is missing, but a label may be called "NA".
                keep_default_na=False,
                na_values=[""],
                skipinitialspace=True,
            )
        except pd.errors.ParserWarning:
            raise ValueError(
                f"a row has more cells than the header; expected {len(columns)} cells per row"
            ) from None
    for column in texts:
        if column in columns and any(
            cell != cell.strip() for cell in _distinct_texts(frame[column])
        ):
            stripped = frame[column].str.strip()
            frame[column] = stripped.mask(stripped == "")
    return frame


def _distinct_texts(column: Any) -> list[str]:
    return [cell for cell in column.unique() if isinstance(cell, str)]


def _finite(value: Any, name: str) -> float:
    number = as_real(value, name)
    if not np.isfinite(number):
        raise ValueError(f"{name} is {number}; expected a finite number")
    return number
