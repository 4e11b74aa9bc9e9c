"""A command is a function: its signature has the names, types and defaults of the options, its docstring their help.

The first argument of the function is the argument of the command; the others are options. Arguments that end in
``_key`` are one option: ``--key image=NAME`` is ``image_key``; so are those that end in ``_ids``. ``Terminal`` and
``results.Output`` are declared in the same way, and add their options to commands.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from ..errors import UsageError
from ..options import COUNTS, FLAGS, GROUPED, either, spell

Function = Callable[..., Any]

SHORT = {"output": "-o", "target": "-o", "path": "-o", "quiet": "-q"}
# Arguments of public functions that a command gives itself, or does not have: rare statistics, and arrays in memory.
GIVEN = ("terminal", "progress", "bar")
PYTHON = (
    "more", "image_id_of_text", "interval", "permutations", "resamples", "seed", "lists", "over", "java", "block",
    "most", "threads", "modality", "evaluator", "tests",
)  # fmt: skip


@dataclass(frozen=True)
class Command:
    """What a command is made of.

    Attributes:
        words: its line in the help of all commands.
        function: MODULE:NAME below vsebench, of a public function, or of a function that takes a ``Terminal``.
        argument: what its first argument is called, with ``...`` if there may be several; in brackets if none may be.
        of: MODULE:NAME of a public function whose arguments are options too; given as keywords.
        takes: those of its arguments that are options, by default all.
        task: of the progress bar of a public function.
        prints: options of ``results.Output``, of a command that returns a result.
        also: of ``PYTHON``, arguments that are options all the same.
        usual: options that ``--help`` shows, by default all; ``--help-all`` shows all.
    """

    words: str
    function: str
    argument: str = ""
    of: str = ""
    takes: tuple[str, ...] = ()
    task: str = ""
    prints: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()

    @staticmethod
    def load(path: str) -> Function:
        """The function of a path."""
        module, _, name = path.partition(":")
        return getattr(importlib.import_module(f"vsebench.{module}"), name)  # type: ignore[no-any-return]


@dataclass
class Option:
    """An argument of a function, as the command line reads it."""

    name: str
    default: Any
    several: bool
    kind: Any  # bool, int, float or str
    value: str  # what stands for the value in the help
    help: str
    section: str = ""
    required: bool = False
    members: dict[str, str] = field(default_factory=dict)  # of a grouped option: SIDE -> name of the argument

    def click(self) -> click.Option:
        """The option of click."""
        flags = [self.name, flag(self.name)]
        flags += [SHORT[self.name]] if self.name in SHORT else []
        shown = isinstance(self.default, (int, float, str)) and self.default not in ("", False)
        default = f"{self.default:g}" if isinstance(self.default, float) else self.default
        words = self.help + (" Repeatable." if self.several else "") + (f" [{default}]" if shown else "")
        more: Any = {"is_flag": True} if self.kind is bool else {"type": self.kind, "metavar": self.value}
        if not self.required:  # click takes any default, also None, for a value that is given
            more["default"] = False if self.kind is bool else self.default if shown and not self.several else None
        return click.Option(flags, help=words, multiple=self.several, required=self.required, **more)


def flag(name: str) -> str:
    """An argument as it is written on the command line."""
    return f"--{FLAGS.get(name, name.replace('_', '-'))}"


def options_of(function: Function, names: Sequence[str] = (), also: Sequence[str] = ()) -> Iterator[Option]:
    """The arguments of a function, or those of ``names``; of a public one with ``also`` those of ``PYTHON``."""
    words, grouped = described(function), dict[str, Option]()
    parameters = inspect.signature(function).parameters
    left_out = () if "terminal" in parameters else [name for name in PYTHON if name not in also]
    for name, parameter in parameters.items():
        variable = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if name in (*GIVEN, *left_out, "self") or variable or (names and name not in names):
            continue
        text, section = words.get(name, ("", ""))
        kind, value, several = _read(str(parameter.annotation))
        required = parameter.default is parameter.empty
        default = None if required else parameter.default
        one = Option(name, default, several, kind, value, text, section, required)
        side, _, group = name.rpartition("_")
        if group not in GROUPED:
            yield one
        elif group in grouped:
            grouped[group].members[side] = name
        else:
            grouped[group] = one
            one.members = {side: name}
            yield one
    for name, one in grouped.items():  # one argument alone, such as ``key``, is an option like others
        one.members = {} if list(one.members) == [""] else one.members
        if one.members:
            one.name, one.several, one.kind = name, True, str
            one.value = f"SIDE={GROUPED[name]}"
            one.help = f"{one.help.rstrip('.')}; SIDE is {either([side for side in one.members if side])}."


def _read(annotation: str) -> tuple[Any, str, bool]:
    """What the command line reads for an annotation: the type, what its value is called, and whether it repeats."""
    names = set(re.findall(r"\w+", annotation)) - {"None"}
    if names in ({"bool"}, {"int"}, {"float"}):
        kind = {"bool": bool, "int": int, "float": float}[names.pop()]
        return kind, {bool: "", int: "N", float: "NUMBER"}[kind], False
    file = names & {"Path", "PathLike", "Captions"}
    value = "FILE" if file else "NAMES" if "Names" in names else "WORD" if "Literal" in names else "TEXT"
    several = names & {"Sequence", "Mapping", "list", "GainsLike", "JudgementsLike"}
    return Path if "Path" in names else str, value, bool(several) and not names & {"int", "Names", "Literal"}


def described(function: Function) -> dict[str, tuple[str, str]]:
    """The first sentence of the docstring of a function about every argument, and the title of its section."""
    found: dict[str, tuple[str, str]] = {}
    doc, parameters = inspect.getdoc(function) or "", inspect.signature(function).parameters
    for title, text in re.findall(r"^Args(?:, (.*))?:\n((?:(?: .*)?\n)*)", doc + "\n", re.MULTILINE):
        for names, words in re.findall(r"^    (\w[\w, ]*): (.*(?:\n {8}.*)*)", text, re.MULTILINE):
            sentence = re.split(r"(?<=\.)\s", " ".join(words.split()))[0].rstrip(".")
            sentence = sentence[:1].upper() + sentence[1:]
            sentence = re.sub(r"``(.*?)``", lambda m: flag(m[1]) if m[1] in parameters else m[1], sentence)
            found |= dict.fromkeys(names.split(", "), (f"{sentence}.", (title[:1].upper() + title[1:])))
    return found


class Made(click.Command):
    """A command with its options in sections; ``--help-all`` shows those that ``--help`` leaves out."""

    def __init__(self, name: str, found: Command, run: Function) -> None:
        from .results import Output
        from .terminal import Terminal

        function = Command.load(found.function)
        own = list(options_of(function, also=found.also))
        first = own.pop(0) if found.argument else None
        more = list(options_of(Command.load(found.of), found.takes, found.also)) if found.of else []
        shared = [*own, *more] if found.takes else [*more[1:], *own]  # the first one is that of the command
        printed = [*(options_of(Output, found.prints) if found.prints else ()), *options_of(Terminal)]
        for one in printed:
            one.section = "Result" if found.of and not found.takes else ""
        self.options = {one.name: one for one in [*shared, *printed]}
        self.found, self.first = found, first
        params: list[click.Parameter] = [one.click() for one in self.options.values()]
        doc = inspect.cleandoc(function.__doc__ or "")
        about = re.split(r"\n\n(?:Args|Raises|Returns|>>>|Example.*:\n)", doc)[0].replace("``", "")
        if first is not None:
            about += f"\n\n{found.argument.strip('[].')}: {first.help}"
            facts: Any = {"required": found.argument[0] != "[", "metavar": found.argument, "type": first.kind}
            params.insert(0, click.Argument([first.name], nargs=-1 if "..." in found.argument else 1, **facts))
        epilog = "--help-all shows all options." if found.usual else None
        super().__init__(name, params=params, callback=run, help=about, short_help=found.words, epilog=epilog)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's; the help shows the usual options, or all of them."""
        ctx.meta["all"] = not self.found.usual or "--help-all" in args
        args = ["--help" if word == "--help-all" and self.found.usual else word for word in args]
        rest = super().parse_args(ctx, args)
        # Names of metrics that are separated by spaces are taken for files.
        words = [str(word) for word in ctx.params.get("files") or () if not os.path.exists(word)]  # noqa: PTH110 (False for a name that is too long)
        if words and "metrics" in self.options and are_metrics(words):
            ctx.fail(f"Got unexpected extra arguments ({' '.join(words)})")
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The sections of the docstring, the usual options first."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                one = self.options.get(param.name or "")  # None for --help
                if one is None or one.name in self.found.usual or ctx.meta["all"]:
                    sections.setdefault((one.section if one else "") or "Options", []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records, col_max=30)


def arguments(options: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the command line as arguments of the function.

    Raises:
        UsageError: a count below 1, or a side of ``--key`` that the command does not have.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        one = options.get(name)
        if one is None or not one.members:
            if name in COUNTS and value is not None and value < 1:
                raise UsageError(f"{spell(name)} is {value}", fix="give an integer of at least 1")
            value = (list(value) or None) if one is not None and one.several else value
            found[name] = one.default if one is not None and value is None else value  # such as a Path
            continue
        found |= dict.fromkeys(one.members.values())
        for word in value:
            side, equals, text = word.partition("=")
            if not equals and "" in one.members:
                side, text = "", word
            if side not in one.members or not text:
                sides = [f"{side}={one.value.removeprefix('SIDE=')}" for side in one.members if side]
                fix = f"write {' or '.join(f'{flag(name)} {x}' for x in sides)}"
                raise UsageError(f"{flag(name)} is '{word}'", fix=fix)
            found[one.members[side]] = text
    return found


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
