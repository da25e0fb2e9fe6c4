"""Golden files and data next to the checkout, and a count of the comparisons with them.

The folder ``shared`` next to the checkout (or the folder named by ``BUCKETRANK_SHARED``) contains golden files and data
that are not part of the project. Without it, the tests that need it are skipped with a reason. With it, a skip is a
failure: a run that has the files but does not compare them must not pass.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import settings

# No deadlines: times are not meaningful on a machine with other load.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

BESIDE_THE_CHECKOUT = Path(__file__).resolve().parents[2] / "shared"
COMPARED = pytest.StashKey[Counter[str]]()


def find_shared() -> Path | None:
    """The folder with golden files and data, or None if it does not exist."""
    named = os.environ.get("BUCKETRANK_SHARED")
    if named is None:
        return BESIDE_THE_CHECKOUT if BESIDE_THE_CHECKOUT.is_dir() else None
    folder = Path(named).resolve()
    if not folder.is_dir():
        raise pytest.UsageError(f"BUCKETRANK_SHARED: expected a folder, found none at {folder}")
    return folder


def pytest_configure(config: pytest.Config) -> None:
    find_shared()  # a wrong BUCKETRANK_SHARED ends the run here, before any test
    config.stash[COMPARED] = Counter()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "shared_dir" in getattr(item, "fixturenames", ()):
            item.add_marker("shared")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    expected_failure = hasattr(report, "wasxfail")
    if report.skipped and not expected_failure and item.get_closest_marker("shared"):
        fail_if_shared_is_present(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Handle modules that are skipped completely: the hook above is not called for their tests."""
    report = yield
    if (
        report.skipped
        and isinstance(collector, pytest.Module)
        and "shared_dir" in collector.path.read_text(encoding="utf-8")
    ):
        fail_if_shared_is_present(report)
    return report


def fail_if_shared_is_present(report: pytest.TestReport | pytest.CollectReport) -> None:
    folder = find_shared()
    if folder is not None:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped although {folder} is present: {reason}"


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder with golden files and data; skips the test when it is absent."""
    folder = find_shared()
    if folder is None:
        pytest.skip("no golden files and data: no folder ../shared, and BUCKETRANK_SHARED not set")
    return folder


@pytest.fixture(scope="session")
def count_comparisons(request: pytest.FixtureRequest) -> Callable[[str, int], None]:
    """Count comparisons with golden files or data: ``count_comparisons("aggregators", 1234)``."""
    counter = request.config.stash[COMPARED]

    def count(what: str, number: int) -> None:
        counter[what] += number

    return count


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    counter = config.stash[COMPARED]
    if find_shared() is None:
        line = "no golden files and data, nothing compared with them"
    else:
        each = ", ".join(f"{what} {number}" for what, number in sorted(counter.items()))
        line = f"{counter.total()} comparisons with golden files and data ({each or 'none ran'})"
    terminalreporter.write_line(line)
