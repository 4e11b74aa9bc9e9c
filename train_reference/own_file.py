"""Functions of a file of the user: ``FILE.py:FUNCTION`` is the name of a loss or of an encoder in a configuration."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from vsebench.errors import UsageError, first_line
from vsebench.files.regular import sha256_of
from vsebench.registry import unknown

FIX = "give FILE.py:FUNCTION, the path of a file and a function in it"


def file_of(name: str) -> Path | None:
    """The file of a name, None for a registered one."""
    file, colon, _ = name.rpartition(":")
    file = file if colon else name
    return Path(file).expanduser() if file.endswith(".py") else None


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
    found: Callable[..., Any] | None = getattr(module, function, None)
    if not (inspect.isfunction(found) or inspect.isclass(found)):
        functions = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        raise unknown("function", function, functions, str(file))
    return found


@cache
def _module(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"own_{file.stem}", file)
    assert spec is not None and spec.loader is not None  # it ends with .py
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:  # code of the user raises anything
        what = f"cannot be imported: {type(error).__name__}: {first_line(error)}"
        raise UsageError(what, where=file, fix=f"correct it; it must run by itself: python {file.name}") from error
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
