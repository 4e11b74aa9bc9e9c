"""The HDF5 format: data sets at any depth, described without being read.

The library of HDF5 can loop for ever or crash on a damaged file, and then heeds no Ctrl-C. So the file is opened by a
process of its own (``hdf5_child``), which can be ended; data sets that are not compressed are read here or
memory-mapped. It costs 0.15 s of computing a file.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import BadInput
from ...memory import text_array
from .guard import reading
from .hdf5_child import RATE
from .raw import Array, Member
from .stored_array import stored_array

SECONDS = 10  # of computing for a description, and for reading anything small; 0.05 are usual
WAIT = 5  # times the seconds of computing that the process may take
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_DAMAGED = "is a truncated or damaged HDF5 file"
_AGAIN = "write or download the file again"
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {} import main; main(*sys.argv[2:])"


def is_hdf5(head: bytes) -> bool:
    """Whether the signature is at the start of a file, or after a user block of 512, 1024 or 2048 bytes."""
    return any(head[at : at + len(_SIGNATURE)] == _SIGNATURE for at in (0, 512, 1024, 2048))


def hdf5_members(path: Path) -> list[Member]:
    """The data sets of an HDF5 file at any depth. Links to other places and other files are not followed.

    Raises:
        BadInput: the file is damaged.
    """
    child = _Child(path)
    return [_member(path, child, facts) for facts in child.describe()]


def _member(path: Path, child: _Child, facts: dict[str, Any]) -> Member:
    name, shape, offset = facts["name"], tuple(facts["shape"]), facts["offset"]
    mapped = offset is not None and facts["nbytes"] > 0

    def load() -> Array:
        if facts["outside"]:
            fix = "copy the data into one file"
            raise BadInput(f"data set '{name}' is stored in another file", where=path, fix=fix)
        if not mapped:
            return child.values(name, facts["nbytes"])
        if offset + facts["nbytes"] > path.stat().st_size:
            raise BadInput(f"data set '{name}' ends behind the end of the file", where=path, fix=_AGAIN)
        with reading(path, f"data set '{name}' cannot be read", OSError, ValueError):
            return stored_array(path, np.dtype(facts["format"]), shape, offset)

    return Member(name, shape, facts["dtype"], 0 if mapped else facts["nbytes"], facts["stored"], load)


class _Child:
    """The process that has a file open; it ends with the last array of the file that can still be loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path
        start = _START.format(f"{__package__}.hdf5_child")
        args = [sys.executable, "-c", start, json.dumps(sys.path), str(path.absolute()), str(SECONDS)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process: subprocess.Popen[bytes] = subprocess.Popen(args, **pipes)  # type: ignore[call-overload]
        self.end = weakref.finalize(self, _end, self.process)

    def describe(self) -> list[dict[str, Any]]:
        """The facts of every data set, see ``hdf5_child``.

        Raises:
            BadInput: they cannot be read.
        """
        with self._limit(_DAMAGED, SECONDS):
            found: list[dict[str, Any]] = self._answer(_DAMAGED)["members"]
            return found

    def values(self, name: str, nbytes: int) -> Array:
        """The values of a data set.

        Raises:
            BadInput: they cannot be read.
        """
        what = f"data set '{name}' cannot be read"
        with self._limit(what, SECONDS + nbytes / RATE), reading(self.path, what, ValueError, OSError):
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(name).encode() + b"\n")
            self.process.stdin.flush()
            answer = self._answer(what)
            shape = tuple(answer["shape"])
            if "dtype" not in answer:
                return text_array(self._answer(what), name, self.path).reshape(shape)
            out = np.empty(shape, np.dtype(answer["dtype"]))
            left = memoryview(out.reshape(-1).view(np.uint8).data if out.nbytes else b"")
            while left and (count := self._stdout.readinto(left)):
                left = left[count:]
            if left:
                raise self._failure(what)
            return out

    @property
    def _stdout(self) -> Any:
        return self.process.stdout

    def _answer(self, what: str) -> Any:
        line = self._stdout.readline()
        if not line.endswith(b"\n"):
            raise self._failure(what)
        found = json.loads(line)
        if isinstance(found, dict) and "error" in found:
            first = found["error"].splitlines()[0][:200]
            raise BadInput(f"{what} ({first})", where=self.path, fix=_AGAIN)
        return found

    @contextmanager
    def _limit(self, what: str, seconds: float) -> Iterator[None]:
        """End the process after an error or an interrupt, and where the system has not ended it in time."""
        timer = threading.Timer(WAIT * seconds, self.process.kill)
        timer.start()
        try:
            yield
        except BaseException:
            self.end()
            raise
        finally:
            timer.cancel()

    def _failure(self, what: str) -> BadInput:
        self.end()
        code = -self.process.returncode
        endless = code in (getattr(signal, "SIGXCPU", 0), getattr(signal, "SIGKILL", 0))
        why = "the HDF5 library did not come to an end" if endless else "the HDF5 library crashed"
        return BadInput(f"{what} ({why})", where=self.path, fix=_AGAIN)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdout is not None and process.stdin is not None:
        process.stdout.close()
        with suppress(OSError):
            process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(0.5)
        return
    process.kill()
    process.wait()
