"""The script of ``make accuracy``, on data of a few rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from tree_data import random_data

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "accuracy.py"


def test_the_table_has_every_method_and_dataset(tmp_path: Path) -> None:
    for seed, name in enumerate(("first", "second")):
        X, Y = random_data(seed)
        header = [f"A{i + 1}" for i in range(X.shape[1])] + [f"L{i + 1}" for i in range(Y.shape[1])]
        rows = np.column_stack([X, Y])
        np.savetxt(
            tmp_path / f"{name}.csv",
            rows,
            delimiter=",",
            header=",".join(header),
            comments="",
            fmt=["%g"] * X.shape[1] + ["%d"] * Y.shape[1],
        )
    output = tmp_path / "accuracy.md"
    published = tmp_path / "published.md"
    published.write_text(
        "| dataset | published oracle |\n|---|---|\n| first | -.99/-.99/.999 |\n| third | 0/0/0 |\n"
    )
    command = [sys.executable, SCRIPT, "--data", tmp_path, "--output", output, "--folds", "2"]
    command += ["--published", published, "--store", tmp_path / "kept", "--baselines"]
    subprocess.run([*map(str, command), "--jobs", "1"], check=True, capture_output=True)
    text = output.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert "seed 2026" in lines[0]
    assert "- first, second: 1 × 2 folds" in lines
    header_line = next(line for line in lines if line.startswith("| dataset"))
    for method in ("tau_x", "path shrinkage", "soft routing", "forest", "all tied"):
        assert f" {method} |" in header_line
    mean = next(line for line in lines if line.startswith("| mean of the 2 synthetic"))
    assert mean.count("/") == 2 * (header_line.count("|") - 2)
    assert text.count("Wilcoxon, forest against: bucket_pivot") == 3
    for method in ("tau_x", "path shrinkage", "soft routing", "forest"):
        verdict = next(line for line in lines if line.startswith(f"- {method}: "))
        assert verdict.endswith("not all datasets")
    wins = [line for line in lines if "best published" in line]
    assert [line.split(": ")[-1] for line in wins] == [
        "1 wins, 0 lost (none) of 1",
        "1 wins, 0 lost (none) of 1",
        "0 wins, 1 lost (first) of 1",
    ]
    assert "| regret of ranker | 0% missing | 30% missing | 60% missing |" in lines
    assert any(
        line.startswith("- regret against the best of forest, booster, linear") for line in lines
    )
    errors = [line for line in lines if line.startswith("| mean ± standard error over 2 datasets")]
    assert len(errors) == 2
    baselines = lines[lines.index("## Baselines on the same folds") + 2]
    for method in ("pairwise logistic regression", "pairwise random forest", "ranker"):
        assert f" {method} |" in baselines
    assert (tmp_path / "kept-small.db").exists()
