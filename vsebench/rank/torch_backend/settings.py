"""Settings of torch while the back-end works: the device, exact float32 products, one thread a call."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from ...errors import UsageError, first_line

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
            f"--backend is 'torch:{name}', but torch finds {found}", fix="use torch:cpu, or see vsebench doctor"
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
            _threads, _restore = torch.get_num_threads(), _full_precision()
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


def _full_precision() -> Callable[[], None]:
    """Switch TF32 and bfloat16 off for products of float32, on every device; returns what restores the settings.

    Torch 2.9 has a setting for every device. Once it is used, the older one of all devices can no longer be read.
    """
    matmul = torch.backends.cuda.matmul
    if not hasattr(matmul, "fp32_precision"):
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        return lambda: torch.set_float32_matmul_precision(before)
    found = [(each, _own_precision(each)) for each in (matmul, torch.backends.mkldnn.matmul)]

    def give(values: Iterable[tuple[Any, str]]) -> None:
        for each, value in values:
            each.fp32_precision = value

    give((each, "ieee") for each, _ in found)
    return lambda: give(found)


def _own_precision(matmul: Any) -> str:
    """The precision that is set for the products of a device; ``none`` where it is the one of all operations."""
    value = matmul.fp32_precision
    matmul.fp32_precision = "none"
    inherited = matmul.fp32_precision
    matmul.fp32_precision = value
    return "none" if value == inherited else str(value)
