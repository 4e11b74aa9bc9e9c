"""Options and output files of several commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..report.joint import Joint
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
    typer.Option("--format", help="terminal, json, latex, html, markdown or csv; else the ending of --output decides."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to a file instead of stdout.")]
Threads = Annotated[int | None, typer.Option(min=1, max=1024, help="Threads of the kernels; never changes a result.")]
PerQuery = Annotated[Path | None, typer.Option(help="Write every metric's per-query values (.parquet or .csv).")]
ReportOutput = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Also write the JSON report to a file; a table to .tex, .md, .html or .csv."),
]
ReportStyle = Annotated[
    str, typer.Option("--format", help="What is printed: terminal, json, latex, html, markdown or csv.")
]
ReportCi = Annotated[float, typer.Option(help="Level of the intervals in percent, by resampling; 0 for none.")]
Interval = Annotated[str, typer.Option(help="How the interval is read off: bca or percentile.")]
NoPerQuery = Annotated[bool, typer.Option("--no-per-query", help="Leave the per-query values out of the JSON report.")]


def deliver_report(
    terminal: Terminal,
    result: Report | Joint,
    output: Path | None,
    per_query: Path | None,
    no_per_query: bool,
    style: str = "terminal",
) -> None:
    """Print a report or a joint table, with notes and warnings on stderr, and write the requested files.

    Args:
        terminal: of the command.
        result: what was measured.
        output: a file for it: a table when its ending is that of a format of tables, else JSON.
        per_query: a file for the per-query values, None for none.
        no_per_query: JSON without per-query values.
        style: how it is printed; JSON also under the flag ``--json``.
    """
    from ..data.atomic import write_atomically
    from ..errors import DiskError
    from ..report import per_query as per_query_file
    from ..report.render import ENDINGS
    from ..report.terminal import show
    from .results import remark

    remark(terminal, result)

    def text(kind: str) -> str:
        if kind == "json":
            return result.to_json(not no_per_query)
        return str(getattr(result, f"to_{kind}")()).removesuffix("\n")

    style = "json" if terminal.json else style
    # Made before anything is printed: whatever is wrong with the document is an error without a result.
    printed = None if style == "terminal" else text(style)
    kept = None if output is None else text(ENDINGS.get(output.suffix.lower(), "json"))
    failed: DiskError | None = None
    try:
        if per_query is not None:
            per_query_file.write(result.per_query(), per_query)
        if output is not None:
            with write_atomically(output, "w") as stream:
                stream.write(f"{kept}\n")
    except DiskError as error:  # what was measured is printed all the same
        failed = error
    if printed is None:
        show(result.grids(), terminal.out)
    else:
        (terminal.emit if style == "json" else terminal.write)(printed)
    if failed is not None:
        raise failed
