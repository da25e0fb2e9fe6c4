"""The documentation: everything public is documented, and every snippet is run."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bucketrank
import check_links
import write_pages

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BUILT = ("_build", "api/generated", "gallery", "generated")
PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if not any(path.is_relative_to(DOCS / folder) for folder in (*BUILT, "measured"))
)
# Modules that are not public.
INTERNAL = {"commands", "csv_reader", "csv_records", "estimators", "preflib_header", "suggest"}


def public_modules() -> list[str]:
    found = pkgutil.iter_modules(bucketrank.__path__)
    names = [one.name for one in found if not one.name.startswith("_")]
    return ["bucketrank", *(f"bucketrank.{name}" for name in names if name not in INTERNAL)]


def public_objects() -> Iterator[tuple[str, Any]]:
    for name in public_modules():
        module = importlib.import_module(name)
        for attribute in module.__all__:
            yield f"{name}.{attribute}", getattr(module, attribute)


def documented_names() -> dict[str, str]:
    """Map the full name of each object that docs/api documents to the text of its page."""
    found = {}
    for page in sorted((DOCS / "api").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        module = "bucketrank"
        for line in text.splitlines():
            if match := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = match[1]
            elif match := re.match(r"   (\w[\w.]*)$", line):
                found[f"{module}.{match[1]}"] = text
            elif match := re.match(r"\.\. py:data:: (\S+)", line):
                found[match[1]] = text
    return found


def resolve(name: str) -> Any:
    value: Any = bucketrank
    for part in name.split(".")[1:]:
        if not hasattr(value, part):
            value = importlib.import_module(f"{value.__name__}.{part}")
        else:
            value = getattr(value, part)
    return value


DOCUMENTED = documented_names()


def test_documented_names_exist() -> None:
    assert len(DOCUMENTED) > 80
    for name in DOCUMENTED:
        resolve(name)


@pytest.mark.parametrize(
    ("name", "value"), list(public_objects()), ids=[name for name, _ in public_objects()]
)
def test_every_public_name_has_a_page_a_docstring_and_an_example(name: str, value: Any) -> None:
    if inspect.ismodule(value):
        assert (DOCS / "api" / f"{value.__name__.rpartition('.')[2]}.md").is_file()
        return
    pages = [text for other, text in DOCUMENTED.items() if resolve(other) is value]
    assert pages, f"{name} is on no page of docs/api"
    if inspect.isclass(value) or inspect.isfunction(value):
        text = inspect.getdoc(value)
        assert text is not None
        assert "\n>>> " in text, f"{name} has no example"
    else:
        # A constant is described on the page itself, with an example below.
        short = name.rpartition(".")[2]
        assert any(re.search(rf">>> .*\b{short}\b", page) for page in pages)


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(DOCS)) for page in PAGES])
def test_every_python_block_is_run(page: Path) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.M
    )
    for block in blocks:
        # Doctest runs only lines after a prompt, and expects the closing fence as output if no blank line precedes it.
        assert block.startswith(">>> "), block
        assert block.endswith("\n\n"), block


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_code_fits_its_block(page: Path) -> None:
    """At 1400 pixels a block of code shows 97 columns; longer lines have to be scrolled."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^ *```(?:python|py|sh)\n(.*?)^ *```", text, re.DOTALL | re.M)
    assert [line for block in blocks for line in block.splitlines() if len(line) > 97] == []


def test_all_python_code_is_run_except_that_of_packages_that_cannot_be_installed() -> None:
    """Python code is marked ``python`` and run; only code of a package that cannot be installed is marked ``py``."""
    for page in PAGES:
        marked = re.findall(r"^```(\w+)$", page.read_text(encoding="utf-8"), re.M)
        allowed = {"python", "sh", "text", "r"} | ({"py"} if page.stem == "scikit_lr" else set())
        assert set(marked) <= allowed, page


def test_pages_are_reached_from_the_index() -> None:
    seen: set[Path] = set()

    def visit(page: Path) -> None:
        if page in seen or not page.is_file():
            return
        seen.add(page)
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL):
            for line in filter(None, map(str.strip, block.splitlines())):
                if not line.startswith(":"):
                    start = DOCS if line.startswith("/") else page.parent
                    visit((start / f"{line.lstrip('/')}.md").resolve())

    visit(DOCS / "index.md")
    assert set(PAGES) <= seen


def test_generated_pages_hold_the_measured_values() -> None:
    pages = {name: page(DOCS / "measured") for name, page in write_pages.PAGES.items()}
    measured = (DOCS / "measured" / "accuracy.md").read_text(encoding="utf-8")
    best = re.search(r"^\| letter \| ([.\d]+)/", measured, re.M)
    assert best is not None
    assert f"| letter | {best[1]} |" in pages["accuracy"]
    # Once per level, and once in the table of regrets.
    assert pages["accuracy"].count("| letter |") == 4
    speed = (DOCS / "measured" / "speed.txt").read_text(encoding="utf-8")
    ratio = re.search(r"^MaximalLottery, .* ms +([\d.]+)x", speed, re.M)
    assert ratio is not None
    assert f"| {ratio[1]} × |" in pages["speed"]
    for command in ("aggregate", "compare", "datasets", "fit", "predict", "report"):
        assert f"## bucketrank {command}\n" in pages["command_line"]


def test_link_check_finds_what_is_broken(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html#there">b</a><a href="b.html#gone">b</a><a href="c.html">c</a>'
        '<a href="#top">top</a><a href="https://example.org">other</a><img src="picture.png">'
        '<script src="https://example.org/x.js"></script><link rel="canonical" href="https://example.org">'
    )
    (tmp_path / "b.html").write_text('<p id="there"></p>')
    broken, inside, outside = check_links.check(tmp_path.resolve())
    assert broken == [
        "a.html: b.html#gone has no such anchor",
        "a.html: c.html does not exist",
        "a.html: loads https://example.org/x.js from another site",
        "a.html: picture.png does not exist",
    ]
    assert (inside, outside) == (5, 2)
