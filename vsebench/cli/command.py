"""How a command runs: its errors and exit codes, and what is checked before it begins.

Every result can be written, no file is read that a result would replace, and the environment is none that other
packages would end the process over.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..environment import THREADS
from ..errors import DISK, ENGINE_FAILURE, INTERRUPTED, DiskError, UsageError, VsebenchError, printable
from ..options import command_line
from .signatures import Command, Function, Made, arguments
from .terminal import Terminal, discard_stdout, fail, message_of, system_error

# The parameters of commands that name a file to be written. Whatever else names a file is an input.
WRITTEN = ("output", "per_query", "save_run")


def made(name: str, found: Command) -> Made:
    """The command of a name, which calls its function, and prints and writes what that returns."""

    def run(*, as_json: bool, quiet: bool, notes: bool, **given: Any) -> None:
        try:
            with command_line():
                check_environment()
                terminal = Terminal(as_json=as_json, quiet=quiet, notes=notes)
                given = arguments(command.options, given)
                results = results_of(given)
                if isinstance(sys.stdout, ClosedStdout):
                    sys.stdout.needed = given.get("output") is None and "out" not in given
                with writing(results):
                    _run(found, command, terminal, given)
        except VsebenchError as error:
            _fail(message_of(error), error.exit_code)
        except KeyboardInterrupt as interrupt:
            _fail(str(interrupt) or "interrupted; no file is half-written", INTERRUPTED)
        except BrokenPipeError:
            discard_stdout()  # the reading program (head, less) has closed the pipe
            raise click.exceptions.Exit(0) from None
        except (click.exceptions.Exit, click.Abort):
            raise
        except MemoryError:
            _fail("not enough memory for this input\n  fix: free memory or evaluate a smaller file", ENGINE_FAILURE)
        except OSError as error:
            _fail(system_error(error), DISK)
        except Exception as error:
            if os.environ.get("VSEBENCH_DEBUG"):
                raise
            what = f"unexpected {type(error).__name__}: {printable(str(error))}"
            _fail(f"{what}\n  fix: run again with VSEBENCH_DEBUG=1 and report the traceback", ENGINE_FAILURE)

    command = Made(name, found, run)
    return command


def results_of(given: Mapping[str, Any]) -> list[Path]:
    """The files that the arguments of a command name for its results."""
    found = [Path(given[name]) for name in WRITTEN if name != "save_run" and given.get(name) is not None]
    if given.get("save_run") is not None:
        from ..evaluation import saved_run

        found += saved_run.files(Path(given["save_run"])).values()
    return found


def _run(found: Command, command: Made, terminal: Terminal, given: dict[str, Any]) -> None:
    function = Command.load(found.function)
    own = next(iter(inspect.signature(function).parameters), "") == "terminal"
    if not found.prints:
        function(terminal, **given)
        return
    from .results import Output

    output = Output(terminal, **{name: given.pop(name) for name in found.prints})
    if own and "per_query" in found.prints:
        given["lists"] = output.kept
    result = function(terminal, **given) if own else _public(found, function, command, terminal, given)
    if result is not None:
        output.deliver(result)


def _public(found: Command, function: Function, command: Made, terminal: Terminal, given: dict[str, Any]) -> Any:
    """The result of a public function, with its progress."""
    from ..evaluation.assemble import with_command

    first = given.pop(command.first.name) if command.first else ()
    if "bar" in inspect.signature(function).parameters:
        return function(first, **given, bar=terminal.progress)
    if not found.task:
        return function(first, **given)
    with terminal.progress(found.task) as progress:
        result = function(first, **given, progress=progress)
    return with_command(result) if "per_query" in found.prints else result


def _fail(message: str, code: int) -> None:
    fail(message)
    raise click.exceptions.Exit(code)


@contextlib.contextmanager
def writing(results: Sequence[Path]) -> Iterator[None]:
    """Check that files can be written and are not two in one, and refuse to read them inside.

    Raises:
        UsageError: naming the file.
        DiskError: the disk is full or read-only, or there is no permission.
    """
    if not results:
        yield
        return
    from ..files.atomic import check_writable, refuse_overwriting
    from ..files.regular import guarded

    for path in results:
        if str(path) == "-":
            raise UsageError("'-' is not a file name", fix="leave it out; then the result is printed on stdout")
    refuse_overwriting(results, [])
    for path in results:
        check_writable(path)
    with guarded(lambda path: refuse_overwriting(results, [path])):
        yield


class ClosedStdout(io.StringIO):
    """What is printed when the process was started without stdout (``>&-``, a service)."""

    needed = True  # whether the result is nowhere else

    def check(self) -> None:
        """Raise DiskError where a result was printed and is in no file."""
        if self.needed and self.getvalue():
            raise DiskError(
                "the result was not printed: stdout is closed",
                fix="send it to a file (> FILE), or set a file with --output",
            )


def check_environment() -> None:
    """Refuse numbers of threads that are none, over which numpy or numba would end the process; raises UsageError."""
    for name in THREADS:
        given = os.environ.get(name)
        # OMP_NUM_THREADS may be a list, one number a level of nested parallelism.
        words = [] if given is None else given.split(",") if name == "OMP_NUM_THREADS" else [given]
        if not all(word.strip().isdecimal() and len(word) < 7 and int(word) > 0 for word in words):
            fix = f"set it to an integer of 1 or more, or remove it: unset {name}"
            raise UsageError(f"the environment variable {name} is '{(given or '')[:40]}'", fix=fix)
