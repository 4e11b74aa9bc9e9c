"""The process that reads an HDF5 file for ``hdf5_file``.

On stdout it writes one line of JSON with all data sets; then, for every name in a line of stdin, one line of JSON with
the dtype and shape of the data set, and its values: bytes in C order, or a line of JSON for strings. In place of an
answer there may be ``{"error": why}``. The system ends the process when a request takes too many seconds of computing.
"""

from __future__ import annotations

import json
import math
import sys
from typing import IO, Any

import numpy as np

from .raw import dtype_name

RATE = 4 << 20  # bytes a second that are read in any case; gzip takes a second for some 100 MiB
BLOCK = 64 << 20  # bytes read together
ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError, OverflowError)


def main(path: str, seconds: str) -> None:
    """Answer the requests of stdin about one file, each within so many seconds, more for large data sets."""
    import h5py

    _allow(int(seconds))
    try:
        with h5py.File(path, "r") as file:
            _say({"members": _members(file)})
            for line in sys.stdin:
                name = json.loads(line)
                _allow(int(seconds) + _size(file[name]) // RATE)
                _read(file[name])
    except ERRORS as error:
        _say({"error": str(error).strip() or type(error).__name__})


def _members(file: Any) -> list[dict[str, Any]]:
    """Facts of every data set; links to other places and other files are not followed."""
    import h5py

    found: list[dict[str, Any]] = []

    def visit(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset):
            found.append(_facts(name, node))

    file.visititems(visit)
    return found


def _facts(name: str, node: Any) -> dict[str, Any]:
    outside = bool(node.external) or node.is_virtual
    plain = node.dtype.kind in "biuf" and node.chunks is None and not outside
    return {
        "name": name,
        "shape": list(node.shape or ()),
        "dtype": "str" if _is_text(node) else dtype_name(node.dtype),
        "nbytes": _size(node),
        "stored": node.id.get_storage_size(),
        "outside": outside,
        # where the values are, one after the other
        "offset": node.id.get_offset() if plain and node.id.get_storage_size() == _size(node) else None,
        "format": node.dtype.str,
    }


def _is_text(node: Any) -> bool:
    import h5py

    return h5py.check_string_dtype(node.dtype) is not None


def _size(node: Any) -> int:
    return math.prod(node.shape or ()) * int(node.dtype.itemsize)


def _read(node: Any) -> None:
    if _is_text(node):
        strings = np.asarray(node.asstr()[...])
        _say({"shape": list(strings.shape)})
        _say(strings.ravel().tolist())
        return
    if node.dtype.kind not in "biufSU":
        _say({"error": f"it contains {node.dtype}"})
        return
    _say({"shape": list(node.shape), "dtype": node.dtype.str})
    for block in _blocks(node):
        sys.stdout.buffer.write(np.ascontiguousarray(block).tobytes())
    sys.stdout.buffer.flush()


def _blocks(node: Any) -> Any:
    """The values in blocks of complete chunks."""
    if not node.shape or _size(node) <= BLOCK:
        yield node[...]
        return
    together = node.chunks[0] if node.chunks else 1
    step = max(1, BLOCK * node.shape[0] // _size(node) // together) * together
    for start in range(0, node.shape[0], step):
        yield node[start : start + step]


def _allow(more: int) -> None:
    """Let the system end this process when the next request takes too long: the loops of HDF5 heed no signal."""
    try:
        import resource
    except ImportError:  # Windows: the other process waits for a limited time
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = math.ceil(used.ru_utime + used.ru_stime) + more
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds if hard < 0 else min(seconds, hard), hard))


def _say(what: Any, stream: IO[bytes] | None = None) -> None:
    out = stream or sys.stdout.buffer
    out.write(json.dumps(what).encode() + b"\n")
    out.flush()
