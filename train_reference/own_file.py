"""Names in a configuration: a loss or an encoder ``FILE.py:FUNCTION`` of the user, and settings as they are typed."""

from __future__ import annotations

import importlib.util
import inspect
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from vsebench.errors import UsageError, VsebenchError, first_line
from vsebench.files.regular import expanded, sha256_of
from vsebench.options import PLACEHOLDERS, of_command
from vsebench.registry import unknown

FIX = "give FILE.py:FUNCTION, the path of a file and a function in it"


def file_of(name: str) -> Path | None:
    """The file of a name, None for a registered one."""
    file, colon, _ = name.rpartition(":")
    file = file if colon else name
    return expanded(file) if file.endswith(".py") else None


def function_of(name: str) -> Callable[..., Any]:
    """The function of a name; its file is imported once in a process.

    Raises:
        UsageError: no such file or function, or a file that cannot be imported.
    """
    file, function = file_of(name), name.rpartition(":")[2]
    if file is None or ":" not in name or not file.is_file():
        what = "no such file" if file is not None and ":" in name else "names no function"
        raise UsageError(what, where=name, fix=FIX)
    module = _module(file.resolve())
    known = {key: value for key, value in vars(module).items() if inspect.isfunction(value) or inspect.isclass(value)}
    if not known:
        raise UsageError("has no functions", where=file, fix=f"write '{function}' into it")
    if function not in known:
        raise unknown("function", function, known, str(file))
    found: Callable[..., Any] = known[function]
    return found


@contextmanager
def faults_of(name: str, fix: str) -> Iterator[None]:
    """A block that calls the function of a name: what one of a file raises becomes UsageError, which names it.

    Want of memory is no fault of the function.
    """
    try:
        yield
    except (Exception, SystemExit) as error:  # code of the user raises anything
        from vsebench.numeric.torch_support import is_want  # and with it torch, which this package may be without

        want = isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and is_want(error))
        if file_of(name) is None or want:
            raise
        if isinstance(error, VsebenchError):
            error.where = error.where or name
            raise
        raise UsageError(f"fails ({raised(error, name)})", where=name, fix=fix) from error


def raised(error: BaseException, name: str) -> str:
    """What the function of a name raised, and the last line of its file that was running; of a registered one any."""
    file, frames = file_of(name), traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if file is None or frame.filename == str(file.resolve())]
    place = f"; line {own[-1].lineno} of {Path(own[-1].filename).name}" if own else ""
    return f"{type(error).__name__}: {first_line(error)}{place}"


@cache
def _module(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"own_{file.stem}", file)
    assert spec is not None and spec.loader is not None  # it ends with .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it there
    sys.path.insert(0, str(file.parent))  # it may import its neighbours
    try:
        spec.loader.exec_module(module)
    except UsageError as error:  # of a decorator
        error.where = str(file)
        raise
    except (Exception, SystemExit) as error:  # code of the user raises anything
        what = f"cannot be imported: {type(error).__name__}: {first_line(error)}"
        fix = f"correct it; it must run by itself: python {shlex.quote(file.name)}"
        raise UsageError(what, where=file, fix=fix) from error
    finally:
        with suppress(ValueError):
            sys.path.remove(str(file.parent))
    return module


def fingerprint(*names: str) -> str:
    """The sha256 of the files of these names, the empty text where all are registered; raises UsageError."""
    files = [file for name in names if (file := file_of(name)) is not None]
    try:
        return " ".join(sha256_of(file) for file in files)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(files[0]), fix=FIX) from error


def label(name: str) -> str:
    """A name as a part of the name of a folder: ``FILE-function`` for a function of a file."""
    file = file_of(name)
    return name if file is None else f"{file.stem}-{name.rpartition(':')[2]}"


def published(name: str) -> str:
    """A name without the folder of its file."""
    file = file_of(name)
    return name if file is None else f"{file.name}:{name.rpartition(':')[2]}"


def spelled(name: str, value: object) -> str:
    """A setting in a message: ``--set model.crop=center`` for a command, ``model.crop='center'`` in Python."""
    if of_command():
        return f"--set {name}={str(value).lower() if isinstance(value, bool) else value}"
    return f"{name}={value if value in PLACEHOLDERS else repr(value)}"
