"""The site of the leaderboards in a headless Chromium: sorting, filtering, links, screens, names that try to be HTML.

The fixture ``browser`` fails a test on any message of the console, any dialog, and any request that is not for a file.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from leaderboards.__main__ import main
from tests import browser as browsers
from tests import leaderboard_worlds as worlds
from tests.leaderboard_worlds import BOARD

pytestmark = pytest.mark.slow  # a browser opens every page


def built(folder: Path, out: Path) -> Path:
    assert main(["build", "--folder", str(folder), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """The site of a folder with all levels and hostile names."""
    place = tmp_path_factory.mktemp("hostile")
    return built(worlds.hostile(place / "leaderboards"), place / "site")


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """The site of the repository."""
    return built(BOARD, tmp_path_factory.mktemp("own") / "site")


def column(page, table: str, place: int) -> list[str]:
    """The texts of a column as the reader sees them, top to bottom."""
    return [cell.strip() for cell in page.locator(f"{table} tbody tr > :nth-child({place})").all_inner_texts()]


def numbers(texts: list[str]) -> list[float]:
    return [float(re.sub(r"[\u2007\u2008†]", "", text).split("\n")[0]) for text in texts if text != "—"]


def test_a_column_is_sorted_by_its_numbers(browser, own):
    with browser.open(own / "coco-1k-block.html") as page:
        heading = page.locator("#t1 thead tr:nth-child(2) th", has_text="R@5").first
        before = column(page, "#t1", 3)
        assert numbers(before) != sorted(numbers(before), reverse=True)
        heading.click()
        assert heading.get_attribute("aria-sort") == "descending"
        down = column(page, "#t1", 3)
        assert numbers(down) == sorted(numbers(before), reverse=True)
        assert down[-1] == "—"  # rows without a number are below the others
        heading.click()
        assert numbers(column(page, "#t1", 3)) == sorted(numbers(before)) and column(page, "#t1", 3)[-1] == "—"
        assert page.locator("#t2 [aria-sort]").count() == 0  # other tables stay as they are
        heading.click()
        assert column(page, "#t1", 3) == before and page.locator("[aria-sort]").count() == 0


def test_a_column_is_sorted_with_the_keyboard(browser, own):
    with browser.open(own / "f30k.html") as page:
        page.locator("#t1 thead tr:last-child th", has_text="model").get_by_role("button").focus()
        page.keyboard.press("Enter")
        names = [text.split("\n")[0].lower() for text in column(page, "#t1", 1)]
        assert names[0].startswith("2waynet") and names[-1].startswith("xlm-roberta")
    with browser.open(own / "scenes-10k-test.html") as page:  # of columns with intervals
        page.locator("#t1 thead tr:last-child th", has_text="RSum").click()
        heading = page.locator("#t1 [aria-sort=descending]")
        assert heading.inner_text().startswith("RSum")
        sums = numbers(column(page, "#t1", 8))
        assert len(sums) > 1 and sums == sorted(sums, reverse=True)


def test_rows_are_filtered(browser, own):
    with browser.open(own / "f30k.html") as page:
        rows = page.locator("#t1 tbody tr:visible")
        everything = rows.count()
        search = page.locator("main input[type=search]")
        search.fill("ladder loss")
        assert 0 < rows.count() < everything
        assert all("Ladder loss" in text for text in rows.all_inner_texts())
        search.fill("no such model")
        assert rows.count() == 0 and page.locator("[role=status]").inner_text().startswith("0 of ")
        search.fill("")
        assert rows.count() == everything
        assert page.locator("input:visible").count() == 1  # one for all tables


def test_pages_are_complete_without_scripts(browser, own):
    with browser.open(own / "coco-1k-block.html", scripts=False) as page:
        assert page.locator("#t1 tbody tr").count() == 38 and page.locator("input:visible").count() == 0
        assert page.locator("#t1 tbody tr").first.is_visible()
    with browser.open(own / "coco-1k-block.html") as page:
        assert page.locator("#t1 tbody tr").count() == 38 and page.locator("main input:visible").count() == 1


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1400, 390])
def test_every_kind_of_page_fits_its_window(browser, own, made, width, dark):
    entries = sorted((own / "entries").iterdir())
    names = ("index.html", "about.html", "claims.html", "f30k.html")
    pages = [*(own / name for name in names), entries[0], entries[-1]]
    names = ("custom.html", "claims.html", "scenes-10k-test.html", "entries/hostile-5.html", "entries/hostile-8.html")
    pages += [made / name for name in names]
    for path in pages:
        with browser.open(path, width=width, dark=dark) as page:
            assert browsers.overflow(page) <= 0, path.name
            colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, re.findall(r"\d+", colour)[:3])) < 200) == dark


def test_names_stay_text(browser, made):
    for path in [*made.glob("*.html"), *(made / "entries").glob("*.html")]:
        with browser.open(path) as page:  # a dialog or an error of a script would fail here
            assert page.locator("img, iframe").count() == 0
    with browser.open(made / "custom.html") as page:
        names = column(page, "#t1", 1)
        assert any(name.startswith("<script>alert(1)</script>") for name in names)
        page.locator("main input[type=search]").fill("onmouseover")
        assert page.locator("#t1 tbody tr:visible").count() == 1
        page.locator("#t1 tbody tr:visible a").first.hover()
