"""Declared options (``vsebench.options``) as options of commands, and the blocks that several commands share.

A command is a function of a ``Terminal``, its own arguments, and what its blocks add::

    @command                             # --json, --quiet, --no-progress; errors and exit codes
    @result_options                      # --format, --output: what the function returns is printed, and written
    @options_of(Options, INTERVAL)       # --resamples, --seed, --threads
    def run(terminal, reports, **more): ...
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..options import RESULT, declared, option

Function = Callable[..., Any]

INTERVAL = ("resamples", "seed", "threads")  # of ``evaluation.options.Options``, for analyses of reports


@dataclass(frozen=True, kw_only=True)
class Flags:
    """What a command prints besides its result; every command has them."""

    as_json: bool = option(False, "Print one JSON document on stdout.", RESULT, flags=("--json",))
    quiet: bool = option(False, "No notes, warnings or progress on stderr.", RESULT, flags=("--quiet", "-q"))
    notes: bool = option(False, "All notes on stderr, not only the first three.", RESULT)
    no_progress: bool = option(False, "No progress bar, or lines of progress.")


@dataclass(frozen=True, kw_only=True)
class Selected:
    """What of saved reports is analysed."""

    metrics: str | None = option(None, "Names or suites separated by commas; by default all that they share.")
    force: bool = option(False, "Also systems that were not measured alike, on what they share.")
    ci: float = option(95, "Level of the intervals in percent; 0 for none.", value="PERCENT")


@dataclass(frozen=True, kw_only=True)
class Result:
    """Where the result of a command goes, and in which format."""

    output: Path | None = option(
        None,
        "Also write the result to a file, by its ending: .json, .tex, .md, .html or .csv.",
        RESULT,
        flags=("--output", "-o"),
    )
    style: str | None = option(
        None,
        "What is printed: terminal (the default), json, latex, html, markdown or csv.",
        value="WORD",
        flags=("--format",),
    )


@dataclass(frozen=True, kw_only=True)
class ReportResult(Result):
    """Where the report of an evaluation goes, and in which format."""

    per_query: Path | None = option(None, "Write every metric's per-query values (.parquet or .csv).", RESULT)
    no_per_query: bool = option(False, "Leave the per-query values out of the JSON report.")


def parameters(options: Any, names: Sequence[str] = ()) -> list[inspect.Parameter]:
    """The options that a dataclass declares, as parameters that typer reads; all, or those of ``names``."""
    found = []
    for name, (field, facts) in declared(options).items():
        if facts.reads is None or (names and name not in names):
            continue
        default = field.default if isinstance(field.default, (bool, int, float, str)) else None
        flags = facts.flags or ((f"--{name.replace('_', '-')}",) if facts.reads is bool else ())
        extra: Any = {"min": facts.least, "max": facts.most} if facts.reads is int else {}
        offered = typer.Option(*flags, help=facts.text, metavar=facts.value, **extra)
        annotation: Any = Annotated[facts.reads if default is not None else facts.reads | None, offered]
        found.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation))
    return found


def extended(
    run: Function, function: Function, added: Sequence[inspect.Parameter], taken: Sequence[str] = ()
) -> Function:
    """``run`` under the name of ``function``, with its parameters and ``added`` ones, which have precedence."""
    functools.update_wrapper(run, function)
    signature = inspect.signature(function, eval_str=True)
    names = [*taken, *(p.name for p in added)]
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD and p.name not in names]
    kept = [p.replace(kind=p.KEYWORD_ONLY) for p in own]
    run.__signature__ = signature.replace(parameters=[*kept, *added], return_annotation=None)  # type: ignore[attr-defined]
    return run


def options_of(options: Any, names: Sequence[str] = ()) -> Callable[[Function], Function]:
    """Give a command the options of a dataclass; the values are keyword arguments of the function."""

    def add(function: Function) -> Function:
        def run(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return extended(run, function, parameters(options, names))

    return add
