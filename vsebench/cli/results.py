"""Writing a result (``report.render.Rendered``) in the format that was chosen, to stdout or a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .terminal import Terminal

if TYPE_CHECKING:
    from ..report.render import Rendered

FORMATS = ("terminal", "json", "latex", "html", "markdown", "csv")


def output_format(terminal: Terminal, style: str | None, output: Path | None) -> str:
    """The format to write, decided before anything is read: as given, or else by the ending of the file.

    Raises:
        UsageError: no such format, or an ending of no format.
    """
    from ..errors import UsageError

    if style is not None and style not in FORMATS:
        raise UsageError(f"--format is '{style}'", fix=f"use {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    if terminal.json:
        return "json"
    if style is not None or output is None:
        return style or "terminal"
    return _format_of(output)


def report_format(terminal: Terminal, style: str | None, output: Path | None) -> str:
    """The format in which a report is printed; ``output`` is a file for it as well, JSON where it has no ending.

    Raises:
        UsageError: as ``output_format``.
    """
    if output is not None and output.suffix:
        _format_of(output)
    return output_format(terminal, style, None)


def _format_of(output: Path) -> str:
    from ..errors import UsageError
    from ..report.render import ENDINGS

    if output.suffix.lower() not in ENDINGS:
        what = "its ending is that of no format"
        raise UsageError(what, where=output, fix=f"end the name in {', '.join(ENDINGS)}, or add --format")
    return ENDINGS[output.suffix.lower()]


def remark(terminal: Terminal, result: Rendered) -> None:
    """Print the notes and warnings of a result on stderr."""
    notes, warnings = result.remarks
    for note in notes:
        terminal.note(f"· {note}")
    for warning in warnings:
        terminal.warn(warning)


def deliver(terminal: Terminal, style: str, output: Path | None, result: Rendered) -> None:
    """Write a result to stdout or a file, its notes and warnings to stderr; ``terminal`` is Markdown in a file.

    Raises:
        DiskError: the file cannot be written; the result is printed on stdout first.
    """
    from ..numeric import compiled

    for note in compiled.notes():
        terminal.note(f"· {note}")
    remark(terminal, result)
    if style == "terminal" and output is None:
        from ..report.terminal import show

        show(result.grids(), terminal.out)
        return
    formats = {"json": result.to_json, "latex": result.to_latex, "html": result.to_html, "csv": result.to_csv}
    text = formats.get(style, result.to_markdown)().removesuffix("\n")
    show_text = terminal.emit if style == "json" else terminal.write
    if output is None:
        show_text(text)
        return
    from ..data.atomic import write_atomically
    from ..errors import DiskError

    try:
        with write_atomically(output, "w") as stream:
            stream.write(text + "\n")
    except DiskError:
        show_text(text)
        raise
