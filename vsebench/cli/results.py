"""Printing and writing results in the format that was chosen, and the blocks of options that say where to."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .blocks import Function, ReportResult, Result, extended, parameters
from .terminal import Terminal

if TYPE_CHECKING:
    from ..report.joint import Joint
    from ..report.render import Rendered
    from ..report.report import Report

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


def result_options(function: Function) -> Function:
    """Print or write what a command returns, a ``report.render.Rendered``, in the format of ``--format``.

    A function with a parameter ``output`` is given the file as well.
    """
    wants = "output" in inspect.signature(function).parameters

    def run(terminal: Terminal, *, style: str | None, output: Path | None, **kwargs: Any) -> None:
        chosen = output_format(terminal, style, output)
        result = function(terminal, **kwargs, **({"output": output} if wants else {}))
        deliver(terminal, chosen, output, result)

    return extended(run, function, parameters(Result))


def report_options(function: Function) -> Function:
    """Print the report that a command returns, and write the files that ``--output`` and ``--per-query`` name."""

    def run(
        terminal: Terminal,
        *,
        style: str,
        output: Path | None,
        per_query: Path | None,
        no_per_query: bool,
        **kwargs: Any,
    ) -> None:
        from ..report.per_query import check_path

        chosen = report_format(terminal, style, output)
        if per_query is not None:
            check_path(per_query)
        result = function(terminal, **kwargs)
        deliver_report(terminal, result, output, per_query, no_per_query, chosen)

    return extended(run, function, parameters(ReportResult))
