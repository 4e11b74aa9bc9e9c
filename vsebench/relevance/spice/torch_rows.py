"""Rows of SPICE as tensor code: matches are counted as integers, F is the same float32 quotient as in ``kernels``."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property

import torch

from ...types import DIRECTIONS, Direction, Vectors
from ..torch_lists import Tensor, Tiles, expand, tensor
from .postings import Postings


@dataclass(frozen=True, eq=False)
class TensorPostings(Postings):
    """Postings from which rows are counted on a device of torch; pairs as by ``Postings``."""

    device: str = "cpu"
    _tiles: Tiles = field(init=False)

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """See ``Postings.rows``."""
        return self._tiles.rows(direction, start, stop)

    def __post_init__(self) -> None:
        shape = len(self.image_size), len(self.caption_size)
        tiles = Tiles(self.device, lambda direction, a, b: _f(self._on_device[direction], a, b), shape)
        object.__setattr__(self, "_tiles", tiles)

    @cached_property
    def _on_device(self) -> dict[Direction, tuple[Tensor, ...]]:
        return {d: tuple(tensor(array, self.device) for array in self.lists(d)) for d in DIRECTIONS}


def _f(lists: tuple[Tensor, ...], start: int, stop: int) -> Tensor:
    """(query, gallery) float32 F of queries ``start:stop``; the lists are those of ``kernels.f_rows``."""
    tuple_ptr, tuples, match_ptr, match, size, gallery_size = lists
    n = len(gallery_size)
    query, at = expand(tuple_ptr, torch.arange(start, stop, device=size.device))
    which, item = expand(match_ptr, tuples[at].long())
    found = torch.bincount(query[which] * n + match[item], minlength=(stop - start) * n).view(-1, n)
    both = size[start:stop, None] + gallery_size
    return 2 * found.float() / both.clamp(min=1)


def on_device(postings: Postings, device: str) -> TensorPostings:
    """The same postings, with rows computed on a device of torch."""
    return TensorPostings(**{f.name: getattr(postings, f.name) for f in fields(Postings)}, device=device)
