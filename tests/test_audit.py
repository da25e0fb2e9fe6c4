"""The report of `make audit` never reports an unchecked package as safe."""

from __future__ import annotations

from typing import Any

from audit import summarise

SAFE: dict[str, Any] = {"name": "safe", "version": "1", "vulns": []}
VULNERABLE: dict[str, Any] = {"name": "bad", "version": "2", "vulns": [{"id": "PYSEC-1"}]}
SKIPPED: dict[str, Any] = {"name": "unknown", "skip_reason": "not found"}


def test_vulnerabilities_are_named() -> None:
    lines, found, complete = summarise([SAFE, VULNERABLE])
    assert (found, complete) == (True, True)
    assert lines == ["Python packages: 2 of 2 checked", "  vulnerable: bad 2: PYSEC-1"]


def test_unchecked_packages_are_named() -> None:
    lines, found, complete = summarise([SKIPPED, SAFE])
    assert (found, complete) == (False, False)
    assert lines[0] == "Python packages: 1 of 2 checked"
    assert "no known vulnerability in these" in lines[1]
    assert lines[2].endswith("no answer: unknown")


def test_no_answer_at_all_is_not_a_clean_report() -> None:
    # The audited package itself is not counted.
    lines, found, complete = summarise([SKIPPED, {**SKIPPED, "name": "bucketrank"}])
    assert (found, complete) == (False, False)
    assert lines[0] == "Python packages: 0 of 1 checked"
    assert not any("no known" in line for line in lines)
