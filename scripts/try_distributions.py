"""Install each wheel and sdist of a folder in a new virtual environment and run the smoke test there."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

SMOKE_TEST = Path(__file__).with_name("smoke_test.py")
# Environment variables that could make Python or pip use the checkout.
CHECKOUT_VARIABLES = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYO3_PYTHON", "CARGO_TARGET_DIR"}


def try_distribution(distribution: Path, smoke_test: Path) -> None:
    """Install ``distribution`` and run the smoke test, isolated from the checkout."""
    with tempfile.TemporaryDirectory(prefix="bucketrank-") as folder:
        away = Path(folder)
        venv.create(away / "venv", with_pip=True)
        python = away / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        shutil.copy(smoke_test, away)
        environment = {
            key: value for key, value in os.environ.items() if key not in CHECKOUT_VARIABLES
        }
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
        print(f"trying {distribution.name}", flush=True)
        try_distribution(distribution, SMOKE_TEST)
    return 0


if __name__ == "__main__":
    sys.exit(main())
