"""What tensor code needs of torch: float32 in full precision, less at a time where a device has too little memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch

from ..errors import DeviceFault, DeviceMemory, first_line, is_of_torch
from ..options import spell

DIVISORS = (1, 8)  # batch sizes to try: complete, then an eighth if the device runs out of memory
# Errors other than OutOfMemoryError: cuBLAS and the context of a device take memory past the allocator of torch.
OUT_OF_MEMORY = ("CUBLAS_STATUS_ALLOC_FAILED", "CUDA error: out of memory")
Made = TypeVar("Made")


def within_memory(device: Any, work: Callable[[int], Made]) -> Made:
    """``work(share)``, and once again with less at a time if the device has too little memory.

    Args:
        device: the device, or its name.
        work: its argument divides how much is computed together; must start afresh.

    Raises:
        DeviceMemory: the memory is not enough for the smaller pieces either.
    """
    for share in DIVISORS:
        try:
            return work(share)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        # Behind the handler, because the error holds the tensors of the attempt.
        if torch.device(device).type == "cuda":
            torch.cuda.empty_cache()
    raise DeviceMemory(
        f"the device {device} has too little free memory for the vectors and a tile of scores",
        fix=f"stop other programs on it, or use {spell('backend', 'numpy')}",
    )


@contextlib.contextmanager
def device_faults(device: Any) -> Iterator[None]:
    """Around code of a device alone, without calls of the user's: an error of torch on a CUDA device is its fault.

    Want of memory is left to ``within_memory``.

    Raises:
        DeviceFault: torch fails.
    """
    try:
        yield
    except RuntimeError as error:
        plain = is_of_torch(error) or type(error) is RuntimeError  # a class below it is an error of Python's own
        if torch.device(device).type != "cuda" or is_out_of_memory(error) or not plain:
            raise
        what = f"torch failed on the GPU: {first_line(error)}"
        raise DeviceFault(what, fix=f"try again, or use {spell('backend', 'numpy')}") from error


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether torch ran out of memory."""
    return isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in OUT_OF_MEMORY)


def full_precision() -> Callable[[], None]:
    """Switch TF32 and bfloat16 off for float32 numbers, on every device; returns what restores the settings.

    Torch 2.9 has a setting for every device and operation. Once it is used, the older ones can no longer be read.
    """
    backends = torch.backends
    if not hasattr(backends.cuda.matmul, "fp32_precision"):
        before = torch.get_float32_matmul_precision(), backends.cudnn.allow_tf32
        _set_older("highest", False)
        return lambda: _set_older(*before)
    each = (backends.cuda.matmul, backends.cudnn.conv, backends.mkldnn.matmul, backends.mkldnn.conv)
    found = [(operation, _override(operation)) for operation in each]
    for operation in each:
        operation.fp32_precision = "ieee"

    def restore() -> None:
        for operation, value in found:
            operation.fp32_precision = value

    return restore


def _set_older(products: str, convolutions: bool) -> None:
    torch.set_float32_matmul_precision(products)
    torch.backends.cudnn.allow_tf32 = convolutions


def _override(operation: Any) -> str:
    """The precision that is set for an operation on a device; ``none`` where it is the one of all operations."""
    value = operation.fp32_precision
    operation.fp32_precision = "none"
    inherited = operation.fp32_precision
    operation.fp32_precision = value
    return "none" if value == inherited else str(value)
