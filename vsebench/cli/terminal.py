"""The terminal of a command: results on stdout; notes, warnings, progress and errors on stderr; exit codes."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import VsebenchError, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Task

    from ..results.table import Table

PROGRESS_SECONDS = 10.0  # seconds between lines of progress


class Terminal:
    """What one command prints, under the flags that every command has.

    Args:
        as_json: print one JSON document.
        quiet: print no notes, warnings or progress.
        notes: print all notes, not only the first three.
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False, notes: bool = False) -> None:
        self.json, self.quiet, self.notes = as_json, quiet, notes

    @functools.cached_property
    def out(self) -> Console:
        """The result console (stdout)."""
        return _console(stderr=False)

    @functools.cached_property
    def err(self) -> Console:
        """The console of notes, warnings and progress (stderr)."""
        return _console(stderr=True)

    def note(self, text: str) -> None:
        """Print a note."""
        if not self.quiet:
            self.err.print(printable(text), style="dim", highlight=False, markup=False, soft_wrap=True)

    def warn(self, text: str) -> None:
        """Print a warning."""
        if not self.quiet:
            self.err.print(f"warning: {printable(text)}", style="yellow", highlight=False, markup=False, soft_wrap=True)

    def emit(self, document: Any) -> None:
        """Print a JSON document (or ready JSON text) on stdout."""
        from ..results.render import json_text

        text = document if isinstance(document, str) else json_text(document)
        sys.stdout.write(encodable(text, sys.stdout.encoding) + "\n")

    def write(self, text: str) -> None:
        """Print text in a format other than JSON on stdout; as HTML entities what stdout cannot encode."""
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "xmlcharrefreplace").decode(encoding) + "\n")

    def say(self, text: str) -> None:
        """Print the lines of a text on stdout, literally."""
        for line in text.split("\n"):
            self.out.print(printable(line), highlight=False, markup=False, soft_wrap=True)

    def answer(self, document: Any, *shown: str | Table) -> None:
        """Print a JSON document with ``--json``, else lines of text and tables."""
        if self.json:
            self.emit(document)
            return
        from ..results.terminal import show

        for one in shown:
            if isinstance(one, str):
                self.say(one)
            else:
                show([one], self.out)

    @contextlib.contextmanager
    def progress(self, words: str) -> Iterator[Callable[[int, int], None] | None]:
        """A progress bar on stderr; if that is not a terminal, a line every ``PROGRESS_SECONDS``.

        Both say so while kernels are compiled.
        """
        if self.quiet:
            yield None
            return
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            ProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.text import Text

        class Compiling(ProgressColumn):
            """Rendered ten times a second, whatever the work reports."""

            def render(self, task: Any) -> Text:
                return Text(_compiling())

        name, drawn = TextColumn("{task.description}", markup=False), sys.stderr.isatty()
        columns = (name, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), Compiling())
        with Progress(*columns, console=self.err, transient=True, disable=not drawn) as bar:
            key = bar.add_task(printable(words), total=None)
            with contextlib.nullcontext() if drawn else _lines(bar.tasks[0], self.note):
                yield lambda done, total: bar.update(key, completed=done, total=total)


def _compiling() -> str:
    compiled = sys.modules.get("vsebench.numeric.compiled")  # many commands need no numba
    return compiled.words() if compiled else ""


@contextlib.contextmanager
def _lines(task: Task, say: Callable[[str], None]) -> Iterator[None]:
    """Progress as lines, from a thread: work that does not report for a while has lines too."""
    over = threading.Event()

    def report() -> None:
        while not over.wait(PROGRESS_SECONDS):
            share = f"{task.completed:,} of {task.total:,} ({task.percentage:.0f}%), " if task.total else ""
            left = f", about {_duration(task.time_remaining)} left" if task.time_remaining else ""
            text = f"{task.description}: {share}{_duration(task.elapsed or 0)}{left}"
            with contextlib.suppress(OSError, ValueError):  # a closed stderr is no reason to fail
                say(", ".join(filter(None, (text, _compiling()))))

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _console(stderr: bool) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    # In a pipe or a file lines are not wrapped at the width of a terminal.
    width = None if stream.isatty() or os.environ.get("COLUMNS") else 120
    # rich alone would keep bold and italics under NO_COLOR.
    colours = None if os.environ.get("NO_COLOR") else "auto"
    console = Console(stderr=stderr, width=width, highlight=False, emoji=False, color_system=colours)  # type: ignore[arg-type]
    # rich alone would exit with 1, the code of a check that found a fault.
    console.on_broken_pipe = _raise_broken_pipe  # type: ignore[method-assign]
    return console


def _raise_broken_pipe() -> None:
    raise BrokenPipeError


def listing(
    headings: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", words: int | None = None, **more: Any
) -> Table:
    """A table of what is computed nowhere, such as names and versions.

    Args:
        headings: of the columns.
        rows: as many texts as headings.
        title: above it.
        words: how many columns, from the left, have words; all of them without it.
        more: of ``results.table.Table``, such as ``notes``.
    """
    from ..results.table import Column, Table

    columns = (Column(heading, words=words is None or at < words) for at, heading in enumerate(headings))
    return Table(title=title, columns=tuple(columns), rows=tuple(map(tuple, rows)), **more)


def encodable(text: str, encoding: str | None) -> str:
    """JSON text, in ASCII with JSON escapes if ``encoding`` cannot represent it."""
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(json.loads(text), indent=2, allow_nan=False)
    return text


def message_of(error: VsebenchError) -> str:
    """What is printed of an error."""
    where = f"{printable(error.where)}: " if error.where else ""
    fix = f"\n  fix: {printable(error.fix)}" if error.fix else ""
    return where + printable(error.what) + fix


def system_error(error: OSError) -> str:
    """The message for an error of the operating system, such as a full disk or a missing permission."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        discard_stdout()
    what = f"the system refused: {printable(str(error))}"
    return f"{what}\n  fix: check free space, permissions and where the output goes"


def discard_stdout() -> None:
    """Discard buffered output, which would raise the same error again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(message: str) -> None:
    """Print an error on stderr; errors of stderr itself are ignored."""
    from rich.text import Text

    text = Text("error: ", style="bold red")
    text.append(message, style="none")
    with contextlib.suppress(OSError):
        _console(stderr=True).print(text, soft_wrap=True)
