"""Writing of files and folders that appear complete or not at all, and never over a file that a command reads."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Literal

from ..errors import DiskError, UsageError, VsebenchError
from .regular import expanded

PathLike = str | os.PathLike[str]

MAX_NAME_BYTES = 255  # if the file system does not say
_NOT_RESULTS = rb"(?:suite|scenes)"  # schemas of files that are not the result of one command
_HEAD_BYTES = 256  # bytes read of an older result
DISK_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC))
# No path that can exist; every other refusal is one of the disk.
_WRONG_PATH = (errno.ENAMETOOLONG, errno.ELOOP)


@contextlib.contextmanager
def write_atomically(path: PathLike, mode: Literal["w", "wb"] = "wb", *, parents: bool = False) -> Iterator[IO[Any]]:
    """Open a new file next to ``path`` and put it in place when the block ends without an error.

    The temporary file is made in the folder of ``path``, flushed to disk and renamed over ``path``; after any error (an
    interrupt too) it is removed and an older file at ``path`` is left as it was. A symbolic link is followed and the
    permission bits of a file that is replaced are kept. Text is UTF-8, newlines are written as given. ``parents`` makes
    missing folders.

    Raises:
        UsageError: the folder does not exist, ``path`` is not a regular file, or its name is too long.
        DiskError: the system refuses to write: no space is left, no permission, a read-only file system; or to make
            the folder.
    """
    given, target = Path(path), expanded(path)
    try:
        check_place(given, parents=parents)
        target = _real(target)
        if parents:
            make_folder(target.parent)
        old_mode = target.stat().st_mode & 0o777 if target.exists() else None
    except OSError as error:
        raise refused(given, error) from error
    temporary = _temporary(target)
    as_text = {"encoding": "utf-8", "newline": ""} if mode == "w" else {"encoding": None, "newline": None}
    try:
        with temporary.open("x" if mode == "w" else "xb", **as_text) as stream:
            yield stream
            stream.flush()
            if old_mode is not None:
                temporary.chmod(old_mode)
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and (error.errno in DISK_ERRORS or error.filename == str(temporary)):
            raise refused(given, error) from error  # the error of a write does not name its file
        raise


def hidden_of(target: Path) -> tuple[Path, Path]:
    """The folders of ``write_folder`` next to a folder: the one being written, and an older one being replaced."""
    return target.with_name(f".{target.name}.partial"), target.with_name(f".{target.name}.old")


@contextlib.contextmanager
def write_folder(target: Path) -> Iterator[Path]:
    """Make a new folder next to ``target`` and put it in place when the block ends without an error.

    After an error in the block it is removed, and an older folder at ``target`` is left as it was; what a killed
    process left is removed first. Take a lock: only one process at a time may do this.
    """
    partial, old = hidden_of(target)
    try:
        for left in (partial, old):
            shutil.rmtree(left, ignore_errors=True)
        partial.mkdir()
        yield partial
        if target.exists():
            target.rename(old)
        partial.rename(target)
    finally:
        for left in (partial, old):
            shutil.rmtree(left, ignore_errors=True)


def check_place(path: Path, *, parents: bool = False) -> None:
    """Check that a file could have this path, without touching the disk.

    Raises:
        UsageError: not a regular file, a name that is too long, or no such folder (unless ``parents``).
    """
    target = expanded(path)
    length, longest = len(os.fsencode(target.name)), _longest_name(target.parent)
    if length > longest:
        what = f"cannot be written: its name takes {length} bytes, and at most {longest} are allowed here"
        raise UsageError(what, where=f"{target.name[:40]}...", fix="give a shorter name")
    if target.is_dir():
        raise UsageError("cannot be written: it is a folder", where=path, fix="give the name of a file")
    if not parents and not target.absolute().parent.is_dir():
        fix = f"create the folder '{path.parent}' or choose another one"
        raise UsageError("cannot be written: no such folder", where=path, fix=fix)
    if target.exists() and not target.is_file():
        what = "cannot be written: it is not a regular file"
        raise UsageError(what, where=path, fix="give the name of a file; without it the result is printed on stdout")


def make_folder(path: PathLike) -> None:
    """Make a folder, and those above it; nothing happens when it is there.

    Raises:
        DiskError: it cannot be made: a part of its path is a file, or the system refuses.
    """
    try:
        expanded(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"this folder cannot be created: {error.strerror or error}"
        fix = "choose a folder below one with write permission and free space"
        raise DiskError(what, where=path, fix=fix) from error


def check_writable(path: Path) -> None:
    """Check before any work that a file can be written, by making and removing a temporary file next to it.

    Raises:
        UsageError, DiskError: as ``write_atomically``.
    """
    check_place(path)
    try:
        temporary = _temporary(_real(expanded(path)))
        temporary.touch(exist_ok=False)
        temporary.unlink()
    except OSError as error:
        raise refused(path, error) from error


def refuse_overwriting(results: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Refuse results that would replace an input, and two results in one file.

    Links, hard links and other spellings of a path are the same file. In a folder that is an input only results of an
    earlier run (JSON that vsebench wrote) may be replaced.

    Raises:
        UsageError: naming the file; also as ``check_place``.
    """
    fix = "give every result its own file"
    for at, result in enumerate(results):
        check_place(result)
        if any(_same(result, other) for other in results[:at]):
            raise UsageError("cannot be written: two results have this file name", where=result, fix=fix)
        if not expanded(result).exists():
            continue
        for source in inputs:
            if _same(result, source):
                raise UsageError("cannot be written: it is an input of this command", where=result, fix=fix)
            if expanded(source).is_dir() and _inside(result, source) and not _is_result(result):
                what = f"cannot be written: it is a file of the folder '{source}', which is an input of this command"
                raise UsageError(what, where=result, fix="write to another folder, or remove the file first")


def refused(path: PathLike, error: OSError) -> VsebenchError:
    """The error for a file that the system refuses to write."""
    what = f"cannot be written: {error.strerror or error}"
    if error.errno in _WRONG_PATH:
        return UsageError(what, where=path, fix="choose another name or folder")
    return DiskError(what, where=path, fix="choose a folder with write permission and free space")


def _real(path: Path) -> Path:
    """The path without links; of links that lead in a circle as it is (``Path.resolve`` raises RuntimeError)."""
    return Path(os.path.realpath(path))


def _same(one: Path, other: Path) -> bool:
    one, other = expanded(one), expanded(other)
    try:
        return one.samefile(other)
    except OSError:  # one does not exist
        return _real(one) == _real(other)


def _inside(path: Path, folder: Path) -> bool:
    return _real(expanded(path)).is_relative_to(_real(expanded(folder)))


def _is_result(path: Path) -> bool:
    """Whether a file is JSON that vsebench wrote as the result of a command, which another run replaces."""
    try:
        with expanded(path).open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError:
        return False
    return re.match(rb'\{\s*"schema": "vsebench/(?!' + _NOT_RESULTS + rb")", head) is not None


def _temporary(target: Path) -> Path:
    """A temporary file of ``target``; one of the module tempfile could be read by its owner only, also once renamed."""
    name = os.fsencode(target.name)[:80].decode("utf-8", "ignore")
    return target.parent / f".{name}.{secrets.token_hex(6)}.tmp"


def _longest_name(folder: Path) -> int:
    try:
        return os.pathconf(folder, "PC_NAME_MAX")
    except (AttributeError, OSError, ValueError):
        return MAX_NAME_BYTES


@contextlib.contextmanager
def locked(path: Path, what: str, waiting: Callable[[str], object] | None = None) -> Iterator[None]:
    """Hold the lock file ``path`` while the block runs; the system releases it when the process is killed.

    Args:
        path: made here, and removed at the end; its folder must exist.
        what: what another process does when it holds the lock, for the message.
        waiting: called once with a message before waiting for another process that holds the lock.

    Raises:
        DiskError: another process holds the lock and ``waiting`` is None, or the file cannot be made.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if waiting is None:
                fix = "wait until it has finished, then run the command again"
                raise DiskError(f"{what} by another process", where=path, fix=fix) from None
            waiting(f"{what} by another process; waiting for it")
            lock.acquire()
    except OSError as error:
        raise refused(path, error) from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()  # before release: a waiting process then creates a new lock file
        lock.release()
