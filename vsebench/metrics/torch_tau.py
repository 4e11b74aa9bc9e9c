"""Pairs of Kendall's tau as tensor code: the integers of ``tau.pair_counts``.

How many items above a place of the ranking have a smaller gain is counted by a radix sort, from the highest bit of the
ranks of the gains to the lowest. At every bit the items with equal higher bits form a group, in the order of the
ranking; of two items that differ first in this bit, the one with 0 has the smaller gain. So each item with 1 counts the
items with 0 before it in its group, and then zeros go before ones. In the end a group has one gain.

On the processor the kernel is much faster, and is used there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ..numeric.torch_support import within_memory
from ..types import Bool, Int
from .gain_order import GainOrder

PIECE = {"cpu": 1 << 20, "cuda": 1 << 25}  # items counted together
Tensor = Any  # torch counts as untyped


def pair_counts(order: GainOrder, tied: Bool, count: Int, ks: Sequence[int], device: str) -> npt.NDArray[np.int64]:
    """(query, ks, 5) as ``tau.pair_counts``, on a device of torch.

    Raises:
        DeviceMemory: the device has too little memory.
    """
    out = np.zeros((len(tied), len(ks), 5), np.int64)
    width = int(count.max(initial=0))
    if not len(ks) or not width:
        return out
    most = min(PIECE[torch.device(device).type], len(tied) * width)

    def work(share: int) -> None:
        step = max(1, most // share // width)
        for a in range(0, len(tied), step):
            own = slice(a, a + step)
            some = GainOrder(order.items[own], order.gains[own], order.listed[own], order.ranked[own])
            out[own] = _counts(some, tied[own, :width], count[own], ks, torch.device(device)).cpu().numpy()

    within_memory(device, work)
    return out


def _counts(order: GainOrder, tied: Bool, count: Int, ks: Sequence[int], device: torch.device) -> Tensor:
    places, gains, listed, equal, size = (
        torch.tensor(a, device=device) for a in (order.items, order.gains, order.listed, tied, count)
    )
    value = _ranks(places, gains, listed, equal.shape[1])
    less, same = smaller_above(value)
    place = torch.arange(equal.shape[1], device=device).expand_as(value)
    concord = place - 2 * less - same
    begin = torch.where(equal, 0, place).cummax(dim=1).values
    tied_rows = equal.any(dim=1)
    if bool(tied_rows.any()):
        # Pairs of equal scores agree with nothing: what they added is removed.
        key = begin[tied_rows] * (int(value.max()) + 1) + value[tied_rows]
        less_there, same_there = smaller_above(_dense(key))
        less_there -= begin[tied_rows]  # all items of runs above have a smaller key
        inside = (place - begin)[tied_rows]
        concord[tied_rows] -= inside - 2 * less_there - same_there
    depth = torch.minimum(torch.tensor(ks, device=device)[None, :], size[:, None])
    sums = (concord, place - begin, same, ~equal, same == 0)
    return torch.stack([_up_to(what.long(), depth) for what in sums], dim=2)


def _up_to(values: Tensor, depth: Tensor) -> Tensor:
    """(query, ks) sums of the first ``depth`` (query, ks) of ``values`` (query, width)."""
    return torch.nn.functional.pad(values.cumsum(dim=1), (1, 0)).gather(1, depth)


def _ranks(places: Tensor, gains: Tensor, listed: Tensor, width: int) -> Tensor:
    """(query, width) int64 dense ranks of the gains by place, from 0; items not listed have the smallest."""
    inside = torch.arange(gains.shape[1], device=gains.device) < listed[:, None]
    new = inside.clone()
    new[:, 1:] &= gains[:, 1:] != gains[:, :-1]
    rank = new.cumsum(dim=1)
    rank = torch.where(inside, rank[:, -1:] + 1 - rank, 0)
    # What is not listed is written behind the last place.
    out = torch.zeros((len(rank), width + 1), dtype=torch.int64, device=gains.device)
    out.scatter_(1, torch.where(inside, places.long(), width), rank)
    return out[:, :width]


def _dense(key: Tensor) -> Tensor:
    """The ranks of the numbers of every row, equal ones the same, from 0."""
    ordered, place = key.sort(dim=1)
    rank = torch.zeros_like(key)
    rank[:, 1:] = (ordered[:, 1:] != ordered[:, :-1]).cumsum(dim=1)
    return torch.zeros_like(key).scatter_(1, place, rank)


def smaller_above(value: Tensor) -> tuple[Tensor, Tensor]:
    """(row, place) int64, how many numbers before a place are smaller, and how many are equal.

    Args:
        value: (row, place) int64, small numbers from 0.
    """
    bits = int(value.max()).bit_length()
    first = torch.zeros((len(value), (1 << bits) + 1), dtype=torch.int64, device=value.device)
    first.scatter_add_(1, value + 1, torch.ones_like(value))
    first = first.cumsum(dim=1)  # how many numbers are smaller than each: where its group begins
    less = torch.zeros_like(value)
    at = torch.arange(value.shape[1], device=value.device).repeat(len(value), 1)
    for bit in range(bits - 1, -1, -1):
        one = (value >> bit) & 1
        zeros = torch.zeros((len(value), value.shape[1] + 1), dtype=torch.int64, device=value.device)
        zeros[:, 1:].scatter_(1, at, 1 - one)
        zeros = zeros.cumsum(dim=1)
        begin = first.gather(1, (value >> (bit + 1)) << (bit + 1))
        before = zeros.gather(1, at) - zeros.gather(1, begin)
        less += one * before
        middle = first.gather(1, ((value >> bit) | 1) << bit)
        at = torch.where(one == 1, middle + at - begin - before, begin + before)
    return less, at - first.gather(1, value)
