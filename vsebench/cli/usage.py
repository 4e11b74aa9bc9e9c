"""Groups of commands, and errors of the command line: unknown options, commands and words too many, each with a fix."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

import click

from ..errors import USAGE, closest, printable
from .signatures import Command, are_metrics
from .terminal import fail

_GET = ("download", "get", "fetch", "install")
# Commands that are looked for and have another name: (group, word) -> what to do.
ELSEWHERE = {
    "vsebench": {
        "help": "run: vsebench --help",
        "version": "run: vsebench --version",
        **dict.fromkeys(_GET, "run: vsebench data list"),
    },
    "vsebench data": dict.fromkeys(
        (*_GET, "add"),
        "vsebench downloads no data: run vsebench data list to see where each split comes from, and vsebench data "
        "build NAME --from FILE to read your copy",
    ),
}
Table = Mapping[str, Any]  # name -> a Command, or a group: (its line in the help, a Table of it)


class Commands(click.Group):
    """A group of commands, made when they are used; a wrong command line ends with one message and exit code 2."""

    def __init__(self, name: str, panels: Mapping[str, Table], **more: Any) -> None:
        super().__init__(name, no_args_is_help=True, **more)
        self.panels = panels
        self.table = {name: found for commands in panels.values() for name, found in commands.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the help."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        from .command import made

        found = self.table.get(cmd_name)
        if found is not None and cmd_name not in self.commands:
            of = (
                made(cmd_name, found)
                if isinstance(found, Command)
                else Commands(cmd_name, {"Commands": found[1]}, help=found[0])
            )
            self.commands[cmd_name] = of
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A line a command, without making it."""
        for title, commands in self.panels.items():
            with formatter.section(title):
                words = [(name, one.words if isinstance(one, Command) else one[0]) for name, one in commands.items()]
                formatter.write_dl(words)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's; its errors are explained."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise _explained(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        """As click's; errors of the command and of its groups are explained."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise _explained(error) from None


def _explained(error: click.UsageError) -> Exception:
    """The end of the program, after the message; the help, where a command without arguments prints it."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error
    what = error.format_message().strip()
    if isinstance(error, click.NoSuchOption):
        what = f"no such option '{error.option_name}'"
    what = what.partition(" Did you mean")[0].rstrip(".")
    ctx = error.ctx
    path = re.sub(r"^(python\S* -m )?\S+", "vsebench", ctx.command_path) if ctx is not None else "vsebench"
    fail(f"{printable(what[:1].lower() + what[1:])}\n  fix: {printable(_fix(error, what, ctx, path))}")
    return click.exceptions.Exit(USAGE)


def _fix(error: click.UsageError, what: str, ctx: click.Context | None, path: str) -> str:
    see = f"see {path} --help"
    if ctx is None:
        return see
    if isinstance(error, click.NoSuchOption):
        near = _options_like(error.option_name, ctx.command)
        if path == "vsebench" and not near:
            return f"options go after the command: vsebench eval FILE {error.option_name}"
        return f"write {' or '.join(near)}, or {see}" if near else see
    missing = re.fullmatch(r"No such command '(.*)'", what)
    if missing and isinstance(ctx.command, Commands):
        known = list(ctx.command.table)
        elsewhere, near = ELSEWHERE.get(path, {}).get(missing[1].lower()), closest(missing[1], known, 1)
        return elsewhere or (f"did you mean {near[0]}?" if near else f"commands are {', '.join(known)}")
    extra = re.fullmatch(r"Got unexpected extra arguments? ?(?:\(s\) )?\((.*)\)", what)
    if extra and "metrics" in ctx.params and are_metrics(extra[1].split()):
        words = [w for w in (ctx.params["metrics"], *extra[1].split()) if w]
        return f"separate names by commas: --metrics {','.join(words)}"
    return see


def _options_like(name: str, command: click.Command) -> list[str]:
    """Options of a command that resemble an unknown one; for a letter those that begin with it."""
    known = [o for p in command.params for o in p.opts if o.startswith("--")]
    if len(name.lstrip("-")) == 1:
        return [o for o in known if o[2] == name[-1]][:3]
    return difflib.get_close_matches(name, known, n=2, cutoff=0.75)
