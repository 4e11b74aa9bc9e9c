"""Products and convolutions of float32 in float32, by the settings of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


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
    found = [(operation, _own(operation)) for operation in each]
    for operation in each:
        operation.fp32_precision = "ieee"

    def restore() -> None:
        for operation, value in found:
            operation.fp32_precision = value

    return restore


def _set_older(products: str, convolutions: bool) -> None:
    torch.set_float32_matmul_precision(products)
    torch.backends.cudnn.allow_tf32 = convolutions


def _own(operation: Any) -> str:
    """The precision that is set for an operation on a device; ``none`` where it is the one of all operations."""
    value = operation.fp32_precision
    operation.fp32_precision = "none"
    inherited = operation.fp32_precision
    operation.fp32_precision = value
    return "none" if value == inherited else str(value)
