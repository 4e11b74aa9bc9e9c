"""Printing and writing results in the format that was chosen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import count_of, csv_cell
from ..options import check_word
from .terminal import Terminal

if TYPE_CHECKING:
    from ..results.render import Result

PRINTED_NOTES = 3  # lines of notes that are printed without being asked for
FORMATS = ("terminal", "json", "latex", "html", "markdown", "csv")


class Output:
    """Where the result of a command goes, and in which format; decided and checked before anything is read.

    Args:
        terminal: of the command; ``--json`` is a format as well.
        output: also write the result to a file; the extension sets the format: .json, .tex, .md, .html or .csv.
        style: print terminal, json, latex, html, markdown or csv; terminal by default.
        per_query: write the per-query values of every metric (.parquet or .csv).

    Raises:
        UsageError: no such format, or an ending of no format.
    """

    def __init__(
        self,
        terminal: Terminal,
        *,
        output: Path | None = None,
        style: str | None = None,
        per_query: Path | None = None,
    ) -> None:
        from ..errors import UsageError
        from ..results.render import ENDINGS

        self.terminal, self.output, self.per_query = terminal, output, per_query
        if style is not None:
            check_word("style", style, FORMATS)
        self.printed = "json" if terminal.json else style or "terminal"
        self.written = ENDINGS.get("" if output is None else output.suffix.lower(), self.printed)
        if output is not None and self.written == "terminal":
            what = f"unknown format '{output.suffix}'"
            raise UsageError(what, where=output, fix=f"end the name in {', '.join(ENDINGS)}, or add --format")
        if per_query is not None:
            check_per_query(per_query)

    @property
    def kept(self) -> int:
        """Items a query that a report keeps if nothing is said: those of JSON."""
        from ..evaluation.options import DEFAULT_KEPT_ITEMS

        return DEFAULT_KEPT_ITEMS if "json" in (self.printed, self.written) else 0

    def deliver(self, result: Result) -> None:
        """Write a result to the files that are named, and print it; its notes and warnings go to stderr.

        Raises:
            DiskError: a file cannot be written; the result is printed on stdout first.
        """
        from ..errors import DiskError
        from ..files.atomic import write_atomically
        from ..results.table import visible
        from ..results.terminal import show

        remark(self.terminal, result)

        def text(kind: str) -> str:
            return str(getattr(result, f"to_{kind}")()).removesuffix("\n")

        # Made before anything is printed: whatever is wrong with the document is an error without a result.
        shown = None if self.printed == "terminal" else text(self.printed)
        failed: DiskError | None = None
        try:
            if self.output is not None:
                kept = shown if shown is not None and self.written == self.printed else text(self.written)
                with write_atomically(self.output, "w") as stream:
                    stream.write(f"{kept}\n")
            if self.per_query is not None:
                write_per_query(result.per_query(), self.per_query)
        except DiskError as error:  # what was computed is printed all the same
            failed = error
        if shown is None:
            show(visible(result.tables), self.terminal.out)
        else:
            (self.terminal.emit if self.printed == "json" else self.terminal.write)(shown)
        if failed is not None:
            raise failed


def remark(terminal: Terminal, result: Result) -> None:
    """Print the first notes of a result and its warnings on stderr; with ``--notes`` all, and those of this machine."""
    from ..numeric import compiled

    said = tuple(dict.fromkeys((*compiled.notes, *result.notes)))
    more = 0 if terminal.notes or len(said) <= PRINTED_NOTES else len(said) - PRINTED_NOTES + 1
    for note in said[: len(said) - more]:
        terminal.note(f"· {note}")
    if more:
        terminal.note(f"· {count_of(more, 'more note')}: --notes prints them")
    for warning in result.warnings:
        terminal.warn(warning)


def check_per_query(path: Path) -> Path:
    """``path`` if per-query values can be written there.

    Raises:
        UsageError: another ending, or a folder that does not exist.
        MissingPackage: parquet without pyarrow.
    """
    from ..errors import MissingPackage, UsageError, install

    if not path.name.endswith((".parquet", ".csv", ".csv.gz")):
        what = "per-query values are written as parquet or CSV"
        raise UsageError(what, where=path, fix="end the name in .parquet or .csv")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError("cannot be written: no such folder", where=path, fix=f"create {path.parent} first")
    if path.suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            fix = f"{install('formats')}, or end the name in .csv"
            raise MissingPackage("parquet needs pyarrow", where=path, fix=fix) from None
    return path


def write_per_query(values: Any, path: Path) -> None:
    """Write ``report.per_query()`` to a path that ``check_per_query`` accepts, atomically."""
    from ..files.atomic import write_atomically

    with write_atomically(path) as stream:
        if path.suffix == ".parquet":
            values.to_parquet(stream, index=False)
        else:
            if values["query"].dtype.kind != "i":
                cells = {name: csv_cell(name) for name in values["query"].unique()}
                values = values.assign(query=values["query"].map(cells))
            values.to_csv(stream, index=False, compression="gzip" if path.suffix == ".gz" else None)
