"""The documentation in headless Chromium; ``make docs`` builds it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chromium import browser, show, wait  # noqa: F401 (fixtures)

SITE = Path(__file__).resolve().parents[2] / "docs" / "_build" / "html"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (SITE / "index.html").is_file(),
        reason="the documentation is not built; make docs builds it",
    ),
]
Show = Callable[[str, int, str], Any]

# One page of each kind, checked in several widths and colour schemes.
PAGES = [
    "index",
    "guide/aggregators",
    "theory/copeland",
    "coming_from/evalica",
    "gallery/index",
    "gallery/plot_critical_difference",
    "api/aggregation",
    "api/generated/bucketrank.experiments.compare",
    "generated/speed",
    "search",
]
WRITTEN = sorted(
    str(path.relative_to(SITE).with_suffix(""))
    for path in SITE.rglob("*.html")
    # The pages of the API are all made in the same way.
    if not {"_static", "_modules"} & set(path.parts) and path.parent.parent.name != "api"
)
WIDE = """
return [...document.querySelectorAll('main *')].filter(each => {
    const box = each.getBoundingClientRect();
    if (box.width === 0 || box.right <= innerWidth + 1) return false;
    for (let up = each; up !== document.body; up = up.parentElement) {
        if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(up).overflowX)) return false;
    }
    return true;
}).map(each => each.outerHTML.slice(0, 100));
"""


def address(page: str) -> str:
    return (SITE / f"{page}.html").as_uri()


def overflowing(driver: Any) -> list[str]:
    width, room = driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    return [f"page of {width} in {room}"] if width > room else driver.execute_script(WIDE)


def test_every_page_fits_and_has_its_pictures(show: Show) -> None:
    assert len(WRITTEN) > 70
    wrong = []
    for page in [*WRITTEN, *(page for page in PAGES if page not in WRITTEN)]:
        driver = show(address(page), 400, "light")
        # Pictures below the fold are loaded when they come into view.
        missing = driver.execute_script(
            "return [...document.images].filter(each => each.loading !== 'lazy' && !each.naturalWidth)"
            ".map(each => each.src)"
        )
        severe = [
            entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"
        ]
        wrong += [(page, found) for found in [*overflowing(driver), *missing, *severe]]
    assert wrong == []


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1400, "light"), (1400, "dark")])
def test_pages_are_accessible_and_fit(show: Show, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_core_python.selenium", reason="axe is not installed").Axe()
    wrong = []
    for page in PAGES:
        driver = show(address(page), width, scheme)
        wrong += [(page, found) for found in overflowing(driver)]
        for violation in axe.run(driver)["violations"]:
            if violation["impact"] in ("serious", "critical"):
                nodes = [node["html"][:120] for node in violation["nodes"][:3]]
                wrong.append((page, f"{violation['id']}: {nodes}"))
    assert wrong == []


def test_light_and_dark_differ(show: Show) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        driver = show(address("index"), 1400, scheme)
        colour = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        grounds.append(
            sum(float(part) for part in colour.partition("(")[2].rstrip(")").split(",")[:3])
        )
    assert grounds[0] > 600 > 200 > grounds[1]


@pytest.mark.parametrize(
    ("words", "expected"), [("maximal lottery", "maximal_lottery"), ("save_model", "save_model")]
)
def test_search_finds_pages(
    show: Show, wait: Callable[[Callable[[], bool]], None], words: str, expected: str
) -> None:
    driver = show(f"{address('search')}?q={words.replace(' ', '+')}", 1400, "light")

    def found() -> list[str]:
        links: list[str] = driver.execute_script(
            "return [...document.querySelectorAll('#search-results li a')].map(each => each.href)"
        )
        return links

    wait(lambda: bool(found()))
    assert any(expected in link for link in found())
