"""Where torch computes, and with which precision."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ..errors import UsageError, count_of
from ..numeric.parallel import in_turn
from ..options import spell

NAMES = ("auto", "cpu", "cuda")  # of one device
Item = TypeVar("Item")
Made = TypeVar("Made")


def device_of(name: str) -> str:
    """The device of a name (auto, cpu or cuda): cpu or cuda.

    Raises:
        UsageError: another name, or torch finds no GPU.
    """
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name not in NAMES:
        raise UsageError(f"the device is '{name}'", fix="use auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("the device is 'cuda', and torch finds no GPU here", fix="use auto or cpu")
    return name


def devices_of(name: str) -> list[str]:
    """The devices of a name: auto, cpu, cuda, all (the GPUs of this machine) or their numbers, as in 0,1.

    Raises:
        UsageError: another name, GPUs that torch does not find, or GPUs of different kinds (their last bits differ).
    """
    import torch

    numbered = re.fullmatch(r"\d{1,3}(,\d{1,3})*", name, re.ASCII)
    if name in NAMES:
        return [device_of(name)]
    if name != "all" and not numbered:
        raise UsageError(f"{spell('device')} is '{name}'", fix="use auto, cpu, cuda, all, or GPUs by number: 0,1")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    numbers = [int(number) for number in name.split(",")] if numbered else list(range(count))
    if not numbers or max(numbers) >= count:
        found = f"torch finds {count_of(count, 'GPU')} here" if count else "torch finds no GPU here"
        fix = f"use numbers below {count}, or all" if count else "use auto or cpu"
        raise UsageError(f"{spell('device')} is '{name}', and {found}", fix=fix)
    if len({*numbers}) < len(numbers):
        raise UsageError(f"{spell('device')} is '{name}'", fix="list every GPU once")
    kinds = list(dict.fromkeys(torch.cuda.get_device_name(number) for number in numbers))
    if len(kinds) > 1:
        what = f"{spell('device')} is '{name}', and these are of different kinds: {', '.join(kinds)}"
        raise UsageError(what, fix="use GPUs of one kind: the last bits of vectors depend on it")
    return [f"cuda:{number}" for number in numbers]


def in_turn_on(devices: Sequence[str], work: Callable[[int, Item], Made], items: Sequence[Item]) -> list[Made]:
    """``work(number of a device, item)`` of every item, in their order.

    Each device has a thread, which takes the next item whenever it has finished one.
    """
    if len(devices) == 1:
        return [work(0, item) for item in items]
    import torch

    found: dict[int, Made] = {}

    def worker(number: int) -> Callable[[int], None]:
        def one(at: int) -> None:
            current = torch.cuda.device(devices[number]) if devices[number] != "cpu" else contextlib.nullcontext()
            with torch.inference_mode(), current:  # both hold for one thread
                found[at] = work(number, items[at])

        return one

    in_turn(range(len(items)), worker, len(devices), None)
    return [found[at] for at in range(len(items))]


def facts(device: str) -> dict[str, str | int]:
    """What the last bits of a result depend on beside the model: the kind of device, and on the CPU the threads."""
    import torch

    if device != "cpu":
        return {"device": f"cuda, {torch.cuda.get_device_name(device)}"}
    return {"device": device, "threads": torch.get_num_threads()}


@contextlib.contextmanager
def float32(threads: int | None) -> Iterator[None]:
    """No gradients, no precision below float32 and no choice of algorithms by speed; threads of torch on the CPU."""
    import torch

    from ..numeric.torch_support import full_precision

    cudnn = torch.backends.cudnn
    before, restore = (cudnn.deterministic, cudnn.benchmark, torch.get_num_threads()), full_precision()
    cudnn.deterministic, cudnn.benchmark = True, False
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            yield
    finally:
        restore()
        cudnn.deterministic, cudnn.benchmark = before[:2]
        torch.set_num_threads(before[2])
