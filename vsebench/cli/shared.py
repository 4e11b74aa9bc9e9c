"""Options that several commands have, and the check of a file they write to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Metrics = Annotated[
    str | None, typer.Option(help="Names or families separated by commas; by default all that they share.")
]
Level = Annotated[float, typer.Option(min=1, max=99.99, help="Level of the intervals in percent.")]
Resamples = Annotated[int, typer.Option(min=10, max=1_000_000, help="Resamples an interval is made of.")]
Seed = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Fixes the resamples.")]
Force = Annotated[bool, typer.Option("--force", help="Also systems that were not measured alike.")]
Style = Annotated[str, typer.Option("--format", help="terminal, json, latex, html or markdown.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to a file instead of stdout.")]
Threads = Annotated[int | None, typer.Option(min=1, max=1024, help="Threads of the kernels; never changes a result.")]


def check_output(path: Path | None) -> None:
    """Refuse a file that cannot be written, before anything is read.

    Raises:
        UsageError: it is a folder, a device, or in a folder that does not exist.
    """
    from ..errors import UsageError

    if path is None:
        return
    if str(path) == "-":
        raise UsageError("'-' is no name of a file", fix="leave it out: then the result goes to stdout")
    if path.is_dir():
        raise UsageError("is a folder", where=path, fix="name a file in a folder that exists")
    if not path.absolute().parent.is_dir():
        raise UsageError("cannot be written: no such folder", where=path, fix="name a file in a folder that exists")
    if path.exists() and not path.is_file():
        raise UsageError(
            "cannot be written: it is not a regular file",
            where=path,
            fix="name a file; without it the result goes to stdout",
        )
