"""The command line: every command parses its options, makes one public Python call and prints the result.

- one file a command: ``evaluate`` (``vsebench eval``), ``page``, ``export``, ``inspect``, ``metrics``, ``data``,
  ``spice``, ``cache``, ``train`` (``train-reference``), ``encode``, ``doctor`` (checks in ``health``),
  ``demo``
- ``analyses``: commands that are public functions: ``compare``, ``agree``, ``slice``, ``choice``, ``correlate``,
  ``unimodal``
- ``blocks``: declared options as options of commands, and the blocks that commands share; ``results``: printing and
  writing results
- ``command``: what all commands share: errors, checks of the files and of the environment, and a closed stdout
- ``usage``: errors of the command line itself, and the help of ``vsebench eval`` in panels
- ``terminal``: stdout, stderr, progress, errors and exit codes

Commands import what they need when they run, so that ``--help`` is fast.
"""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from typing import Annotated, Any

import typer

from .. import __version__
from ..errors import DISK, INTERRUPTED, VsebenchError
from . import (
    cache,
    data,
    demo,
    doctor,
    encode,
    evaluate,
    export,
    inspect,
    metrics,
    page,
    spice,
    train,
)
from .analyses import ANALYSES, Analysis
from .command import ClosedStdout
from .terminal import discard_stdout, fail, message_of, system_error
from .usage import EVAL_EPILOG, Commands, Grouped

EPILOG = (
    "Exit codes: 0 done, 1 a check found a fault, 2 usage, 3 bad input, 4 package or data missing, 5 failure, "
    "6 disk, 130 interrupted."
)

app = typer.Typer(
    name="vsebench",
    cls=Commands,
    help="Exact, complete evaluation of image-text retrieval.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"vsebench {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Exact, complete evaluation of image-text retrieval."""
    gc.enable()


# The panels of the help: a line a command, whose own help describes it.
PANELS: dict[str, dict[str, tuple[Any, str] | Analysis]] = {
    "Evaluate": {
        "eval": (evaluate.run, "Rank, measure and report systems."),
        "choice": ANALYSES["choice"],
        "unimodal": ANALYSES["unimodal"],
        "correlate": ANALYSES["correlate"],
        "metrics": (metrics.run, "List or explain the metrics."),
    },
    "Compare and show": {
        "compare": ANALYSES["compare"],
        "agree": ANALYSES["agree"],
        "slice": ANALYSES["slice"],
        "page": (page.run, "Write a page: tables, charts, single queries."),
        "export": (export.run, "Write a report in the format of another tool."),
    },
    "Test sets, relevance, vectors": {
        "encode": (encode.run, "Encode images and captions with a pretrained model."),
        "inspect": (inspect.run, "Show what a file holds and how it would be read."),
        "data": (data.app, "Test sets: list, build, describe, verify, remove."),
        "spice": (spice.app, "Parsed captions for SPICE: build, export, import."),
        "cache": (cache.app, "What is kept in the cache: list, clear."),
    },
    "Training, installation": {
        "train-reference": (train.run, "Train a model with a loss of the papers."),
        "doctor": (doctor.run, "Report what is installed and whether it works."),
        "demo": (demo.run, "Evaluate vectors made from the captions of COCO 5K."),
    },
}


def _declare() -> None:
    for panel, commands in PANELS.items():
        for name, found in commands.items():
            if isinstance(found, Analysis):
                app.command(name, short_help=found.words, rich_help_panel=panel)(lambda: None)  # see usage.Commands
            elif isinstance(found[0], typer.Typer):
                app.add_typer(found[0], name=name, short_help=found[1], rich_help_panel=panel)
            else:
                more: dict[str, Any] = {"cls": Grouped, "epilog": EVAL_EPILOG} if name == "eval" else {}
                app.command(name, short_help=found[1], rich_help_panel=panel, **more)(found[0])


_declare()


def main() -> None:
    """Entry point of the ``vsebench`` command."""
    # Before a command runs there are only definitions; collecting garbage among them takes a tenth of --help.
    gc.disable()
    # Started without stdout or stderr (`>&-`, a service): result files are still written, and never to their numbers.
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        if stream is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    sys.stdout = sys.stdout or ClosedStdout()
    sys.stderr = sys.stderr or io.StringIO()
    # Characters that stdout cannot encode are printed as question marks.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    # Exit normally on SIGTERM, so that temporary files are removed.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    code: str | int | None = None
    try:
        try:
            app()
        except SystemExit as ending:
            code = ending.code
        if isinstance(sys.stdout, ClosedStdout) and not code:
            sys.stdout.check()
        sys.stdout.flush()  # errors of stdout are reported here, not by the interpreter at exit
        sys.exit(code)
    except VsebenchError as error:
        fail(message_of(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:  # before a command has begun
        fail("interrupted; no file is half-written")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reading program (head, less) has closed the pipe
        discard_stdout()
        sys.exit(code)
    except OSError as error:  # also of the help and the version, which are printed before any command runs
        fail(system_error(error))
        sys.exit(DISK)
    finally:
        gc.enable()
