"""Tensor code where a device has too little memory: once more with less at a time, then an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

from ..errors import DeviceMemory
from ..options import spell

SHARES = (1, 8)  # of what is computed together, one after the other where the device has too little memory
# Of errors that are no OutOfMemoryError: cuBLAS and the context of a device take memory past the allocator of torch.
WANT = ("CUBLAS_STATUS_ALLOC_FAILED", "CUDA error: out of memory")
Made = TypeVar("Made")


def within_memory(device: Any, work: Callable[[int], Made]) -> Made:
    """``work(share)``, and once again with less at a time where the device has too little memory.

    Args:
        device: the device, or its name.
        work: its argument divides how much is computed together; must start afresh.

    Raises:
        DeviceMemory: the memory is not enough for the smaller pieces either.
    """
    for share in SHARES:
        try:
            return work(share)
        except RuntimeError as error:
            if not is_want(error):
                raise
        # Behind the handler, because the error holds the tensors of the attempt.
        if torch.device(device).type == "cuda":
            torch.cuda.empty_cache()
    raise DeviceMemory(
        f"the device {device} has too little free memory for the vectors and a tile of scores or gains",
        fix=f"end what else runs on it, or use {spell('backend', 'numpy')}",
    )


def is_want(error: RuntimeError) -> bool:
    """Whether an error of torch is want of memory."""
    return isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in WANT)
