"""Options: each is declared once, as a field of a frozen dataclass, and messages name it in the words of the caller.

From a field come the option of the command line with its help (``cli.blocks``), the check of its value (``check``), and
its entry among the settings of a report (``settings``). ``spell`` writes an option in a message: as on the command line
where a command runs, else as an argument of a Python function.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from .errors import UsageError, printable

if TYPE_CHECKING:
    from typing_extensions import Self

INPUT, MEASURED, RESULT = "Input", "What is measured", "Result"
MORE = "More options"  # those that ``--help`` leaves out
PANELS = (INPUT, MEASURED, RESULT, MORE)

_KEY = "option"
_COMMAND = False  # whether a command runs, which names options by their flags


@dataclass(frozen=True)
class Declared:
    """What a field declares besides its type and its default.

    Attributes:
        help: what the option says or does, one sentence; the allowed values are added to it.
        panel: the panel of the help, one of ``PANELS``.
        value: what the value is called in the help, None for a flag.
        reads: the type that the command line reads, None for options of Python alone.
        allowed: the allowed values, empty where there are too many.
        least, most: the allowed range of a number.
        flags: the names on the command line where they are not ``--`` and the name of the field.
        of: the option without which it has no meaning, as ``rerank``, or one with a value, as ``engine=dask``.
    """

    help: str
    panel: str = MORE
    value: str | None = None
    reads: Any = None
    allowed: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    flags: tuple[str, ...] = ()
    of: str = ""

    @property
    def text(self) -> str:
        """The help with the allowed values."""
        return f"{self.help}{': ' if self.help else ''}{either(self.allowed)}." if self.allowed else self.help


class Fields:
    """Base of frozen dataclasses of options; every value is checked when one is made."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The options among the arguments of a function; others have their defaults."""
        return cls(**{f.name: given[f.name] for f in dataclasses.fields(cls) if f.name in given})

    def __post_init__(self) -> None:
        check(self)


def option(default: Any, help: str, panel: str = MORE, *, reads: Any = None, **more: Any) -> Any:
    """A field of a dataclass that is an option; see ``Declared``.

    Args:
        default: its default value.
        help, panel, more: of ``Declared``.
        reads: of ``Declared``; the type of ``default`` where it is None.
    """
    reads = type(default) if reads is None and default is not None else reads
    compared = more.pop("compare", True)
    return dataclasses.field(
        default=default, compare=compared, metadata={_KEY: Declared(help, panel, reads=reads, **more)}
    )


def declared(options: Any) -> dict[str, tuple[dataclasses.Field[Any], Declared]]:
    """The fields of a dataclass, or of a value of one, that are options, by name."""
    return {f.name: (f, f.metadata[_KEY]) for f in dataclasses.fields(options) if _KEY in f.metadata}


def check(options: Any) -> None:
    """Refuse values that are not allowed; raises UsageError naming the option, the value and what is allowed."""
    for name in declared(options):
        check_one(options, name, getattr(options, name))


def check_one(options: Any, name: str, value: Any) -> None:
    """Refuse a value that the option of this name does not take; raises UsageError."""
    facts = declared(options)[name][1]
    if facts.allowed:
        check_word(name, value, facts.allowed)
    low, high = facts.least, facts.most
    if value is None or (low is None and high is None):
        return
    if not (-math.inf if low is None else low) <= value <= (math.inf if high is None else high):
        fix = f"give at least {low:,}" if high is None else f"give {low:,} to {high:,}"
        raise UsageError(f"{spell(name)} is {value:,}", fix=fix)


def check_alone(options: Any, given: Mapping[str, Any]) -> None:
    """Refuse options without the one that they belong to (``of``); raises UsageError.

    Args:
        options: the options.
        given: what they may belong to, by name; what is false is not given.
    """
    for name, (field, facts) in declared(options).items():
        of, _, value = facts.of.partition("=")
        own = getattr(options, name)
        if of and own != field.default and not (given[of] == value if value else given[of]):
            named = spell(name, None if isinstance(own, str) else own)
            what = f"{named} has no meaning without {spell(of, value or None)}"
            raise UsageError(what, fix="add it, or leave this out")


def check_word(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a word that an option does not take; raises UsageError."""
    if value not in allowed:
        raise UsageError(f"{spell(name)} is '{printable(str(value)[:80])}'", fix=f"use {either(allowed)}")


def settings(options: Any) -> dict[str, Any]:
    """The options whose value is another than the default one, by name: numbers and words, no files.

    Fields that are not compared are left out.
    """
    found = {}
    for name, (field, facts) in declared(options).items():
        value = getattr(options, name)
        words = facts.reads is not Path and isinstance(value, (bool, int, float, str))
        if words and field.compare and value != field.default:
            found[name] = value
    return found


def either(words: Sequence[str]) -> str:
    """``a, b or c``."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


@contextlib.contextmanager
def command_line() -> Iterator[None]:
    """Let messages name options as the command line does."""
    global _COMMAND
    before, _COMMAND = _COMMAND, True
    try:
        yield
    finally:
        _COMMAND = before


def of_command() -> bool:
    """Whether messages name options as the command line does."""
    return _COMMAND


def spell(name: str, value: object = None) -> str:
    """An option in a message: ``--no-positive miss`` for a command, ``no_positive='miss'`` for a Python function.

    Args:
        name: of the field or argument.
        value: its value, a list for an option that is repeated; True for a flag, None to name the option alone. One of
            ``PLACEHOLDERS``, as in ``FILE.npy``, stands for a value.
    """
    if _COMMAND:
        flag = "--" + FLAGS.get(name, name.replace("_", "-"))
        if isinstance(value, list):
            return " ".join(f"{flag} {one}" for one in value)
        return flag if value is None or value is True else f"{flag} {value}"
    if value is None:
        return name
    stands = isinstance(value, str) and value.partition(".")[0] in PLACEHOLDERS
    return f"{name}={value if stands else repr(value)}"


PLACEHOLDERS = ("FILE", "FOLDER", "KEY", "N", "NAME", "NAMES", "PATH")  # what stands for a value
# Options whose flag is not the name of the argument.
FLAGS: Mapping[str, str] = {"style": "format", "as_json": "json", "source": "from"}
