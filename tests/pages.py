"""The tags and the text of an HTML page."""

from __future__ import annotations

from html.parser import HTMLParser

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
