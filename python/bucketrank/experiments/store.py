"""Store of results: every finished job is written to an SQLite file immediately, so that a study can be resumed."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from bucketrank.experiments.learners import Outcome
from bucketrank.experiments.plan import FORMAT, Job

KEYS = ("dataset", "missing", "method", "repeat", "fold")
"""Columns that identify a result; ``missing`` is the share of labels dropped from the training rankings."""

COLUMNS = (*KEYS, *Outcome._fields)
"""All columns of a result."""
_STORED = (*COLUMNS, "learner", "n_results", "checksum")
"""Columns of the file: a result, the learner of its job, the number of results of the job, and a checksum."""

_REQUIRED = {"datasets": dict, "missing": list, "methods": list, "n_repeats": int, "n_folds": int}
"""Settings that are required to read the results, and their types."""

Row: TypeAlias = tuple[Any, ...]
"""A result, in the order of COLUMNS."""

_WAIT_SECONDS = 60
"""Time that a process waits for another process to finish writing."""

# One transaction, so that a process that opens the file at the same time sees both tables or none.
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS result ({", ".join(_STORED)}, PRIMARY KEY ({", ".join(KEYS)})) WITHOUT ROWID;
COMMIT;
"""


class StoreError(ValueError):
    """A store cannot be used: it belongs to another study, is damaged, or is not writable.

    Examples
    --------
    >>> from bucketrank.experiments import StoreError, Study
    >>> try:
    ...     Study.load("no such folder/study.db")
    ... except StoreError as error:
    ...     print("expected the file of a study")
    expected the file of a study
    """


class Store:
    """A file of results that belongs to one study.

    The results of a job are written in one transaction: after a crash either all or none of them are stored. Several
    processes may use a store at the same time; results that are already stored are not replaced.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    @contextmanager
    def open(cls, path: str | Path, settings: dict[str, Any]) -> Iterator[Store]:
        """Open or create the store of a study with these settings; raise if it belongs to another study."""
        if str(path) == ":memory:":
            raise StoreError(
                "store is ':memory:'; expected the name of a file (without store, results stay in memory)"
            )
        file = Path(path)
        if file.is_dir() or not file.parent.is_dir():
            problem = "is a folder" if file.is_dir() else "is in a folder that does not exist"
            raise StoreError(f"store {str(path)!r} {problem}; expected the name of a file")
        with _connected(file) as connection:
            store = cls(file, connection)
            if store._tables():
                store._check_is_store()
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_SCHEMA)
            text = json.dumps(settings)
            with connection:
                connection.execute(
                    "INSERT OR IGNORE INTO setting VALUES ('study', ?, ?)",
                    (text, _checksum("study", text)),
                )
            store._check_same_study(settings)
            yield store

    @classmethod
    @contextmanager
    def read(cls, path: str | Path) -> Iterator[Store]:
        """Open an existing store of a finished or unfinished study."""
        file = Path(path)
        if not file.is_file():
            raise StoreError(
                f"there is no store {str(path)!r}; compare(..., store=...) creates one"
            )
        with _connected(file, read_only=True) as connection:
            store = cls(file, connection)
            store._check_is_store()
            yield store

    def settings(self) -> dict[str, Any]:
        """Return the settings of the study."""
        found = self._connection.execute(
            "SELECT name, value, checksum FROM setting WHERE name = 'study'"
        ).fetchone()
        if found is None:
            raise StoreError(
                f"{str(self.path)!r} contains no study; compare(..., store=...) adds one"
            )
        settings = self._parse(*found)
        if settings.get("format") != FORMAT:
            raise StoreError(
                f"store {str(self.path)!r} has format {settings.get('format')}; this version of "
                f"bucketrank reads format {FORMAT}"
            )
        lacking = [
            name for name, kind in _REQUIRED.items() if not isinstance(settings.get(name), kind)
        ]
        if lacking:
            raise self._damaged(f"its settings lack {', '.join(lacking)}")
        return settings

    def note(self, name: str, value: Any) -> None:
        """Store additional information about the study that results do not depend on."""
        key, text = f"note {name}", json.dumps(value)
        with self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO setting VALUES (?, ?, ?)", (key, text, _checksum(key, text))
            )

    def notes(self) -> dict[str, Any]:
        """Return the information stored by :meth:`note`."""
        query = "SELECT name, value, checksum FROM setting WHERE name LIKE 'note %'"
        return {
            name.removeprefix("note "): self._parse(name, value, checksum)
            for name, value, checksum in self._connection.execute(query)
        }

    def add(self, job: Job, methods: Sequence[str], outcomes: Iterable[Outcome]) -> None:
        """Write the results of a job, unless they are already stored."""
        rows = [(*row, job.learner, len(methods)) for row in result_rows(job, methods, outcomes)]
        rows = [(*row, _checksum(*row)) for row in rows]
        marks = ", ".join("?" * len(_STORED))
        with _store_errors(self.path), self._connection:
            self._connection.executemany(f"INSERT OR IGNORE INTO result VALUES ({marks})", rows)

    def rows(self) -> list[Row]:
        """Return all results; raise if one is damaged, does not belong to the study, or is not complete."""
        with _store_errors(self.path):
            query = f"SELECT {', '.join(_STORED)} FROM result"
            stored: list[Row] = self._connection.execute(query).fetchall()
        settings = self.settings()
        known = (
            set(settings["datasets"]),
            set(settings["missing"]),
            set(settings["methods"]),
            set(range(settings["n_repeats"])),
            set(range(settings["n_folds"])),
        )
        counts: Counter[Row] = Counter()
        for row in stored:
            self._check_result(row[: len(COLUMNS)], known)
            *content, checksum = row
            if _checksum(*content) != checksum:
                raise self._damaged(f"the checksum of the result {row[: len(KEYS)]} is wrong")
            # Dataset, missing, repeat, fold, learner and the number of results of the job.
            counts[(*row[:2], *row[3:5], *row[-3:-1])] += 1
        self._check_complete(counts, len(stored))
        return [row[: len(COLUMNS)] for row in stored]

    def _check_complete(self, counts: Counter[Row], found: int) -> None:
        """Raise if a job has only some of its results, which are written together, or a finished study lacks some."""
        for (dataset, missing, repeat, fold, learner, expected), count in counts.items():
            if count != expected:
                job = Job(dataset, missing, repeat, fold, learner)
                raise self._damaged(f"{count} of {expected} results of a job are left ({job})")
        expected = self.notes().get("finished", {}).get("results", 0)
        if found < expected:
            raise self._damaged(f"{found} of {expected} results of a finished study are left")

    def _check_result(self, row: Row, known: tuple[set[Any], ...]) -> None:
        for name, value, expected in zip(KEYS, row, known, strict=False):
            if value not in expected:
                raise self._damaged(
                    f"a result has the {name} {value!r:.60}, which does not belong to the study"
                )
        for name, value in zip(Outcome._fields, row[len(KEYS) :], strict=True):
            # NaN is stored as NULL.
            if value is not None and not isinstance(value, (int, float)):
                raise self._damaged(f"a result has the {name} {value!r:.60}, which is not a number")
            least, most = (-1.0, 1.0) if name == "tau_x" else (0.0, math.inf)
            # Rounding can exceed the limits of a mean by a little.
            if value is not None and not least - 1e-9 <= value <= most + 1e-9:
                raise self._damaged(f"a result has the {name} {value!r}, which is not possible")

    def _parse(self, name: str, text: Any, checksum: Any) -> dict[str, Any]:
        try:
            parsed = json.loads(text)
        except (TypeError, ValueError) as error:
            raise self._damaged(f"its settings are not JSON: {error}") from error
        if not isinstance(parsed, dict):
            raise self._damaged(f"its settings are {parsed!r:.60}")
        if parsed.get("format", FORMAT) == FORMAT and checksum != _checksum(name, text):
            raise self._damaged(f"the checksum of the {name} is wrong")
        return parsed

    def _damaged(self, how: str) -> StoreError:
        return StoreError(f"store {str(self.path)!r} is damaged: {how}")

    def _tables(self) -> set[str]:
        names = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {name for (name,) in names}

    def _setting_columns(self) -> set[str]:
        names = self._connection.execute("SELECT name FROM pragma_table_info('setting')")
        return {name for (name,) in names}

    def _check_is_store(self) -> None:
        """Raise if the database is not a store; does not write to it."""
        if self._tables() != {"setting", "result"}:
            raise StoreError(
                f"{str(self.path)!r} is not the store of a study; expected another file"
            )
        if "checksum" not in self._setting_columns():
            raise StoreError(
                f"store {str(self.path)!r} has no checksums; this version of bucketrank reads format {FORMAT}"
            )

    def _check_same_study(self, settings: dict[str, Any]) -> None:
        stored = self.settings()
        wanted = json.loads(json.dumps(settings))
        for name in wanted:
            if stored.get(name) != wanted[name]:
                found, expected = _difference(stored.get(name), wanted[name])
                raise StoreError(
                    f"store {str(self.path)!r} belongs to another study: its {name} is {found}, "
                    f"expected {expected}; choose another file, or use the settings of the store"
                )


def _checksum(*content: Any) -> str:
    """Return a checksum of values as SQLite returns them; NaN is stored as NULL."""
    plain = [None if value != value else value for value in content]
    # A damaged file can contain bytes, which JSON cannot.
    return hashlib.blake2b(json.dumps(plain, default=repr).encode(), digest_size=8).hexdigest()


def result_rows(job: Job, methods: Sequence[str], outcomes: Iterable[Outcome]) -> list[Row]:
    """Return the rows of the result table for one job."""
    return [
        (job.dataset, job.missing, method, job.repeat, job.fold, *outcome)
        for method, outcome in zip(methods, outcomes, strict=True)
    ]


def _difference(found: Any, expected: Any) -> tuple[str, str]:
    """Describe the first difference between two settings."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in [*expected, *found]:
            if found.get(key) != expected.get(key):
                inner = _difference(found.get(key), expected.get(key))
                return (f"{key}: {inner[0]}", f"{key}: {inner[1]}")
    return (_short(found), _short(expected))


def _short(value: Any) -> str:
    text = "absent" if value is None else json.dumps(value)
    return text if len(text) <= 300 else f"{text[:300]} …"


def _open_read_only(path: Path) -> sqlite3.Connection:
    """Open a file for reading, also on a read-only medium, where SQLite cannot make its own files beside it."""
    address = path.absolute().as_uri()
    connection = sqlite3.connect(f"{address}?mode=ro", timeout=_WAIT_SECONDS, uri=True)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        journal = path.with_name(f"{path.name}-wal")
        if journal.is_file() and journal.stat().st_size:
            # Some results are in SQLite's journal, which cannot be read without writing.
            raise
        return sqlite3.connect(f"{address}?immutable=1", timeout=_WAIT_SECONDS, uri=True)
    return connection


@contextmanager
def _connected(path: Path, *, read_only: bool = False) -> Iterator[sqlite3.Connection]:
    with _store_errors(path):
        connection = (
            _open_read_only(path)
            if read_only
            else sqlite3.connect(path.absolute(), timeout=_WAIT_SECONDS)
        )
    try:
        with _store_errors(path):
            status = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if status != "ok":
                raise StoreError(f"store {str(path)!r} is damaged: {status}")
            yield connection
    finally:
        connection.close()


@contextmanager
def _store_errors(path: Path) -> Iterator[None]:
    """Convert SQLite errors to a StoreError that names the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(f"store {str(path)!r} cannot be used: {error}") from error
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{str(path)!r} is not a store, or is damaged: {error}") from error
