"""Errors of the command line itself (unknown options, commands and words too many), each with the next step."""

from __future__ import annotations

import difflib
import re
from typing import Any

import typer
import typer.core

from ..errors import USAGE, printable
from ..registry import closest
from .terminal import fail

_UsageError: Any = typer.BadParameter.__base__  # of click, or of the copy of it that newer versions of typer hold
# Commands that are looked for and have another name: (group, word) -> what to do.
ELSEWHERE = {
    "vsebench": {
        "help": "run: vsebench --help",
        "version": "run: vsebench --version",
        **dict.fromkeys(("download", "get", "fetch", "install"), "run: vsebench data list"),
    },
    "vsebench data": dict.fromkeys(
        ("download", "get", "fetch", "install", "add"),
        "data sets are not downloaded: vsebench data list says what each split needs (coco-5k: "
        "pip install 'vsebench[text]'), and vsebench data build NAME --from FILE reads a file of yours",
    ),
    "vsebench relevance": dict.fromkeys(
        ("download", "get", "fetch", "install", "parse"), "run: vsebench relevance build spice --split NAME"
    ),
}  # fmt: skip


class Commands(typer.core.TyperGroup):
    """A group of commands that ends a wrong command line with one message and exit code 2."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer's; its errors are explained."""
        try:
            return super().parse_args(ctx, args)
        except _UsageError as error:
            raise _explained(error) from None

    def invoke(self, ctx: Any) -> Any:
        """As typer's; errors of the command and of its groups are explained."""
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            raise _explained(error) from None


def _explained(error: Any) -> Exception:
    """The end of the program, after the message; the help, where a command without arguments prints it."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return error  # type: ignore[no-any-return]
    what = str(error.message if hasattr(error, "option_name") else error.format_message()).strip().rstrip(".")
    what = what.partition(" Did you mean")[0].rstrip(".")
    ctx = error.ctx
    path = re.sub(r"^\S+", "vsebench", ctx.command_path) if ctx is not None else "vsebench"
    fail(f"{printable(what[:1].lower() + what[1:])}\n  fix: {printable(_fix(error, what, ctx, path))}")
    return typer.Exit(USAGE)


def _fix(error: Any, what: str, ctx: Any, path: str) -> str:
    see = f"see {path} --help"
    if ctx is None:
        return see
    if hasattr(error, "possibilities"):
        near = _options_like(error.option_name, ctx.command)
        return f"write {' or '.join(near)}, or {see}" if near else see
    missing = re.fullmatch(r"No such command '(.*)'", what)
    if missing:
        known = list(ctx.command.commands)
        elsewhere, near = ELSEWHERE.get(path, {}).get(missing[1].lower()), closest(missing[1], known, 1)
        return elsewhere or (f"did you mean {near[0]}?" if near else f"commands are {', '.join(known)}")
    extra = re.fullmatch(r"Got unexpected extra arguments? ?(?:\(s\) )?\((.*)\)", what)
    if extra and "metrics" in ctx.params and are_metrics(extra[1].split()):
        words = [w for w in (ctx.params["metrics"], *extra[1].split()) if w]
        return f"separate names by commas: --metrics {','.join(words)}"
    return see


def _options_like(name: str, command: Any) -> list[str]:
    """Options of a command that resemble an unknown one; for a letter those that begin with it."""
    known = [o for p in command.params for o in p.opts if o.startswith("--")]
    if len(name.lstrip("-")) == 1:
        return [o for o in known if o[2] == name[-1]][:3]
    return difflib.get_close_matches(name, known, n=2, cutoff=0.75)


def are_metrics(words: list[str]) -> bool:
    """Whether words are names of metrics or suites."""
    from ..errors import UsageError
    from ..metrics import parse
    from ..metrics.suites import ALL, members

    def known(word: str) -> bool:
        try:
            return word.lower() in ALL or members(word) is not None or parse(word) is not None
        except UsageError:
            return False

    return bool(words) and all(known(w) for word in words for w in word.split(",") if w)
