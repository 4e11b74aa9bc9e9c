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
from ...types import Direction
from ..scorers import Dot

Tensor = Any  # torch counts as untyped

_LOCK = threading.Lock()
_KEPT: weakref.WeakKeyDictionary[Dot, dict[str, Resident]] = weakref.WeakKeyDictionary()


class Side(NamedTuple):
    """The images or the captions: (item, dim) float32 vectors, (item,) float64 factors on inner products."""

    vectors: Tensor
    scale: Tensor


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

    def product(self, direction: Direction, queries: Tensor | slice, items: Tensor | slice, dtype: Any) -> Tensor:
        """(query, item) scores of some queries and items: products of a dtype."""
        own, other = (self.images, self.captions) if direction == "i2t" else (self.captions, self.images)
        found = torch.mm(own.vectors[queries].to(dtype), other.vectors[items].to(dtype).t())
        if self.cosine:
            found *= own.scale[queries, None].to(dtype)
            found *= other.scale[items].to(dtype)
        return found

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
