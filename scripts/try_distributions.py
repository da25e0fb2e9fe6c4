"""Install the wheels of a folder in new virtual environments and run the smoke test there.

A folder without wheels must contain an sdist, which is compiled and tested instead. If there are wheels, they were
built from the sdist of their folder, so the sdist is not tested separately.
"""

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
"""Cargo's target folder of the checkout, used so that dependencies are not compiled again."""

PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))


def interpreters() -> list[str]:
    """Return this interpreter and one of each other version from 3.10 on that is on PATH or managed by pyenv."""
    found = {sys.version_info[:2]: sys.executable}
    for minor in range(10, 16):
        candidates = [shutil.which(f"python3.{minor}")]
        candidates += map(str, sorted(PYENV.glob(f"versions/3.{minor}.*/bin/python")))
        usable = [program for program in candidates if program and _can_create_venv(program)]
        if usable:
            found.setdefault((3, minor), usable[0])
    return [found[version] for version in sorted(found)]


def _can_create_venv(program: str) -> bool:
    check = [program, "-c", "import venv, ensurepip"]
    return subprocess.run(check, capture_output=True, check=False).returncode == 0


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
    wheels, sdists = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if not wheels and not sdists:
        print(f"expected a wheel or an sdist, found none in {folder}", file=sys.stderr)
        return 1
    # Compiling an sdist takes minutes, so one interpreter is enough for it.
    for distribution in wheels or sdists:
        for interpreter in interpreters() if wheels else [sys.executable]:
            print(f"trying {distribution.name} with {interpreter}", flush=True)
            try_distribution(distribution, SMOKE_TEST, interpreter)
    return 0


if __name__ == "__main__":
    sys.exit(main())
