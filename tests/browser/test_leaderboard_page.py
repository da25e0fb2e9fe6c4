"""The page of a leaderboard in headless Chromium."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bucketrank import Davidson, Leaderboard, from_comparisons, leaderboard
from bucketrank.datasets import make_battles
from chromium import browser, show  # noqa: F401 (fixtures)

pytestmark = pytest.mark.slow

WIDTHS = [400, 1200]
LONG = "a-model-with-a-very-long-name-and-<b>markup</b>"


@pytest.fixture(scope="module")
def board() -> Leaderboard:
    """Fourteen labels in five tiers; one has a long name."""
    frame = make_battles(20_000, 14, n_tiers=5, random_state=3).comparisons.to_pandas()
    frame = frame.replace({"first": {"m13": LONG}, "second": {"m13": LONG}})
    comparisons = from_comparisons("first", "second", "outcome", data=frame)
    return leaderboard(comparisons, Davidson(scale="elo", anchor=("m12", 1000)), n_resamples=200)


@pytest.fixture(scope="module")
def page(board: Leaderboard, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("board") / "board.html"
    board.report(path, title="Models & tiers")
    return path


@pytest.fixture
def open_page(show: Callable[[str, int, str], Any], page: Path) -> Callable[[int, str], Any]:
    return lambda width, scheme: show(page.as_uri(), width, scheme)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_loads_without_requests_errors_and_overflow(
    open_page: Callable[[int, str], Any], width: int, scheme: str
) -> None:
    driver = open_page(width, scheme)
    assert driver.title == "Models & tiers"
    assert driver.get_log("browser") == []
    requested = driver.execute_script(
        "return performance.getEntriesByType('resource').map(each => each.name)"
    )
    assert [url for url in requested if not url.startswith("data:")] == []
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    wide = driver.execute_script(
        "return [...document.querySelectorAll('body *')].filter(each =>"
        "each.getBoundingClientRect().right > innerWidth + 1 && !each.closest('.scroll, .drawing'))"
        ".map(each => each.outerHTML.slice(0, 80))"
    )
    assert wide == []


def cells(driver: Any, heading: str) -> list[str]:
    """The texts of a column of the first table."""
    found: list[str] = driver.execute_script(
        "const table = document.querySelector('table');"
        "const place = [...table.tHead.rows[0].cells].findIndex(each =>"
        "each.textContent.trim() === arguments[0]);"
        "return [...table.tBodies[0].rows].map(row => row.cells[place].textContent.trim())",
        heading,
    )
    return found


@pytest.mark.parametrize("width", WIDTHS)
def test_the_table_shows_the_board(
    open_page: Callable[[int, str], Any], board: Leaderboard, width: int
) -> None:
    driver = open_page(width, "light")
    frame = board.to_pandas()
    # Names in full, as text.
    assert cells(driver, "label") == frame["label"].tolist()
    assert cells(driver, "tier") == frame["tier"].astype(str).tolist()
    assert cells(driver, "n") == frame["comparisons"].astype(str).tolist()
    # Headings are horizontal, not rotated as in tables of many methods.
    rotated = driver.execute_script(
        "return [...document.querySelector('table').tHead.rows[0].cells].filter(each =>"
        "each.getBoundingClientRect().height > 60).length"
    )
    assert rotated == 0


def test_the_figures_show_every_label_and_tier(
    open_page: Callable[[int, str], Any], board: Leaderboard
) -> None:
    driver = open_page(1200, "light")
    sizes = driver.execute_script(
        "return [...document.querySelectorAll('figure svg')].map(each => {"
        "const box = each.getBoundingClientRect(); return [box.width, box.height]; })"
    )
    assert len(sizes) == 2
    assert all(across > 400 and down > 200 for across, down in sizes)
    summary = driver.find_element("css selector", ".summary").text
    assert f"There are {board.tier.max()} tiers" in summary


def test_sorting_by_wins(open_page: Callable[[int, str], Any]) -> None:
    driver = open_page(1200, "light")
    heading = driver.execute_script(
        "return [...document.querySelector('table').tHead.rows[0].cells].find(each =>"
        "each.textContent.trim() === 'wins')"
    )
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", heading)
    heading.find_element("css selector", "button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    wins = [int(text) for text in cells(driver, "wins")]
    assert wins == sorted(wins, reverse=True)
