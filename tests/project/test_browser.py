"""The fixture that opens pages: what it lets through, and what it refuses."""

from __future__ import annotations

import pytest

from tests import browser as browsers


def write(folder, body):
    path = folder / "page.html"
    path.write_text(f"<!doctype html><meta charset='utf-8'><title>t</title>{body}", encoding="utf-8")
    return path


def test_a_page_is_opened(browser, tmp_path):
    path = write(tmp_path, "<p id='p'>before</p><script>document.getElementById('p').textContent = 'after'</script>")
    with browser.open(path, width=390) as page:
        assert page.inner_text("#p") == "after"
        assert page.evaluate("innerWidth") == 390
        assert browsers.overflow(page) == 0
    with browser.open(path, dark=True, scripts=False) as page:
        assert page.inner_text("#p") == "before"


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("<script>console.log('a word')</script>", "console log: a word"),
        ("<script>throw new Error('broken')</script>", "error: broken"),
        ("<script>alert('hello')</script>", "dialog: hello"),
        ("<img src='https://example.org/a.png'>", "request: https://example.org/a.png"),
    ],
)
def test_a_page_that_complains_fails(browser, tmp_path, body, named):
    path = write(tmp_path, body)
    with pytest.raises(AssertionError, match=named), browser.open(path) as page:
        page.wait_for_timeout(50)


def test_overflow(browser, tmp_path):
    with browser.open(write(tmp_path, "<div style='width:2000px'>wide</div>"), width=390) as page:
        assert browsers.overflow(page) > 1500


def test_no_chromium(monkeypatch):
    monkeypatch.setenv("VSEBENCH_CHROMIUM", "/nowhere/chromium")
    assert "VSEBENCH_CHROMIUM" in browsers.missing()
