"""``vsebench compare``."""

from __future__ import annotations

from typing import Annotated

import typer

from .results import deliver, output_format
from .shared import Output, Resamples, Style, Threads
from .terminal import Json, NoProgress, Quiet, Terminal, command


@command
def run(
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
    ci: Annotated[float, typer.Option(help="Level of the intervals of differences in percent.")] = 95,
    resamples: Resamples = 1000,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Fixes permutations and resamples.")] = 0,
    details: Annotated[
        bool,
        typer.Option(
            "--details", help="Also the tests of every pair (always so for two systems), and in LaTeX all tables."
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Compare systems that were not measured alike, on what they share.")
    ] = False,
    style: Style = None,
    output: Output = None,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Test systems against each other: paired permutation tests over images, corrected, with effect sizes."""
    terminal = Terminal(as_json, quiet, no_progress)
    from ..analysis.comparison import compare

    chosen = output_format(terminal, style, output)
    found = compare(
        reports, metrics=metrics, baseline=baseline, correction=correction, alpha=alpha,  # type: ignore[arg-type]
        permutations=permutations, ci=ci, resamples=resamples, seed=seed, details=details, force=force, threads=threads,
    )  # fmt: skip
    deliver(terminal, chosen, output, found)
