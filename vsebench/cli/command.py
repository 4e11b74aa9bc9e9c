"""A command: its flags, the check of the files that it writes, errors and exit codes."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer

from ..errors import DISK, ENGINE_FAILURE, INTERRUPTED, VsebenchError, printable
from ..options import command_line
from .blocks import Flags, Function, extended, parameters
from .files import check_files
from .start import ClosedStdout, check_environment
from .terminal import Terminal, discard_stdout, fail, message_of, system_error


def command(function: Function) -> Function:
    """A command: a function of a ``Terminal`` and of options; ``--json``, ``--quiet`` and ``--no-progress`` are added.

    The files that it writes are checked first, and every failure ends with one message on stderr and the documented
    exit code.
    """

    def run(*, as_json: bool, quiet: bool, no_progress: bool, **kwargs: Any) -> Any:
        try:
            check_environment()
            in_files = check_files(kwargs)
            if isinstance(sys.stdout, ClosedStdout):
                sys.stdout.needed = not in_files
            with command_line():
                return function(Terminal(as_json, quiet, no_progress), **kwargs)
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
