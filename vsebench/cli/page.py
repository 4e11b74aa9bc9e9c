"""``vsebench page``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import count_of
from .command import results_of, writing
from .results import remark
from .terminal import Terminal

MEGABYTE = 1_000_000
MAX_NAME_LENGTH = 100  # characters of a name that is made of those of the reports


def run(
    terminal: Terminal, reports: Sequence[str], *, output: Path | None = None, figures: Path | None = None, **more: Any
) -> None:
    """Write a web page of one or several reports: tables, charts, and single queries with what they retrieve.

    The page is a single file and needs no server.

    Args:
        reports: saved reports; NAME=FILE names a system.
        output: the page (.html), named after the reports by default; the summary alone as .tex, .md or .csv.
        figures: also write every chart as .svg to this folder.
    """
    from ..analysis.page import page
    from ..analysis.systems import named, names_of
    from ..errors import UsageError
    from ..files.atomic import make_folder
    from ..results import charts
    from ..results.render import ENDINGS

    if output is None:
        names = "-".join(names_of([named(text) for text in reports]))[:MAX_NAME_LENGTH]
        output = Path(f"{names.replace('/', '-')}.html")
    if output.suffix.lower() not in ENDINGS:
        what = f"unknown format '{output.suffix}'"
        endings = dict.fromkeys([".html", *ENDINGS])  # the page first
        raise UsageError(what, where=output, fix=f"end the name in {', '.join(endings)}")
    replaced = output.exists()
    if figures is not None and (lacking := charts.missing()) is not None:
        raise lacking
    if figures is not None:
        make_folder(figures)
    with writing(results_of({"output": output})), terminal.progress("comparing" if len(reports) > 1 else "reading"):
        made = page(reports, **more)
        made.save(output)
        written = [] if figures is None else made.figures(figures)
    remark(terminal, made)
    if replaced:
        terminal.note(f"· {output} was there, and is replaced")
    facts = made.to_dict()
    size = output.stat().st_size
    if terminal.json:
        terminal.emit({**facts, "page": str(output), "bytes": size, "figures": [str(path) for path in written]})
        return
    queries = sum((facts["explorer"] or {"queries": {}})["queries"].values())
    words = [count_of(len(made.systems), "system")]
    if ENDINGS[output.suffix.lower()] == "html":
        words += [count_of(len(made.panels), "chart"), count_of(queries, "query", "queries")]
    terminal.say(f"{output}: {', '.join(words)}, {size / MEGABYTE:.1f} MB")
    if written:
        terminal.say(f"{count_of(len(written), 'chart is', 'charts are')} in {figures}")
