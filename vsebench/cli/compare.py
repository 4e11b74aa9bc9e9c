"""``vsebench compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .shared import Metrics, Output, Resamples, Style, Threads, check_output
from .talk import Json, NoProgress, Quiet, Talk, command

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..report.grid import Grid

FORMATS = ("terminal", "json", "latex", "html", "markdown")


@command
def run(
    reports: Annotated[
        list[str], typer.Argument(help="Reports of vsebench eval --json, two or more; NAME=FILE names a system.")
    ],
    metrics: Metrics = None,
    baseline: Annotated[
        str | None, typer.Option(help="Name of the system to test all others against; by default every pair is tested.")
    ] = None,
    correction: Annotated[str, typer.Option(help="For many tests: holm, bh or none.")] = "holm",
    alpha: Annotated[float, typer.Option(help="Corrected p-values up to it are called significant.")] = 0.05,
    permutations: Annotated[int, typer.Option(min=10, max=10_000_000, help="Random swaps of a test.")] = 10_000,
    ci: Annotated[float, typer.Option(min=1, max=99.99, help="Level of the intervals of differences in percent.")] = 95,
    resamples: Resamples = 1000,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Fixes swaps and resamples.")] = 0,
    details: Annotated[
        bool, typer.Option("--details", help="Also show the tests of every pair; always so for two systems.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Compare systems that were not measured alike, on what they share.")
    ] = False,
    style: Style = "terminal",
    output: Output = None,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Test systems against each other: paired permutation tests over images, corrected, with effect sizes."""
    talk = Talk(as_json, quiet, no_progress)
    from ..analysis import compare, systems
    from ..report.comparison import Rules
    from ..report.comparison_table import grids

    chosen = output_format(talk, style, output)
    loaded = systems.load(reports, 2)
    rules = Rules(permutations, correction, alpha, ci, resamples, seed)  # type: ignore[arg-type]
    found = compare.compare(loaded, metrics, baseline, rules, force, threads)
    for warning in found.warnings:
        talk.warn(warning)
    tables = grids(found, details or len(loaded) == 2)
    deliver(talk, chosen, output, f"Comparison on {found.split}", tables, found.to_json)


def output_format(talk: Talk, style: str, output: Path | None) -> str:
    """The format to write, checked before anything is read.

    Raises:
        UsageError: no such format, or the output cannot be written.
    """
    from ..errors import UsageError

    if style not in FORMATS:
        raise UsageError(f"--format is '{style}'", fix=f"use {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    check_output(output)
    return "json" if talk.json else style


def deliver(
    talk: Talk, style: str, output: Path | None, title: str, grids: list[Grid], document: Callable[[], dict[str, Any]]
) -> None:
    """Write grids or a document in a format, to stdout or to a file."""
    if style == "terminal" and output is None:
        from ..report.terminal import show_grid

        for grid in grids:
            show_grid(grid, talk.out)
        return
    text = _rendered(style, title, grids, document)
    if output is None:
        talk.emit(text.removesuffix("\n"))
        return
    from ..data.atomic import write_atomically

    with write_atomically(output, "w") as stream:
        stream.write(text)


def _rendered(style: str, title: str, grids: list[Grid], document: Callable[[], dict[str, Any]]) -> str:
    if style == "json":
        import json

        return json.dumps(document(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if style == "latex":
        from ..report.latex import latex

        return latex(grids)
    if style == "html":
        from ..report.html import page

        return page(title, grids)
    from ..report.markdown import markdown

    return markdown(grids)  # also what a terminal table is in a file
