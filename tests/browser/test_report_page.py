"""The report in a real browser: headless Chromium, driven by Selenium.

``make browser`` installs the requirements if possible. Without Chromium, its driver or Selenium the tests are skipped.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studies import synthetic_study

webdriver: Any = pytest.importorskip(
    "selenium.webdriver", reason="Selenium is not installed; make browser installs it"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None or DRIVER is None,
        reason="Chromium or its driver is not installed; make browser installs them",
    ),
]

METHODS = ["bucket_pivot", "borda", "copeland", "mc1", "mc2", "mc3", "mc4", "maximal_lottery"]
DATASETS = ["authorship", "blocks", "breast", "ecoli", "glass", "iris", "letter", "libras", "wine"]
WIDTHS = [400, 1400]


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    # A container has no user namespaces for the sandbox; the page is our own.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


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
def open_page(browser: Any, page: Path) -> Callable[[int, str], Any]:
    def load(width: int, scheme: str) -> Any:
        for kind in ("browser", "performance"):
            browser.get_log(kind)  # discard log entries of earlier pages
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(page.as_uri())
        # Under load the driver may return before the page has loaded.
        wait_until(lambda: browser.execute_script("return document.readyState") == "complete")
        return browser

    return load


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_loads_without_network_and_errors(
    open_page: Callable[[int, str], Any], page: Path, width: int, scheme: str
) -> None:
    browser = open_page(width, scheme)
    assert browser.title == "Comparison of methods for partial label ranking"
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requested = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    outside = [url for url in requested if url != page.as_uri() and not url.startswith("data:")]
    assert page.as_uri() in requested
    assert outside == []


@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_has_size_and_nothing_overflows(
    open_page: Callable[[int, str], Any], width: int
) -> None:
    browser = open_page(width, "light")
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('figure svg')].map(each => {"
        "const box = each.getBoundingClientRect(); return [box.width, box.height]; })"
    )
    assert len(sizes) == 13
    for across, down in sizes:
        assert across > 300
        assert down > 100
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    # Elements wider than the page must be inside a scrollable container.
    wide = browser.execute_script(
        "return [...document.querySelectorAll('body *')].filter(each =>"
        "each.getBoundingClientRect().right > innerWidth + 1 && !each.closest('.scroll, .drawing'))"
        ".map(each => each.outerHTML.slice(0, 80))"
    )
    assert wide == []


def test_light_and_dark_differ_and_can_be_read(open_page: Callable[[int, str], Any]) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        browser = open_page(1400, scheme)
        seen[scheme] = browser.execute_script(
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
    browser = open_page(width, "light")

    def column(place: int) -> list[str]:
        cells: list[str] = browser.execute_script(
            "return [...document.querySelector('table').tBodies[0].rows]"
            ".map(row => row.children[arguments[0]].textContent)",
            place,
        )
        return cells

    def press(place: int) -> str | None:
        heading = browser.find_element("css selector", f"table th:nth-child({place + 1})")
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", heading)
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
def test_the_buttons_copy(open_page: Callable[[int, str], Any], form: str) -> None:
    browser = open_page(1400, "light")
    allowed = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    browser.execute_cdp_cmd("Browser.grantPermissions", allowed)
    button = browser.find_element("css selector", f"button[data-copy={form}]")
    label = button.text
    button.click()
    wait_until(lambda: button.text != label)
    assert button.text == "Copied"
    copied = browser.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], error => arguments[0](String(error)))"
    )
    if form == "latex":
        assert copied.startswith("\\begin{tabular}{lrrrrrrrr}")
        assert "bucket\\_pivot" in copied
        assert copied.rstrip().endswith("\\end{tabular}")
    else:
        assert copied.startswith("dataset,bucket_pivot,bucket_pivot sd,borda,")
        assert len(copied.strip().splitlines()) == 1 + len(DATASETS)
