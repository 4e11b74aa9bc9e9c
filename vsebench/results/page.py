"""The page of one or several reports: tables, charts and the retrieval explorer in one file that needs no other."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from . import charts, explorer, html
from .charts import Panel
from .explorer import Explorer
from .render import Rendered
from .table import Table, visible

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

    kind = "page"
    heading: ClassVar = "Evaluation on {split}"
    main = "results"
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

    @property
    def tables(self) -> list[Table]:
        """The tables of the summary: those of the report, or of the comparison, whose tests are only records."""
        first = self.parts[0]
        more = (table for _, folded in first.folded for table in folded if table.name not in ("results", "slices"))
        return [*first.tables, *(replace(table, shown=False) for table in more)]

    def records(self, table: str | None = None) -> list[dict[str, Any]]:
        """The results of one system, or the tests of several."""
        return super().records(table or ("results" if len(self.systems) == 1 else "tests"))

    def to_dict(self) -> dict[str, Any]:
        """The document of schema ``vsebench/page/2``: what the page has."""
        found = self.explorer
        shown = None if found is None else {
            "queries": {s.direction: found.queries(s.direction) for s in found.sides},
            "items": found.k, "captions": found.split.columns.texts is not None, "thumbnails": len(found.thumbnails),
        }  # fmt: skip
        titles, charts = [part.title for part in self.parts], [panel.name for panel in self.panels]
        return {**super().to_dict(), "parts": titles, "charts": charts, "explorer": shown}

    def figures(self, folder: str | os.PathLike[str], kind: str = "svg") -> list[Path]:
        """Write every chart to a file of its own, see ``charts.write``; the files."""
        return charts.write(self.panels, self.systems, Path(folder), kind)

    def to_html(self) -> str:
        """The page: scripts, style, charts and data are inside it, and it opens from disk.

        Raises:
            MissingPackage: jinja2 is not installed.
        """
        from markupsafe import Markup  # a dependency of jinja2

        lacking = charts.missing()
        return str(
            html.environment().get_template("page.html").render(
                page=self, title=self.title, ARROWS=ARROWS,
                lacking=None if lacking is None else f"{lacking}".replace("\n", "; "),
                drawn=lambda panel: Markup(charts.svg(panel, self.systems)),
                style=Markup(html.TABLES), tables=lambda shown: Markup(html.tables(visible(shown))),
                data=lambda found: Markup(explorer.to_json(found)),
            )
        )  # fmt: skip
