"""Rows of SPICE as tensor code: matches are counted as integers, F is the same float32 quotient as in ``kernels``."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property

import torch

from ...types import DIRECTIONS, Direction, Vectors
from ..torch_lists import Tensor, Tiles, expand, tensor
from .gains import SpiceGains


@dataclass(frozen=True, eq=False)
class TensorSpice(SpiceGains):
    """SPICE whose rows are computed on a device of torch; pairs as by ``SpiceGains``."""

    device: str = "cpu"
    _tiles: Tiles = field(init=False)

    def _rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        return self._tiles.rows(direction, start, stop)

    def __post_init__(self) -> None:
        tiles = Tiles(self.device, lambda direction, a, b: _f(self._on_device[direction], a, b), self.shape)
        object.__setattr__(self, "_tiles", tiles)

    @cached_property
    def _on_device(self) -> dict[Direction, tuple[Tensor, ...]]:
        return {d: tuple(tensor(array, self.device) for array in self._lists(d)) for d in DIRECTIONS}


def _f(lists: tuple[Tensor, ...], start: int, stop: int) -> Tensor:
    """(query, gallery) float32 F of queries ``start:stop``; the lists are those of ``kernels.f_rows``."""
    tuple_ptr, tuples, match_ptr, match, size, gallery_size = lists
    n = len(gallery_size)
    query, at = expand(tuple_ptr, torch.arange(start, stop, device=size.device))
    which, item = expand(match_ptr, tuples[at].long())
    found = torch.bincount(query[which] * n + match[item], minlength=(stop - start) * n).view(-1, n)
    both = size[start:stop, None] + gallery_size
    return 2 * found.float() / both.clamp(min=1)


def on_device(gains: SpiceGains, device: str) -> TensorSpice:
    """The same gains, with rows computed on a device of torch."""
    return TensorSpice(**{f.name: getattr(gains, f.name) for f in fields(SpiceGains)}, device=device)
