"""Vectors on the device, and their products."""

from __future__ import annotations

import threading
import warnings
import weakref
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from ...errors import DeviceFault
from ...options import spell
from ..scorers import Dot

Tensor = Any  # torch counts as untyped

_LOCK = threading.Lock()
_RESIDENT: dict[tuple[int, str, bool], Side] = {}


class Side(NamedTuple):
    """The rows or the columns: (item, dim) float32 vectors, (item,) float64 factors on inner products."""

    vectors: Tensor
    scale: Tensor


@dataclass(frozen=True, eq=False)
class Resident:
    """What scores are computed from, on the device.

    Attributes:
        device, x, y: where, and the vectors.
        cosine: inner products are scaled.
        outside: () int64, how many scores were further from the canonical one than their bound allows.
    """

    device: torch.device
    x: Side
    y: Side
    cosine: bool
    outside: Tensor

    def product(self, rows: Tensor | slice, columns: Tensor | slice, dtype: Any) -> Tensor:
        """(row, column) scores of some rows and columns: products of a dtype."""
        found = torch.mm(self.x.vectors[rows].to(dtype), self.y.vectors[columns].to(dtype).t())
        if self.cosine:
            found *= self.x.scale[rows, None].to(dtype)
            found *= self.y.scale[columns].to(dtype)
        return found

    def compare(self, inside: Tensor) -> None:
        """Count the scores farther from the canonical one than the bound."""
        self.outside.add_((~inside).sum())

    def check(self) -> None:
        """Wait for the device, and refuse its scores if one was outside.

        Raises:
            DeviceFault: one was.
        """
        if found := int(self.outside):
            self.outside.zero_()
            raise DeviceFault(
                f"the products of the device {self.device} are not precise enough: {found:,} scores are further "
                "from the canonical ones than the bound",
                fix=f"use {spell('backend', 'numpy')}, or switch TF32 and emulated products off for this device",
            )


def tensor(array: Any, device: torch.device) -> Tensor:
    """An array on the device; on the processor the same memory if the strides of all axes differ."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # arrays are read-only; nothing here writes to them
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)


def resident(scorer: Dot, device: torch.device) -> Resident:
    """The vectors of a scorer on the device; each side is copied once, also for ``scorer.T``."""
    with _LOCK:
        x, y = (_side(*side, scorer.cosine, device) for side in zip((scorer.x, scorer.y), scorer.scales, strict=True))
    return Resident(device, x, y, scorer.cosine, torch.zeros((), dtype=torch.int64, device=device))


def _side(vectors: Any, scale: Any, cosine: bool, device: torch.device) -> Side:
    """What is on the device of these vectors, for as long as they live."""
    if device.type == "cpu":  # the same memory: a kept tensor would keep the vectors alive
        return Side(tensor(vectors, device), tensor(scale, device))
    key = id(vectors), str(device), cosine
    if key not in _RESIDENT:
        _RESIDENT[key] = Side(tensor(vectors, device), tensor(scale, device))
        weakref.finalize(vectors, _RESIDENT.pop, key, None)
    return _RESIDENT[key]


def host(values: Tensor) -> Any:
    """The array of a tensor on the device."""
    return values.contiguous().cpu().numpy()
