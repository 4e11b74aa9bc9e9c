"""Pages in a real Chromium without a network: what the fixture ``browser`` gives, and what every page must keep.

Chromium is the program that VSEBENCH_CHROMIUM names, or the one that is installed. Every page has a context of its
own that is offline; requests for anything but files, messages of the console, dialogs and errors of scripts are
collected, and a test fails when there are any::

    def test_my_page(browser, tmp_path):
        with browser.open(path, width=390, dark=True) as page:
            page.click("text=...")
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")


def missing() -> str | None:
    """Why no page can be opened here, or None."""
    if program() is None:
        return "no Chromium (install Debian's package chromium, or name the program in VSEBENCH_CHROMIUM)"
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "playwright is not installed (pip install playwright)"
    return None


def program() -> str | None:
    """The path of Chromium, or None."""
    named = os.environ.get("VSEBENCH_CHROMIUM")
    if named:
        return shutil.which(named)
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A Chromium that opens files."""

    def __init__(self, chromium: Any):
        self.chromium = chromium

    @contextmanager
    def open(
        self, path: Path, *, width: int = 1400, height: int = 900, dark: bool = False, scripts: bool = True
    ) -> Iterator[Any]:
        """A playwright page that shows a file; what its scripts complain about or request fails the test.

        Args:
            path: of the HTML file.
            width, height: of the window, in pixels.
            dark: the colours that the reader prefers.
            scripts: whether JavaScript runs.
        """
        context = self.chromium.new_context(
            offline=True, viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
        )  # fmt: skip
        context.set_default_timeout(20_000)
        page, seen = context.new_page(), []
        page.on("console", lambda message: seen.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: seen.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (seen.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: seen.extend(_outside(request.url)))
        try:
            page.goto(path.resolve().as_uri())
            yield page
            assert not seen, f"{path.name}: {seen}"
        finally:
            context.close()


def _outside(url: str) -> list[str]:
    """The request when it is for anything but a file or data inside the page."""
    return [] if url.startswith(("file:", "data:", "blob:")) else [f"request: {url}"]


def overflow(page: Any) -> int:
    """By how many pixels the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@contextmanager
def started() -> Iterator[Browser]:
    """A browser without a sandbox, which needs rights that containers do not give, and without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        try:
            yield Browser(chromium)
        finally:
            chromium.close()


VOID = ("meta", "link", "br", "img", "input", "line", "circle")  # without an end


class Page(HTMLParser):
    """Tags with their attributes, those that are open at the end, and the text of a page."""

    def __init__(self, data: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words = ""
        self.captions: list[str] = []
        self.feed(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self.words += data
        if self.open and self.open[-1] == "caption":
            self.captions.append(data)
