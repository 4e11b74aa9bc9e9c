"""The command line itself: errors (unknown options, commands and words too many), each with the next step, and the help
of ``vsebench eval``: the usual options in panels with ``--help``, all with ``--help-all``."""

from __future__ import annotations

import difflib
import os
import re
from typing import Any

import typer
import typer.core

from ..errors import USAGE, printable
from ..evaluation.options import Options
from ..options import MORE, PANELS, declared
from ..registry import closest
from .analyses import ANALYSES, made
from .blocks import Flags, ReportResult
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
    "vsebench spice": dict.fromkeys(
        ("download", "get", "fetch", "install", "parse"), "run: vsebench spice build --split NAME"
    ),
}  # fmt: skip
EVAL_EPILOG = (
    "Example: vsebench eval embeddings.npz --metrics R@1,RSum,eccv -o A.json\n\n"
    "--help-all describes all options: names of arrays, resampling, special cases."
)


class Commands(typer.core.TyperGroup):
    """A group of commands that ends a wrong command line with one message and exit code 2."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer's; its errors are explained."""
        try:
            return super().parse_args(ctx, args)
        except _UsageError as error:
            raise _explained(error) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As typer's; the command of a public function is made here."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, made(name) if name in ANALYSES else command, rest

    def invoke(self, ctx: Any) -> Any:
        """As typer's; errors of the command and of its groups are explained."""
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            raise _explained(error) from None


class Grouped(typer.core.TyperCommand):
    """A command whose help has panels, and whose files are no names of metrics."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer's; the help shows the usual options, or all of them."""
        if "--help-all" in args or set(ctx.help_option_names) & set(args):
            self._arrange(everything="--help-all" in args)
        rest = super().parse_args(ctx, ["--help" if word == "--help-all" else word for word in args])
        # Names of metrics that are separated by spaces are taken for files.
        words = [str(word) for word in ctx.params.get("files") or () if not os.path.exists(word)]  # noqa: PTH110 (False for a name that is too long)
        if words and are_metrics(words):
            ctx.fail(f"Got unexpected extra argument(s) ({' '.join(words)})")
        return rest

    def _arrange(self, everything: bool) -> None:
        facts = {name: f for block in (Options, ReportResult, Flags) for name, (_, f) in declared(block).items()}
        options: list[Any] = [p for p in self.params if p.param_type_name == "option"]
        for p in options:
            p.rich_help_panel = facts[p.name].panel if p.name in facts else MORE
            p.hidden = p.rich_help_panel == MORE and not everything
        options.sort(key=lambda p: PANELS.index(p.rich_help_panel))
        self.params = [*(p for p in self.params if p not in options), *options]


def _explained(error: Any) -> Exception:
    """The end of the program, after the message; the help, where a command without arguments prints it."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return error  # type: ignore[no-any-return]
    what = str(error.message if hasattr(error, "option_name") else error.format_message()).strip().rstrip(".")
    what = what.partition(" Did you mean")[0].rstrip(".")
    ctx = error.ctx
    path = re.sub(r"^(python\S* -m )?\S+", "vsebench", ctx.command_path) if ctx is not None else "vsebench"
    fail(f"{printable(what[:1].lower() + what[1:])}\n  fix: {printable(_fix(error, what, ctx, path))}")
    return typer.Exit(USAGE)


def _fix(error: Any, what: str, ctx: Any, path: str) -> str:
    see = f"see {path} --help"
    if ctx is None:
        return see
    if hasattr(error, "possibilities"):
        near = _options_like(error.option_name, ctx.command)
        if path == "vsebench" and not near:
            return f"options stand behind the command: vsebench eval FILE {error.option_name}"
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

    names = [name for word in words for name in word.split(",") if name]
    return bool(names) and all(map(known, names))
