"""``vsebench agree``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .compare import deliver, output_format
from .talk import Json, NoProgress, Quiet, Talk, command


@command
def run(
    reports: Annotated[
        list[str], typer.Argument(help="Reports of vsebench eval --json, three or more; NAME=FILE names a system.")
    ],
    metrics: Annotated[
        str | None, typer.Option(help="Names or families separated by commas; by default all that they share.")
    ] = None,
    pair: Annotated[
        str | None, typer.Option(help="Two metrics whose queries to list; by default the two that agree least.")
    ] = None,
    direction: Annotated[str | None, typer.Option(help="Direction of the pair: i2t, t2i, i2i or t2t.")] = None,
    top: Annotated[int, typer.Option(min=0, help="How many queries to list.")] = 10,
    most: Annotated[int, typer.Option(min=1, help="How many pairs of metrics to print when there are many.")] = 15,
    ci: Annotated[float, typer.Option(min=1, max=99.99, help="Level of the intervals in percent.")] = 95,
    resamples: Annotated[int, typer.Option(min=10, max=1_000_000, help="Resamples an interval is made of.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Fixes the resamples.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Also systems that were not measured alike.")] = False,
    style: Annotated[str, typer.Option("--format", help="terminal, json, latex, html or markdown.")] = "terminal",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to a file instead of stdout.")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Threads of the kernels; never changes a result.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Show how far the metrics agree on the order of the systems, and the queries they disagree on."""
    talk = Talk(as_json, quiet, no_progress)
    from .. import agree, systems
    from ..errors import UsageError
    from ..report.agreement import grids
    from ..report.model import Resampling

    chosen = output_format(talk, style, output)
    if direction not in (None, "i2t", "t2i", "i2i", "t2t"):
        raise UsageError(f"--direction is '{direction}'", fix="use i2t, t2i, i2i or t2t")
    loaded = systems.load(reports, 3)
    how = Resampling(ci, resamples, seed)
    study = agree.agree(loaded, metrics, pair, direction, top, how, force, threads)  # type: ignore[arg-type]
    for warning in study.warnings:
        talk.warn(warning)
    deliver(talk, chosen, output, f"Agreement of metrics on {study.split}", grids(study, most), study.to_json)
