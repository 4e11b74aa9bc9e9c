"""One pass over tiles of scores on the device: ``count.scan_tiles`` as tensor code."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from ...numeric.parallel import Progress, in_turn
from ...numeric.torch_support import device_faults, within_memory
from ..count import Counter, tiles
from ..scorers import Dot, Scorer
from .count import SPAN, PairCounter, Tile
from .settings import SIZES, Sizes, exact
from .vectors import Resident, Tensor, dtype_of, resident, tensor

SIDE = 1 << 13  # images of a tile on a device, if more scores fit than those of all captions with them


def scan(
    device: torch.device,
    scorer: Scorer,
    counters: Sequence[Counter],
    threads: int,
    tile_shape: tuple[int, int] | None,
    progress: Progress | None,
) -> None:
    """Add to the counts of ``counters``; see ``count.scan_tiles``.

    Args:
        device: where it is computed; on a CUDA device by one thread.

    Raises:
        DeviceMemory: the device has too little memory.
        DeviceFault: its products are less precise than float32.
    """

    def work(share: int) -> None:
        with device_faults(device):
            attempt = _Scan(device, scorer, counters, threads, tile_shape, share)
        attempt.run(progress)

    with exact(device):
        within_memory(device, work)


class _Scan:
    """One attempt; the counters change at its end."""

    def __init__(
        self,
        device: torch.device,
        scorer: Scorer,
        counters: Sequence[Counter],
        threads: int,
        tile_shape: tuple[int, int] | None,
        share: int,
    ):
        self.device, self.scorer = device, scorer
        self.threads = 1 if device.type == "cuda" else threads
        self.of = resident(scorer, device) if isinstance(scorer, Dot) else None
        sizes = SIZES[device.type].divided(share)
        self.counters = [PairCounter(counter, self.of, device, self.threads, sizes) for counter in counters]
        height, width = tile_shape or _tile_shape(scorer, SIZES[device.type], self.threads)
        self.height, self.width = max(1, min(height, scorer.shape[0]) // share), min(width, scorer.shape[1])

    def run(self, progress: Progress | None) -> None:
        """Compute every tile once."""
        n_image, n_caption = self.scorer.shape
        corners = [(r, c) for c in range(0, n_caption, self.width) for r in range(0, n_image, self.height)]

        def worker(part: int) -> Callable[[tuple[int, int]], None]:
            size = _padded(self.height) * _padded(self.width)
            with device_faults(self.device):
                room = torch.empty(size, dtype=dtype_of(self.scorer), device=self.device)

            def work(corner: tuple[int, int]) -> None:
                with exact(self.device), device_faults(self.device):
                    tile = self._tile(*corner, room)
                    for counter in self.counters:
                        counter.count(tile, part)

            return work

        in_turn(corners, worker, self.threads, progress)
        with device_faults(self.device):
            if self.of is not None:
                self.of.check()
            totals = [counter.found() for counter in self.counters]  # all, before one changes
        for counter, total in zip(self.counters, totals, strict=True):
            counter.counter.counts[:, 0] += total

    def _tile(self, r0: int, c0: int, room: Tensor) -> Tile:
        r1, c1 = min(r0 + self.height, self.scorer.shape[0]), min(c0 + self.width, self.scorer.shape[1])
        height, width = _padded(r1 - r0), _padded(c1 - c0)
        scores = room[: height * width].view(height, width)
        scores[r1 - r0 :] = -torch.inf
        scores[:, c1 - c0 :] = -torch.inf
        out = scores[: r1 - r0, : c1 - c0]
        if self.of is None:
            given = np.empty(out.shape, self.scorer.dtype)
            out.copy_(tensor(self.scorer.block(slice(r0, r1), slice(c0, c1), given), self.device))
        else:
            _products(self.of, slice(r0, r1), slice(c0, c1), out)
        return Tile(scores, (r0, r1), (c0, c1))


def _products(of: Resident, images: slice, captions: slice, out: Tensor) -> None:
    """Fill ``out`` (image, caption) with float32 products; for the cosine, of vectors that are scaled before."""
    x, y = of.images.vectors[images], of.captions.vectors[captions]
    if of.cosine:
        x, y = x * of.images.scale[images, None].float(), y * of.captions.scale[captions, None].float()
    torch.mm(x, y.t(), out=out)


def _tile_shape(scorer: Scorer, sizes: Sizes, threads: int) -> tuple[int, int]:
    """(image, caption) size of a tile."""
    if not sizes.tile:
        return tiles(scorer.shape, np.dtype(scorer.dtype).itemsize, threads)
    height = min(scorer.shape[0], max(SIDE, sizes.tile // scorer.shape[1]))
    return height, min(scorer.shape[1], max(SPAN, sizes.tile // height))


def _padded(n: int) -> int:
    return -(-n // SPAN) * SPAN
