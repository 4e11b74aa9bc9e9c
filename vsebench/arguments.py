"""Arguments of the public functions, checked before anything is read.

``public`` checks names and types, the types by the annotations of the function.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
import typing
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, get_args, get_origin

import numpy.typing as npt

from .errors import UsageError, VsebenchError, VsebenchWarning
from .registry import closest
from .types import as_array

P = ParamSpec("P")
R = TypeVar("R")

MOST = 1 << 53  # float64 has every integer up to it

# Options of the commands that are no arguments, because a function returns its result; and where ids belong.
OF_THE_RESULT = {
    "output": "save what is returned: .save(FILE)",
    "per_query": "what is returned has them as a table: .per_query()",
    "no_per_query": "leave them out when writing: .to_json(per_query=False)",
    "json": "what is returned has .to_json() and .to_dict()",
    "format": "what is returned has .to_latex(), .to_markdown(), .to_html() and .to_frame()",
    "style": "what is returned has .to_latex(), .to_markdown(), .to_html() and .to_frame()",
    "image_ids": "give vectors with their ids: vsebench.Embeddings('image', ids, vectors)",
    "text_ids": "give vectors with their ids: vsebench.Embeddings('text', ids, vectors)",
    "ids": "give vectors with their ids: vsebench.Embeddings('image', ids, vectors)",
    "intervals": "a table of several reports has them: vsebench.joint(REPORTS, intervals=True)",
    "figures": "what is returned writes them: .figures(FOLDER)",
    "figure_format": "what is returned writes them: .figures(FOLDER, KIND)",
    "figure": "call vsebench.human.figure.write(RESULT, FILE)",
    "quiet": "leave it out: functions print nothing; notes and warnings are in the result",
    "notes": "leave it out: what is returned has .notes",
    "no_progress": "leave it out: there is no progress bar; progress= takes a function",
}
ARRAYS = "<arrays>"  # what errors name in place of a file if arrays in memory are given
# Packages whose calls raise no warnings: what they make of a result carries them, and the commands print them.
OURS = ("vsebench", "train_reference")
# Arguments that count something: at least 1.
COUNTS = ("threads", "top", "most", "block", "depth", "captions_per_image", "batch", "workers")


def public(function: Callable[P, R]) -> Callable[P, R]:
    """A function of the public API: its arguments are checked, and the warnings of its result are raised.

    Raises, when the function is called:
        UsageError: an unknown argument (close matches are named), one too many or too few, or one of a wrong type.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given = check(function, args, kwargs)
        try:
            result = function(*given.args, **given.kwargs)
        except VsebenchError as error:
            if error.where is not None and os.fspath(error.where) == ARRAYS:  # the name of the argument
                error.what = error.what.replace("image_of_text", "image_id_of_text")
                error.fix = error.fix and error.fix.replace("image_of_text", "image_id_of_text")
            raise
        _warn(result)
        return result

    return call


def _warn(result: object) -> None:
    """Raise every warning of a result at the line that called the function, unless that line is ours."""
    caller = str(sys._getframe(2).f_globals.get("__name__"))
    if caller.partition(".")[0] not in OURS:
        for text in getattr(result, "warnings", ()):
            warnings.warn(text, VsebenchWarning, stacklevel=3)


def check(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
    """The arguments of a call by name, numbers and truth values as those of Python, iterables of names as lists.

    Raises:
        UsageError: see ``public``.
    """
    name, signature = function.__name__, inspect.signature(function)
    known = list(signature.parameters)
    for given in kwargs:
        if given not in known:
            near = closest(given, known)
            hint = f"did you mean {' or '.join(near)}?" if near else f"the arguments are {', '.join(known)}"
            raise UsageError(f"{name} has no argument '{given}'", fix=OF_THE_RESULT.get(given, hint))
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise UsageError(f"{name}: {error}", fix=f"the arguments are {', '.join(known)}") from None
    several = {p.name for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL}  # checked as what they join
    for given, hint in _hints(function).items():
        if given in bound.arguments and given not in several:
            value = bound.arguments[given] = _converted(given, bound.arguments[given], hint)
            if given in COUNTS and value is not None and value < 1:
                raise UsageError(f"{given} is {value}", fix="give an integer of at least 1")
    return bound


@functools.cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations that can be checked, by argument."""
    found = typing.get_type_hints(function)
    return {name: hint for name, hint in found.items() if name != "return" and None not in map(_word, _members(hint))}


def _members(hint: Any) -> tuple[Any, ...]:
    """The types of a union, or the one type."""
    union = get_origin(hint) in (typing.Union, UnionType)
    return tuple(m for x in get_args(hint) for m in _members(x)) if union else (hint,)


def _word(member: Any) -> str | None:
    """What a value of a type is called; None for a type that is not checked here, such as an array."""
    origin = get_origin(member) or member
    if origin in _WORDS:
        inside = [m for x in get_args(member)[-1:] for m in _members(x)] if origin in (Sequence, Mapping) else []
        return None if None in map(_word, inside) else _WORDS[origin]
    ours = inspect.isclass(origin) and origin.__module__.startswith("vsebench.")
    return f"a {origin.__name__}" if ours and not getattr(origin, "_is_protocol", False) else None


_WORDS: dict[Any, str] = {
    NoneType: "", bool: "True or False", int: "an integer", float: "a number", str: "a string", Literal: "a string",
    os.PathLike: "a path", Sequence: "a list", Mapping: "a mapping", Callable: "a function",
}  # fmt: skip


def _converted(name: str, value: Any, hint: Any) -> Any:
    """The value in the form of the first type of a hint that it has; raises UsageError naming the argument."""
    for member in _members(hint):
        found = _as(name, value, member)
        if found is not _OTHER:
            return found
    words = list(dict.fromkeys(w for w in map(_word, _members(hint)) if w))
    *most, last = words
    raise UsageError(f"{name} is {shown(value)}", fix=f"give {', '.join(most)} or {last}" if most else f"give {last}")


_OTHER = object()


def _as(name: str, value: Any, member: Any) -> Any:
    """The value in the form of a type (no union), ``_OTHER`` if it is of another."""
    origin = get_origin(member) or member
    if origin in (bool, int, float):
        return _number(value, origin)
    if origin is Sequence:
        one = isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable) or _dimensions(value) == 0
        inner = get_args(member)[0]
        return _OTHER if one else [_converted(f"{name}[{at}]", x, inner) for at, x in enumerate(value)]
    if origin is Mapping and isinstance(value, Mapping):
        return {key: _converted(f"{name}['{key}']", x, get_args(member)[1]) for key, x in value.items()}
    if origin is os.PathLike:
        return value if hasattr(value, "__fspath__") else _OTHER
    if origin is Callable:
        return value if callable(value) else _OTHER
    return value if isinstance(value, str if origin is Literal else origin) else _OTHER


def _number(value: Any, kind: type[bool] | type[int] | type[float]) -> Any:
    """A number or a truth value of Python or numpy, or a tensor of one, as ``kind``; 1e3 is an integer too."""
    truth = isinstance(value, bool) or str(getattr(value, "dtype", "")) in ("bool", "torch.bool")
    if truth is not (kind is bool) or isinstance(value, (str, bytes)) or (_dimensions(value) or 0) > 0:
        return _OTHER
    with contextlib.suppress(AttributeError, TypeError, ValueError, OverflowError):
        if kind is int and hasattr(value, "__index__"):
            return value.__index__()
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        if kind is not int or float(value).is_integer():
            return kind(value)
    return _OTHER


def _dimensions(value: object) -> int | None:
    """How many dimensions an array or a tensor has, None for everything else."""
    return getattr(value, "ndim", None)


def shown(value: object) -> str:
    """A value for a message: its type, and the value or the shape."""
    kind, shape = type(value).__name__, getattr(value, "shape", ())
    if shape:
        return f"a {kind} of shape {tuple(shape)}"
    text = repr(value)
    return "None" if value is None else f"{text if len(text) <= 60 else text[:59] + '…'} ({kind})"


def numbers(x: Any, name: str, most: int | None = MOST) -> npt.NDArray[Any]:
    """An argument as an array of numbers, see ``types.as_array``.

    Raises:
        UsageError: naming the argument: it is something else, or has integers larger than ``most``, which float64
            numbers would round.
    """
    array = as_array(x, name)
    if array.ndim == 0 or array.dtype.kind not in "fiub":
        what = f"{name} is {shown(x if array.ndim == 0 else array)}"
        what += f", {array.dtype}" if array.ndim else ""
        raise UsageError(what, fix="give an array of numbers, one row an item")
    if most is not None and array.dtype.kind in "iu" and array.size:
        largest = max(int(array.max()), -int(array.min()))
        if largest > most:
            what = f"{name} has integers as large as {largest}, and beyond 2^53 float64 rounds them"
            raise UsageError(what, fix="subtract a constant from them or scale them, and give them as float64")
    return array
