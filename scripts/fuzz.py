"""Run the random tests with new examples for a number of seconds: ``python scripts/fuzz.py 600``."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

EXAMPLES = "1000"
"""Examples per test and run."""


def main() -> int:
    """Run until the time is over or a test fails; return the code of the last run."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    test = Path(__file__).resolve().parents[1] / "tests" / "test_fuzz.py"
    end = time.monotonic() + seconds
    runs = 0
    while time.monotonic() < end:
        seed = int.from_bytes(os.urandom(4), "little")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            f"--hypothesis-seed={seed}",
            str(test),
        ]
        done = subprocess.run(
            command, check=False, env={**os.environ, "BUCKETRANK_FUZZ_EXAMPLES": EXAMPLES}
        )
        if done.returncode:
            print(f"failed with the seed {seed}")
            return done.returncode
        runs += 1
    print(f"{runs} run(s) of {EXAMPLES} examples per test found nothing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
