"""``vsebench agree``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..evaluation.options import Options
from .blocks import INTERVAL, Selected, options_of
from .command import command
from .results import result_options
from .terminal import Terminal


@command
@result_options
@options_of(Selected)
@options_of(Options, INTERVAL)
def run(
    terminal: Terminal,
    reports: Annotated[
        list[str], typer.Argument(help="Reports of vsebench eval --json, three or more; NAME=FILE names a system.")
    ],
    pair: Annotated[
        str | None, typer.Option(help="Two metrics whose queries to list; by default the two that agree least.")
    ] = None,
    direction: Annotated[str | None, typer.Option(help="Direction of the pair: i2t, t2i, i2i or t2t.")] = None,
    top: Annotated[int, typer.Option(min=0, help="How many queries to list.")] = 10,
    most: Annotated[int, typer.Option(min=1, help="How many pairs of metrics to print when there are many.")] = 15,
    **more: Any,
) -> Any:
    """Show how far the metrics agree on the order of the systems, and the queries they disagree on."""
    from ..analysis.agree import agree

    return agree(reports, pair=pair, direction=direction, top=top, most=most, **more)  # type: ignore[arg-type]
