"""Files that a user names: one check before any of them is opened, and one error for whatever fails when it is read."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

from ..errors import BadInput, VsebenchError, closest, first_line
from ..options import spell

WEB_PAGE = (b"<!doctype", b"<html", b"<?xml")  # how one begins, in lower case
WRITE_AGAIN = "write or download the file again"
# The files in the folder of a training run, which the trainer writes.
RUN_FILE, SCHEMA = "run.json", "vsebench/run/1"
LAST_CHECKPOINT = "last.safetensors"  # written after every epoch
RESULT_FILE = "result.json"  # report of the test part
SAVE_NPY = "save float32 .npy files with the rows in the order of the test set, which are memory-mapped"


def expanded(path: str | os.PathLike[str]) -> Path:
    """A path with the home folder for ``~``; ``~name`` of an unknown user stays as it is, as in a shell."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises for an unknown user


def inside(path: str | os.PathLike[str]) -> tuple[Path, tuple[str, ...]]:
    """``PATH:WORD:WORD`` as the file or folder that exists, and the words behind it; as one path if none exists."""
    parts = os.fspath(path).split(":")
    paths = [(expanded(":".join(parts[:end])), tuple(parts[end:])) for end in range(len(parts), 0, -1)]
    return next((one for one in paths if os.path.exists(one[0])), paths[0])  # noqa: PTH110 - False for a name too long


def unpickle(loaded: str) -> str:
    """The fix for a pickle: a user who trusts it saves its arrays; ``loaded`` is the expression that loads its dict."""
    return f"if you trust the file, save its arrays: d = {loaded}; np.savez('NEW.npz', **d)"


F = TypeVar("F", bound=Callable[..., Any])
_READ: ContextVar[dict[Any, Any] | None] = ContextVar("read", default=None)


@contextmanager
def read_once() -> Iterator[None]:
    """Inside, functions that are ``remembered`` read every file once."""
    token = _READ.set({} if (known := _READ.get()) is None else known)
    try:
        yield
    finally:
        _READ.reset(token)


def remembered(read: F) -> F:
    """A function of the path of a file, which gives the same result again inside of ``read_once``."""

    @wraps(read)
    def found(path: str | os.PathLike[str], *args: Any) -> Any:
        if (known := _READ.get()) is None:
            return read(path, *args)
        key = read, os.fspath(path), args
        if key not in known:
            known[key] = read(path, *args)
        return known[key]

    return cast(F, found)


_GUARD: ContextVar[Callable[[Path], object] | None] = ContextVar("guard", default=None)


def opened(path: Path) -> None:
    """Say that a file or folder will be read; raises what the ``check`` of ``guarded`` raises."""
    if (check := _GUARD.get()) is not None:
        check(path)


@contextmanager
def guarded(check: Callable[[Path], object]) -> Iterator[None]:
    """Inside, ``check`` is called with every file and folder before it is read; it may refuse it."""
    token = _GUARD.set(check)
    try:
        yield
    finally:
        _GUARD.reset(token)


@contextmanager
def reading(where: str | os.PathLike[str], what: str = "cannot be read", fix: str = WRITE_AGAIN) -> Iterator[None]:
    """Turn what a library raises while it reads a file into one BadInput that names the file and says ``what``."""
    try:
        yield
    except VsebenchError:
        raise
    except MemoryError:
        raise BadInput("does not fit into memory", where=where, fix=SAVE_NPY) from None
    except Exception as error:  # readers raise errors of many classes for damaged files
        why = error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
        raise BadInput(f"{what} ({why})", where=where, fix=fix) from error


def unpacked(raw: BinaryIO) -> BinaryIO:
    """The content of an open file, which is at its start, unpacked if it is gzip, by its first bytes."""
    packed = raw.read(2) == b"\x1f\x8b"
    raw.seek(0)
    return io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=raw)), 1 << 18) if packed else raw


def check_file(path: Path, fix: str, missing: str | None = None) -> None:
    """Check that a path is a regular file, or a link to one.

    Raises:
        BadInput: it is missing (``missing`` is the advice, by default a close name), a folder (``fix`` is the advice),
            or anything else, as a named pipe or a device.
    """
    if is_folder(path, missing):
        raise BadInput("this is a folder", where=path, fix=fix)


def is_folder(path: Path, missing: str | None = None) -> bool:
    """Whether a path is a folder and not a regular file.

    Raises:
        BadInput: it is anything else, or missing (``missing`` is the advice, by default a close name).
    """
    opened(path)
    try:
        if path.is_file() or path.is_dir():
            return path.is_dir()
        known = path.exists()
    except OSError as error:  # a name that is too long, no permission
        what = f"cannot be opened ({error.strerror or error})"
        raise BadInput(what, where=str(path)[:300], fix="check the path") from None
    if known:
        raise BadInput("is not a regular file", where=path, fix="write the data to a file on disk first")
    raise _missing(path, missing)


def read_bytes(path: Path, fix: str, missing: str | None = None) -> bytes:
    """The content of a regular file.

    Raises:
        BadInput: as ``check_file``, or it cannot be read; ``fix`` is the advice.
    """
    check_file(path, fix, missing)
    with reading(path, fix=fix):
        return path.read_bytes()


def sha256_of(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of the content of a file, in hexadecimal digits; raises OSError."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _missing(path: Path, advice: str | None) -> BadInput:
    if path.is_symlink():
        return BadInput(f"is a link to a missing file ({path.readlink()})", where=path, fix="repair the link")
    if advice is not None:
        return BadInput("no such file", where=path, fix=advice)
    folder = path.parent
    if not folder.is_dir():
        return BadInput("no such file", where=path, fix=f"check the path: the folder '{folder}' does not exist")
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError:
        names = []
    near = closest(path.name, names)
    hint = f"did you mean {' or '.join(repr(str(folder / n)) for n in near)}?" if near else "check the path"
    return BadInput("no such file", where=path, fix=hint)


CACHE_VARIABLE = "VSEBENCH_CACHE"


def file_stem(split: str) -> str:
    """The name of a split as a file name: Windows does not allow the ``:`` before a language."""
    return split.replace(":", "+")


def split_of(stem: str) -> str:
    """The split of ``file_stem``."""
    return stem.replace("+", ":")


def cache_dir() -> Path:
    """The folder in the environment variable ``VSEBENCH_CACHE``, else the user's cache folder.

    The folder is not made here, but when something is written into it.
    """
    named = os.environ.get(CACHE_VARIABLE, "").strip()
    if named:
        return expanded(named)
    import platformdirs

    return Path(platformdirs.user_cache_dir("vsebench"))


class RunFolder(NamedTuple):
    """What the reference trainer says of the test part of a run.

    Attributes:
        file: its embeddings or scores.
        scores: whether they are scores.
        similarity: of the embeddings, ``cosine`` or ``dot``; None for scores.
        split: the name of the test part.
    """

    file: Path
    scores: bool
    similarity: str | None
    split: str


def run_folder(path: Path) -> RunFolder | None:
    """The training run in a folder; None for any other path.

    Raises:
        BadInput: ``run.json`` is damaged, the file that it names is missing, or the run is not finished.
    """
    if not os.path.isdir(path):  # noqa: PTH112 (False for a name that is too long)
        return None
    about = path / RUN_FILE
    if not about.is_file():
        if not (path / LAST_CHECKPOINT).is_file():
            return None
        encode = f"vsebench encode {shlex.quote(str(path / LAST_CHECKPOINT))}"
        fix = f"continue it with the same command and {spell('resume', True)}, or: {encode}"
        raise BadInput("holds a training run that is not finished", where=path, fix=fix)
    try:
        found = json.loads(read_bytes(about, "train again"))
        if found["schema"] != SCHEMA or found["kind"] not in ("embeddings", "scores", "labels"):
            raise ValueError(found["schema"])
        file, similarity, split = path / Path(str(found["file"])).name, found["similarity"], str(found["split"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput("does not describe a run of this version", where=about, fix="train again") from error
    if found["kind"] == "labels":
        again = f"vsebench unimodal {shlex.quote(str(file))} --labels {shlex.quote(str(file))}"
        raise BadInput("has embeddings of images only", where=path, fix=again)
    if not os.path.isfile(file):  # noqa: PTH113 (False for a name that is too long)
        what, fix = f"refers to {file.name[:100]}, which is missing", "resume the run, or encode it again"
        raise BadInput(what, where=about, fix=fix)
    return RunFolder(file, found["kind"] == "scores", None if similarity is None else str(similarity), split)
