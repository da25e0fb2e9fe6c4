"""Consistency of the project files."""

from __future__ import annotations

import re
from pathlib import Path

import bucketrank

ROOT = Path(__file__).resolve().parents[1]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def only_match(pattern: str, text: str) -> str:
    (found,) = re.findall(pattern, text, re.MULTILINE)
    return str(found)


def test_every_python_block_of_the_readme_is_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", read("README.md"), re.DOTALL)
    assert blocks
    for block in blocks:
        # Doctest runs only lines after a prompt, and expects the closing fence as output if no blank line precedes it.
        assert block.startswith(">>> "), block
        assert block.endswith("\n\n"), block


def test_citation_names_the_version() -> None:
    assert only_match(r"^version: (.+)$", read("CITATION.cff")) == bucketrank.__version__


def test_workflow_checks_the_minimum_rust() -> None:
    minimum = only_match(r'^rust-version = "(.+)"$', read("Cargo.toml"))
    workflow = read(".github/workflows/ci.yml")
    assert f"# The workspace's rust-version.\n      RUSTUP_TOOLCHAIN: {minimum}.0\n" in workflow


def test_conda_recipe_names_the_version_and_the_requirements() -> None:
    recipe = read("conda.recipe/recipe.yaml")
    assert only_match(r'^  version: "(.+)"$', recipe) == bucketrank.__version__
    needed = only_match(r"^dependencies = \[(.+)\]$", read("pyproject.toml"))
    for requirement in re.findall(r'"(.+?)"', needed):
        name, _, version = requirement.partition(">=")
        assert f"    - {name} >={version}\n" in recipe


def test_pages_link_to_files_that_exist() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "SUPPORT.md", "SECURITY.md", "CODE_OF_CONDUCT.md"):
        for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", read(name)):
            assert (ROOT / link).exists(), (name, link)
