"""Options and output files of several commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..report.report import Report
    from .terminal import Terminal

Metrics = Annotated[
    str | None, typer.Option(help="Names or suites separated by commas; by default all that they share.")
]
Level = Annotated[float, typer.Option(help="Level of the intervals in percent.")]
Resamples = Annotated[int, typer.Option(min=10, max=1_000_000, help="Resamples an interval is made of.")]
Seed = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Fixes the resamples.")]
Force = Annotated[bool, typer.Option("--force", help="Also systems that were not measured alike.")]
Style = Annotated[
    str | None,
    typer.Option("--format", help="terminal, json, latex, html or markdown; else the ending of --output decides."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to a file instead of stdout.")]
Threads = Annotated[int | None, typer.Option(min=1, max=1024, help="Threads of the kernels; never changes a result.")]
PerQuery = Annotated[Path | None, typer.Option(help="Write every metric's per-query values (.parquet or .csv).")]
ReportOutput = Annotated[Path | None, typer.Option("--output", "-o", help="Also write the JSON report to a file.")]
ReportCi = Annotated[float, typer.Option(help="Level of the intervals in percent, by resampling; 0 for none.")]
Interval = Annotated[str, typer.Option(help="How the interval is read off: percentile or bca.")]
NoPerQuery = Annotated[bool, typer.Option("--no-per-query", help="Leave the per-query values out of the JSON report.")]


def deliver_report(
    terminal: Terminal, report: Report, output: Path | None, per_query: Path | None, no_per_query: bool
) -> None:
    """Print a report as a table or JSON, with notes and warnings on stderr, and write the requested files."""
    from ..data.atomic import write_atomically
    from ..errors import DiskError
    from ..evaluation.provenance import with_command
    from ..report import per_query as per_query_file
    from ..report.terminal import show

    report = with_command(report)
    for note in report.notes:
        terminal.note(f"· {note}")
    for warning in report.warnings:
        terminal.warn(warning)
    text = report.to_json(not no_per_query) if terminal.json or output is not None else ""
    failed: DiskError | None = None
    try:
        if per_query is not None:
            per_query_file.write(report.per_query(), per_query)
        if output is not None:
            with write_atomically(output, "w") as stream:
                stream.write(text + "\n")
    except DiskError as error:  # what was measured is printed all the same
        failed = error
    if terminal.json:
        terminal.emit(text)
    else:
        show(report.grids(), terminal.out)
    if failed is not None:
        raise failed
