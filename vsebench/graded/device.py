"""Gains whose rows are computed on a device of torch."""

from __future__ import annotations

from dataclasses import replace

from ..relevance.cider.gains import CiderGains
from ..relevance.gains import Gains
from ..relevance.spice.gains import SpiceGains


def on_device(gains: Gains, device: str) -> Gains:
    """The same gains, with the same bits; those of other kinds than CIDEr-D and SPICE are returned as they are.

    Args:
        gains: any kind.
        device: of torch, such as ``cuda:0``.
    """
    if isinstance(gains, CiderGains):
        from ..relevance.cider import torch_rows

        return replace(gains, features=torch_rows.on_device(gains.features, device))
    if isinstance(gains, SpiceGains):
        from ..relevance.spice import torch_rows as torch_spice

        return torch_spice.on_device(gains, device)
    return gains
