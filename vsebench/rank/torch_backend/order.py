"""The canonical order of blocks of queries: ``order.order`` as tensor code.

Scores are float32 products, or for deep orders float64 products with the mean of the query subtracted, rounded to
float32, with the error bounds of ``rank.order``. They are sorted, and runs of near-ties are sorted by canonical score.
A device computes one block of queries at a time, whatever the number of threads that ask: they measure one while it
orders the next. On the processor only the tests order by it: torch sorts seven times as slowly there (70 ns a
number, not 9), and its search for the best takes longer than that sort.
"""

from __future__ import annotations

import contextlib
import threading

import numpy as np
import torch

from ...numeric.torch_support import device_faults, within_memory
from ...types import Direction, Int, Tops
from ..order import BEST, ErrorBound, float32_bound, float64_bound, is_deep
from ..scorers import Dot, Scorer, rows_of
from .settings import SIZES, exact
from .vectors import Resident, Tensor, canonical, host, resident, tensor

SPARE = 64  # candidates beyond k that are listed at first
MANY = 16  # products are made again in float64 where more than one score in so many is a near-tie
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
    width = scorer.shape[1 if direction == "i2t" else 0] if gallery is None else len(gallery)

    def work(share: int) -> list[Tops]:
        # A task may have fewer scores than a block: what is divided is what it has.
        step = max(1, min(SIZES[device.type].block, len(queries) * width) // share // max(width, 1))
        blocks = [queries[a : a + step] for a in range(0, len(queries), step)]
        with device_faults(device):
            return [_of_block(device, scorer, direction, block, k, gallery) for block in blocks]

    with exact(device), contextlib.nullcontext() if device.type == "cpu" else _ONE:
        parts = within_memory(device, work)
    return Tops.of(np.concatenate([p.items for p in parts]), np.concatenate([p.tied for p in parts]), width)


def together(gallery: int, k: int) -> int:
    """How many queries a task orders together, see ``rank.order.Order``."""
    return max(1, TOGETHER // gallery, min(FEW, SIZES["cuda"].block // gallery))


def _of_block(
    device: torch.device, scorer: Scorer, direction: Direction, queries: Int, k: int, gallery: Int | None
) -> Tops:
    query, items = tensor(queries, device), _tensor(gallery, device)
    if not isinstance(scorer, Dot):
        rows = tensor(rows_of(scorer, direction, queries), device)
        return _of_given(rows if items is None else rows[:, items], k)
    of = resident(scorer, device)
    if not is_deep(scorer, k, len(of.sides(direction)[1].vectors) if items is None else len(items)):
        bound = float32_bound(scorer, direction, queries)
        rows = _float32_rows(of, direction, query, items), torch.zeros((len(query), 1), device=device)
        found = _of_products(of, direction, query, k, items, rows, bound)
        if found is not None:
            return found
    bound = float64_bound(scorer, direction, queries)
    found = _of_products(of, direction, query, k, items, _float64_rows(of, direction, query, items), bound)
    assert found is not None
    return found


def _tensor(gallery: Int | None, device: torch.device) -> Tensor | None:
    return None if gallery is None else tensor(gallery, device)


def _of_given(scores: Tensor, k: int) -> Tops:
    """The order of canonical scores (query, gallery)."""
    value, place = (scores + 0.0).sort(dim=1, descending=True, stable=True)  # without -0.0, which equals 0.0
    value, place = value[:, :k], place[:, :k]
    tied = torch.zeros(place.shape, dtype=torch.bool, device=scores.device)
    tied[:, 1:] = value[:, 1:] == value[:, :-1]
    return _as_order(place, tied, scores.shape[1])


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


def _of_products(
    of: Resident,
    direction: Direction,
    queries: Tensor,
    k: int,
    gallery: Tensor | None,
    made: tuple[Tensor, Tensor],
    bound: ErrorBound,
) -> Tops | None:
    """The order from (query, gallery) products, less a number a query; None where near-ties in float32 are too many."""
    rows, centre = made
    base = tensor(bound.base, of.device)[:, None]
    value, place = _best(rows, k, bound.rate, base)
    near = _near(value[:, :-1], value[:, 1:], bound.rate, base)
    # Behind the k best only what may be one of them.
    near[:, k - 1 :] = _near(value[:, k - 1 : k], value[:, k:], bound.rate, base)
    beside = torch.zeros((len(value), 1), dtype=torch.bool, device=of.device)
    after, before = torch.cat([near, beside], dim=1), torch.cat([beside, near], dim=1)
    member = after | before
    member[:, 0] = True  # the best of every query too: its canonical score checks the product
    query, at = member.nonzero(as_tuple=True)
    if bound.precision < BEST and MANY * (len(query) - len(rows)) > rows.numel():
        return None
    tied = torch.zeros(value.shape, dtype=torch.bool, device=of.device)
    if len(query):
        item = place[query, at]
        score = canonical(of, direction, queries[query], item if gallery is None else gallery[item])
        fast = value[query, at].double()
        allowed = bound.rate * fast.abs() + base[query, 0]
        of.compare((fast - (score - centre[query, 0])).abs() <= allowed)
        of.check()
        run = (~before[query, at]).cumsum(0)
        turn = item.argsort()
        turn = turn[score[turn].argsort(descending=True, stable=True)]
        turn = turn[run[turn].argsort(stable=True)]
        place[query, at] = item[turn]
        again = torch.zeros(len(turn), dtype=torch.bool, device=of.device)
        again[1:] = (score[turn][1:] == score[turn][:-1]) & (run[1:] == run[:-1])
        tied[query, at] = again
    return _as_order(place[:, :k], tied[:, :k], rows.shape[1])


def _near(one: Tensor, other: Tensor, rate: float, base: Tensor) -> Tensor:
    """Whether the order of two scores is uncertain, the first being the larger one."""
    one, other = one.double(), other.double()
    return one - other <= rate * (one.abs() + other.abs()) + 2 * base


def _best(rows: Tensor, k: int, rate: float, base: Tensor) -> tuple[Tensor, Tensor]:
    """(query, width) scores of all items that can be among the k best, best first, and their positions."""
    n = rows.shape[1]
    width = min(k + SPARE, n)
    while 2 * width < n:
        value, place = rows.topk(width, dim=1)
        if not bool(_near(value[:, k - 1], value[:, -1], rate, base[:, 0]).any()):
            return value, place
        width *= 2
    value, place = rows.sort(dim=1, descending=True)
    return value, place


def _as_order(place: Tensor, tied: Tensor, gallery: int) -> Tops:
    return Tops.of(host(place.to(torch.int32)), host(tied), gallery)
