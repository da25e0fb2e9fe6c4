"""The report of a study in headless Chromium."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chromium import browser, show, wait  # noqa: F401 (fixtures)
from studies import synthetic_study

pytestmark = pytest.mark.slow

METHODS = ["bucket_pivot", "borda", "copeland", "mc1", "mc2", "mc3", "mc4", "maximal_lottery"]
DATASETS = ["authorship", "blocks", "breast", "ecoli", "glass", "iris", "letter", "libras", "wine"]
WIDTHS = [400, 1400]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(1)
    shape = (3, len(DATASETS), len(METHODS))
    means = rng.uniform(0.4, 0.9, shape) - np.linspace(0, 0.4, len(METHODS))
    study = synthetic_study(means, methods=METHODS, datasets=DATASETS)
    path = tmp_path_factory.mktemp("report") / "report.html"
    study.report(path)
    return path


@pytest.fixture
def open_page(show: Callable[[str, int, str], Any], page: Path) -> Callable[[int, str], Any]:
    return lambda width, scheme: show(page.as_uri(), width, scheme)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_loads_without_network_and_errors(
    open_page: Callable[[int, str], Any], width: int, scheme: str
) -> None:
    driver = open_page(width, scheme)
    assert driver.title == "Comparison of methods for partial label ranking"
    assert driver.get_log("browser") == []
    # A request that the page's own policy forbids would be in the log.
    requested = driver.execute_script(
        "return performance.getEntriesByType('resource').map(each => each.name)"
    )
    assert [url for url in requested if not url.startswith("data:")] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_has_size_and_nothing_overflows(
    open_page: Callable[[int, str], Any], width: int
) -> None:
    driver = open_page(width, "light")
    sizes = driver.execute_script(
        "return [...document.querySelectorAll('figure svg')].map(each => {"
        "const box = each.getBoundingClientRect(); return [box.width, box.height]; })"
    )
    assert len(sizes) == 13
    for across, down in sizes:
        assert across > 300
        assert down > 100
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    # Elements wider than the page must be inside a scrollable container.
    wide = driver.execute_script(
        "return [...document.querySelectorAll('body *')].filter(each =>"
        "each.getBoundingClientRect().right > innerWidth + 1 && !each.closest('.scroll, .drawing'))"
        ".map(each => each.outerHTML.slice(0, 80))"
    )
    assert wide == []


def test_light_and_dark_differ_and_can_be_read(open_page: Callable[[int, str], Any]) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        driver = open_page(1400, scheme)
        seen[scheme] = driver.execute_script(
            "const of = (what, each) => getComputedStyle(document.querySelector(each))[what];"
            "return [of('backgroundColor', 'body'), of('color', 'body'), of('color', 'figure svg')]"
        )
    for scheme, (ground, text, figure) in seen.items():
        assert figure == text
        assert abs(brightness(ground) - brightness(text)) > 150, scheme
    assert brightness(seen["light"][0]) > 200 > 60 > brightness(seen["dark"][0])


def brightness(colour: str) -> float:
    numbers = [float(part) for part in colour.partition("(")[2].rstrip(")").split(",")[:3]]
    return sum(numbers) / 3


@pytest.mark.parametrize("width", WIDTHS)
def test_sorting_a_column_reorders_rows(open_page: Callable[[int, str], Any], width: int) -> None:
    driver = open_page(width, "light")

    def column(place: int) -> list[str]:
        cells: list[str] = driver.execute_script(
            "return [...document.querySelector('table').tBodies[0].rows]"
            ".map(row => row.children[arguments[0]].textContent)",
            place,
        )
        return cells

    def press(place: int) -> str | None:
        heading = driver.find_element("css selector", f"table th:nth-child({place + 1})")
        driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", heading)
        heading.find_element("css selector", "button").click()
        order: str | None = heading.get_attribute("aria-sort")
        return order

    assert column(0) == DATASETS
    before = column(2)
    assert press(2) == "descending"
    values = [float(text.split()[0]) for text in column(2)]
    assert values == sorted(values, reverse=True)
    assert column(2) != before
    assert sorted(column(0)) == sorted(DATASETS)
    assert press(2) == "ascending"
    assert [float(text.split()[0]) for text in column(2)] == values[::-1]
    assert press(0) == "ascending"
    assert column(0) == sorted(DATASETS)


@pytest.mark.parametrize("form", ["latex", "csv"])
def test_the_buttons_copy(
    open_page: Callable[[int, str], Any], wait: Callable[[Callable[[], bool]], None], form: str
) -> None:
    driver = open_page(1400, "light")
    allowed = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    driver.execute_cdp_cmd("Browser.grantPermissions", allowed)
    button = driver.find_element("css selector", f"button[data-copy={form}]")
    label = button.text
    button.click()
    wait(lambda: button.text != label)
    assert button.text == "Copied"
    copied = driver.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], error => arguments[0](String(error)))"
    )
    if form == "latex":
        assert copied.startswith("\\begin{tabular}{lrrrrrrrr}")
        assert "bucket\\_pivot" in copied
        assert copied.rstrip().endswith("\\end{tabular}")
    else:
        assert copied.startswith("dataset,bucket_pivot,bucket_pivot half-width,borda,")
        assert len(copied.strip().splitlines()) == 1 + len(DATASETS) + 2  # mean and average rank


def test_the_table_of_many_methods_is_complete_at_1200_px(
    show: Callable[[str, int, str], Any], tmp_path: Path
) -> None:
    means = np.linspace(0.4, 0.9, 15)[None, :, None] - np.linspace(0, 0.3, 25)
    names = [f"method number {j}" for j in range(25)]
    study = synthetic_study(means, methods=names, missing=(0.0,))
    path = tmp_path / "report.html"
    study.report(path)
    driver = show(path.as_uri(), 1200, "light")
    widths = driver.execute_script(
        "return [...document.querySelectorAll('#section-1 .scroll')].map(each => [each.scrollWidth, each.clientWidth])"
    )
    assert len(widths) == 2
    for wanted, room in widths:
        assert wanted <= room + 1
    # A table that scrolls says so.
    driver = show(path.as_uri(), 400, "light")
    assert (
        driver.execute_script("return document.querySelectorAll('#section-1 .scrolls').length") == 2
    )
