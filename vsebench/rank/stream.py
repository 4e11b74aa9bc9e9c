"""Tiles of scores, computed and processed in threads.

A thread multiplies a tile with a single-threaded BLAS and processes it while it is in the cache. That is faster than
a product on all cores followed by processing on all cores: idle BLAS threads wait actively on busy cores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..numeric.parallel import Progress, in_turn
from .full_order import float64_rows
from .scorers import Dot, Scorer

TILE_COLUMNS = 1280
TILE_BYTES = 64 << 20  # of all tiles together

Process = Callable[[npt.NDArray[Any], int, int, int], None]


def tiles(shape: tuple[int, int], itemsize: int, threads: int) -> tuple[int, int]:
    """(image, caption) size of a tile, such that the tiles of all threads fit a fixed memory."""
    width = min(TILE_COLUMNS, shape[1])
    return max(1, min(shape[0], TILE_BYTES // threads // (itemsize * width))), width


def stream(
    scorer: Scorer,
    process: Process,
    threads: int,
    tile_shape: tuple[int, int] | None,
    progress: Progress | None,
    rounded: bool = False,
) -> None:
    """Compute every tile once and call ``process(tile, first row, first column, thread number)``.

    ``process`` runs in several threads at once; a thread number is used by one thread at a time.

    Args:
        scorer: scores of all images with all captions.
        process: called with every tile; must not keep it.
        threads: number of threads.
        tile_shape: (image, caption) size; None for the size from ``tiles``.
        progress: called with (tiles done, tiles in all).
        rounded: tiles are float64 products of the vectors rounded to float32.
    """
    n_image, n_caption = scorer.shape
    height, width = tile_shape or tiles(scorer.shape, np.dtype(scorer.dtype).itemsize, threads)
    corners = [(r, c) for c in range(0, n_caption, width) for r in range(0, n_image, height)]

    def worker(part: int) -> Callable[[tuple[int, int]], None]:
        buffer = np.empty(min(height, n_image) * min(width, n_caption), scorer.dtype)

        def work(corner: tuple[int, int]) -> None:
            r0, c0 = corner
            r1, c1 = min(r0 + height, n_image), min(c0 + width, n_caption)
            out = buffer[: (r1 - r0) * (c1 - c0)].reshape(r1 - r0, c1 - c0)
            if rounded:
                assert isinstance(scorer, Dot)
                float64_rows(scorer, "i2t", np.arange(r0, r1), np.arange(c0, c1), out, centred=False)
            else:
                out = scorer.tile(r0, r1, c0, c1, out)
            process(out, r0, c0, part)

        return work

    scorer.prepare(height)
    in_turn(corners, worker, threads, progress)
