"""Printing and writing results in the format that was chosen, and the blocks of options that say where to."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..options import check_word
from .blocks import Function, ReportResult, Result, extended, parameters
from .terminal import Terminal

if TYPE_CHECKING:
    from ..report.render import Rendered

FORMATS = ("terminal", "json", "latex", "html", "markdown", "csv")


def output_format(terminal: Terminal, style: str | None, output: Path | None, *, also: bool = False) -> str:
    """The format of a result, decided before anything is read: as given, or else by the ending of the file.

    Args:
        terminal: of the command.
        style: as given.
        output: the file.
        also: the result is printed as well, and the file has the format of its ending, JSON where it has none.

    Raises:
        UsageError: no such format, or an ending of no format.
    """
    from ..errors import UsageError
    from ..report.render import ENDINGS

    if style is not None:
        check_word("style", style, FORMATS)
    ending = "" if output is None else output.suffix.lower()
    decides = bool(ending) if also else output is not None and style is None and not terminal.json
    if decides and ending not in ENDINGS:
        what = "its ending is that of no format"
        raise UsageError(what, where=output, fix=f"end the name in {', '.join(ENDINGS)}, or add --format")
    if terminal.json:
        return "json"
    return style or (ENDINGS[ending] if decides and not also else "terminal")


def remark(terminal: Terminal, result: Rendered) -> None:
    """Print the notes and warnings of a result, and those of this machine, on stderr."""
    from ..numeric import compiled

    notes, warnings = result.remarks
    for note in dict.fromkeys((*notes, *compiled.notes())):
        terminal.note(f"· {note}")
    for warning in warnings:
        terminal.warn(warning)


def deliver(
    terminal: Terminal,
    result: Rendered,
    style: str,
    output: Path | None = None,
    *,
    also: bool = False,
    per_query: Path | None = None,
    full: bool = True,
) -> None:
    """Print a result or write it to a file, its notes and warnings to stderr.

    Args:
        terminal: of the command.
        result: what was computed.
        style: the format; ``terminal`` is Markdown in a file.
        output: a file for it.
        also: it is printed as well, and the file has the format of its ending, else JSON.
        per_query: a file for the per-query values of a report, None for none.
        full: JSON of a report has its per-query values.

    Raises:
        DiskError: a file cannot be written; the result is printed on stdout first.
    """
    from ..data.atomic import write_atomically
    from ..errors import DiskError
    from ..report import per_query as per_query_file
    from ..report.render import ENDINGS
    from ..report.terminal import show

    remark(terminal, result)

    def text(kind: str) -> str:
        more = {} if full or kind != "json" else {"per_query": False}
        return str(getattr(result, f"to_{kind}")(**more)).removesuffix("\n")

    style = "json" if terminal.json else style
    prints = also or output is None
    style = "markdown" if style == "terminal" and not prints else style
    # Made before anything is printed: whatever is wrong with the document is an error without a result.
    shown = None if style == "terminal" else text(style)
    failed: DiskError | None = None
    try:
        if output is not None:
            kept = text(ENDINGS.get(output.suffix.lower(), "json")) if also else shown
            with write_atomically(output, "w") as stream:
                stream.write(f"{kept}\n")
        if per_query is not None:
            per_query_file.write(result.per_query(), per_query)  # type: ignore[attr-defined]
    except DiskError as error:  # what was computed is printed all the same
        failed = error
    if prints or failed is not None:
        if shown is None:
            show(result.grids(), terminal.out)
        else:
            (terminal.emit if style == "json" else terminal.write)(shown)
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
        deliver(terminal, result, chosen, output)

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
        from ..errors import UsageError
        from ..report.per_query import check_path

        chosen = output_format(terminal, style, output, also=True)
        if per_query is not None:
            check_path(per_query)
        result = function(terminal, **kwargs)
        if per_query is not None and not hasattr(result, "per_query"):
            raise UsageError("--per-query: a plan has no values of queries", fix="leave it out, or --dry-run")
        deliver(terminal, result, chosen, output, also=True, per_query=per_query, full=not no_per_query)

    return extended(run, function, parameters(ReportResult))
