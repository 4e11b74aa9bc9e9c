"""The canonical order of blocks of queries: products and their order are made on the device.

Scores are float32 products, or for deep orders float64 products with the mean of the query subtracted, rounded to
float32, with the error bounds of ``rank.order``, which settles near-ties by canonical score on the processor. A device
computes one block of queries at a time, whatever the number of threads that ask: they settle and measure one while it
orders the next. On the processor only the tests order by it: torch sorts seven times as slowly there (70 ns a number,
not 9), and its search for the best takes longer than that sort.
"""

from __future__ import annotations

import contextlib
import threading

import numpy as np
import torch

from ...numeric.torch_support import device_faults, within_memory
from ...types import Int, Tops
from ..order import (
    ErrorBound,
    Found,
    complete_order,
    exact_scores,
    float32_bound,
    float64_bound,
    is_deep,
    resolve_near_ties,
    size_of,
)
from ..scorers import Dot, Scorer
from .settings import TILE_SCORES, exact
from .vectors import Resident, Tensor, host, resident, tensor

SPARE_ITEMS = 64  # candidates listed at first, beyond k
TASK_SCORES = 1 << 24  # scores of a task; more if a gallery is so large that few queries remain
MIN_QUERIES = 64  # queries
_DEVICE_LOCK = threading.Lock()


def order_of(device: torch.device, scorer: Scorer, queries: Int, k: int, gallery: Int | None) -> Tops:
    """The k best of some queries, in canonical order; see ``order.order``, which orders given scores.

    Args:
        device: of the computation.

    Raises:
        DeviceMemory: the device has too little memory.
        DeviceFault: its products are less precise than they have to be.
    """
    if not isinstance(scorer, Dot):
        return complete_order(scorer, queries, k, gallery)
    width = size_of(scorer, gallery)

    def work(share: int) -> Tops:
        # A task may have fewer scores than a block: divide its actual scores.
        step = max(1, min(TILE_SCORES[device.type], len(queries) * width) // share // max(width, 1))
        blocks = [queries[a : a + step] for a in range(0, len(queries), step)]
        return Tops.joined([_of_block(device, scorer, block, k, gallery) for block in blocks])

    return within_memory(device, work)


def together(gallery: int, k: int) -> int:
    """How many queries a task orders together, see ``rank.order.Order``."""
    return max(1, TASK_SCORES // gallery, min(MIN_QUERIES, TILE_SCORES["cuda"] // gallery))


def _of_block(device: torch.device, scorer: Dot, queries: Int, k: int, gallery: Int | None) -> Tops:
    deep = is_deep(scorer, k, size_of(scorer, gallery))
    bound = (float64_bound if deep else float32_bound)(scorer, queries)
    with exact(device), device_faults(device), contextlib.nullcontext() if device.type == "cpu" else _DEVICE_LOCK:
        vectors, items = resident(scorer, device), None if gallery is None else tensor(gallery, device)
        scores, centre = (_float64_rows if deep else _float32_rows)(vectors, tensor(queries, device), items)
        places, ordered, _ = found = _best(scores, k, bound)
        first = places[:, 0].astype(np.int64)
        known = exact_scores(scorer, queries, first if gallery is None else gallery[first])
        allowed = bound.rate * np.abs(ordered[:, 0]) + bound.base
        vectors.compare(tensor(np.abs(ordered[:, 0] + host(centre) - known) <= allowed, device))
        vectors.check()
    return resolve_near_ties(scorer, found, queries, k, bound, gallery)


def _float32_rows(vectors: Resident, queries: Tensor, gallery: Tensor | None) -> tuple[Tensor, Tensor]:
    """(query, gallery) float32 scores, and (query,) zeros: nothing is subtracted."""
    rows = vectors.product(queries, slice(None) if gallery is None else gallery, torch.float32)
    return rows, torch.zeros(len(queries), dtype=torch.float64, device=vectors.device)


def _float64_rows(vectors: Resident, queries: Tensor, gallery: Tensor | None) -> tuple[Tensor, Tensor]:
    """(query, gallery) float64 scores, less about the mean of those of the query, rounded to float32; (query,) it."""
    items, dim = vectors.y.vectors.shape
    n, step = items if gallery is None else len(gallery), max(1, TILE_SCORES[vectors.device.type] // max(dim, 1))
    rows, centre = torch.empty((len(queries), n), dtype=torch.float32, device=vectors.device), torch.zeros(())
    for a in range(0, n, step):
        some = slice(a, a + step) if gallery is None else gallery[a : a + step]
        part = vectors.product(queries, some, torch.float64)
        centre = part.mean(dim=1) if a == 0 else centre
        rows[:, a : a + step] = part.sub_(centre[:, None])
    return rows, centre


def _best(rows: Tensor, k: int, bound: ErrorBound) -> Found:
    """All items that can be among the k best of every row, best first, as ``rank.order.best_of``."""
    n, base = rows.shape[1], tensor(bound.base, rows.device)
    width = min(k + SPARE_ITEMS, n)
    while 2 * width < n:
        value, place = rows.topk(width, dim=1)
        kth, last = value[:, k - 1].double(), value[:, -1].double()
        if bool((kth - last > bound.rate * (kth.abs() + last.abs()) + 2 * base).all()):
            break
        width *= 2
    else:
        value, place = rows.sort(dim=1, descending=True)
    return host(place.to(torch.int32)), host(value), np.full(len(rows), value.shape[1])
