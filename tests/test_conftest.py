"""The rules for golden files and data, tested with separate small runs of pytest."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

COMPARES = """
def test_golden(shared_dir, count_comparisons):
    count_comparisons("aggregators", 1200)
    count_comparisons("aggregators", 34)
    count_comparisons("trees", 4)
    assert shared_dir.is_dir()
"""
SKIPS_ITSELF = """
import pytest

def test_golden(shared_dir):
    pytest.skip("no time today")
"""
IS_SKIPPED_BY_A_MARK = """
import pytest

@pytest.mark.shared
@pytest.mark.skip(reason="no time today")
def test_golden(): ...
"""
MODULE_SKIPS_ITSELF = """
import pytest

pytest.skip("no time today", allow_module_level=True)

def test_golden(shared_dir): ...
"""
IS_EXPECTED_TO_FAIL = """
import pytest

@pytest.mark.xfail(reason="known")
def test_golden(shared_dir):
    assert False
"""
SKIPS_SOMETHING_ELSE = """
import pytest

def test_plain():
    pytest.skip("needs another system")
"""


@pytest.fixture
def inner(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with our conftest.py in tests/, in a subfolder so that it has its own ../shared."""
    tests = pytester.mkdir("project") / "tests"
    tests.mkdir()
    conftest = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
    (tests / "conftest.py").write_text(conftest, encoding="utf-8")
    pytester.makeini("[pytest]\nmarkers = shared\naddopts = --strict-markers -ra\n")
    return pytester


def run(inner: pytest.Pytester, source: str) -> pytest.RunResult:
    path = inner.path / "project" / "tests" / "test_inner.py"
    path.write_text(source, encoding="utf-8")
    # Hypothesis would be imported again in each run.
    return inner.runpytest_inprocess("-p", "no:hypothesispytest", "project")


@pytest.fixture
def absent(inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("BUCKETRANK_SHARED", raising=False)
    return inner


@pytest.fixture(params=["beside the checkout", "named"])
def present(
    request: pytest.FixtureRequest, absent: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    if request.param == "named":
        monkeypatch.setenv("BUCKETRANK_SHARED", str(absent.mkdir("elsewhere")))
    else:
        absent.mkdir("shared")
    return absent


def test_counts_comparisons(present: pytest.Pytester) -> None:
    result = run(present, COMPARES)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["1238 comparisons with golden files and data (aggregators 1234, trees 4)"]
    )


def test_reports_zero_comparisons(present: pytest.Pytester) -> None:
    result = run(present, "def test_plain(): ...")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["0 comparisons with golden files and data (none ran)"])


def test_absent_folder_skips_with_a_reason(absent: pytest.Pytester) -> None:
    result = run(absent, COMPARES)
    result.assert_outcomes(skipped=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*nothing compared with them", "SKIPPED*no golden files and data*BUCKETRANK_SHARED*"]
    )


@pytest.mark.parametrize(
    ("source", "outcome"),
    [(SKIPS_ITSELF, "failed"), (IS_SKIPPED_BY_A_MARK, "errors"), (MODULE_SKIPS_ITSELF, "errors")],
    ids=["itself", "by a mark", "whole module"],
)
def test_skip_fails_when_the_folder_is_present(
    present: pytest.Pytester, source: str, outcome: str
) -> None:
    result = run(present, source)
    result.assert_outcomes(**{outcome: 1})
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*skipped although * is present: *no time today*"])


@pytest.mark.parametrize(
    "source",
    [SKIPS_ITSELF, IS_SKIPPED_BY_A_MARK, MODULE_SKIPS_ITSELF],
    ids=["itself", "by a mark", "whole module"],
)
def test_skip_is_a_skip_when_the_folder_is_absent(absent: pytest.Pytester, source: str) -> None:
    run(absent, source).assert_outcomes(skipped=1)


def test_expected_failure_is_not_a_skip(present: pytest.Pytester) -> None:
    run(present, IS_EXPECTED_TO_FAIL).assert_outcomes(xfailed=1)


def test_other_skips_are_unaffected(present: pytest.Pytester) -> None:
    result = run(present, SKIPS_SOMETHING_ELSE)
    result.assert_outcomes(skipped=1)
    assert result.ret == 0


def test_wrong_name_ends_the_run(inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUCKETRANK_SHARED", str(inner.path / "nowhere"))
    result = run(inner, "def test_plain(): ...")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*BUCKETRANK_SHARED: expected a folder, found none at *nowhere"])
