"""``vsebench compare``."""

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
@options_of(Selected, ["force", "ci"])
@options_of(Options, INTERVAL)
def run(
    terminal: Terminal,
    reports: Annotated[
        list[str], typer.Argument(help="Reports of vsebench eval --json, two or more; NAME=FILE names a system.")
    ],
    metrics: Annotated[
        str | None,
        typer.Option(help="Names or suites to test, or all; by default the headline metrics, the others untested."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Name of the system to test all others against; by default every pair is tested.")
    ] = None,
    correction: Annotated[str, typer.Option(help="For many tests: holm, bh or none.")] = "holm",
    alpha: Annotated[float, typer.Option(help="Corrected p-values up to it are called significant.")] = 0.05,
    permutations: Annotated[
        int | None,
        typer.Option(min=10, max=10_000_000, help="Random permutations of a test; by default as many as are needed."),
    ] = None,
    details: Annotated[
        bool,
        typer.Option(
            "--details", help="Also the tests of every pair (always so for two systems), and in LaTeX all tables."
        ),
    ] = False,
    **more: Any,
) -> Any:
    """Test systems against each other: paired permutation tests over images, corrected, with effect sizes."""
    from ..analysis.comparison import compare

    return compare(
        reports, metrics=metrics, baseline=baseline, correction=correction,  # type: ignore[arg-type]
        alpha=alpha, permutations=permutations,
        details=details, **more,
    )  # fmt: skip
