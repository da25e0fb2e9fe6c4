"""Check that the tests notice changes of the core: ``python scripts/mutants.py --sample 330``.

A seeded sample of the mutants that ``cargo mutants --list`` names is compiled into one copy of the workspace: each
mutated expression becomes ``if mutant::is(17) { mutated } else { original }``, and the environment variable
BUCKETRANK_MUTANT selects the mutant at run time. The tests are built once instead of once per mutant. Mutants that do
not compile in this form, such as those in constants, are left out and counted.

A first run of every test records which mutants it reaches; each mutant is then run only against the tests that reach
it. It is caught when a test fails, ends abnormally or takes too long. With ``--python FILE ...``, mutants that all Rust
tests miss are also run against these Python tests, which need the test tools in the running environment.

Needs cargo-mutants, and the packages tree-sitter and tree-sitter-rust.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutant_copy import ROOT, Mutant, copy_workspace, failing_mutants, write_copy


def byte_offset(text: str, position: dict[str, int]) -> int:
    """Return the byte offset of a line and column, both counted from 1 in characters."""
    lines = text.split("\n")
    before = "\n".join(lines[: position["line"] - 1]) + ("\n" if position["line"] > 1 else "")
    return len((before + lines[position["line"] - 1][: position["column"] - 1]).encode())


def list_mutants(sample: int, seed: int) -> list[Mutant]:
    """Return a seeded sample of the mutants of the core."""
    command = ["cargo", "mutants", "--list", "--json", "--package", "bucketrank-core"]
    found = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    listed: list[dict[str, Any]] = json.loads(found)
    chosen = random.Random(seed).sample(listed, min(sample, len(listed)))
    chosen.sort(key=lambda entry: entry["name"])
    print(f"{len(chosen)} of {len(listed)} mutants, seed {seed}", flush=True)
    mutants = []
    for number, entry in enumerate(chosen):
        text = (ROOT / entry["file"]).read_text()
        start, end = (byte_offset(text, entry["span"][key]) for key in ("start", "end"))
        mutants.append(
            Mutant(
                number,
                entry["name"],
                Path(entry["file"]),
                entry["genre"],
                entry["replacement"],
                start,
                end,
            )
        )
    return mutants


def cargo_environment(copy: Path) -> dict[str, str]:
    return {
        **os.environ,
        "CARGO_TARGET_DIR": str(copy / "target"),
        "CARGO_INCREMENTAL": "1",
        "RUSTFLAGS": "--cap-lints=allow",
        "CARGO_PROFILE_DEV_DEBUG": "0",
        "BUCKETRANK_SHARED": str(ROOT.parent / "shared"),
    }


def build(copy: Path, mutants: list[Mutant]) -> None:
    """Leave out mutants until the core compiles."""
    environment = cargo_environment(copy)
    check = ["cargo", "check", "--package", "bucketrank-core", "--lib", "--message-format=json"]
    for _ in range(20):
        write_copy(copy, mutants)
        done = subprocess.run(
            check,
            cwd=copy,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode == 0:
            return
        failing = failing_mutants(done.stdout, copy)
        if not failing:
            raise SystemExit(done.stderr + done.stdout[-4000:])
        for mutant in mutants:
            if mutant.number in failing:
                mutant.outcome = "does not compile"
        print(f"{len(failing)} mutants do not compile", flush=True)
    raise SystemExit("the copy does not compile")


def build_tests(copy: Path) -> list[str]:
    """Return the test programs of the core."""
    command = ["cargo", "test", "--package", "bucketrank-core", "--lib", "--tests", "--no-run"]
    done = subprocess.run(
        [*command, "--message-format=json"],
        cwd=copy,
        env=cargo_environment(copy),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    messages = map(json.loads, done.stdout.splitlines())
    return [
        message["executable"]
        for message in messages
        if message.get("executable") and message["profile"]["test"]
    ]


@dataclass
class Test:
    """A test of one program, its processor time in seconds, and the mutants that it reaches."""

    program: str
    name: str
    seconds: float
    reached: set[int]


CAUGHT = {"caught", "timeout", "caught by Python"}
"""Outcomes of mutants that a test notices."""

QUICK = 1.0
"""Processor time in seconds of a quick test; all mutants are run against the quick tests first."""

SLOWEST = 20.0
"""Tests that take longer are left out: they would run once for every surviving mutant."""


def run_limited(
    command: list[str], folder: Path, environment: dict[str, str], seconds: float
) -> tuple[bool, str]:
    """Run a command for at most `seconds` of processor time; return whether it succeeded, and its output."""
    limit = math.ceil(seconds)
    try:
        done = subprocess.run(
            ["prlimit", f"--cpu={limit}", *command],
            cwd=folder,
            env=environment,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # A deadlock takes no processor time.
            timeout=60 + 20 * limit,
        )
    except subprocess.TimeoutExpired:
        return False, "timeout"
    killed = done.returncode in {-signal.SIGKILL, -signal.SIGXCPU}
    return done.returncode == 0, "timeout" if killed else done.stdout


def run_tests(
    copy: Path, program: str, names: list[str], mutant: str, seconds: float
) -> tuple[bool, str]:
    """Run tests of one program; return whether they passed, and the output."""
    environment = {
        **cargo_environment(copy),
        "BUCKETRANK_MUTANT": mutant,
        "PROPTEST_CASES": os.environ.get("PROPTEST_CASES", "32"),
        "PROPTEST_FAILURE_PERSISTENCE": "off",
        "RUST_BACKTRACE": "0",
    }
    command = [program, "--exact", "--test-threads=1", *names]
    return run_limited(command, copy / "rust" / "core", environment, seconds)


def processor_time() -> float:
    """Return the processor time of all ended child processes, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def record_tests(copy: Path, programs: list[str]) -> list[Test]:
    """Run every test alone without a mutant; a test that fails, such as one of speed on a busy machine, is left out."""
    tests = []
    log = copy / "reached.txt"
    for program in programs:
        listed = subprocess.run(
            [program, "--list", "--format=terse"], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        names = [line[: -len(": test")] for line in listed.splitlines() if line.endswith(": test")]
        for name in names:
            log.unlink(missing_ok=True)
            began = processor_time()
            passed, output = run_tests(copy, program, [name], str(log), 600)
            if not passed:
                print(f"left out, because it fails without a mutant: {name}\n{output}", flush=True)
                continue
            reached = set(map(int, log.read_text().split())) if log.exists() else set()
            tests.append(Test(program, name, processor_time() - began, reached))
    return tests


def run_mutant(copy: Path, mutant: Mutant, tests: list[Test]) -> str:
    """Run tests that reach a mutant, program by program, until one fails."""
    for program in dict.fromkeys(test.program for test in tests):
        group = [test for test in tests if test.program == program]
        limit = 10 + 5 * sum(test.seconds for test in group)
        names = [test.name for test in group]
        passed, output = run_tests(copy, program, names, str(mutant.number), limit)
        if not passed:
            mutant.tests = re.findall(r"^test (\S+) .*FAILED$", output, re.MULTILINE)[:3]
            return "timeout" if output == "timeout" else "caught"
    return "missed"


def save_outcomes(mutants: list[Mutant], path: Path | None) -> None:
    """Write the outcomes so far to a JSON file, if its path is given."""
    if path:
        records = [{"name": m.name, "outcome": m.outcome, "tests": m.tests} for m in mutants]
        path.write_text(json.dumps(records, indent=1))


def restore_outcomes(mutants: list[Mutant], path: Path | None) -> None:
    """Read the caught mutants of a run that was stopped; they are not built and run again."""
    if path is None or not path.exists():
        return
    caught = {r["name"]: r for r in json.loads(path.read_text()) if r["outcome"] in CAUGHT}
    for mutant in mutants:
        if mutant.name in caught:
            mutant.outcome = caught[mutant.name]["outcome"]
            mutant.tests = caught[mutant.name]["tests"]


def run_all(
    copy: Path, mutants: list[Mutant], tests: list[Test], results: Path | None = None
) -> None:
    """Run the quick tests with every viable mutant, then the slow ones with those that survive."""
    for is_quick in (True, False):
        for mutant in mutants:
            if mutant.outcome not in {"viable", "missed", "not reached"}:
                continue
            reaching = [
                test
                for test in tests
                if mutant.number in test.reached
                and (test.seconds <= QUICK) == is_quick
                and test.seconds <= SLOWEST
            ]
            if reaching:
                mutant.outcome = run_mutant(copy, mutant, reaching)
            elif mutant.outcome == "viable":
                mutant.outcome = "not reached"
            print(f"{mutant.outcome:16} {mutant.name}", flush=True)
            save_outcomes(mutants, results)


def build_extension(copy: Path) -> None:
    """Build the extension from the copy, beside the copied Python package."""
    environment = {**cargo_environment(copy), "PYO3_PYTHON": sys.executable}
    command = ["cargo", "build", "--package", "bucketrank-py", "--lib"]
    subprocess.run(command, cwd=copy, env=environment, check=True)
    built = next((copy / "target" / "debug").glob("lib*.so"))
    shutil.copyfile(built, copy / "python" / "bucketrank" / "_core.abi3.so")


def run_python(copy: Path, files: list[str], mutant: str, seconds: float) -> tuple[bool, str]:
    """Run Python tests with a mutant; return whether they passed, and the end of the output."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{copy / 'python'}:{copy / 'tests'}",
        "BUCKETRANK_MUTANT": mutant,
        "BUCKETRANK_SHARED": str(ROOT.parent / "shared"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    paths = [str(copy / file) for file in files]
    passed, output = run_limited([*command, *paths], copy, environment, seconds)
    return passed, output[-2000:]


def run_python_on_missed(copy: Path, mutants: list[Mutant], files: list[str]) -> None:
    """Run the files of Python tests that reach each missed mutant, the quickest first."""
    build_extension(copy)
    reached: dict[str, tuple[float, set[int]]] = {}
    log = copy / "reached.txt"
    for file in files:
        log.unlink(missing_ok=True)
        began = processor_time()
        passed, output = run_python(copy, [file], str(log), 1200)
        if not passed:
            raise SystemExit(f"{file} fails without a mutant\n{output}")
        numbers = set(map(int, log.read_text().split())) if log.exists() else set()
        reached[file] = (processor_time() - began, numbers)
        print(f"{file}: {reached[file][0]:.0f} s, reaches {len(numbers)} mutants", flush=True)
    order = sorted(reached, key=lambda file: reached[file][0])
    for mutant in mutants:
        if mutant.outcome not in {"missed", "not reached"}:
            continue
        for file in order:
            seconds, numbers = reached[file]
            if mutant.number not in numbers:
                continue
            passed, output = run_python(copy, [file], str(mutant.number), 20 + 5 * seconds)
            if not passed:
                mutant.outcome = "caught by Python"
                mutant.tests = re.findall(r"^FAILED \S*?(tests/\S+)", output, re.MULTILINE)[:1]
                break
        print(f"{mutant.outcome:16} {mutant.name}", flush=True)


def report(mutants: list[Mutant]) -> float:
    """Print the counts and the survivors; return the share of viable mutants that were caught."""
    counts: dict[str, int] = {}
    for mutant in mutants:
        counts[mutant.outcome] = counts.get(mutant.outcome, 0) + 1
    viable = [m for m in mutants if m.outcome not in {"not supported", "does not compile"}]
    survivors = [m for m in viable if m.outcome in {"missed", "not reached"}]
    for outcome, count in sorted(counts.items()):
        print(f"{outcome}: {count}")
    share = 1 - len(survivors) / max(1, len(viable))
    print(f"{len(viable) - len(survivors)} of {len(viable)} viable mutants caught ({share:.1%})")
    for mutant in survivors:
        print(f"  {mutant.outcome}: {mutant.name}")
    return share


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--sample", type=int, default=380, help="number of mutants")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--copy", type=Path, default=ROOT / "target" / "mutants" / "workspace")
    parser.add_argument("--only", type=Path, help="file of names of mutants, one per line")
    parser.add_argument("--python", nargs="*", default=[], help="files of Python tests")
    parser.add_argument(
        "--results", type=Path, help="JSON file for the outcomes; a stopped run continues from it"
    )
    return parser.parse_args()


def main() -> int:
    """Run the sample and print what was caught."""
    options = parse_arguments()
    mutants = list_mutants(options.sample, options.seed)
    if options.only:
        names = set(options.only.read_text().splitlines())
        mutants = [mutant for mutant in mutants if mutant.name in names]
        for number, mutant in enumerate(mutants):
            mutant.number = number
    restore_outcomes(mutants, options.results)
    copy = options.copy.resolve()
    copy_workspace(copy)
    build(copy, mutants)
    print(f"{sum(m.outcome == 'viable' for m in mutants)} viable mutants", flush=True)
    programs = build_tests(copy)
    tests = record_tests(copy, programs)
    seconds = sum(test.seconds for test in tests)
    print(f"{len(tests)} tests pass without a mutant ({seconds:.0f} s)", flush=True)
    run_all(copy, mutants, tests, options.results)
    if options.python:
        run_python_on_missed(copy, mutants, options.python)
    save_outcomes(mutants, options.results)
    return int(report(mutants) < 0.92)


if __name__ == "__main__":
    sys.exit(main())
