"""Options and arguments: each is declared once, is checked before anything is read, and has the name the caller uses.

The signature of a function declares its options, and its docstring is their help (``cli.signatures``). The arguments of
a public function (``public``) are checked by their annotations, and the fields of a dataclass by ``check``, with limits
(``option``). pydantic checks the types of both, the words are ours. ``spell`` writes an option in a message: as on the
command line where a command runs, else as an argument of Python.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import math
import os
import re
import sys
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from .errors import UsageError, VsebenchError, VsebenchWarning, closest, format_value, printable

P = ParamSpec("P")
R = TypeVar("R")

_KEY = "option"
_COMMAND = False  # whether a command runs, which names options by their flags

# Options of the commands that are no arguments, because a function returns its result; and where ids belong.
_ELSEWHERE = {
    "output": "save the returned object: .save(FILE)",
    "per_query no_per_query": "the returned object has them as a table, .per_query(), and .to_json(per_query=False)",
    "json format style": "the returned object has .to_json(), .to_latex(), .to_markdown(), .to_html() and .to_frame()",
    "image_ids ids": "give vectors with their ids: vsebench.Embeddings('image', ids, vectors)",
    "text_ids": "give vectors with their ids: vsebench.Embeddings('text', ids, vectors)",
    "intervals": "a table of several reports has them: vsebench.compare(REPORTS, tests=False, intervals=True)",
    "figures figure_format": "the returned object writes them: .figures(FOLDER, KIND)",
    "quiet notes no_progress": "leave it out: functions print nothing; the returned object has .notes and .warnings",
}
OF_THE_RESULT = {name: hint for names, hint in _ELSEWHERE.items() for name in names.split()}
ARRAYS = "<arrays>"  # what errors name in place of a file if arrays in memory are given
# Packages whose calls raise no warnings: what they make of a result carries them, and the commands print them.
OURS = ("vsebench", "train_reference")
# Arguments that count something: at least 1.
COUNTS = ("threads", "top", "most", "block", "depth", "captions_per_image", "batch", "workers")


@dataclass(frozen=True)
class Declared:
    """The values that a field allows, besides its type."""

    allowed: tuple[str, ...] = ()  # values, empty if there are too many
    least: int | None = None  # the allowed range of a number
    most: int | None = None
    of: str = ""  # the option that it needs, as ``rerank``, or one with a value, as ``engine=dask``


def check(options: Any, names: dict[str, Any] | None = None) -> None:
    """Refuse options that are not allowed, and give the others their type, see ``typed``.

    Args:
        options: a value of a dataclass.
        names: of the annotations that its module imports for type checkers alone.

    Raises:
        UsageError: naming the option, the value and what is allowed.
    """
    types = typing.get_type_hints(type(options), localns=names)
    for name, (field, facts) in declared(options).items():
        value = getattr(options, name)
        if value is not field.default:
            value = typed(name, value, types[name])
            object.__setattr__(options, name, value)
            least, most = facts.least, facts.most
            if facts.allowed:
                check_word(name, value, facts.allowed)
            elif value is not None and least is not None and not least <= value <= (most or math.inf):
                fix = f"give {least:,} to {most:,}" if most else f"give at least {least:,}"
                raise UsageError(f"{spell(name)} is {value:,}", fix=fix)


def option(default: Any, compare: bool = True, **facts: Any) -> Any:
    """A field of a dataclass with limits (``Declared``); ``compare`` is of the field."""
    return dataclasses.field(default=default, compare=compare, metadata={_KEY: Declared(**facts)})


def declared(options: Any) -> dict[str, tuple[dataclasses.Field[Any], Declared]]:
    """The fields of a dataclass, or of a value of one, by name, and what they allow."""
    return {field.name: (field, field.metadata.get(_KEY, Declared())) for field in dataclasses.fields(options)}


def check_alone(options: Any, given: Mapping[str, Any]) -> None:
    """Refuse options without the one that they belong to (``of``), where it is false among the ``given`` ones."""
    for name, (field, facts) in declared(options).items():
        of, _, value = facts.of.partition("=")
        own = getattr(options, name)
        if of and own != field.default and not (given[of] == value if value else given[of]):
            named = spell(name, None if isinstance(own, str) else own)
            needed = spell(of, value or None)
            raise UsageError(f"{named} needs {needed}", fix=f"add {needed}, or leave out {spell(name)}")


def check_word(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a word that an option does not take; raises UsageError."""
    if value not in allowed:
        raise UsageError(f"{spell(name)} is '{printable(str(value)[:80])}'", fix=f"use {either(allowed)}")


def settings(options: Any) -> dict[str, Any]:
    """The options whose value is another than the default one, by name: numbers and words, no files.

    Fields that are not compared are left out.
    """
    found = {}
    for name, (field, _) in declared(options).items():
        value = getattr(options, name)
        words = not re.match(r"(PathLike|Captions)\b", str(field.type)) and isinstance(value, (bool, int, float, str))
        if words and field.compare and value != field.default:
            found[name] = value
    return found


# Arguments of functions


def public(function: Callable[P, R], types: bool = True) -> Callable[P, R]:
    """A function of the public API: its arguments are checked, and the warnings of its result are raised.

    Args:
        function: the function.
        types: check the types by the annotations, too.

    Raises, when the function is called:
        UsageError: an unknown argument (close matches are named), one too many or too few, or one of a wrong type.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given = bound(function, args, kwargs)
        for name, hint in _hints(function).items() if types else ():
            if name in given.arguments:
                value = given.arguments[name] = typed(name, given.arguments[name], hint)
                if name in COUNTS and value is not None and value < 1:
                    raise UsageError(f"{spell(name)} is {value}", fix="give an integer of at least 1")
        try:
            result = function(*given.args, **given.kwargs)
        except VsebenchError as error:
            if error.where is not None and os.fspath(error.where) == ARRAYS:  # the name of the argument
                error.what = error.what.replace("image_of_text", "image_id_of_text")
                error.fix = error.fix and error.fix.replace("image_of_text", "image_id_of_text")
            raise
        # Warnings are raised at the line that called the function, unless that line is ours.
        if str(sys._getframe(1).f_globals.get("__name__")).partition(".")[0] not in OURS:
            for text in getattr(result, "warnings", ()):
                warnings.warn(text, VsebenchWarning, stacklevel=2)
        return result

    return call


def bound(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
    """The arguments of a call by name; raises UsageError for an unknown one, and for too many or too few."""
    name, signature = function.__name__, inspect.signature(function)
    known = list(signature.parameters)
    hint = f"the arguments are {', '.join(known)}"
    for given in kwargs:
        if given not in known:
            near = closest(given, known)
            meant = f"did you mean {' or '.join(near)}?" if near else hint
            raise UsageError(f"{name} has no argument '{given}'", fix=OF_THE_RESULT.get(given, meant))
    try:
        return signature.bind(*args, **kwargs)
    except TypeError as error:
        raise UsageError(f"{name}: {error}", fix=hint) from None


@functools.cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function, without those of ``*args``, which are checked as what they join."""
    several = {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.VAR_POSITIONAL}
    found = typing.get_type_hints(function)
    return {name: hint for name, hint in found.items() if name not in {"return", *several}}


# What the refused value should be, by the kind of error of pydantic; classes have their own name.
_WORDS = {
    "bool_type": "True or False", "int_type": "an integer", "float_type": "a number", "string_type": "a string",
    "list_type": "a list", "dict_type": "a mapping", "callable_type": "a function", "PathLike": "a path",
}  # fmt: skip


def typed(name: str, value: Any, hint: Any) -> Any:
    """A value as one of a type: numbers and truth values as those of Python, what is iterated as a list.

    Raises:
        UsageError: it is of another type.
    """
    from pydantic import ValidationError

    if name == "direction":
        value = direction_named(value)
    if (adapter := _adapter(hint)) is None:
        return value
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        found = error.errors(include_url=False)
    # The members of a union are tried in turn: what is wrong is the innermost value that all of them refuse.
    keys = value if isinstance(value, Mapping) else ()
    places = ["".join(f"[{at!r}]" for at in one["loc"] if isinstance(at, int) or at in keys) for one in found]
    place = max(places, key=lambda text: text.count("["))
    faults = [one for one, at in zip(found, places, strict=True) if at == place]
    kinds = dict.fromkeys(one.get("ctx", {}).get("class", one["type"]) for one in faults)
    what = f"{spell(name)}{place} is {format_value(faults[0]['input'] if place else value)}"
    raise UsageError(what, fix=f"give {either([_WORDS.get(kind, f'a {kind}') for kind in kinds])}")


@functools.cache
def _adapter(hint: Any) -> Any:
    """What checks a type, None for one that is not checked."""
    from pydantic import ConfigDict, TypeAdapter

    return None if (kind := _checked(hint)) is Any else TypeAdapter(kind, config=ConfigDict(strict=True))


def _checked(hint: Any) -> Any:
    """A type as pydantic checks it; Any for one that is not checked, such as an array, or that has one inside."""
    from pydantic import BeforeValidator, Field, InstanceOf

    origin: Any = get_origin(hint) or hint
    inside: Any = tuple(map(_checked, get_args(hint)))
    if origin in (bool, int, float):
        return Annotated[origin, BeforeValidator(_plain)]
    if origin in (str, NoneType, Literal, Callable):
        return str if origin is Literal else origin
    if origin in (Sequence, Mapping, Union, UnionType):
        if Any in (inside[1:] if origin is Mapping else inside):
            return Any
        if origin is Mapping:
            return GenericAlias(Mapping, (Any, inside[1]))
        if origin is Sequence:
            return Annotated[GenericAlias(list, inside), BeforeValidator(_listed)]
        members: Any = Union.__getitem__(inside)
        several = sum(x is not NoneType for x in get_args(members)) > 1
        return Annotated[members, Field(union_mode="left_to_right")] if several else members
    ours = inspect.isclass(origin) and origin.__module__.startswith("vsebench.")
    known = origin is os.PathLike or (ours and not getattr(origin, "_is_protocol", False))
    return InstanceOf.__class_getitem__(origin) if known else Any  # type: ignore[type-arg]


def _plain(value: Any) -> Any:
    """A number of numpy, or a tensor of one, as that of Python; 1e3 is an integer too."""
    value = value.item() if getattr(value, "ndim", None) == 0 else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _listed(value: Any) -> Any:
    """What is iterated as a list: an array, a generator, but no string and no mapping."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable) or getattr(value, "ndim", None) == 0:
        return value
    return value.tolist() if hasattr(value, "tolist") else list(value)


_WAY = re.compile(r"([a-z]+?)s?\s*(?:2|->|→|[-_ ]to[-_ ])\s*([a-z]+?)s?", re.I)
_SIDES = {
    **dict.fromkeys(("i", "image", "img", "v", "video", "vid", "a", "audio"), "i"),
    **dict.fromkeys(("t", "text", "txt", "c", "caption", "cap", "sentence"), "t"),
}
_CORPUS = ("c", "d", "corpu", "doc", "document", "item")


def direction_named(value: Any) -> Any:
    """A direction by its usual name: ``t2i`` for ``t2v``, ``text->video`` and ``text-to-image``; else the value."""
    way = _WAY.fullmatch(value.strip()) if isinstance(value, str) else None
    first, second = (word.lower() for word in way.groups()) if way else ("", "")
    if first in ("q", "query", "querie") and second in _CORPUS:
        return "query2corpus"
    return f"{_SIDES[first]}2{_SIDES[second]}" if first in _SIDES and second in _SIDES else value


# Words of messages


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
        side, _, group = name.rpartition("_")
        if side and group in GROUPED:
            return f"--{group} {side}={GROUPED[group] if value is None else value}"
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
FLAGS: Mapping[str, str] = {
    "style": "format",
    "as_json": "json",
    "source": "from",
    "settings": "set",
    "target": "output",
}
# Arguments such as ``image_key`` and ``text_ids`` are options of a side on the command line: ``--key image=NAME``.
GROUPED: Mapping[str, str] = {"key": "NAME", "ids": "FILE"}
