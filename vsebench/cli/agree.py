"""``vsebench agree``."""

from __future__ import annotations

from typing import Annotated

import typer

from .results import deliver, output_format
from .shared import Force, Level, Metrics, Output, Resamples, Seed, Style, Threads
from .terminal import Json, NoProgress, Quiet, Terminal, command


@command
def run(
    reports: Annotated[
        list[str], typer.Argument(help="Reports of vsebench eval --json, three or more; NAME=FILE names a system.")
    ],
    metrics: Metrics = None,
    pair: Annotated[
        str | None, typer.Option(help="Two metrics whose queries to list; by default the two that agree least.")
    ] = None,
    direction: Annotated[str | None, typer.Option(help="Direction of the pair: i2t, t2i, i2i or t2t.")] = None,
    top: Annotated[int, typer.Option(min=0, help="How many queries to list.")] = 10,
    most: Annotated[int, typer.Option(min=1, help="How many pairs of metrics to print when there are many.")] = 15,
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
    """Show how far the metrics agree on the order of the systems, and the queries they disagree on."""
    terminal = Terminal(as_json, quiet, no_progress)
    from ..analysis.agreement import agree

    chosen = output_format(terminal, style, output)
    found = agree(
        reports, metrics=metrics, pair=pair, direction=direction, top=top, most=most,  # type: ignore[arg-type]
        ci=ci, resamples=resamples, seed=seed, force=force, threads=threads,
    )  # fmt: skip
    deliver(terminal, chosen, output, found)
