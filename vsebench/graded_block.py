"""From the order of a block of queries to the values of its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .graded_plan import Arena, Job, Part, by_image, deep, extended, ideal_depth
from .metrics.declare import Metric
from .metrics.graded import Seen, values
from .rank.whole import Items, Order, largest
from .relevance.gains import Gains
from .types import Bool, Direction, Float, Int, Vectors

SPARE = 16  # whole rows of gains are made where more than one gain in so many is looked at
WASTE = 8  # rows are made in one piece where at least one in so many is asked for
Out = Mapping[Metric, Float]
Blocks = dict[str, "Block"]


def measure(
    job: Job,
    gains: Mapping[str, Gains],
    order: Order,
    start: int,
    out: Out,
    shared: tuple[Blocks, Part] | None = None,
) -> Blocks:
    """Write the values of a job's metrics for the queries from ``start`` on.

    Args:
        job: arena and metrics.
        gains: by view.
        order: the best of every query, as deep as the job needs, in positions of the arena's gallery.
        start: position of the first query in the arena.
        out: metric -> (query,) float64 to be filled.
        shared: blocks of another job, and where the queries and candidates of this one stand there.

    Returns:
        The blocks by view, for other jobs.

    Raises:
        BadInput: a gain is outside what a metric allows.
    """
    stop = start + len(order.items)
    blocks: Blocks = {}
    for view in dict.fromkeys(view for view, _ in job.groups):
        whole = (shared[0][view], shared[1]) if shared and view in shared[0] else None
        block = blocks[view] = Block(job.arena, gains[view], start, stop, whole)
        block.expect([m for kind in ("in", "out") for group in job.groups.get((view, kind), []) for m in group])
        for kind in ("in", "out"):
            groups = job.groups.get((view, kind), [])
            if not groups:
                continue
            depths = [max(deep(m, job.arena) for m in group) for group in groups]
            wanted = ideal_depth([m for group in groups for m in group])
            seen = block.see(order.cut(max(depths)), wanted, kind == "out")
            for group, depth in zip(groups, depths, strict=True):
                # A metric that looks at the top alone must not pay for one that looks at everything.
                found = values(group, block.with_members(seen.cut(depth), group[0]))
                for i, m in enumerate(group):
                    out[m][start:stop] = found[:, i]
    return blocks


@dataclass(frozen=True, eq=False)
class _Positions:
    """What is seen, and where in the gallery it stands."""

    seen: Seen
    items: Items  # (query, depth) retrieved
    best: Items  # (query, ideal depth) of largest gain
    candidates: Int  # (query,) how many compete

    def cut(self, depth: int) -> _Positions:
        """The same, no deeper than ``depth``."""
        s = self.seen
        seen = replace(s, gains=s.gains[:, :depth], tied=s.tied[:, :depth], count=np.minimum(s.count, depth))
        return replace(self, seen=seen, items=self.items[:, :depth])


class Block:
    """Some queries of an arena, and their gains in one view; ``whole`` is a block that holds them among others."""

    def __init__(self, arena: Arena, gains: Gains, start: int, stop: int, whole: tuple[Block, Part] | None = None):
        self.arena, self.gains, self.start, self.stop, self.whole = arena, gains, start, stop, whole
        self.queries = arena.queries[start:stop]
        self._rows: Vectors | None = None
        self._best, self._depth = np.empty((stop - start, 0), np.int32), 0

    def rows(self) -> Vectors:
        """(query, gallery) float32 gains, made once, not to be written to."""
        if self._rows is None:
            # The other block makes rows of all its queries, so they must be there already or be wanted anyway.
            if self.whole and (self.whole[0]._rows is not None or len(self.whole[0].queries) == len(self.queries)):
                self._rows = self.whole[1].take(self.whole[0].rows())
            else:
                self._rows = gains_rows(self.gains, self.arena.direction, self.queries, self.arena.gallery)
        return self._rows

    def expect(self, metrics: list[Metric]) -> None:
        """Look for the largest gains once, as deep as any of some metrics will ask."""
        self._depth = max((ideal_depth([m]) + self._spare(m.option("gt") == "out") for m in metrics), default=0)

    def _spare(self, out: bool) -> int:
        """How many candidates may be left out at most."""
        return int(np.diff(self.arena.own[0])[self.start : self.stop].max(initial=0)) if out else 0

    def best(self, k: int) -> Items:
        """(query, k) int32 gallery positions of the largest gains, descending, ties to the lower position."""
        if self._best.shape[1] < k:
            self._best = largest(self.rows(), min(max(k, self._depth), len(self.arena.gallery)))
        return np.ascontiguousarray(self._best[:, :k])

    def at(self, items: Items) -> Vectors:
        """(query, depth) float32 gains of gallery positions."""
        from .rank import sort_kernels

        gallery = len(self.arena.gallery)
        few = gallery if getattr(self.gains, "pairs_only", False) else gallery // SPARE
        if self._rows is None and items.shape[1] < few:
            return self.gains.at(self.arena.direction, self.queries, self.arena.gallery[items])
        out = np.empty(items.shape, np.float32)
        sort_kernels.gather(self.rows(), items, out)
        return out

    def see(self, order: Order, wanted: int, out: bool) -> _Positions:
        """What metrics look at; ``wanted`` of the largest gains, ``out`` without the query's own items."""
        arena = self.arena
        items, tied = order.items, order.tied
        candidates = np.full(len(items), len(arena.gallery))
        wanted = min(wanted, len(arena.gallery))
        if out:
            items, tied = _without_own(arena, order, self.start)
            candidates -= np.diff(arena.own[0])[self.start : self.stop]
        gains = self.at(items)
        count = np.minimum(candidates, items.shape[1])
        if not wanted:
            return _Positions(Seen(gains, tied, count), items, np.empty((len(items), 0), np.int32), candidates)
        best = self.best(min(wanted + self._spare(out), len(arena.gallery)))
        if out:
            best = _without_own(arena, Order(best, np.zeros(best.shape, np.bool_)), self.start)[0]
            # Where candidates are fewer than wanted, the best of them stands for what does not exist.
            best = np.where(np.arange(best.shape[1]) < candidates[:, None], best, best[:, :1])
        best = best[:, :wanted]
        ideal = np.take_along_axis(self.rows(), best, axis=1)
        ideal[np.arange(wanted) >= candidates[:, None]] = 0
        return _Positions(Seen(gains, tied, count, ideal), items, best, candidates)

    def with_members(self, positions: _Positions, metric: Metric) -> Seen:
        """What is seen, with the extended ground truth of a metric that looks at one."""
        m = extended(metric)
        if not m:
            return positions.seen
        if by_image(metric):
            members, size = self._images(positions.items, m, metric.option("gt") == "out")
        else:
            members = _among(positions.best[:, :m], positions.items, len(self.arena.gallery))
            size = np.minimum(m, positions.candidates)
        return replace(positions.seen, members=members, size=size)

    def _images(self, items: Items, m: int, out: bool) -> tuple[Bool, Int]:
        """Extended ground truth by images: the m with the largest gains summed over the query image's captions."""
        arena = self.arena
        query_owner, gallery_owner = arena.owner
        asked, of_query = np.unique(query_owner[self.start : self.stop], return_inverse=True)
        written = arena.split.image_of[arena.captions]
        captions = arena.captions[np.isin(written, asked)]
        total = np.zeros((len(asked), len(arena.images)))
        if len(captions):
            rows = gains_rows(self.gains, "t2i", captions, arena.images)
            np.add.at(total, np.searchsorted(asked, arena.split.image_of[captions]), rows)
        limit = min(m, len(arena.images) - out)
        if out:
            total[np.arange(len(asked)), np.searchsorted(arena.images, asked)] = -np.inf
        best = np.argsort(-total, axis=1, kind="stable")[of_query, :limit].astype(np.int32)
        if arena.direction == "t2i":
            return _among(best, items, len(arena.images)), np.full(len(items), limit)
        position = np.searchsorted(arena.images, gallery_owner)
        captions_of = np.bincount(position, minlength=len(arena.images))
        return _among(best, position[items], len(arena.images)), captions_of[best].sum(1)


def gains_rows(gains: Gains, direction: Direction, queries: Int, gallery: Int) -> Vectors:
    """(query, gallery) float32 gains of some queries against some items, both ascending."""
    first, last = int(queries[0]), int(queries[-1]) + 1
    if last - first > WASTE * len(queries):
        rows = np.concatenate([gains.rows(direction, q, q + 1) for q in queries.tolist()])
    else:
        rows = gains.rows(direction, first, last)
        if last - first > len(queries):
            rows = rows[queries - first]
    if len(gallery) == rows.shape[1]:
        return np.ascontiguousarray(rows)
    if len(gallery) == gallery[-1] - gallery[0] + 1:
        return np.ascontiguousarray(rows[:, gallery[0] : gallery[-1] + 1])
    return np.ascontiguousarray(rows[:, gallery])


def _without_own(arena: Arena, order: Order, start: int) -> tuple[Items, Bool]:
    """The order with a query's own items taken out; what is left behind the last candidate means nothing."""
    from .rank import sort_kernels

    query_owner, gallery_owner = arena.owner
    items, tied = np.zeros_like(order.items), np.zeros_like(order.tied)
    own = query_owner[start : start + len(items)]
    sort_kernels.leave_out(order.items, order.tied, own, gallery_owner, items, tied)
    return items, tied


def _among(chosen: npt.NDArray[Any], items: npt.NDArray[Any], size: int) -> Bool:
    """(query, depth) whether an item is one of the chosen (query, m) of its query; both below ``size``."""
    flag = np.zeros((len(items), size), np.bool_)
    np.put_along_axis(flag, chosen, True, axis=1)
    return np.take_along_axis(flag, items, axis=1)
