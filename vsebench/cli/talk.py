"""stdout is the result, stderr the talk: consoles, progress and the error boundary of every command."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ..errors import ENGINE_FAILURE, INTERRUPTED, VsebenchError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes, warnings or progress on stderr.")]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="No progress bar.")]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Settings:
    """The global flags; they may stand before or behind the command."""

    json: bool = False
    quiet: bool = False
    no_progress: bool = False


GLOBAL = Settings()


class Talk:
    """How one command speaks."""

    def __init__(self, as_json: bool = False, quiet: bool = False, no_progress: bool = False) -> None:
        self.json = as_json or GLOBAL.json
        self.quiet = quiet or GLOBAL.quiet
        self.no_progress = no_progress or GLOBAL.no_progress

    @functools.cached_property
    def out(self) -> Console:
        """The result console (stdout)."""
        return _console(stderr=False)

    @functools.cached_property
    def err(self) -> Console:
        """The talk console (stderr)."""
        return _console(stderr=True)

    def note(self, text: str) -> None:
        """A line of talk."""
        if not self.quiet:
            self.err.print(printable(text), style="dim", highlight=False, markup=False, soft_wrap=True)

    def warn(self, text: str) -> None:
        """A warning."""
        if not self.quiet:
            self.err.print(f"warning: {printable(text)}", style="yellow", highlight=False, markup=False, soft_wrap=True)

    def emit(self, document: Any) -> None:
        """Print a JSON document (or ready JSON text) on stdout."""
        text = (
            document
            if isinstance(document, str)
            else json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
        )
        sys.stdout.write(encodable(text, sys.stdout.encoding) + "\n")

    @contextlib.contextmanager
    def progress(self, words: str) -> Iterator[Callable[[int, int], None] | None]:
        """A progress bar on stderr, only on a terminal."""
        if self.quiet or self.no_progress or not sys.stderr.isatty():
            yield None
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self.err, transient=True) as bar:
            task = bar.add_task(words, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


def _console(stderr: bool) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    # Not a terminal: do not wrap what a pipe or a file will read.
    width = None if stream.isatty() or os.environ.get("COLUMNS") else 120
    # rich alone would keep bold and italics under NO_COLOR.
    colours = None if os.environ.get("NO_COLOR") else "auto"
    console = Console(stderr=stderr, width=width, highlight=False, color_system=colours)  # type: ignore[arg-type]
    # rich alone would end with 1, which stands for a check that found a fault.
    console.on_broken_pipe = _reader_has_gone  # type: ignore[method-assign]
    return console


def _reader_has_gone() -> None:
    raise BrokenPipeError


def cells(*values: object) -> list[Text]:
    """Table cells that print what they are given: rich would read ``vsebench[text]`` as markup."""
    from rich.text import Text

    return [value if isinstance(value, Text) else Text(str(value)) for value in values]


def printable(text: str) -> str:
    """Names from files with their control characters (newlines, terminal escapes, half characters) written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def encodable(text: str, encoding: str | None) -> str:
    """JSON text with the characters that ``encoding`` lacks as JSON escapes."""
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(json.loads(text), indent=2, allow_nan=False)
    return text


def command(function: F) -> F:
    """End every failure with one message on stderr and the documented exit code."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except VsebenchError as error:
            where = f"{printable(error.where)}: " if error.where else ""
            fix = f"\n  fix: {printable(error.fix)}" if error.fix else ""
            _fail(where + printable(error.what) + fix, error.exit_code)
        except KeyboardInterrupt:
            _fail("interrupted; no file is half-written", INTERRUPTED)
        except BrokenPipeError:
            give_up_stdout()  # the reader (head, less) has gone
            raise typer.Exit(0) from None
        except (typer.Exit, typer.Abort):
            raise
        except MemoryError:
            _fail("not enough memory for this input\n  fix: free memory or evaluate a smaller file", ENGINE_FAILURE)
        except OSError as error:
            _fail(refused_by_system(error), ENGINE_FAILURE)
        except Exception as error:
            if os.environ.get("VSEBENCH_DEBUG"):
                raise
            what = f"unexpected {type(error).__name__}: {printable(str(error))}"
            _fail(f"{what}\n  fix: run again with VSEBENCH_DEBUG=1 and report the traceback", ENGINE_FAILURE)

    return run  # type: ignore[return-value]


def refused_by_system(error: OSError) -> str:
    """The message for a disk that is full, a permission that is missing and the like."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        give_up_stdout()
    what = f"the system refused: {printable(str(error))}"
    return f"{what}\n  fix: check free space, permissions and where the output goes"


def give_up_stdout() -> None:
    """Send what is still to be written nowhere: it would only be refused again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(message: str) -> None:
    """Print an error on stderr, whatever state stderr is in."""
    from rich.text import Text

    text = Text("error: ", style="bold red")
    text.append(message, style="none")
    with contextlib.suppress(OSError):
        _console(stderr=True).print(text, soft_wrap=True)


def _fail(message: str, code: int) -> None:
    fail(message)
    raise typer.Exit(code)
