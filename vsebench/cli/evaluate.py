"""``vsebench eval``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..evaluation.options import Given, Options
from .blocks import options_of
from .command import command
from .results import report_options
from .systems import systems_of, together
from .terminal import Terminal

if TYPE_CHECKING:
    from ..report.report import Report


@command
@report_options
@options_of(Options)
@options_of(Given)
def run(
    terminal: Terminal,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Embeddings: .npz, .npy, .safetensors, .pt, .h5, .parquet, or a folder of shards. Each file that "
            "holds images and texts is a system (NAME=FILE names it); a file that holds images only and the file of "
            "texts behind it are one.",
        ),
    ] = None,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="LaTeX of several systems: also a table for each set of judgements or gains, not only one.",
        ),
    ] = False,
    **given: Any,
) -> Any:
    """Rank, measure and report: one system, or several in a joint table.

    FILE holds image and text vectors; a file whose ids are COCO test ids selects its split by itself.
    """
    import vsebench

    from ..evaluation import saved_run
    from ..evaluation.provenance import with_command

    gains, save_run = ",".join(given.pop("gains") or ()), given["save_run"]
    given |= {"run": given["run"] or None, "gains": gains or ()}
    systems = systems_of(files or [], given.pop("texts"), given["scores"] is not None or bool(given["run"]), save_run)
    runs = {} if save_run is None else saved_run.files(save_run)
    reports: dict[str, Report] = {}
    for name, images, texts in systems:
        with terminal.progress("ranking" if len(systems) == 1 else f"ranking {name}") as progress:
            report = vsebench.evaluate(images, texts, progress=progress, **given)
        reports[name] = with_command(report)
        # Systems that differ are refused before the next one is evaluated.
        result = together(reports, given["metrics"], details)
    written = [f"--run {d}={path}" for d, path in runs.items() if d and path.exists()]
    if written:
        terminal.note(f"· the rankings are TREC runs, to be read back with {' '.join(written)}")
    return result
