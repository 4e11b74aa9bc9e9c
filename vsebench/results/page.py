"""The page of one or several reports: tables, charts and the retrieval explorer in one file that needs no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import charts, explorer, html
from .charts import Panel
from .explorer import Explorer
from .model import ARROWS
from .table import Table, visible


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
    panels: Sequence[Panel] = ()
    tables: Sequence[Table] = ()
    folded: tuple[tuple[str, Sequence[Table]], ...] = ()
    notes: tuple[str, ...] = ()


def page(
    title: str,
    systems: Sequence[str],
    parts: Sequence[Part],
    shown: Explorer | None,
    absent: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> str:
    """The page: scripts, style, charts and data are inside it, and it opens from disk.

    Args:
        title: its heading.
        systems: names.
        parts: the sections; the queries are behind the first.
        shown: single queries, or None.
        absent: why single queries are left out.
        warnings: what may be wrong.

    Raises:
        MissingPackage: jinja2 is not installed.
    """
    template = html.environment().get_template("page.html")  # first: it says what is not installed
    from markupsafe import Markup  # a dependency of jinja2

    lacking = charts.missing()
    made: str = template.render(
        title=title, systems=systems, parts=parts, shown=shown, absent=absent, warnings=warnings,
        colours=charts.COLOURS,
        arrows={way: words.replace("→", " → ") for way, words in ARROWS.items()},
        lacking=None if lacking is None else f"{lacking}".replace("\n", "; "),
        drawn=lambda panel: Markup(charts.svg(panel, systems)),
        style=Markup(html.TABLES), tables=lambda some: Markup(html.tables(visible(some))),
        data=lambda found: Markup(explorer.to_json(found)),
    )  # fmt: skip
    return made
