"""Writing a result (``report.render.Rendered``) in the format that was chosen, to stdout or a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .shared import check_output
from .terminal import Terminal

if TYPE_CHECKING:
    from ..report.render import Rendered

FORMATS = ("terminal", "json", "latex", "html", "markdown")


def output_format(terminal: Terminal, style: str, output: Path | None) -> str:
    """The format to write, checked before anything is read.

    Raises:
        UsageError: no such format, or the output cannot be written.
    """
    from ..errors import UsageError

    if style not in FORMATS:
        raise UsageError(f"--format is '{style}'", fix=f"use {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    check_output(output)
    return "json" if terminal.json else style


def deliver(terminal: Terminal, style: str, output: Path | None, result: Rendered) -> None:
    """Write a result to stdout or a file; a table for the terminal is Markdown in a file."""
    if style == "terminal" and output is None:
        from ..report.terminal import show

        show(result.grids(), terminal.out)
        return
    formats = {"json": result.to_json, "latex": result.to_latex, "html": result.to_html}
    text = formats.get(style, result.to_markdown)().removesuffix("\n")
    if output is None:
        terminal.emit(text)
        return
    from ..data.atomic import write_atomically

    with write_atomically(output, "w") as stream:
        stream.write(text + "\n")
