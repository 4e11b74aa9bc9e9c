"""Settings of torch while the back-end works: the device, exact float32 products, one thread a call."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import torch

from ...errors import BadInput, UsageError

SHARES = (1, 8)  # of the room for tiles that are tried where the device has too little memory
Made = TypeVar("Made")

_LOCK = threading.Lock()
_inside = 0
_before: tuple[str, int] = ("highest", 1)


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


@contextlib.contextmanager
def exact(device: torch.device) -> Iterator[None]:
    """Products of float32 in float32, and one thread a call; what the user has set is restored.

    Several threads may be inside at once: the first one remembers what holds outside, the last one restores it. Calls
    of torch use one thread because the back-end works in threads of its own.
    """
    global _inside, _before
    with _LOCK:
        if _inside == 0:
            _before = torch.get_float32_matmul_precision(), torch.get_num_threads()
            torch.set_float32_matmul_precision("highest")  # TF32 and bfloat16 off, on every device
        _inside += 1
    torch.set_num_threads(1)  # of the calling thread
    try:
        with torch.autocast(device.type, enabled=False), torch.no_grad():
            yield
    finally:
        with _LOCK:
            _inside -= 1
            torch.set_num_threads(_before[1])
            if _inside == 0:
                torch.set_float32_matmul_precision(_before[0])


def within_memory(device: torch.device, work: Callable[[int], Made]) -> Made:
    """``work(share)``, and once again with less room for tiles where the device has too little memory.

    Args:
        device: the device.
        work: its argument divides the room; must start afresh.

    Raises:
        BadInput: the memory is not enough in the smallest tiles.
    """
    for share in SHARES:
        try:
            return work(share)
        except torch.OutOfMemoryError:
            if device.type == "cuda":
                torch.cuda.empty_cache()
    raise BadInput(
        f"the device {device} has too little free memory for the vectors and a tile of scores",
        fix="end what else runs on it, or use --backend numpy",
    )
