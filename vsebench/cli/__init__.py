"""The command line: every command parses its options, makes one public Python call and prints the result.

- ``signatures``: a command is a function; its signature and its docstring make the options and the help
- ``command``: what all commands share: errors, checks of the files and of the environment, and a closed stdout
- ``usage``: groups of commands, and errors of the command line itself
- ``results``: printing and writing results; ``terminal``: stdout, stderr, progress, errors and exit codes
- the other files have the functions of commands that are more than one call of a public function

Commands import what they need when they run, so that ``--help`` is fast.
"""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from typing import Any

import click

from .. import __version__
from ..errors import DISK, INTERRUPTED, VsebenchError
from .command import ClosedStdout
from .signatures import Command
from .terminal import discard_stdout, fail, message_of, system_error
from .usage import Commands

RESULT, REPORT = ("output", "style"), ("output", "style", "per_query")
USUAL = (
    "files", "texts", "scores", "run", "split", "captions", "trust", "metrics", "gains", "judgements", "direction",
    "similarity", "ties", "ci", "save_run", *REPORT, "as_json", "quiet", "notes",
)  # fmt: skip
READ = (
    "texts", "split", "image_key", "text_key", "scores_key", "image_ids", "text_ids", "query_ids", "corpus_ids",
    "judgements", "captions_per_image",
)  # fmt: skip
ENCODE = ("batch", "threads", "lower", "template", "precision", "context_length")
REPORTS = "REPORT..."
SETS = {
    "list": Command("List the test sets, and how to get the missing ones.", "cli.data:list_splits"),
    "build": Command("Read a test set from its files, or generate scenes.", "cli.data:build", "NAME"),
    "describe": Command(
        "Count images, captions and words.", "analysis.describe:describe", "NAME", task="comparing", prints=RESULT
    ),
    "verify": Command("Check the counts and ids of a set.", "cli.data:verify", "NAME"),
    "export": Command("Write scenes in the COCO layout.", "cli.data:export", "NAME"),
    "remove": Command("Remove a set from the cache.", "cli.data:remove", "NAME"),
}
# The panels of the help: a line a command, whose own help describes it.
PANELS: dict[str, dict[str, Any]] = {
    "Evaluate": {
        "eval": Command(
            "Evaluate systems: rank, measure, report.", "cli.evaluate:run", "[FILE...]",
            of="evaluation.run:evaluate", prints=REPORT, also=("threads", "resamples", "seed"), usual=USUAL,
        ),
        "choice": Command(
            "Evaluate caption choice: SugarCrepe, VALSE, yours.", "analysis.choice:choice", "FILE...",
            prints=RESULT,
        ),
        "unimodal": Command(
            "Evaluate retrieval within one modality, by labels.", "unimodal.evaluate:evaluate_unimodal", "FILE",
            task="ranking", prints=REPORT,
        ),
        "correlate": Command(
            "Correlate relevance with human ratings.", "human.study:correlate", "DATA",
            prints=RESULT,
        ),
        "metrics": Command("List or explain metrics.", "cli.metrics:run", "[METRIC...]"),
    },
    "Compare and show": {
        "compare": Command(
            "Test the differences between systems.", "analysis.compare:compare", REPORTS, prints=RESULT,
            also=("resamples", "seed"),
        ),
        "show": Command("Print saved reports.", "analysis.compare:show", REPORTS, prints=RESULT),
        "agree": Command(
            "Measure how far metrics agree on the order of systems.", "analysis.agree:agree", REPORTS, prints=RESULT
        ),
        "slice": Command(
            "Break a metric down by a property of the queries.", "analysis.slices:slice", REPORTS, prints=RESULT
        ),
        "page": Command(
            "Write a web page: tables, charts, single queries.", "cli.page:run", REPORTS, of="analysis.page:page"
        ),
        "export": Command(
            "Write a report for MTEB or the Hugging Face Hub.", "cli.export:run", REPORTS, of="exchange.export:export"
        ),
    },
    "Test sets, relevance, vectors": {
        "encode": Command(
            "Encode images and captions with a pretrained model.", "cli.encode:run", "MODEL...",
            of="pretrained.encode:encode", takes=ENCODE, also=("threads",),
        ),
        "inspect": Command(
            "Show what a file holds and how it would be read.", "cli.inspect:run", "FILE",
            of="evaluation.run:evaluate", takes=READ,
        ),
        "data": ("Test sets: list, build, describe, verify, export, remove.", SETS),
        "spice": Command("Parse captions for SPICE.", "cli.cache:spice"),
        "cache": Command("Show or clear the cache.", "cli.cache:cache", "[KIND]"),
    },
    "Training, installation": {
        "train-reference": Command("Train a model with a loss from the papers.", "cli.train:run", prints=RESULT),
        "doctor": Command("Check the installation.", "cli.doctor:run"),
        "demo": Command("Evaluate two built-in systems on COCO 5K.", "cli.demo:run"),
    },
}  # fmt: skip
EPILOG = (
    "Exit codes: 0 success, 1 failed check, 2 usage, 3 bad input, 4 missing package or data, 5 failure, "
    "6 disk, 130 interrupted."
)
CONTEXT = {
    "help_option_names": ["-h", "--help"], "max_content_width": 100,
    "token_normalize_func": lambda word: word.replace("_", "-"),
}  # fmt: skip


def _version(ctx: click.Context, _option: click.Parameter, shown: bool) -> None:
    if shown:
        click.echo(f"vsebench {__version__}")
        ctx.exit()


VERSION = click.Option(
    ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version,
    help="Print the version and exit.",
)  # fmt: skip
app = Commands(
    "vsebench", PANELS, help="Exact, complete evaluation of image-text retrieval.", epilog=EPILOG,
    context_settings=CONTEXT, callback=gc.enable, params=[VERSION],
)  # fmt: skip


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
