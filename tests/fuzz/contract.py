"""What every reader keeps, whatever it is given: it returns, or raises an error of vsebench that names the file."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vsebench.errors import VsebenchError

SECONDS = 5.0  # of computing that a reader may take; inputs have a few kilobytes
MEMORY = 1 << 30  # bytes by which the largest memory of the process may grow


class Broken(AssertionError):
    """The contract does not hold for an input."""


def reads(call: Callable[..., Any], path: Path, *arguments: Any) -> Any:
    """``call(path, *arguments)``, or None where it refuses the file with an error that names it and says what to do.

    Raises:
        Broken: it raises anything else, warns of an invalid calculation, or takes too long or too much memory.
    """
    return _kept(lambda: call(path, *arguments), str(path))


def accepts(call: Callable[..., Any], text: str) -> Any:
    """The same of a function of a text, whose errors name no file; fixes are needed all the same."""
    return _kept(lambda: call(text), "")


def _kept(call: Callable[[], Any], name: str) -> Any:
    with limits(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            return call()
        except VsebenchError as error:
            message = str(error)
            if name not in message:
                raise Broken(f"{type(error).__name__} does not name the file: {message}") from error
            if not error.fix:
                raise Broken(f"{type(error).__name__} says not what to do: {message}") from error
            return None
        except Exception as error:
            raise Broken(f"{type(error).__name__} instead of an error of vsebench: {error}") from error


@contextmanager
def limits() -> Iterator[None]:
    """Check the time of computing and the memory of what is done inside; raises Broken."""
    start, before = time.process_time(), _most_memory()
    yield
    if (seconds := time.process_time() - start) > SECONDS:
        raise Broken(f"took {seconds:.1f} s of computing")
    if (grown := _most_memory() - before) > MEMORY:
        raise Broken(f"took {grown >> 20} MiB of memory")


def _most_memory() -> int:
    """The largest resident size of this process so far, in bytes; 0 where the system does not count it."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


MARK = b"\n%%FILE "  # before the name of a file, which ends with its line
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*){0,2}")
MOST = 16  # files


def pack(files: Mapping[str, bytes]) -> bytes:
    """Files by name as one input."""
    return b"".join(MARK + name.encode() + b"\n" + data for name, data in files.items())


def unpack(data: bytes) -> dict[str, bytes]:
    """The files of an input; those whose names could leave the folder are left out."""
    found: dict[str, bytes] = {}
    for part in data.split(MARK)[1 : MOST + 1]:
        name, _, content = part.partition(b"\n")
        text = name.decode("ascii", "replace")
        if _NAME.fullmatch(text):
            found[text] = content
    return found


def write(data: bytes, folder: Path) -> Path:
    """Write the files of an input below a folder, which is returned."""
    folder.mkdir(exist_ok=True)
    for name, content in unpack(data).items():
        path = folder / name
        if any((folder / parent).is_file() for parent in Path(name).parents if parent.name) or path.is_dir():
            continue  # one name is a file and a folder
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
