"""Which of the devices of a machine a process takes, where several processes compute there at once."""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import socket
import sys
from contextlib import ExitStack

from ..data.cache import cache_dir
from ..data.lock import locked
from ..errors import DiskError

MOST = 256  # processes of a machine that are counted
_is_worker: bool | None = None  # set once


def own_device(count: int) -> int | None:
    """The number of the device, of so many, that is the one of this process; None where any will do.

    Where processes were started one a device (as by torchrun) it is that of ``LOCAL_RANK``. A worker of a cluster
    takes that of its place among the workers of its machine.
    """
    number = local_rank()
    if number is None and _is_worker and count > 1:
        number = _place(os.getpid(), os.environ.get("CUDA_VISIBLE_DEVICES", ""))
    return None if number is None or not count else number % count


def local_rank() -> int | None:
    """The place of this process among those of its machine, where they were started one a GPU (torchrun), or None."""
    given = os.environ.get("LOCAL_RANK", "")
    return int(given) if given.isdecimal() and len(given) < 5 else None


def begin_worker() -> None:
    """This process is one of several workers; a device that its user has set as the current one of torch is kept."""
    global _is_worker
    if _is_worker is None:
        torch = sys.modules.get("torch")
        _is_worker = torch is None or not torch.cuda.is_initialized()


@functools.cache
def _place(process: int, visible: str) -> int:
    """The lowest number that no other worker of this machine has, for as long as the process runs.

    A file is locked for it: when a worker ends, however it ends, the one that is started in its stead finds its number
    free. Workers that see other devices, or these in another order (as those of dask-cuda), are counted apart.

    Args:
        process: its number, as a lock belongs to one process.
        visible: the devices that the process sees, as CUDA_VISIBLE_DEVICES has them.
    """
    kept = ExitStack()
    folder = cache_dir() / "workers"
    name = hashlib.sha256(f"{socket.gethostname()} {visible}".encode()).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return 0
    for number in range(MOST):
        try:
            kept.enter_context(locked(folder / f"{name}-{number}.lock", "the number is taken"))
        except DiskError:
            continue
        atexit.register(kept.close)
        return number
    return 0
