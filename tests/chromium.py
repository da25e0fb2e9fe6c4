"""Fixtures for headless Chromium, driven by Selenium; tests import those that they use.

``make browser`` installs the requirements if possible. Without Chromium, its driver or Selenium the tests are skipped.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

Show = Callable[[str, int, str], Any]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    webdriver: Any = pytest.importorskip(
        "selenium.webdriver", reason="Selenium is not installed; make browser installs it"
    )
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("Chromium or its driver is not installed; make browser installs them")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    # A container has no user namespaces for the sandbox; the pages are our own.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    running = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield running
    running.quit()


@pytest.fixture
def show(browser: Any) -> Show:
    """Return a function that loads a page with a width and a colour scheme."""

    def load(address: str, width: int, scheme: str) -> Any:
        browser.get_log("browser")  # discard log entries of earlier pages
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(address)
        # Under load the driver may return before the page has loaded.
        wait_until(lambda: browser.execute_script("return document.readyState") == "complete")
        # Wait for transitions of colours between the schemes, during which the contrast is low.
        # Animations that follow the scroll position never end, so they are ignored.
        wait_until(
            lambda: browser.execute_script(
                "return document.getAnimations().every(each => each.timeline !== document.timeline)"
            )
        )
        return browser

    return load


@pytest.fixture
def wait() -> Callable[[Callable[[], bool]], None]:
    """Return a function that waits until something has happened."""
    return wait_until


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)
