"""The page of one or several reports: tables, charts and the retrieval explorer in one file that needs no other."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from ..errors import printable
from . import charts, explorer
from .charts import Panel
from .explorer import Explorer
from .html import fragment
from .render import Rendered
from .table import Table, grids

ARROWS = {"i2t": "image → text", "t2i": "text → image"}


@dataclass(frozen=True)
class Part:
    """A section of a page.

    Attributes:
        name: of its anchor.
        title: its heading.
        panels: its charts.
        tables: below the charts.
        folded: further tables by heading, which the reader opens.
        notes: what is left out, and how to get it.
    """

    name: str
    title: str
    panels: tuple[Panel, ...] = ()
    tables: tuple[Table, ...] = ()
    folded: tuple[tuple[str, tuple[Table, ...]], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Page(Rendered):
    """What a page shows of one or several systems.

    Attributes:
        split: what was evaluated.
        systems: names.
        signatures: one a system.
        parts: the sections; the first is the summary, whose tables the other formats have.
        explorer: single queries, or None.
        absent: why there is no explorer.
        warnings: what may be wrong.
    """

    kind: ClassVar = "page"
    heading: ClassVar = "Evaluation on {split}"
    main: ClassVar = "results"
    settings: ClassVar = ("split", "systems", "signatures")
    split: str
    systems: tuple[str, ...]
    signatures: tuple[str, ...]
    parts: tuple[Part, ...]
    explorer: Explorer | None
    absent: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is left out, and how to get it; the page has it where it belongs."""
        shown = self.explorer.notes if self.explorer else ()
        return (*(note for part in self.parts for note in part.notes), *self.absent, *shown)

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All charts."""
        return tuple(panel for part in self.parts for panel in part.panels)

    def tables(self) -> list[Table]:
        """The tables of the summary: those of the report, or of the comparison, whose tests are only records."""
        first = self.parts[0]
        more = (table for _, folded in first.folded for table in folded if table.name != "results")
        return [*first.tables, *(replace(table, shown=False) for table in more)]

    def records(self, table: str | None = None) -> list[dict[str, Any]]:
        """The results of one system, or the tests of several."""
        return super().records(table or ("results" if len(self.systems) == 1 else "tests"))

    def to_dict(self) -> dict[str, Any]:
        """The document of schema ``vsebench/page/2``: what the page has."""
        found = self.explorer
        shown = None if found is None else {
            "queries": {s.direction: found.queries(s.direction) for s in found.sides},
            "items": found.k, "captions": found.split.captions is not None, "thumbnails": len(found.thumbnails),
        }  # fmt: skip
        titles, charts = [part.title for part in self.parts], [panel.name for panel in self.panels]
        return {**super().to_dict(), "parts": titles, "charts": charts, "explorer": shown}

    def figures(self, folder: str | os.PathLike[str], kind: str = "svg") -> list[Path]:
        """Write every chart to a file of its own, see ``charts.write``; the files."""
        return charts.write(self.panels, self.systems, Path(folder), kind)

    def to_html(self) -> str:
        """The page: scripts, style, charts and data are inside it, and it opens from disk."""
        lacking = charts.missing()
        style, script = (Path(__file__).with_name(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
        links = [(part.name, part.title) for part in self.parts]
        links[1:1] = [("queries", "Queries")]
        anchors = "".join(f"<a href='#{name}'>{escape(title)}</a>" for name, title in links)
        body = [_head(self), f"<nav>{anchors}</nav>\n", _part(self.parts[0], self.systems, lacking), _explorer(self)]
        body += [_part(part, self.systems, lacking) for part in self.parts[1:]]
        if self.explorer is not None:
            data = explorer.to_json(self.explorer)
            body.append(
                f"<script type='application/json' id='explorer-data'>{data}</script>\n<script>{script}</script>"
            )
        return (
            "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
            "<meta name='viewport' content='width=device-width, initial-scale=1'>"
            f"<title>{escape(self.title)}</title><style>{style}</style></head>\n<body>\n{''.join(body)}\n</body></html>\n"
        )


def _text(text: str) -> str:
    """Text from outside: escaped, and isolated from the writing direction of what is around it."""
    return f"<bdi>{escape(printable(text))}</bdi>"


def _head(page: Page) -> str:
    legend = ""
    if len(page.systems) > 1:
        names = (
            f"<li class='s{i % 8}'><span class='swatch'></span>{_text(n)}</li>" for i, n in enumerate(page.systems)
        )
        legend = f"<ul class='legend'>{''.join(names)}</ul>"
    else:
        legend = f"<p class='dim'>{_text(page.systems[0])}</p>"
    warnings = "".join(f"<p class='warning'>{escape(printable(warning))}</p>" for warning in page.warnings)
    return f"<h1>{escape(page.title)}</h1>{legend}{warnings}\n"


def _part(part: Part, systems: Sequence[str], lacking: Exception | None) -> str:
    body = [f"<section id='{part.name}'><h2>{escape(part.title)}</h2>\n"]
    if part.panels and lacking is None:
        figures = "".join(_figure(panel, systems) for panel in part.panels)
        body.append(f"<div class='figures'>{figures}</div>\n")
    elif part.panels:
        body.append(f"<p class='note'>{escape(f'{lacking}'.replace(chr(10), '; '))}</p>\n")
    if part.tables:
        body.append(fragment(grids(part.tables)))
    for heading, tables in part.folded:
        body.append(f"<details><summary>{_text(heading)}</summary>{fragment(grids(tables))}</details>\n")
    body += [f"<p class='note'>{escape(printable(note))}</p>\n" for note in part.notes]
    return "".join([*body, "</section>\n"])


def _figure(panel: Panel, systems: Sequence[str]) -> str:
    label = escape(printable(f"{panel.title}: {panel.y} by {panel.x}"), quote=True)
    return f"<figure role='img' aria-label='{label}'>{charts.svg(panel, systems)}</figure>"


def _explorer(page: Page) -> str:
    """The controls of the explorer, hidden until its script runs; or why there is none."""
    found = page.explorer
    head = "<section id='queries'><h2>Queries</h2>\n"
    if found is None:
        return (
            head + "".join(f"<p class='note'>{escape(printable(note))}</p>\n" for note in page.absent) + "</section>\n"
        )
    directions = "".join(
        f"<button type='button' data-direction='{way}' aria-pressed='false'>{ARROWS[way]}</button>"
        for way in (side.direction for side in found.sides)
    )
    systems = ""
    if len(found.systems) > 1:
        usable = [i for i in range(len(found.systems)) if any(side.rankings[i] is not None for side in found.sides)]
        buttons = "".join(
            f"<button type='button' data-system='{i}' aria-pressed='false'>{_text(found.systems[i])}</button>"
            for i in usable
        )
        systems = f"<span class='group' role='group' aria-label='systems'>{buttons}</span>"
    scale = ""
    if found.gains is not None:
        scale = (
            f"<p class='scale'>{escape(printable(found.gains))}: none <i></i> as much as the best ground-truth item of "
            "the query; the number is the gain</p>"
        )
    notes = "".join(f"<p class='note'>{escape(printable(note))}</p>\n" for note in (*found.notes, *page.absent))
    return (
        f"{head}<noscript><p class='note'>Queries are shown by a script, and scripts are switched off.</p></noscript>\n"
        "<div id='explorer' hidden>\n<div class='controls'>"
        f"<span class='group' role='group' aria-label='direction'>{directions}</span>{systems}"
        "<select aria-label='which queries'></select>"
        "<input type='search' placeholder='search captions and ids' aria-label='search captions and ids'></div>\n"
        f"{scale}<div class='workplace'><div class='queries'><small role='status'></small>"
        "<ul role='listbox' tabindex='0' aria-label='queries'></ul>"
        "<button type='button' class='more'>more queries</button>"
        "<p class='dim keys'><kbd>/</kbd> search, <kbd>↑</kbd> <kbd>↓</kbd> next query</p></div>"
        f"<div class='detail' aria-live='off'></div></div></div>\n{notes}</section>\n"
    )
