"""Tables -> HTML without scripts, fonts or network: a complete page, or the tables alone for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from ..errors import MissingPackage, install, printable
from .table import Printed, Table

if TYPE_CHECKING:
    from jinja2 import Environment

_PAGE = """
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; }
"""

TABLES = """
.vsebench h2 { font-size: 1.1rem; margin-top: 2rem; }
.vsebench div.wide { /* a shadow at the right end says that there is more; the end of the table hides it */
  overflow-x: auto; background:
    linear-gradient(to left, var(--paper, Canvas) 60%, transparent) right / 2rem 100% no-repeat local,
    linear-gradient(to left, #888a, transparent) right / .8rem 100% no-repeat scroll;
}
.vsebench table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.vsebench th, .vsebench td { padding: .25rem .7rem; text-align: left; white-space: nowrap; }
.vsebench thead th { border-bottom: 2px solid; white-space: normal; vertical-align: bottom; }
.vsebench tbody tr + tr td { border-top: 1px solid #8884; }
.vsebench .n { text-align: right; } .vsebench th[colspan] { text-align: center; }
.vsebench td.n:has(+ .beside) { padding-right: 0; } .vsebench td.beside { padding-left: .4em; }
.vsebench .warning { border-left: 3px solid #c8553d; padding-left: .7rem; }
.vsebench .aside, .vsebench .note { opacity: .7; } .vsebench code { overflow-wrap: anywhere; }
.vsebench sup { line-height: 0; } .vsebench .n sup { display: inline-block; text-align: left; }
@media (max-width: 799px) { /* intervals below their numbers, and the first column stays */
  .vsebench td.n:has(+ .beside > .aside) { padding-bottom: 1.3rem; min-width: 8em; }
  .vsebench td.beside { position: relative; padding: 0; width: 0; }
  .vsebench td.beside .aside { position: absolute; right: .4rem; bottom: .2rem; font-size: .8em; }
  .vsebench td:first-child:not(.n), .vsebench th:first-child:not(.n) {
    position: sticky; left: 0; z-index: 1; background: var(--paper, Canvas);
    white-space: normal; overflow-wrap: break-word; max-width: 38vw;
  }
}
"""

_NUMBER, _TWO = " class='n'", " colspan='2'"


def page(title: str, shown: Sequence[Table]) -> str:
    """A complete document of some tables; every text is escaped."""
    head = f"<meta charset='utf-8'><title>{escape(title)}</title><style>{_PAGE}</style>"
    return (
        f"<!doctype html>\n<html lang='en'><head>{head}</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{fragment(shown)}\n</body></html>\n"
    )


def fragment(shown: Sequence[Table]) -> str:
    """The tables of a page with their style, to be placed in another page."""
    return f"<div class='vsebench'><style>{TABLES}</style>\n{tables(shown)}</div>"


def tables(shown: Sequence[Table]) -> str:
    """The tables alone; ``TABLES`` is their style inside the class ``vsebench``."""
    return "\n".join(map(_table, shown))


def _table(table: Table) -> str:
    notes = "".join(f"<p class='note'>{escape(n)}</p>\n" for n in table.sentences())
    if table.literal:
        notes += f"<p class='note'><code>{escape(table.literal)}</code></p>\n"
    notes += "".join(f"<p class='warning'>warning: {escape(w)}</p>\n" for w in table.warnings)
    title = f"<h2>{escape(table.title)}</h2>\n" if table.title else ""
    if not table.cells:
        return title + notes
    columns = list(zip(table.columns, table.room, strict=True))
    heading = "".join(
        f"<th{'' if column.words else _NUMBER}{_TWO if aside else ''}>{escape(column.heading)}</th>"
        for column, (_, aside) in columns
    )
    rows = "\n".join(
        f"<tr>{''.join(_cell(c, of.words, *room) for c, (of, room) in zip(row, columns, strict=True))}</tr>"
        for row in table.cells
    )
    head = f"<thead>{_groups(table)}<tr>{heading}</tr></thead>"
    return f"{title}<div class='wide' tabindex='0'><table>{head}\n<tbody>\n{rows}\n</tbody></table></div>\n{notes}"


def _groups(table: Table) -> str:
    """The row of groups above the headings; an aside takes a separate column."""
    found, at, widths = "", 0, [1 + aside for _, aside in table.room]
    for text, first, stop in [*table.spans, ("", len(widths), len(widths))]:
        found += "<th></th>" * sum(widths[at:first])
        found += f"<th colspan='{sum(widths[first:stop])}'>{escape(text)}</th>" if text else ""
        at = stop
    return f"<tr>{found}</tr>" if table.spans else ""


def _cell(cell: Printed, words: bool, longest: str, asides: bool) -> str:
    text = escape(cell.text)
    text = f"<b>{text}</b>" if cell.best and text else text
    text = f"<u>{text}</u>" if cell.second and text else text
    aside = f"<span class='aside'>{escape(cell.aside)}</span>" if cell.aside else ""
    if words:
        mark = f"<sup>{escape(cell.mark)}</sup>" if cell.mark else ""
        return f"<td>{text}{mark}{' ' if aside else ''}{aside}</td>"
    if longest:  # every cell leaves room for the longest mark, so that digits line up
        text += f"<sup style='width:{len(longest)}ch'>{escape(cell.mark)}</sup>"
    return f"<td{_NUMBER}>{text}</td>" + (f"<td class='beside'>{aside}</td>" if asides else "")


def environment() -> Environment:
    """The templates in the folder ``templates``: text that is not markup passes ``printable`` and is escaped.

    Raises:
        MissingPackage: jinja2 is not installed.
    """
    try:
        import jinja2
        from markupsafe import Markup  # a dependency of jinja2
    except ImportError as error:
        raise MissingPackage(f"a page needs {error.name}", fix=install("report")) from None

    def literal(value: object) -> object:
        return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    return jinja2.Environment(
        loader=jinja2.PackageLoader("vsebench.results"), autoescape=True, undefined=jinja2.StrictUndefined,
        finalize=literal, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
