"""``vsebench page``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import count_of
from ..evaluation.options import Options
from ..options import check_word
from .blocks import INTERVAL, Selected, options_of
from .command import check_files, command
from .results import remark
from .terminal import Terminal

MEGABYTE = 1_000_000
LONGEST = 100  # characters of a name that is made of those of the reports


@command
@options_of(Selected)
@options_of(Options, INTERVAL)
def run(
    terminal: Terminal,
    reports: Annotated[
        list[str], typer.Argument(help="Reports of vsebench eval -o FILE, one or more; NAME=FILE names a system.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The page (.html), named after the reports by default; .tex and .md have the table of the summary "
            "alone, .csv the records behind it.",
        ),
    ] = None,
    captions: Annotated[
        Path | None, typer.Option(help="The captions, for splits whose captions are not known here (.jsonl, .txt).")
    ] = None,
    images: Annotated[
        Path | None, typer.Option(help="The images, for thumbnails: a folder, parquet or .tar shards, as for encode.")
    ] = None,
    figures: Annotated[Path | None, typer.Option(help="Also write every chart to a file in this folder.")] = None,
    figure_format: Annotated[str, typer.Option(help="Of the charts in --figures: svg, png or pdf.")] = "svg",
    **more: Any,
) -> None:
    """Write a page that shows one or several evaluations: tables, charts, and single queries with what they retrieve.

    The page is one file that opens from disk.
    """
    from ..analysis.page import page
    from ..analysis.systems import named, names_of
    from ..errors import UsageError
    from ..files.atomic import make_folder
    from ..results import charts
    from ..results.render import ENDINGS

    if output is None:
        names = "-".join(names_of([named(text) for text in reports]))[:LONGEST]
        output = Path(f"{names.replace('/', '-')}.html")
        check_files({"reports": reports, "captions": captions, "images": images, "output": output})
    if output.suffix.lower() not in ENDINGS:
        what = "its ending is that of no format"
        endings = dict.fromkeys([".html", *ENDINGS])  # the page first
        raise UsageError(what, where=output, fix=f"end the name in {', '.join(endings)}")
    replaced = output.exists()
    check_word("figure_format", figure_format, charts.FORMATS)
    if figures is not None and (lacking := charts.missing()) is not None:
        raise lacking
    if figures is not None:
        make_folder(figures)
    with terminal.progress("comparing" if len(reports) > 1 else "reading"):
        made = page(reports, captions=captions, images=images, **more)
        made.save(output)
        written = [] if figures is None else made.figures(figures, figure_format)
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
