"""A loss or an encoder in your own file: its name in a configuration is ``FILE.py:FUNCTION``."""

import hashlib
import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Any

from vsebench.errors import UsageError


def file_of(name: str) -> Path | None:
    """The file of a name, None for a registered one."""
    file = Path(name.rpartition(":")[0] or name)
    return file.expanduser() if file.suffix == ".py" else None


def function_of(name: str) -> Any:
    """The function of a name; its file is imported once. Raises UsageError, and what the file raises."""
    file, function = file_of(name), name.rpartition(":")[2]
    found = vars(module_of(file.resolve())).get(function) if file is not None and file.is_file() else None
    if not callable(found):
        raise UsageError("no such function", where=name, fix="give FILE.py:FUNCTION, a file and a function in it")
    return found


@cache
def module_of(file: Path) -> Any:
    """The module in a file, which may import its neighbours."""
    spec = importlib.util.spec_from_file_location(f"own_{file.stem}", file)
    assert spec is not None and spec.loader is not None  # its name ends with .py
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    return module


def fingerprint(*names: str) -> str:
    """The sha256 of the files of these names; empty if all are registered."""
    return " ".join(hashlib.sha256(file.read_bytes()).hexdigest() for file in map(file_of, names) if file)


def published(name: str) -> str:
    """A name without the folder of its file."""
    return name if file_of(name) is None else name.replace("\\", "/").rpartition("/")[2]
