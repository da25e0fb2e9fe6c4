"""Check licences, bans and sources of the Rust dependencies offline, by the rules in deny.toml.

Does the same checks as ``cargo deny check licenses bans sources``, but needs only cargo and Python.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
TOKEN = re.compile(r"\s*([()/]|[\w.+:-]+)")


class LicenceExpression:
    """An SPDX licence expression; ``/`` is read as OR, as crates wrote it before SPDX.

    From loosest to tightest binding: OR, AND, WITH. Operators may be in lower case.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = self._tokenise(text)

    def allowed_by(self, allow: Collection[str]) -> bool:
        """Whether some choice among the alternatives needs only licences of ``allow``."""
        self._next = 0
        self._allow = allow
        verdict = self._alternatives()
        if self._next != len(self._tokens):
            raise self._error("an operator")
        return verdict

    @staticmethod
    def _tokenise(text: str) -> list[str]:
        tokens, start = [], 0
        while start < len(text.rstrip()):
            match = TOKEN.match(text, start)
            if match is None:
                raise ValueError(f"licence {text!r}: unexpected character at {start}")
            tokens.append(match[1])
            start = match.end()
        return tokens

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self, *operators: str) -> bool:
        found = self._peek().upper() in operators
        self._next += found
        return found

    def _error(self, expected: str) -> ValueError:
        found = self._peek() or "the end"
        return ValueError(f"licence {self.text!r}: expected {expected}, found {found}")

    def _alternatives(self) -> bool:
        verdict = self._requirements()
        while self._take("OR", "/"):
            # Parse the right side even if the left side is allowed.
            verdict = self._requirements() or verdict
        return verdict

    def _requirements(self) -> bool:
        verdict = self._licence()
        while self._take("AND"):
            verdict = self._licence() and verdict
        return verdict

    def _licence(self) -> bool:
        if self._take("("):
            verdict = self._alternatives()
            if not self._take(")"):
                raise self._error("')'")
            return verdict
        licence = self._name("a licence")
        if self._take("WITH"):
            licence = f"{licence} WITH {self._name('an exception')}"
        return licence in self._allow

    def _name(self, expected: str) -> str:
        token = self._peek()
        if token.upper() in {"", "(", ")", "/", "AND", "OR", "WITH"}:
            raise self._error(expected)
        self._next += 1
        return token


def problems(packages: list[dict[str, Any]], rules: dict[str, Any]) -> list[str]:
    """Return the violations of ``rules`` (from deny.toml) in ``packages`` (from cargo metadata)."""
    allow = set(rules["licenses"]["allow"])
    banned = {ban["name"] for ban in rules["bans"].get("deny", [])}
    found = []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        # A crate of the workspace has no source.
        if package["source"] not in {None, CRATES_IO}:
            found.append(f"{name}: expected a crate from crates.io, found {package['source']}")
        if package["name"] in banned:
            found.append(f"{name}: banned")
        licence = package["license"]
        if licence is None:
            found.append(f"{name}: expected a licence expression, found none")
        elif not LicenceExpression(licence).allowed_by(allow):
            found.append(f"{name}: no alternative of its licence is allowed: {licence}")
    return found


def main() -> int:
    with (ROOT / "deny.toml").open("rb") as file:
        rules = tomllib.load(file)
    command = ["cargo", "metadata", "--locked", "--all-features", "--format-version=1"]
    metadata = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    packages = json.loads(metadata)["packages"]
    found = problems(packages, rules)
    for problem in found:
        print(problem, file=sys.stderr)
    print(f"licences, bans and sources: {len(packages)} crates checked, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
