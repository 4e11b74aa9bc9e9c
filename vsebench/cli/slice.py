"""``vsebench slice``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..evaluation.options import Options
from .blocks import INTERVAL, Selected, options_of
from .command import command
from .results import result_options
from .terminal import Terminal


@command
@result_options
@options_of(Selected, ["force", "ci"])
@options_of(Options, INTERVAL)
def run(
    terminal: Terminal,
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
    **more: Any,
) -> Any:
    """Break a metric down by caption length, number of positives, image category or a column of yours."""
    from ..analysis.slices import slice

    return slice(
        reports, by, metrics=metrics, direction=direction, file=file, column=column,  # type: ignore[arg-type]
        captions=captions, bins=bins,
        top=top, **more,
    )  # fmt: skip
