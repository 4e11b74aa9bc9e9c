"""Grids -> one HTML page that needs nothing else: no scripts, no fonts, no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .grid import Cell, Grid, Kind, kinds_of

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: left; white-space: nowrap; }
thead th { border-bottom: 2px solid; white-space: normal; vertical-align: bottom; }
tbody tr + tr td { border-top: 1px solid #8884; }
.n { text-align: right; } th[colspan] { text-align: center; }
td.n:has(+ .beside) { padding-right: 0; } td.beside { padding-left: .4em; }
.aside, .note { opacity: .7; } sup { line-height: 0; } .n sup { display: inline-block; text-align: left; }
"""

_NUMBER = " class='n'"


def page(title: str, grids: Sequence[Grid]) -> str:
    """A whole document with one table a grid; every text is escaped."""
    head = f"<meta charset='utf-8'><title>{escape(title)}</title><style>{_STYLE}</style>"
    body = "\n".join(_grid(g) for g in grids)
    return (
        f"<!doctype html>\n<html lang='en'><head>{head}</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def _grid(grid: Grid) -> str:
    kinds = kinds_of(grid)
    heading = "".join(_heading(h, kind) for h, kind in zip(grid.headings, kinds, strict=True))
    rows = "\n".join(
        "<tr>" + "".join(_cell(c, kind) for c, kind in zip(row, kinds, strict=True)) + "</tr>" for row in grid.rows
    )
    notes = "".join(f"<p class='note'>{escape(n)}</p>\n" for n in grid.notes)
    title = f"<h2>{escape(grid.title)}</h2>\n" if grid.title else ""
    if not grid.rows:
        return title + notes
    return (
        f"{title}<div class='wide'><table><thead><tr>{heading}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>\n"
        f"{notes}"
    )


def _heading(text: str, kind: Kind) -> str:
    two = " colspan='2'" if kind.aside else ""
    return f"<th{'' if kind.words else _NUMBER}{two}>{escape(text)}</th>"


def _cell(cell: Cell, kind: Kind) -> str:
    text = escape(cell.text)
    text = f"<b>{text}</b>" if cell.best and text else text
    aside = f"<span class='aside'>{escape(cell.aside)}</span>" if cell.aside else ""
    if kind.words:
        mark = f"<sup>{escape(cell.mark)}</sup>" if cell.mark else ""
        return f"<td>{text}{mark}{' ' if aside else ''}{aside}</td>"
    if kind.mark:  # every cell leaves room for the longest mark, so that digits line up
        text += f"<sup style='width:{len(kind.mark)}ch'>{escape(cell.mark)}</sup>"
    return f"<td{_NUMBER}>{text}</td>" + (f"<td class='beside'>{aside}</td>" if kind.aside else "")
