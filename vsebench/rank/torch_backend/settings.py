"""Settings of torch while the back-end works: the device, exact float32 products, one thread a call."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator

import torch

from ...errors import UsageError, first_line
from ...numeric.torch_support import full_precision
from ...options import spell

_LOCK = threading.Lock()
_inside = 0
_threads = 1  # outside
_restore: Callable[[], None]


def device_of(name: str | None) -> torch.device:
    """The device of ``cpu``, ``cuda`` or ``cuda:1``; for None the first CUDA device, or the processor without one.

    Raises:
        UsageError: a device that this machine does not have.
    """
    available = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "cpu" or (name is None and not available):
        return torch.device("cpu")
    number = int((name or "").partition(":")[2] or 0)
    if number >= available:
        found = f"{available or 'no'} CUDA device{'s' * (available > 1)}"
        raise UsageError(
            f"{spell('backend')} is 'torch:{name}', but torch finds {found}",
            fix="use torch:cpu, or see vsebench doctor",
        )
    return torch.device("cuda", number)


@functools.cache
def fault(device: torch.device) -> str | None:
    """What fails when a device is used, or None: torch finds GPUs for which it has no compiled code."""
    try:
        x = torch.ones((8, 8), device=device)
        float(torch.mm(x, x).sort(dim=1).values.sum())  # waits for the device
    except Exception as error:
        return first_line(error)
    return None


@contextlib.contextmanager
def exact(device: torch.device) -> Iterator[None]:
    """Products of float32 in float32, and one thread a call; what the user has set is restored.

    Several threads may be inside at once: the first one remembers what holds outside, the last one restores it. Calls
    of torch use one thread because the back-end works in threads of its own.
    """
    global _inside, _threads, _restore
    with _LOCK:
        if _inside == 0:
            _threads, _restore = torch.get_num_threads(), full_precision()
        _inside += 1
    torch.set_num_threads(1)  # of the calling thread
    try:
        with torch.autocast(device.type, enabled=False), torch.no_grad():
            yield
    finally:
        with _LOCK:
            _inside -= 1
            torch.set_num_threads(_threads)
            if _inside == 0:
                _restore()
