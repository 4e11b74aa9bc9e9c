"""README, CSV and site of the leaderboards, and its pages in a headless Chromium: sorting, filtering, links, screens.

The fixture ``browser`` fails a test on any message of the console, any dialog, and any request that is not for a file.
"""

from __future__ import annotations

import csv
import io
import posixpath
import re
import shutil
import sys
from pathlib import Path, PurePosixPath

import pytest

from leaderboards import entries, site
from leaderboards.__main__ import main
from leaderboards.entries import read
from leaderboards.tables import rankings
from tests import browser as browsers
from tests import leaderboard_worlds as worlds
from tests.browser import Page
from tests.leaderboard_worlds import BOARD, ROOT

pytest.importorskip("jinja2", reason="jinja2 is not installed")


def run(*words: object) -> int:
    return main([str(word) for word in words])


def built(board: entries.Board, repository: str = "../..") -> dict[str, bytes]:
    return site.build(board, rankings(board), repository)


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return worlds.three_levels(tmp_path_factory.mktemp("source"))


@pytest.fixture
def folder(source, tmp_path) -> Path:
    """A copy of the folder with all three levels."""
    return Path(shutil.copytree(source, tmp_path / "leaderboards"))


def written(folder: Path, out: Path) -> Path:
    assert main(["build", "--folder", str(folder), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """The site of a folder with all levels and hostile names."""
    place = tmp_path_factory.mktemp("hostile")
    return written(worlds.hostile(place / "leaderboards"), place / "site")


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """The site of the repository."""
    return written(BOARD, tmp_path_factory.mktemp("own") / "site")


def column(page, table: str, place: int) -> list[str]:
    """The texts of a column as the reader sees them, top to bottom."""
    return [cell.strip() for cell in page.locator(f"{table} tbody tr > :nth-child({place})").all_inner_texts()]


def numbers(texts: list[str]) -> list[float]:
    return [float(re.sub(r"[\u2007\u2008†]", "", text).split("\n")[0]) for text in texts if text != "—"]


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_pages_are_complete_without_scripts(browser, own):
    with browser.open(own / "coco-1k-block.html", scripts=False) as page:
        assert page.locator("#t1 tbody tr").count() == 38 and page.locator("input:visible").count() == 0
        assert page.locator("#t1 tbody tr").first.is_visible()
    with browser.open(own / "coco-1k-block.html") as page:
        assert page.locator("#t1 tbody tr").count() == 38 and page.locator("main input:visible").count() == 1


@pytest.mark.slow
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


@pytest.mark.slow
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


# README, CSV and the pages as text


def test_readme_and_csv_of_the_repository_are_current():
    assert run("build", "--check") == 0


def test_build_and_check(tmp_path, folder, capsys, pinned):
    readme, table, out = folder / "README.md", folder / site.CSV, tmp_path / "site"
    readme.write_text(f"before\n{site.BEGIN}\nold\n{site.END}\nafter\n", encoding="utf-8")
    where = "--folder", folder, "--out", out
    assert run("build", "--check", *where) == 1 and not table.exists() and not out.exists()
    pinned(capsys.readouterr().out)
    assert run("build", *where) == 0 and run("build", "--check", *where) == 0
    text = readme.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "| COCO 5K | 2 | — | — |" in text
    assert "| First | 50.0 | **70.0** |" in text and (out / site.CSV).read_bytes() == table.read_bytes()
    (gone := out / "entries" / "gone.html").write_text("of the build before", encoding="utf-8")
    assert run("build", *where) == 0 and not gone.exists()
    mine = tmp_path / "mine"
    worlds.write(mine / "thesis.json", 1)
    assert run("build", "--folder", folder, "--out", mine) == 2 and (mine / "thesis.json").exists()
    pinned(capsys.readouterr().err)


def test_a_build_does_not_replace_its_sources(folder, tmp_path, capsys, pinned):
    for out in (folder, folder.parent):
        assert run("build", "--folder", folder, "--out", out) == 2 and (folder / "papers.json").exists()
    (tmp_path / "file").write_text("mine")
    assert run("build", "--folder", folder, "--out", tmp_path / "file") == 2
    capsys.readouterr()
    (folder / "README.md").write_text("mine")
    assert run("build", "--folder", folder, "--out", tmp_path / "site") == 3
    pinned(capsys.readouterr().err)


def test_a_page_is_of_one_test_set(folder, pinned):
    lines = worlds.records()[:3]
    for line, name, number in zip(lines, ["index", "a b", "a-b"], "789", strict=True):
        line |= {"benchmark": name, "line": number}
    worlds.folder(folder, lines)
    worlds.write(folder / "test_sets.json", {name: {"title": name} for name in ("index", "a b", "a-b")})
    for fault in read(folder).faults:
        pinned(fault)


def test_the_site_needs_jinja2(folder, tmp_path, monkeypatch, capsys, pinned):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert run("build", "--folder", folder, "--out", tmp_path / "s") == 4 and not (tmp_path / "s").exists()
    pinned(capsys.readouterr().err)
    assert run("validate", "--folder", folder) == 0


@pytest.mark.parametrize("repository", ["../..", "https://example.org/r/blob/main"])
def test_every_page_is_sound(source, repository):
    """Tags are closed, links lead to a page, an anchor or the repository, and nothing is loaded from elsewhere."""
    files = built(read(source), repository)
    found = {name: Page(data.decode()) for name, data in files.items() if name.endswith(".html")}
    anchors = {name: {a["id"] for _, a in page.tags if "id" in a} for name, page in found.items()}
    for name, page in found.items():
        assert page.open == [] and [t for t, _ in page.tags].count("h1") == [t for t, _ in page.tags].count("main") == 1
        outside = {
            f"{'' if '//' in repository else '../' * name.count('/')}{repository}/{file}" for file, _ in site.ELSEWHERE
        }
        for tag, attributes in page.tags:
            for address in (attributes.get("href"), attributes.get("src")):
                if address in (None, "data:,") or address in outside:
                    outside.discard(address)
                elif address.startswith("https://"):
                    assert tag == "a", f"{name} loads {address}"
                else:
                    target, _, anchor = address.partition("#")
                    place = posixpath.normpath(str(PurePosixPath(name).parent / target)) if target else name
                    assert place in files and (not anchor or anchor in anchors[place]), f"{name}: {address}"
        assert not outside, f"{name} does not link to {outside}"
    assert all((ROOT / file).exists() for file, _ in site.ELSEWHERE)


def test_pages_have_what_their_readers_look_for(source):
    files = {name: data.decode() for name, data in built(read(source)).items()}
    assert ">image input</th>" in files["custom.html"] and "image input" not in files["coco-5k.html"]
    page = files["coco-5k.html"]
    assert '<a href="https://example.org/t">Thing</a><small>table 1</small>' in page
    assert "Second, R@1 image→text: a remark." in page and not [n for n in files if n.startswith("entries/doe")]
    mine = files["entries/noise-1-4-custom.html"]
    assert "<td>image input</td><td>pixels</td>" in mine and "python -m leaderboards validate" in mine
    rows = csv.DictReader(io.StringIO(files[site.CSV]))
    assert {(row["level"], row["image_input"]) for row in rows} == {
        ("published", ""), ("submitted", "pixels"), ("trained here", "region features"),
    }  # fmt: skip


def test_claims_with_and_without_a_suite(folder):
    page = built(read(folder))["claims.html"].decode()
    assert "+10.00" in page and "[+8.00, +12.00]" in page and page.count(site.OPEN) == 2  # of the claim 'other'
    lost = {"claim": "other", "data": "scenes-10k", "because": "scenes-10k/<b>-seed1 diverged"}
    worlds.write(folder / "suites" / "small.json", worlds.suite() | {"left_out": [lost]})
    page = built(read(folder))["claims.html"].decode()
    assert "cannot be judged on scenes-10k: scenes-10k/&lt;b&gt;-seed1 diverged." in page and site.OPEN not in page
    (folder / "suites" / "small.json").unlink()
    page = built(read(folder))["claims.html"].decode()
    assert page.count(site.OPEN) == 4 and "+10.00" not in page


def test_hostile_names_are_text(tmp_path):
    board = read(worlds.hostile(tmp_path / "b"), True)
    assert board.faults == []
    files = built(board)
    for name, data in files.items():
        text = data.decode("utf-8")
        assert not [c for c in text if ord(c) < 32 and c != "\n"] and "\u202e" not in text, name
        if name.endswith(".html"):
            page = Page(text)
            assert page.open == [] and not {t for t, _ in page.tags} & {"img", "iframe", "object"}, name
            assert not [k for _, a in page.tags for k in a if k.startswith("on")], name
            assert [a for t, a in page.tags if t == "script"] == [{}], name
    for i, name in enumerate(worlds.HOSTILE):
        if name.isprintable() and len(name) < 80:
            assert name in Page(files[f"entries/hostile-{i}.html"].decode()).words
    assert len(files["custom.html"]) < 60_000  # a long name is cut in tables
    (board.folder / "README.md").write_text(f"{site.BEGIN}{site.END}", encoding="utf-8")
    assert b"<script>" not in next(iter(site.readme(board, rankings(board)).values()))
