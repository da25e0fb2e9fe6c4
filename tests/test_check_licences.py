"""The offline licence check: licence expressions of SPDX and of older crates."""

from __future__ import annotations

from typing import Any

import pytest

from check_licences import CRATES_IO, LicenceExpression, problems

ALLOW = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"}
RULES = {"licenses": {"allow": sorted(ALLOW)}, "bans": {"deny": [{"name": "coin_cbc"}]}}


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("mit", False),
        ("MIT OR GPL-3.0-only", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT AND Apache-2.0", True),
        ("MIT/Apache-2.0", True),
        ("GPL-2.0+ / MIT", True),
        ("GPL-2.0+/LGPL-2.1", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("MIT WITH LLVM-exception", False),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0 OR MIT", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("(MIT OR Apache-2.0) AND OpenSSL", False),
        # AND binds tighter than OR.
        ("MIT OR Apache-2.0 AND OpenSSL", True),
        ("(GPL-2.0 OR (MIT AND (Apache-2.0 OR OpenSSL)))", True),
        ("MIT or Apache-2.0 and Unicode-3.0", True),
        ("  MIT  ", True),
    ],
)
def test_allowed(expression: str, allowed: bool) -> None:
    assert LicenceExpression(expression).allowed_by(ALLOW) is allowed


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", "expected a licence, found the end"),
        ("MIT OR", "expected a licence, found the end"),
        ("MIT Apache-2.0", "expected an operator, found Apache-2.0"),
        ("(MIT", r"expected '\)', found the end"),
        ("MIT)", r"expected an operator, found \)"),
        ("AND MIT", "expected a licence, found AND"),
        ("MIT WITH", "expected an exception, found the end"),
        ("MIT, Apache-2.0", "unexpected character at 3"),
    ],
)
def test_malformed(expression: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LicenceExpression(expression).allowed_by(ALLOW)


def package(**changes: Any) -> dict[str, Any]:
    crate = {"name": "good", "version": "1.0.0", "license": "MIT", "source": CRATES_IO}
    return crate | changes


def test_no_problem() -> None:
    own = package(name="bucketrank-core", source=None)
    assert problems([package(), own], RULES) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"license": "GPL-3.0-only"}, "no alternative of its licence is allowed: GPL-3.0-only"),
        ({"license": None}, "expected a licence expression, found none"),
        ({"name": "coin_cbc"}, "coin_cbc 1.0.0: banned"),
        ({"source": "git+https://example.org/x"}, "expected a crate from crates.io, found git"),
    ],
)
def test_problem(changes: dict[str, Any], message: str) -> None:
    (problem,) = problems([package(**changes)], RULES)
    assert message in problem
