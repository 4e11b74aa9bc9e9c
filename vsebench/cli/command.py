"""A command: its flags, errors and exit codes, and what is checked before it begins.

Every result can be written and replaces no input, and the environment is none that other packages would end the process
over.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from ..environment import THREADS
from ..errors import DISK, ENGINE_FAILURE, INTERRUPTED, DiskError, UsageError, VsebenchError, printable
from ..files.regular import expanded
from ..options import command_line
from .blocks import Flags, Function, extended, parameters
from .terminal import Terminal, discard_stdout, fail, message_of, system_error

# The parameters of commands that name a file to be written. Whatever else names a file is an input.
WRITTEN = ("output", "per_query", "save_run", "figure")
FOLDERS = ("figures",)  # in which files are written


def command(function: Function) -> Function:
    """A command: a function of a ``Terminal`` and of options; the options of ``blocks.Flags`` are added.

    The files that it writes are checked first, and every failure ends with one message on stderr and the documented
    exit code.
    """

    def run(*, as_json: bool, quiet: bool, no_progress: bool, notes: bool, **kwargs: Any) -> Any:
        try:
            with command_line():
                check_environment()
                in_files = check_files(kwargs)
                if isinstance(sys.stdout, ClosedStdout):
                    sys.stdout.needed = not in_files
                return function(Terminal(as_json, quiet, no_progress, notes), **kwargs)
        except VsebenchError as error:
            _fail(message_of(error), error.exit_code)
        except KeyboardInterrupt as interrupt:
            _fail(str(interrupt) or "interrupted; no file is half-written", INTERRUPTED)
        except BrokenPipeError:
            discard_stdout()  # the reading program (head, less) has closed the pipe
            raise typer.Exit(0) from None
        except (typer.Exit, typer.Abort):
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

    return extended(run, function, parameters(Flags), ["terminal"])


def _fail(message: str, code: int) -> None:
    fail(message)
    raise typer.Exit(code)


def check_files(given: Mapping[str, Any]) -> bool:
    """Check before anything is read that the results can be written, do not replace an input, and are not two in one.

    Args:
        given: the values of a command's parameters by name.

    Returns:
        Whether the result of the command is written to a file, or to a folder (``--out``).

    Raises:
        UsageError: naming the file.
        DiskError: the disk is full or read-only, or there is no permission.
    """
    named = {name: path for name in WRITTEN if (path := given.get(name)) is not None}
    if not named:
        return "out" in given
    from ..evaluation import saved_run
    from ..files.atomic import check_writable, refuse_overwriting

    results = [path for name, path in named.items() if name != "save_run"]
    if "save_run" in named:
        results += saved_run.files(named["save_run"]).values()
    for path in results:
        if str(path) == "-":
            raise UsageError("'-' is no name of a file", fix="leave it out; then the result is printed on stdout")
    refuse_overwriting(
        results, list(named_files(value for name, value in given.items() if name not in (*WRITTEN, *FOLDERS)))
    )
    for path in results:
        check_writable(path)
    return "output" in named or "out" in given


def named_files(values: Iterable[Any]) -> Iterator[Path]:
    """The files and folders that exist among values, as in ``FILE``, ``NAME=FILE``, ``wmd:FILE`` and ``FILE,FILE``."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from named_files(value)
        elif isinstance(value, (str, Path)):
            text = str(value)
            for word in dict.fromkeys([text, *text.split(","), *re.split("[,=]", text), *re.split("[,:=]", text)]):
                path = expanded(word) if word[:1] != "~" or "/" in word else Path(word)
                with contextlib.suppress(OSError, ValueError):
                    if word and path.exists():
                        yield path


class ClosedStdout(io.StringIO):
    """What is printed when the process was started without stdout (``>&-``, a service)."""

    needed = True  # whether the result is nowhere else

    def check(self) -> None:
        """Raise DiskError where a result was printed and is in no file."""
        if self.needed and self.getvalue():
            raise DiskError(
                "the result was not printed: stdout is closed",
                fix="send it to a file (> FILE), or name one with --output",
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
