"""``vsebench slice``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .results import deliver, output_format
from .shared import Force, Level, Output, Resamples, Seed, Style, Threads
from .terminal import Json, NoProgress, Quiet, Terminal, command


@command
def run(
    reports: Annotated[
        list[str], typer.Argument(help="Reports of vsebench eval --json, one or more; NAME=FILE names a system.")
    ],
    by: Annotated[
        str,
        typer.Option(
            help="length (words of the caption), positives, category (labels in --file) or column (of --file)."
        ),
    ],
    metrics: Annotated[str, typer.Option(help="Names or suites separated by commas.")] = "R@1",
    direction: Annotated[str, typer.Option(help="both (all there are), i2t, t2i, i2i or t2t.")] = "both",
    file: Annotated[
        Path | None,
        typer.Option(help="CSV, TSV, parquet or JSON lines with a column of ids (id, image_id, caption_id)."),
    ] = None,
    column: Annotated[str | None, typer.Option(help="The column of --file to slice by.")] = None,
    captions: Annotated[
        Path | None,
        typer.Option(
            help="For --by length: the captions, for splits whose captions are not known here (.jsonl, .txt)."
        ),
    ] = None,
    bins: Annotated[
        str, typer.Option(help="How many bins numbers are cut into, or their edges separated by commas.")
    ] = "5",
    top: Annotated[int, typer.Option(min=1, help="How many slices to print; JSON has all.")] = 30,
    ci: Level = 95,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    force: Force = False,
    style: Style = None,
    output: Output = None,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Break a metric down by caption length, number of positives, image category or a column of yours."""
    terminal = Terminal(as_json, quiet, no_progress)
    from ..analysis.slices import slice

    chosen = output_format(terminal, style, output)
    found = slice(
        reports, by, metrics=metrics, direction=direction, file=file, column=column,  # type: ignore[arg-type]
        captions=captions, bins=bins, top=top, ci=ci, resamples=resamples, seed=seed, force=force, threads=threads,
    )  # fmt: skip
    deliver(terminal, chosen, output, found)
