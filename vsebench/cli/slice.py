"""``vsebench slice``."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .compare import deliver, output_format
from .shared import Force, Level, Output, Resamples, Seed, Style, Threads
from .talk import Json, NoProgress, Quiet, Talk, command

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..analysis.attributes import Attribute
    from ..evaluation.intervals import Key
    from ..types import Split

BY = ("length", "positives", "category", "column")


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
    metrics: Annotated[str, typer.Option(help="Names or families separated by commas.")] = "R@1",
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
    top: Annotated[int, typer.Option(min=1, help="How many slices to print; JSON holds all.")] = 30,
    ci: Level = 95,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    force: Force = False,
    style: Style = "terminal",
    output: Output = None,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Break a metric down by caption length, number of positives, image category or a column of yours."""
    talk = Talk(as_json, quiet, no_progress)
    from ..analysis import slices, systems
    from ..errors import UsageError
    from ..report.model import Resampling
    from ..report.slices import grids, to_json

    chosen = output_format(talk, style, output)
    if by not in BY:
        raise UsageError(f"--by is '{by}'", fix=f"use {', '.join(BY[:-1])} or {BY[-1]}")
    if (file is not None) != (by in ("category", "column")):
        what = f"--by {by} needs a file" if file is None else f"--file has no meaning with --by {by}"
        raise UsageError(what, fix="give --file FILE" if file is None else "leave it out, or use --by column")
    if captions is not None and by != "length":
        raise UsageError(f"--captions has no meaning with --by {by}", fix="leave it out, or use --by length")
    if direction not in ("both", "i2t", "t2i", "i2i", "t2t"):
        raise UsageError(f"--direction is '{direction}'", fix="use both, i2t, t2i, i2i or t2t")
    cut = _bins(bins)
    loaded = systems.load(reports)
    keys, _ = systems.shared_keys(loaded, metrics)
    keys = [k for k in keys if direction in ("both", k[1]) and k[1] is not None]
    if not keys:
        raise UsageError(f"{metrics} has no value for a query", fix="slice R@1 or another metric of queries")
    attribute = _attribute(by, file, column, captions, loaded[0].asked)
    found = slices.slice_by(loaded, keys, attribute, cut, Resampling(ci, resamples, seed), force, threads)
    for warning in found[0].warnings:
        talk.warn(warning)
    deliver(talk, chosen, output, f"Slices of {found[0].split}", grids(found, top), lambda: to_json(found))


def _attribute(
    by: str, file: Path | None, column: str | None, captions: Path | None, asked: Split
) -> Callable[[Key], Attribute]:
    from ..analysis import attributes

    if by == "positives":
        return lambda key: attributes.positives(asked, key[0].view, key[1] or "i2t")
    if by == "length" or file is None:
        lengths = attributes.caption_length(asked, captions)
        return lambda _key: lengths
    told = attributes.from_file(file, column, asked, several=by == "category")
    return lambda _key: told


def _bins(text: str) -> int | list[float]:
    from ..errors import UsageError

    wrong = UsageError(f"--bins is '{text}'", fix="give a number such as 5, or rising edges such as 0,5,10,20")
    try:
        edges = [float(part) for part in text.split(",")]
    except ValueError:
        raise wrong from None
    if len(edges) == 1:
        if not edges[0].is_integer() or not 1 <= edges[0] <= 1000:
            raise wrong
        return int(edges[0])
    if any(not a < b for a, b in pairwise(edges)):
        raise wrong
    return edges
