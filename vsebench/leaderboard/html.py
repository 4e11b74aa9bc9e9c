"""Pieces of HTML: everything that comes from outside passes ``text`` or ``attribute``."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from html import escape

from ..errors import printable

_FIGURE_SPACE, _POINT_SPACE = "\u2007", "\u2008"  # as wide as a digit, and as a point


def text(words: object) -> str:
    """Words as text between tags: without control characters, direction marks cannot leave their element."""
    return escape(printable(str(words)), quote=False)


def attribute(words: object) -> str:
    """Words as the value of an attribute in double quotes."""
    return escape(printable(str(words)), quote=True)


def outside(words: str) -> str:
    """Words from outside as an element of their own, so that right-to-left letters do not turn what is around them."""
    turned = any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in words)
    return f"<bdi>{text(words)}</bdi>" if turned else text(words)


def link(address: str, words: str, *, kind: str = "") -> str:
    """A link; ``words`` are HTML already. An address of another scheme than http is shown without a link."""
    if "://" in address and not address.startswith(("https://", "http://")):
        return words
    more = f' class="{attribute(kind)}"' if kind else ""
    more += ' rel="noopener"' if "://" in address else ""
    return f'<a href="{attribute(address)}"{more}>{words}</a>'


def aligned(texts: Sequence[str]) -> list[str]:
    """Numbers of a column with as many characters behind the point, filled up with spaces as wide as digits."""
    behind = [len(t) - t.index(".") if "." in t else 0 for t in texts]
    most = max((n for n, t in zip(behind, texts, strict=True) if t[-1:].isdigit()), default=0)
    found = []
    for shown, n in zip(texts, behind, strict=True):
        missing = most - n if shown[-1:].isdigit() else 0
        point = _POINT_SPACE if missing and n == 0 else ""
        found.append(shown + point + _FIGURE_SPACE * (missing - len(point)))
    return found


def items(pairs: Iterable[tuple[str, str]]) -> str:
    """A list of terms with HTML beside them; terms without anything are left out."""
    lines = "".join(f"<div><dt>{text(term)}</dt><dd>{body}</dd></div>\n" for term, body in pairs if body)
    return f"<dl>\n{lines}</dl>\n" if lines else ""


def table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]], *, words: Sequence[int] = (0,)) -> str:
    """A plain table; cells are HTML already, the columns ``words`` hold words and the first one heads its row."""
    head = "".join(f'<th scope="col"{_number(i, words)}>{text(h)}</th>' for i, h in enumerate(headings))
    body = ""
    for row in rows:
        first = f'<th scope="row">{row[0]}</th>'
        body += f"<tr>{first}{''.join(f'<td{_number(i, words)}>{c}</td>' for i, c in enumerate(row) if i)}</tr>\n"
    above = f"<caption>{text(caption)}</caption>\n" if caption else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{attribute(caption or headings[0])}">\n'
        f"<table>{above}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>\n</div>\n"
    )


def _number(column: int, words: Sequence[int]) -> str:
    return "" if column in words else ' class="n"'


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{root}static/site.css">
{scripts}</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><div class="bar"><a class="brand" href="{root}index.html"><b>vsebench</b> leaderboards</a>
<nav aria-label="Pages">{nav}</nav></div></header>
<main id="main">
{body}</main>
<footer><div class="bar">Made by <code>vsebench leaderboard build</code> from the files in <code>leaderboards/</code>.
{footer}</div></footer>
</body>
</html>
"""
SCRIPTS = (
    '<script defer src="{root}static/dataTables.min.js"></script>\n<script defer src="{root}static/site.js"></script>\n'
)
NAVIGATION = (("index.html", "Overview"), ("claims.html", "Claims"), ("about.html", "How to read"))


def page(title: str, body: str, *, here: str, scripts: bool = False, footer: str = "") -> str:
    """A complete page.

    Args:
        title: of the page.
        body: HTML.
        here: its path below the site, such as ``entries/x.html``; links are relative to it.
        scripts: it has tables to sort and filter.
        footer: HTML at the end.
    """
    root = "../" * here.count("/")
    nav = "".join(
        f'<a href="{root}{file}"{" aria-current=" + chr(34) + "page" + chr(34) if file == here else ""}>{words}</a>'
        for file, words in NAVIGATION
    )
    return PAGE.format(
        title=text(title), root=root, nav=nav, body=body, footer=footer,
        scripts=SCRIPTS.format(root=root) if scripts else "",
    )  # fmt: skip
