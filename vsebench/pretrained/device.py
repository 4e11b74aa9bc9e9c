"""Where torch computes, and with which precision."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..errors import UsageError


def device_of(name: str) -> str:
    """The device of a name (auto, cpu or cuda): cpu or cuda.

    Raises:
        UsageError: another name, or torch finds no GPU.
    """
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name not in ("cpu", "cuda"):
        raise UsageError(f"the device is '{name}'", fix="use auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("the device is 'cuda', and torch finds no GPU here", fix="use auto or cpu")
    return name


def facts(device: str) -> dict[str, str | int]:
    """What the last bits of a result depend on beside the model: the device, and on the CPU the number of threads."""
    import torch

    if device == "cuda":
        return {"device": f"cuda, {torch.cuda.get_device_name()}"}
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
