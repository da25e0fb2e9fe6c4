"""Install each wheel and sdist of a folder in a new virtual environment and run the smoke test there."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SMOKE_TEST = Path(__file__).with_name("smoke_test.py")
# Environment variables that could make Python or pip use the checkout.
CHECKOUT_VARIABLES = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYO3_PYTHON", "CARGO_TARGET_DIR"}


TARGET = Path(__file__).resolve().parents[1] / "target"
"""Cargo's folder: the dependencies that were compiled for the wheel are not compiled again for the sdist."""


def interpreters() -> list[str]:
    """Return this interpreter and the others from 3.10 on that are on PATH and run."""
    found = {sys.version_info[:2]: sys.executable}
    for minor in range(10, 15):
        program = shutil.which(f"python3.{minor}")
        version = (sys.version_info.major, minor)
        if program is not None and version not in found:
            check = [program, "-c", "import venv, ensurepip"]
            if subprocess.run(check, capture_output=True, check=False).returncode == 0:
                found[version] = program
    return [found[version] for version in sorted(found)]


def try_distribution(distribution: Path, smoke_test: Path, interpreter: str) -> None:
    """Install ``distribution`` and run the smoke test, isolated from the checkout."""
    with tempfile.TemporaryDirectory(prefix="bucketrank-") as folder:
        away = Path(folder)
        subprocess.run([interpreter, "-m", "venv", str(away / "venv")], check=True)
        python = away / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        shutil.copy(smoke_test, away)
        environment = {
            key: value for key, value in os.environ.items() if key not in CHECKOUT_VARIABLES
        }
        environment["CARGO_TARGET_DIR"] = str(TARGET)
        install = [str(python), "-m", "pip", "install", "--quiet", str(distribution)]
        for command in (install, [str(python), "-W", "error", smoke_test.name]):
            subprocess.run(command, cwd=away, env=environment, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with the wheels and the sdist")
    folder = parser.parse_args().folder.resolve()
    distributions = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    if not distributions:
        print(f"expected a wheel or an sdist, found none in {folder}", file=sys.stderr)
        return 1
    for distribution in distributions:
        # An sdist is compiled, so one interpreter is enough for it.
        is_wheel = distribution.suffix == ".whl"
        for interpreter in interpreters() if is_wheel else [sys.executable]:
            print(f"trying {distribution.name} with {interpreter}", flush=True)
            try_distribution(distribution, SMOKE_TEST, interpreter)
    return 0


if __name__ == "__main__":
    sys.exit(main())
