"""Look for known vulnerabilities in the Python packages of this environment, and say what was not checked.

pip-audit reports "No known vulnerabilities found" even if it skipped every package, for example because a proxy answers
404 in place of pypi.org. This script counts the packages that were checked. It fails when a vulnerability is found, and
with ``--strict`` also when anything was not checked.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
from typing import Any


def summarise(dependencies: list[dict[str, Any]]) -> tuple[list[str], bool, bool]:
    """Return the lines of the report, whether a vulnerability was found, and whether all packages were checked."""
    dependencies = [entry for entry in dependencies if entry["name"] != "bucketrank"]
    skipped = [entry["name"] for entry in dependencies if "skip_reason" in entry]
    checked = [entry for entry in dependencies if "skip_reason" not in entry]
    vulnerable = [entry for entry in checked if entry["vulns"]]
    lines = [f"Python packages: {len(checked)} of {len(dependencies)} checked"]
    for entry in vulnerable:
        names = ", ".join(vulnerability["id"] for vulnerability in entry["vulns"])
        lines.append(f"  vulnerable: {entry['name']} {entry['version']}: {names}")
    if checked and not vulnerable:
        lines.append("  no known vulnerability in these")
    if skipped:
        lines.append(f"  NOT CHECKED, because the database has no answer: {', '.join(skipped)}")
    return lines, bool(vulnerable), not skipped


def main() -> int:
    """Run pip-audit and print what was checked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--strict", action="store_true", help="fail if anything was not checked")
    strict = parser.parse_args().strict
    if importlib.util.find_spec("pip_audit") is None:
        print("Python packages: NOT CHECKED, because pip-audit is not installed")
        return int(strict)
    command = ["-m", "pip_audit", "--local", "--format=json", "--progress-spinner=off"]
    done = subprocess.run([sys.executable, *command], check=False, capture_output=True, text=True)
    try:
        dependencies = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip() or "no output").splitlines()[-1]
        print(f"Python packages: NOT CHECKED, because pip-audit failed: {reason}")
        return int(strict)
    lines, found, complete = summarise(dependencies)
    print("\n".join(lines))
    return int(found or (strict and not complete))


if __name__ == "__main__":
    sys.exit(main())
