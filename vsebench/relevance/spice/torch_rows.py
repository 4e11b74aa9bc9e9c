"""Rows of SPICE as tensor code: matches are counted as integers, F is the same float32 quotient as in ``kernels``."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
import torch

from ...types import Direction, Vectors
from ..torch_lists import Tensor, expand, tensor
from .gains import SpiceGains

PIECE = 1 << 22  # values computed together


@dataclass(frozen=True, eq=False)
class TensorSpice(SpiceGains):
    """SPICE whose rows are computed on a device of torch; pairs as by ``SpiceGains``."""

    device: str = "cpu"
    _kept: dict[Direction, tuple[Tensor, ...]] = field(default_factory=dict)

    def _rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        if direction not in self._kept:
            self._kept[direction] = tuple(tensor(array, self.device) for array in self._lists(direction))
        size = self._kept[direction][-1]
        out = np.empty((stop - start, len(size)), np.float32)
        step = max(1, PIECE // max(len(size), 1))
        for a in range(start, stop, step):
            b = min(a + step, stop)
            out[a - start : b - start] = _f(self._kept[direction], a, b).cpu().numpy()
        return out


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
