"""Measure the line coverage of the Rust core by its tests, and of the Python package by its tests.

    python scripts/measure_coverage.py [--rust | --python] [ARGUMENT ...]

Further arguments select Python tests. The Rust part needs ``llvm-profdata`` and ``llvm-cov`` of the compiler's LLVM:
``rustup component add llvm-tools``, or a package such as Debian's ``llvm-22``. The Python part needs the package
`coverage`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "target" / "coverage"
"""Cargo's target folder for coverage: instrumented libraries must not replace the usual ones."""


def measure_rust() -> None:
    """Run the tests of the core with counters, and print the covered lines per file."""
    profiles = TARGET / "profiles"
    shutil.rmtree(profiles, ignore_errors=True)
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(TARGET),
        "LLVM_PROFILE_FILE": str(profiles / "%p-%m.profraw"),
        "RUSTFLAGS": "-Cinstrument-coverage",
    }
    test = ["cargo", "test", "--package", "bucketrank-core", "--lib", "--tests", "--locked"]
    messages = subprocess.run(
        [*test, "--no-run", "--message-format=json"],
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    programs = [
        message["executable"]
        for message in map(json.loads, messages.splitlines())
        if message.get("executable") and message["profile"]["test"]
    ]
    subprocess.run([*test, "--quiet"], cwd=ROOT, env=environment, check=True)
    merged = TARGET / "tests.profdata"
    raw = map(str, sorted(profiles.glob("*.profraw")))
    subprocess.run(
        [_llvm_tool("llvm-profdata"), "merge", "--sparse", *raw, "-o", str(merged)], check=True
    )
    first, *others = programs
    objects = [first, *(f"--object={program}" for program in others)]
    report = [_llvm_tool("llvm-cov"), "report", f"--instr-profile={merged}", *objects]
    subprocess.run([*report, "--sources", str(ROOT / "rust" / "core" / "src")], check=True)


def _llvm_tool(name: str) -> str:
    """Return the program of the toolchain, or one on PATH of the same LLVM version, which can read the profiles."""
    sysroot = _output_of("rustc", "--print", "sysroot").strip()
    bundled = sorted(Path(sysroot).glob(f"lib/rustlib/*/bin/{name}*"))
    if bundled:
        return str(bundled[0])
    (major,) = re.findall(r"^LLVM version: (\d+)", _output_of("rustc", "-vV"), re.MULTILINE)
    found = shutil.which(f"{name}-{major}")
    if found is None:
        sys.exit(
            f"{name} is not installed: run 'rustup component add llvm-tools', or install a package that puts "
            f"{name}-{major} on PATH, such as Debian's llvm-{major}"
        )
    return found


def _output_of(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def measure_python(tests: list[str]) -> None:
    """Run the Python tests, all by default, and print the covered lines per file."""
    run = [sys.executable, "-m", "coverage"]
    command = [*run, "run", "--source", "python/bucketrank", "-m", "pytest", "-q", *tests]
    subprocess.run(command, cwd=ROOT, check=True)
    subprocess.run([*run, "report", "--skip-covered", "--sort=cover"], cwd=ROOT, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the line coverage of the tests.")
    parser.add_argument("--rust", action="store_true", help="only the Rust core")
    parser.add_argument("--python", action="store_true", help="only the Python package")
    parser.add_argument("tests", nargs="*", help="Python tests to run; all by default")
    arguments = parser.parse_args()
    if not arguments.python:
        measure_rust()
    if not arguments.rust:
        measure_python(arguments.tests)


if __name__ == "__main__":
    main()
