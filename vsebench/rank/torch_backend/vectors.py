"""Vectors on the device."""

from __future__ import annotations

import threading
import warnings
import weakref
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from ...errors import DeviceFault
from ...options import spell
from ...types import Direction
from ..scorers import Dot, Scorer

SHARE = 8  # of the free memory of a GPU: what a float64 copy takes is at most one in so many
KEPT_DOUBLE = 1 << 28  # bytes of the vectors of one side up to which their float64 copy is kept on the processor
Tensor = Any  # torch counts as untyped

_LOCK = threading.Lock()
_KEPT: weakref.WeakKeyDictionary[Scorer, dict[str, Resident]] = weakref.WeakKeyDictionary()


@dataclass(eq=False)
class Side:
    """The images or the captions.

    Attributes:
        vectors: (item, dim) float32.
        scale: (item,) float64 factors on inner products.
        double: (item, dim) float64, the vectors, once they were needed and are not too large.
    """

    vectors: Tensor
    scale: Tensor
    double: Tensor | None = field(default=None)

    def float64(self, items: Tensor | slice) -> Tensor:
        """(item, dim) float64 vectors of some items."""
        if self.double is None and 8 * self.vectors.numel() <= _room(self.vectors.device):
            self.double = self.vectors.double()
        return self.vectors[items].double() if self.double is None else self.double[items]


def _room(device: torch.device) -> int:
    """Bytes that the float64 copy of one side may take."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0]) // SHARE
    return KEPT_DOUBLE


@dataclass(frozen=True, eq=False)
class Resident:
    """What scores are computed from, on the device.

    Attributes:
        device, images, captions: where, and the vectors.
        cosine: inner products are scaled.
        outside: () int64, how many scores were further from the canonical one than their bound allows.
    """

    device: torch.device
    images: Side
    captions: Side
    cosine: bool
    outside: Tensor

    def sides(self, direction: Direction) -> tuple[Side, Side]:
        """Queries and gallery."""
        return (self.images, self.captions) if direction == "i2t" else (self.captions, self.images)

    def compare(self, inside: Tensor) -> None:
        """Count the scores whose distance to the canonical one, known by now, is not within the bound."""
        self.outside.add_((~inside).sum())

    def check(self) -> None:
        """Wait for the device, and refuse its scores where one was outside.

        Raises:
            DeviceFault: one was.
        """
        if found := int(self.outside):
            self.outside.zero_()
            raise DeviceFault(
                f"the products of the device {self.device} are less precise than they have to be: {found:,} scores "
                "are further from the canonical ones than the bound",
                fix=f"use {spell('backend', 'numpy')}, or switch TF32 and emulated products off for this device",
            )


def tensor(array: Any, device: torch.device) -> Tensor:
    """An array on the device; on the processor the same memory where the array has one stride an axis of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # arrays are read-only; nothing here writes to them
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)


def resident(scorer: Dot, device: torch.device) -> Resident:
    """The vectors of a scorer on the device; copied once."""
    with _LOCK:
        kept = _KEPT.setdefault(scorer, {})
        if str(device) not in kept:
            sides = zip((scorer.images, scorer.captions), scorer.scales, strict=True)
            images, captions = (Side(tensor(vectors, device), tensor(scale, device)) for vectors, scale in sides)
            outside = torch.zeros((), dtype=torch.int64, device=device)
            kept[str(device)] = Resident(device, images, captions, scorer.cosine, outside)
        return kept[str(device)]


def host(values: Tensor) -> Any:
    """The array of a tensor on the device."""
    return values.contiguous().cpu().numpy()


def dtype_of(scorer: Scorer) -> torch.dtype:
    """The dtype of the scorer's tiles."""
    return torch.float64 if np.dtype(scorer.dtype) == np.float64 else torch.float32
