"""Commands that are public functions: ``vsebench compare`` is ``vsebench.compare``.

The options, their types and defaults are those of the function, and their help is the first sentence of its docstring
about the argument. A command is made when it runs, as its function imports numpy.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import re
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Annotated, Any

import typer
import typer.main

from .blocks import Function
from .command import command
from .results import report_options, result_options
from .terminal import Terminal

FLAGS = {"human_data": ("--human-data", "--data"), "key": ("--key", "--image-key", "--text-key")}
PYTHON = ("more", "progress", "bar")  # arguments that a command does not have, or gives itself


@dataclass(frozen=True)
class Analysis:
    """A command.

    Attributes:
        function: module and name.
        words: a line of the help of all commands.
        files: what its first argument is; several words of the command line are one list. Empty for one word.
        report: it returns the report of an evaluation, which has per-query values.
        task: words of the progress bar; empty without one.
        figure: what is returned can be drawn (``--figure``).
    """

    function: str
    words: str
    files: str = ""
    report: bool = False
    task: str = ""
    figure: bool = False

    def load(self) -> Function:
        """The public function."""
        module, name = self.function.split(":")
        found: Function = getattr(importlib.import_module(module), name)
        return found


REPORTS = "Reports of vsebench eval -o FILE{}; NAME=FILE names a system."
ANALYSES = {
    "choice": Analysis(
        "vsebench.analysis.choice:choice",
        "Choose the right caption: SugarCrepe, VALSE, your own.",
        "Embeddings of the images and captions of the set, or scores of the captions by item (.csv, .json, .npy). "
        "Several are compared with the first; NAME=FILE names a system.",
    ),
    "unimodal": Analysis(
        "vsebench.unimodal.evaluate:evaluate_unimodal",
        "Rank items of one modality, judged by labels.",
        report=True,
        task="ranking",
    ),
    "correlate": Analysis("vsebench.human.study:correlate", "Correlate relevances with human judgements.", figure=True),
    "compare": Analysis(
        "vsebench.analysis.comparison:compare", "Test systems against each other.", REPORTS.format(", two or more")
    ),
    "agree": Analysis(
        "vsebench.analysis.agree:agree",
        "Show how far metrics agree on the order of systems.",
        REPORTS.format(", three or more"),
    ),
    "slice": Analysis(
        "vsebench.analysis.slices:slice", "Break a metric down by a property of queries.", REPORTS.format("")
    ),
}


@cache
def made(name: str) -> Any:
    """The command of a name, as click has it."""
    found = ANALYSES[name]
    function = found.load()
    parameters = _parameters(found, function)
    first = next(iter(parameters))

    def run(terminal: Terminal, **given: Any) -> Any:
        with _progress(found, terminal) as more:
            result = function(given.pop(first), **given, **more)
        if found.report:
            from ..evaluation.assemble import with_command

            return with_command(result)
        return result

    run.__doc__ = (inspect.getdoc(function) or "").partition("\n\n")[0].replace("``", "")
    own = inspect.Parameter("terminal", inspect.Parameter.KEYWORD_ONLY, annotation=Terminal)
    run.__signature__ = inspect.Signature([own, *parameters.values()])  # type: ignore[attr-defined]
    app = typer.Typer(add_completion=False)
    app.command(name)(command((report_options if found.report else result_options)(run)))
    return typer.main.get_command(app)


@contextlib.contextmanager
def _progress(found: Analysis, terminal: Terminal) -> Iterator[dict[str, Any]]:
    """The arguments of the function that show progress."""
    if found.task:
        with terminal.progress(found.task) as progress:
            yield {"progress": progress}
    else:
        yield {"bar": terminal.progress} if "bar" in inspect.signature(found.load()).parameters else {}


def _parameters(found: Analysis, function: Function) -> dict[str, inspect.Parameter]:
    """The parameters of the command, from those of the function."""
    hints, words = typing.get_type_hints(function), described(function)
    made: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in PYTHON:
            continue
        kind: Any = _kind(hints[name])
        default = None if parameter.default is parameter.empty else parameter.default
        if not made:  # the first
            several = bool(found.files)
            offered = typer.Argument(help=found.files or words[name], metavar="FILE..." if several else name.upper())
            kind, default = list[str] if several else str, parameter.empty
        else:
            flags = FLAGS.get(name, (f"--{name.replace('_', '-')}",) if kind is bool else ())
            offered = typer.Option(*flags, help=words[name])
            if default is None and parameter.default is not parameter.empty:
                kind = kind | None
            elif default is None:
                default = parameter.empty  # without a default it must be given
            elif not isinstance(default, kind):
                default = str(default)
        made[name] = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, offered]
        )
    if found.figure:
        drawn = Annotated[Path | None, typer.Option(help="Also draw it: .png, .svg or .html.")]
        made["figure"] = inspect.Parameter("figure", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=drawn)
    return made


def _kind(hint: Any) -> Any:
    """What the command line reads: a truth value, a number, or text, which the function reads."""
    kinds = [kind for kind in typing.get_args(hint) or (hint,) if kind is not NoneType]
    return kinds[0] if len(kinds) == 1 and kinds[0] in (bool, int, float) else str


def described(function: Function) -> dict[str, str]:
    """The first sentence of the docstring of a function about every argument."""
    text = re.search(r"^Args:\n(.*?)(?:\n\S|\Z)", inspect.getdoc(function) or "", re.DOTALL | re.MULTILINE)
    found: dict[str, str] = {}
    pairs = re.findall(r"^    (\w[\w, ]*): (.*(?:\n {8}.*)*)", text[1] if text else "", re.MULTILINE)
    for names, words in pairs:
        sentence = re.split(r"(?<=\.)\s", " ".join(words.split()))[0].rstrip(".")
        sentence = (sentence[:1].upper() + sentence[1:]).replace("``", "")  # a word of the command line stays as it is
        found |= dict.fromkeys(names.split(", "), f"{sentence}.")
    return found
