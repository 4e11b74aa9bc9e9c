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
from ...types import Direction, Int, Tops
from ..order import ErrorBound, exact_scores, float32_bound, float64_bound, is_deep, rows, settled, size_of
from ..scorers import Dot, Scorer
from .settings import SIZES, exact
from .vectors import Resident, Tensor, host, resident, tensor

SPARE = 64  # candidates beyond k that are listed at first
TOGETHER = 1 << 24  # scores of the queries of a task; more where a gallery is so large that they are few
FEW = 64  # queries
_ONE = threading.Lock()


def order_of(
    device: torch.device, scorer: Scorer, direction: Direction, queries: Int, k: int, gallery: Int | None
) -> Tops:
    """The k best of some queries, in canonical order; see ``order.order``.

    Args:
        device: where it is computed.

    Raises:
        DeviceMemory: the device has too little memory.
        DeviceFault: its products are less precise than they have to be.
    """
    width = size_of(scorer, direction, gallery)

    def work(share: int) -> list[Tops]:
        # A task may have fewer scores than a block: what is divided is what it has.
        step = max(1, min(SIZES[device.type].block, len(queries) * width) // share // max(width, 1))
        blocks = [queries[a : a + step] for a in range(0, len(queries), step)]
        return [_of_block(device, scorer, direction, block, k, gallery) for block in blocks]

    return Tops.joined(within_memory(device, work))


def together(gallery: int, k: int) -> int:
    """How many queries a task orders together, see ``rank.order.Order``."""
    return max(1, TOGETHER // gallery, min(FEW, SIZES["cuda"].block // gallery))


def _of_block(
    device: torch.device, scorer: Scorer, direction: Direction, queries: Int, k: int, gallery: Int | None
) -> Tops:
    tile, centre, of = None, None, None
    with exact(device), device_faults(device), contextlib.nullcontext() if device.type == "cpu" else _ONE:
        if isinstance(scorer, Dot):
            of, query = resident(scorer, device), tensor(queries, device)
            items = None if gallery is None else tensor(gallery, device)
            if is_deep(scorer, k, size_of(scorer, direction, gallery)):
                bound = float64_bound(scorer, direction, queries)
                scores, centre = _float64_rows(of, direction, query, items)
            else:
                bound = float32_bound(scorer, direction, queries)
                scores = _float32_rows(of, direction, query, items)
        else:
            tile, bound = rows(scorer, direction, queries, gallery)
            with np.errstate(over="ignore"):  # what exceeds float32 becomes infinite: near-ties
                scores = tensor(tile.astype(np.float32), device)
        value, place = _best(scores, k, bound)
        places, ordered = host(place.to(torch.int32)), host(value)
        if of is not None:
            best = ordered[:, 0].astype(np.float64) + (0.0 if centre is None else host(centre)[:, 0])
            own = places[:, 0].astype(np.int64)
            known = exact_scores(scorer, direction, queries, own if gallery is None else gallery[own])
            allowed = bound.rate * np.abs(ordered[:, 0]) + bound.base
            of.compare(tensor(np.abs(best - known) <= allowed, device))
            of.check()
    found = places, ordered, np.full(len(queries), ordered.shape[1])
    return settled(scorer, direction, found, queries, k, bound, gallery, tile)


def _float32_rows(of: Resident, direction: Direction, queries: Tensor, gallery: Tensor | None) -> Tensor:
    """(query, gallery) float32 scores."""
    own, other = of.sides(direction)
    items = slice(None) if gallery is None else gallery
    rows = torch.mm(own.vectors[queries], other.vectors[items].t())
    if of.cosine:
        rows *= other.scale[items].float()
        rows *= own.scale[queries, None].float()
    return rows


def _float64_rows(of: Resident, direction: Direction, queries: Tensor, gallery: Tensor | None) -> tuple[Tensor, Tensor]:
    """(query, gallery) float64 scores, less about the mean of those of the query, rounded to float32; (query, 1) it."""
    own, other = of.sides(direction)
    n = len(other.vectors) if gallery is None else len(gallery)
    left, centre = own.float64(queries), None
    if of.cosine:
        left = left * own.scale[queries, None]
    rows = torch.empty((len(queries), n), dtype=torch.float32, device=of.device)
    other.float64(slice(0, 0))  # makes the copy that is kept, where there is room for it
    step = n if other.double is not None else max(1, SIZES[of.device.type].piece // max(left.shape[1], 1))
    for c in range(0, n, step):
        items = slice(c, c + step) if gallery is None else gallery[c : c + step]
        part = torch.mm(left, other.float64(items).t())
        if of.cosine:
            part *= other.scale[items]
        if centre is None:
            centre = part.mean(dim=1, keepdim=True)
        rows[:, c : c + step] = part.sub_(centre)
    return rows, centre


def _best(rows: Tensor, k: int, bound: ErrorBound) -> tuple[Tensor, Tensor]:
    """(query, width) scores of all items that can be among the k best, best first, and their positions."""
    n, base = rows.shape[1], tensor(bound.base, rows.device)
    width = min(k + SPARE, n)
    while 2 * width < n:
        value, place = rows.topk(width, dim=1)
        kth, last = value[:, k - 1].double(), value[:, -1].double()
        # Not where scores beyond float32 are infinite, and their difference is no number.
        if bool((kth - last > bound.rate * (kth.abs() + last.abs()) + 2 * base).all()):
            return value, place
        width *= 2
    value, place = rows.sort(dim=1, descending=True)
    return value, place
