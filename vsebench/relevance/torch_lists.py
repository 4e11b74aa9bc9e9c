"""Ragged lists and sums in a fixed order as tensor code, for the rows of CIDEr-D and SPICE."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

Tensor = Any  # torch counts as untyped


def tensor(array: Any, device: str) -> Tensor:
    """A copy of an array on the device."""
    return torch.tensor(np.ascontiguousarray(array), device=device)


def expand(start: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """The entries of some rows of a ragged list, one row after the other: the index into ``rows``, and the entry.

    Args:
        start: (row + 1,) int64, where the entries of each row start.
        rows: (n,) int64.
    """
    size = start[rows + 1] - start[rows]
    which = torch.arange(len(rows), device=rows.device).repeat_interleave(size)
    behind = size.cumsum(0)
    place = torch.arange(len(which), device=rows.device) - (behind - size)[which]
    return which, start[rows][which] + place


def add_in_order(total: Tensor, key: Tensor, value: Tensor) -> None:
    """``total[key[0]] += value[0]``, and so on, one after the other: with the roundings of such a loop.

    The additions to one number are made in rounds, its first one in the first round; within a round no two meet.
    """
    if not len(key):
        return
    for chosen in rounds(key):
        total[key[chosen]] += value[chosen]


def rounds(key: Tensor) -> tuple[Tensor, ...]:
    """The indices of the first occurrences of all keys, of the second ones, and so on."""
    order = key.argsort(stable=True)
    ordered = key[order]
    place = torch.arange(len(key), device=key.device)
    new = torch.ones_like(place, dtype=torch.bool)
    new[1:] = ordered[1:] != ordered[:-1]
    occurrence = place - torch.where(new, place, 0).cummax(0).values
    by_round = occurrence.argsort(stable=True)
    found: tuple[Tensor, ...] = order[by_round].split(torch.bincount(occurrence).tolist())
    return found
