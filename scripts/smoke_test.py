"""Check an installed bucketrank; run with the Python of the environment it is installed in."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import bucketrank
import bucketrank._core


def main() -> None:
    environment = Path(sys.prefix).resolve()
    assert sys.prefix != sys.base_prefix, "expected a virtual environment"
    for module in (bucketrank, bucketrank._core):
        location = Path(str(module.__file__)).resolve()
        assert environment in location.parents, f"{module.__name__} was imported from {location}"
    package = Path(str(bucketrank.__file__)).parent
    for name in ("py.typed", "_core.pyi"):
        assert (package / name).is_file(), f"{name} is not in {package}"
    assert bucketrank.__version__ == version("bucketrank")

    # Two of the three pairs of labels agree fully, the third is tied in one ranking: τ_X = 2/3.
    found = bucketrank.tau_x([[1, 2, 3]], [[1, 2, 2]])
    assert abs(found - 2 / 3) < 1e-15, f"tau_x: expected 2/3, found {found}"

    subprocess.run(
        [sys.executable, "-m", "bucketrank", "--help"], check=True, stdout=subprocess.DEVNULL
    )
    print(f"bucketrank {bucketrank.__version__} works from {package}")


if __name__ == "__main__":
    main()
