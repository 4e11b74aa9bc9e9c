"""Printing and writing results in the format that was chosen, and the blocks of options that say where to."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import count_of
from ..options import check_word
from .blocks import Function, ReportResult, Result, extended, parameters
from .terminal import Terminal

if TYPE_CHECKING:
    from ..results.render import Rendered

NOTES = 3  # lines of notes that are printed without being asked for
FORMATS = ("terminal", "json", "latex", "html", "markdown", "csv")


def output_formats(terminal: Terminal, style: str | None, output: Path | None) -> tuple[str, str]:
    """The formats of a result, decided before anything is read: what is printed, and what the file has.

    Args:
        terminal: of the command; ``--json`` is a format as well.
        style: as given, None for tables on the terminal.
        output: the file; its ending decides, and ``style`` where the ending is that of no format.

    Raises:
        UsageError: no such format, or an ending of no format.
    """
    from ..errors import UsageError
    from ..results.render import ENDINGS

    if style is not None:
        check_word("style", style, FORMATS)
    printed = "json" if terminal.json else style or "terminal"
    written = ENDINGS.get("" if output is None else output.suffix.lower(), printed)
    if output is not None and written == "terminal":
        what = "its ending is that of no format"
        raise UsageError(what, where=output, fix=f"end the name in {', '.join(ENDINGS)}, or add --format")
    return printed, written


def remark(terminal: Terminal, result: Rendered) -> None:
    """Print the first notes of a result and its warnings on stderr; with ``--notes`` all, and those of this machine."""
    from ..numeric import compiled

    notes, warnings = result.remarks
    said = tuple(dict.fromkeys((*compiled.notes, *notes)))
    more = 0 if terminal.notes or len(said) <= NOTES else len(said) - NOTES + 1
    for note in said[: len(said) - more]:
        terminal.note(f"· {note}")
    if more:
        terminal.note(f"· {count_of(more, 'more note')}: --notes prints them")
    for warning in warnings:
        terminal.warn(warning)


def deliver(
    terminal: Terminal,
    result: Rendered,
    formats: tuple[str, str] = ("terminal", "json"),
    output: Path | None = None,
    *,
    per_query: Path | None = None,
    figure: Path | None = None,
    full: bool = True,
) -> None:
    """Write a result to a file if one is named, and print it; its notes and warnings go to stderr.

    Args:
        terminal: of the command.
        result: what was computed.
        formats: as ``output_formats`` returns them; with ``--json`` JSON is printed.
        output: a file for it.
        per_query: a file for the per-query values of a report, None for none.
        figure: a file for the figure of correlations, None for none.
        full: JSON of a report has its per-query values.

    Raises:
        DiskError: a file cannot be written; the result is printed on stdout first.
    """
    from ..errors import DiskError
    from ..files.atomic import write_atomically
    from ..results import per_query as per_query_file
    from ..results.table import grids
    from ..results.terminal import show

    remark(terminal, result)

    def text(kind: str) -> str:
        more = {} if full or kind != "json" else {"per_query": False}
        return str(getattr(result, f"to_{kind}")(**more)).removesuffix("\n")

    printed, written = ("json" if terminal.json else formats[0]), formats[1]
    # Made before anything is printed: whatever is wrong with the document is an error without a result.
    shown = None if printed == "terminal" else text(printed)
    failed: DiskError | None = None
    try:
        if output is not None:
            kept = shown if shown is not None and written == printed else text(written)
            with write_atomically(output, "w") as stream:
                stream.write(f"{kept}\n")
        if per_query is not None:
            per_query_file.write(result.per_query(), per_query)  # type: ignore[attr-defined]
        if figure is not None:
            from ..human import figure as drawing

            drawing.write(result, figure)  # type: ignore[arg-type]
    except DiskError as error:  # what was computed is printed all the same
        failed = error
    if shown is None:
        show(grids(result.tables()), terminal.out)
    else:
        (terminal.emit if printed == "json" else terminal.write)(shown)
    if failed is not None:
        raise failed


def result_options(function: Function) -> Function:
    """Print what a command returns, a ``results.render.Rendered``, and write the files that ``--output`` and
    ``--figure`` name.

    A function with a parameter ``output`` is given the file as well.
    """

    wants = "output" in inspect.signature(function).parameters

    def run(terminal: Terminal, *, style: str | None, output: Path | None, **kwargs: Any) -> None:
        formats, figure = output_formats(terminal, style, output), kwargs.pop("figure", None)
        if figure is not None:
            from ..human.figure import check_path

            check_path(figure)
        kwargs |= {"output": output} if wants else {}
        deliver(terminal, function(terminal, **kwargs), formats, output, figure=figure)

    return extended(run, function, parameters(Result))


def report_options(function: Function) -> Function:
    """Print the report that a command returns, and write the files that ``--output`` and ``--per-query`` name."""

    def run(
        terminal: Terminal,
        *,
        style: str | None,
        output: Path | None,
        per_query: Path | None,
        no_per_query: bool,
        **kwargs: Any,
    ) -> None:
        from ..evaluation.options import KEPT
        from ..results.per_query import check_path

        formats = output_formats(terminal, style, output)
        if per_query is not None:
            check_path(per_query)
        if kwargs.get("lists", 0) is None:
            kwargs["lists"] = KEPT if "json" in formats and not no_per_query else 0
        result = function(terminal, **kwargs)
        deliver(terminal, result, formats, output, per_query=per_query, full=not no_per_query)

    return extended(run, function, parameters(ReportResult))
