"""Gains whose rows are computed on a device of torch."""

from __future__ import annotations

from dataclasses import replace

from ..relevance.cider.features import Features
from ..relevance.gains import Gains
from ..relevance.spice.postings import Postings


def on_device(gains: Gains, device: str) -> Gains:
    """The same gains, with the same bits; those of other kinds than CIDEr-D and SPICE are returned as they are.

    Args:
        gains: any kind.
        device: of torch, such as ``cuda:0``.
    """
    if isinstance(gains.values, Features):
        from ..relevance.cider import torch_rows

        return replace(gains, values=torch_rows.on_device(gains.values, device))
    if isinstance(gains.values, Postings):
        from ..relevance.spice import torch_rows as torch_spice

        return replace(gains, values=torch_spice.on_device(gains.values, device))
    return gains
