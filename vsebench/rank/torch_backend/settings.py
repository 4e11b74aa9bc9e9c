"""Settings of torch while the back-end works: the device, its sizes, exact float32 products, one thread a call."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch

from ...environment import LOWERED, local_rank
from ...errors import UsageError, first_line
from ...numeric.torch_support import full_precision
from ...options import spell
from ..scorers import product_bound

PROBE_SHAPE = (128, 64, 192)  # rows, terms and columns of the test products
# Scores that are computed, compared or ordered together: a GPU takes as long for a thousand numbers as for a million.
TILE_SCORES = {"cpu": 1 << 22, "cuda": 1 << 26}

_LOCK = threading.Lock()
_inside = 0
_threads = 1  # outside
_restore: Callable[[], None]


def device_of(name: str | None) -> torch.device:
    """The device of ``cpu``, ``cuda`` or ``cuda:1``; for None a CUDA device, or the processor without one.

    A CUDA device without a number is device ``LOCAL_RANK``, else the current device of torch.

    Raises:
        UsageError: a device that this machine does not have.
    """
    available = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "cpu" or (name is None and not available):
        return torch.device("cpu")
    number = int((name or "").partition(":")[2] or _local_device(available))
    if number >= available:
        found = f"{available or 'no'} CUDA device{'s' * (available > 1)}"
        raise UsageError(
            f"{spell('backend')} is 'torch:{name}', but torch finds {found}",
            fix="use torch:cpu, or see vsebench doctor",
        )
    return torch.device("cuda", number)


def described(name: str | None) -> str:
    """The name of a GPU, and what torch computes with there."""
    found = torch.cuda.get_device_properties(device_of(name))
    memory = found.total_memory >> 30
    return f"{found.name}, {memory} GiB, compute capability {found.major}.{found.minor}, CUDA {torch.version.cuda}"


def _local_device(available: int) -> int:
    if available and (number := local_rank()) is not None:
        return number % available
    return torch.cuda.current_device() if torch.cuda.is_initialized() else 0


class Fault(NamedTuple):
    """Why a device is not used, and what to do about it."""

    what: str
    fix: str


@functools.cache
def fault(device: torch.device) -> Fault | None:
    """What fails when a device is used, or None.

    Torch finds GPUs for which it has no compiled code, and products can be of a lower precision than torch was asked
    for: by variables of the environment, or by a library in its place. So products are tried with factors that need
    more digits than TF32 has, or more than float32 has for float64.
    """
    lowered = [name for name in LOWERED if os.environ.get(name, "0") not in ("", "0")]
    if lowered and device.type == "cuda":
        return Fault(f"{lowered[0]}={os.environ[lowered[0]]} lowers the precision of products", f"unset {lowered[0]}")
    try:
        with exact(device):
            ratios = {dtype: _error(device, dtype) for dtype in (torch.float32, torch.float64)}
    except Exception as error:
        return Fault(first_line(error), "install a torch that has code for this GPU")
    for dtype, ratio in ratios.items():
        if not ratio <= 1:
            kind = str(dtype).removeprefix("torch.")
            return Fault(
                f"products of {kind} have {ratio:.3g} times the error that they can have in {kind}",
                "switch TF32 and emulated products off for this device",
            )
    return None


def _error(device: torch.device, dtype: torch.dtype) -> float:
    """The largest error of a product of a dtype by its bound, for terms that are known in integers."""
    rows, terms, columns = PROBE_SHAPE
    # 2^12 + 1 has two digits more than the 11 of TF32; 2^26 + 1 has three more than the 24 of float32.
    large = 1 << (12 if dtype == torch.float32 else 26)
    place = torch.arange(max(rows, columns) * terms).reshape(-1, terms)
    x, y = large + place[:rows] % 3 - 1, large + 1 - place[:columns] % 2
    truth = (x[:, None] * y).sum(2)  # below 2^59
    found = torch.mm(x.to(device, dtype), y.to(device, dtype).t()).sort(dim=1).values.cpu()  # sorts are needed too
    truth = truth.sort(dim=1).values
    rounded = found.double().round().long()
    bound = product_bound(terms) * (1 if dtype == torch.float32 else 2.0**-29) * float(truth.max())
    return float((rounded - truth).abs().max()) / bound if bool(found.isfinite().all()) else float("inf")


@contextlib.contextmanager
def exact(device: torch.device) -> Iterator[None]:
    """Products of float32 in float32, and one thread a call; what the user has set is restored.

    Several threads may be inside at once: the first one remembers what holds outside, the last one restores it. Calls
    of torch use one thread because the back-end has its own threads.
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
