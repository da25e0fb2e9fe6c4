"""The offline licence check reads licence expressions as SPDX and crates write them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "check_licences.py"
ALLOW = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"}
RULES = {"licenses": {"allow": sorted(ALLOW)}, "bans": {"deny": [{"name": "coin_cbc"}]}}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_licences", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


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
def test_allowed(script: ModuleType, expression: str, allowed: bool) -> None:
    assert script.LicenceExpression(expression).allowed_by(ALLOW) is allowed


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
def test_malformed(script: ModuleType, expression: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        script.LicenceExpression(expression).allowed_by(ALLOW)


def package(script: ModuleType, **changes: Any) -> dict[str, Any]:
    crate = {"name": "good", "version": "1.0.0", "license": "MIT", "source": script.CRATES_IO}
    return crate | changes


def test_no_problem(script: ModuleType) -> None:
    own = package(script, name="bucketrank-core", source=None)
    assert script.problems([package(script), own], RULES) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"license": "GPL-3.0-only"}, "no alternative of its licence is allowed: GPL-3.0-only"),
        ({"license": None}, "expected a licence expression, found none"),
        ({"name": "coin_cbc"}, "coin_cbc 1.0.0: banned"),
        ({"source": "git+https://example.org/x"}, "expected a crate from crates.io, found git"),
    ],
)
def test_problem(script: ModuleType, changes: dict[str, Any], message: str) -> None:
    (problem,) = script.problems([package(script, **changes)], RULES)
    assert message in problem
