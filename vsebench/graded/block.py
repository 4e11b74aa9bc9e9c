"""From the order of a block of queries to the values of its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..metrics.declare import Metric
from ..metrics.gain_order import Fall, fall
from ..metrics.graded import Seen, needs, values
from ..rank.full_order import Items, Order, largest
from ..relevance.gains import Gains
from ..types import Bool, Direction, Float, Int, Vectors
from .plan import Arena, Group, Job, Part

SPARE = 16  # whole rows of gains are made where more than one gain in so many is looked at
WASTE = 8  # rows are made in one piece where at least one in so many is asked for
Out = Mapping[Metric, Float]
Blocks = dict[str, "Block"]


class Measuring:
    """A job for some of its queries, which come in parts.

    What looks at the top of a ranking alone waits until all parts are there: it costs more by the call than by the
    query.

    Args:
        job: arena and metrics.
        gains: by view.
        start, stop: positions of the queries in the arena.
        out: metric -> (query,) float64 to be filled.
    """

    def __init__(self, job: Job, gains: Mapping[str, Gains], start: int, stop: int, out: Out):
        self.job, self.gains, self.start, self.stop, self.out = job, gains, start, stop, out
        self.views: dict[str, list[Group]] = {}
        for group in job.groups:
            self.views.setdefault(group.view, []).append(group)
        self.tops: dict[str, _Top] = {}

    def part(self, order: Order, start: int, shared: tuple[Blocks, Part] | None = None) -> Blocks:
        """Look at the queries from ``start`` on.

        Args:
            order: the best of every query, as deep as the job needs, in positions of the arena's gallery.
            start: position of the first query in the arena.
            shared: blocks of another job, and where the queries and candidates of this one stand there.

        Returns:
            The blocks by view, for other jobs.

        Raises:
            BadInput: a gain is outside what a metric allows.
        """
        stop = start + len(order.items)
        blocks: Blocks = {}
        for view, groups in self.views.items():
            whole = (shared[0][view], shared[1]) if shared and view in shared[0] else None
            block = blocks[view] = Block(self.job.arena, self.gains[view], start, stop, whole)
            block.expect(groups)
            self._measure(block, order, start, [g for g in groups if not g.shallow])
            shallow = [g for g in groups if g.shallow]
            if shallow:
                if view not in self.tops:
                    self.tops[view] = _Top(self.stop - self.start, max(g.depth for g in shallow))
                self.tops[view].put(slice(start - self.start, stop - self.start), order, block, block.reach(shallow))
        return blocks

    def close(self) -> None:
        """All parts have come."""
        for view, top in self.tops.items():
            block = Block(self.job.arena, self.gains[view], self.start, self.stop, known=top)
            self._measure(block, top.order, self.start, [g for g in self.views[view] if g.shallow])

    def _measure(self, block: Block, order: Order, start: int, chosen: list[Group]) -> None:
        stop = start + len(order.items)
        for out in (False, True):
            groups = [g for g in chosen if g.out == out]
            if not groups:
                continue
            depth, ideal = max(g.depth for g in groups), max(g.ideal for g in groups)
            looked = out or any(block.looks(g) for g in groups)
            seen = block.see(order.cut(depth), ideal, out, looked)
            for group in groups:
                # A metric that looks at the top alone must not pay for one that looks at everything.
                found = values(group.metrics, block.complete(seen.cut(group.depth), group))
                for i, m in enumerate(group.metrics):
                    self.out[m][start:stop] = found[:, i]


def measure(job: Job, gains: Mapping[str, Gains], order: Order, start: int, out: Out) -> None:
    """Write the values of a job's metrics for the queries from ``start`` on; arguments as for ``Measuring``."""
    measuring = Measuring(job, gains, start, start + len(order.items), out)
    measuring.part(order, start)
    measuring.close()


class _Top:
    """The top of the rankings of some queries, the gains there, and the largest gains."""

    def __init__(self, queries: int, depth: int):
        self.order = Order(np.zeros((queries, depth), np.int32), np.zeros((queries, depth), np.bool_))
        self.gains = np.empty((queries, depth), np.float32)
        self.best, self.ideal = np.empty((queries, 0), np.int32), np.empty((queries, 0), np.float32)

    def put(self, rows: slice, order: Order, block: Block, wanted: int) -> None:
        """Take what is needed from a block, ``wanted`` of the largest gains."""
        depth = self.gains.shape[1]
        top = order.cut(depth)
        self.order.items[rows], self.order.tied[rows] = top.items, top.tied
        if wanted:  # first, because it makes rows of gains, from which others are taken
            if not self.best.shape[1]:
                self.best = np.zeros((len(self.gains), wanted), np.int32)
                self.ideal = np.zeros((len(self.gains), wanted), np.float32)
            self.best[rows], self.ideal[rows] = block.best(wanted)
        self.gains[rows] = block.at(top.items)


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
    """Some queries of an arena, and their gains in one view.

    Args:
        arena: who asks whom.
        gains: relevance.
        start, stop: positions of the queries in the arena.
        whole: a block that holds them among others, and where.
        known: what is known of them already; then nothing else is looked up.
    """

    def __init__(
        self,
        arena: Arena,
        gains: Gains,
        start: int,
        stop: int,
        whole: tuple[Block, Part] | None = None,
        known: _Top | None = None,
    ):
        self.arena, self.gains, self.start, self.stop, self.whole, self.known = arena, gains, start, stop, whole, known
        self.queries = arena.queries[start:stop]
        self._rows: Vectors | None = None
        self._depth = 0
        empty = np.empty((stop - start, 0), np.int32), np.empty((stop - start, 0), np.float32)
        self._best: tuple[Items, Vectors] = (known.best, known.ideal) if known else empty
        self._fall: Fall | None = None

    def rows(self) -> Vectors:
        """(query, gallery) float32 gains, made once, not to be written to."""
        if self._rows is None:
            # The other block makes rows of all its queries, so they must be there already or be wanted anyway.
            if self.whole and (self.whole[0]._rows is not None or len(self.whole[0].queries) == len(self.queries)):
                self._rows = self.whole[1].take(self.whole[0].rows())
            else:
                self._rows = gains_rows(self.gains, self.arena.direction, self.queries, self.arena.gallery)
        return self._rows

    def expect(self, groups: list[Group]) -> None:
        """Look for the largest gains once, as deep as any of some metrics will ask."""
        self._depth = self.reach(groups)

    def reach(self, groups: list[Group]) -> int:
        """How many of the largest gains some metrics look at, and what may be left out of them."""
        wanted = max((g.ideal + g.out * self.arena.spare for g in groups if g.ideal), default=0)
        return min(wanted, len(self.arena.gallery))

    def best(self, k: int) -> tuple[Items, Vectors]:
        """(query, k) int32 gallery positions of the largest gains, and these, falling; ties to the lower position."""
        if self._best[0].shape[1] < k:
            wanted = min(max(k, self._depth), len(self.arena.gallery))
            if self._fall:
                self._best = self._fall.top(self.rows(), wanted)
            else:
                items = largest(self.rows(), wanted)
                self._best = items, self.at(items)
        return np.ascontiguousarray(self._best[0][:, :k]), np.ascontiguousarray(self._best[1][:, :k])

    def at(self, items: Items) -> Vectors:
        """(query, depth) float32 gains of gallery positions."""
        from ..rank import sort_kernels

        if self.known:
            return np.ascontiguousarray(self.known.gains[:, : items.shape[1]])
        gallery = len(self.arena.gallery)
        few = gallery // SPARE if self.gains.rows_affordable else gallery
        if self._rows is None and items.shape[1] < few:
            return self.gains.at(self.arena.direction, self.queries, self.arena.gallery[items])
        out = np.empty(items.shape, np.float32)
        sort_kernels.gather(self.rows(), items, out)
        return out

    def falling(self, positions: _Positions, out: bool) -> Fall:
        """Places in the ranking by their gains."""
        if self.known or out or positions.items.shape[1] < len(self.arena.gallery):
            return fall(np.ascontiguousarray(positions.seen.gains), positions.seen.count)
        # Everything is ranked, so the order of the rows serves, from which the largest gains are taken, too.
        if self._fall is None:
            self._fall = fall(self.rows(), np.full(len(self.queries), len(self.arena.gallery)))
        return self._fall.among(positions.items)

    def looks(self, group: Group) -> bool:
        """Whether the gains of what was retrieved are needed, best score first."""
        asked, checked = needs(group.metrics[0]), group.metrics[0].family.lowest_gain is not None
        cut = self.known is not None or group.out or group.depth < len(self.arena.gallery)
        return checked or "gains" in asked or ("falling" in asked and cut)

    def see(self, order: Order, wanted: int, out: bool, looked: bool = True) -> _Positions:
        """What metrics look at.

        Args:
            order: what was retrieved.
            wanted: how many of the largest gains.
            out: without the query's own items.
            looked: with the gains of what was retrieved.
        """
        arena = self.arena
        items, tied = order.items, order.tied
        gains = self.at(items) if looked else np.empty((len(items), 0), np.float32)
        candidates = np.full(len(items), len(arena.gallery))
        wanted = min(wanted, len(arena.gallery))
        if out:
            items, tied, gains = _without_own(arena, order, gains, self.start)
            candidates -= np.diff(arena.own[0])[self.start : self.stop]
        count = np.minimum(candidates, items.shape[1])
        if not wanted:
            return _Positions(Seen(gains, tied, count), items, np.empty((len(items), 0), np.int32), candidates)
        best, ideal = self.best(min(wanted + out * arena.spare, len(arena.gallery)))
        if out:
            plain = Order(best, np.zeros(best.shape, np.bool_))
            best, _, ideal = _without_own(arena, plain, ideal, self.start)
            # Where candidates are fewer than wanted, the best of them stands for what does not exist.
            best = np.where(np.arange(best.shape[1]) < candidates[:, None], best, best[:, :1])
        best, ideal = best[:, :wanted], ideal[:, :wanted]
        ideal[np.arange(wanted) >= candidates[:, None]] = 0
        return _Positions(Seen(gains, tied, count, ideal), items, best, candidates)

    def complete(self, positions: _Positions, group: Group) -> Seen:
        """What is seen, with the order of gains or the extended ground truth, for metrics that look at one."""
        m, seen = group.extended, positions.seen
        if "falling" in needs(group.metrics[0]):
            seen = replace(seen, falling=self.falling(positions, group.out))
        if not m:
            return seen
        if group.by_image:
            members, size = self._images(positions.items, m, group.out)
        else:
            members = _among(positions.best[:, :m], positions.items, len(self.arena.gallery))
            size = np.minimum(m, positions.candidates)
        return replace(seen, members=members, size=size)

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
    if len(gallery) < rows.shape[1]:
        near = len(gallery) == gallery[-1] - gallery[0] + 1
        rows = rows[:, gallery[0] : gallery[-1] + 1] if near else rows[:, gallery]
    # Rows of a mapped file are read-only, for which numba would compile every kernel anew.
    return np.require(rows, np.float32, ["C", "W"])


def _without_own(arena: Arena, order: Order, gains: Vectors, start: int) -> tuple[Items, Bool, Vectors]:
    """The order with a query's own items taken out; what is left behind the last candidate means nothing."""
    from ..rank import sort_kernels

    query_owner, gallery_owner = arena.owner
    items, tied, left = np.zeros_like(order.items), np.zeros_like(order.tied), np.zeros_like(gains)
    own = query_owner[start : start + len(items)]
    sort_kernels.leave_out(order.items, order.tied, gains, own, gallery_owner, items, tied, left)
    return items, tied, left


def _among(chosen: npt.NDArray[Any], items: npt.NDArray[Any], size: int) -> Bool:
    """(query, depth) whether an item is one of the chosen (query, m) of its query; both below ``size``."""
    flag = np.zeros((len(items), size), np.bool_)
    np.put_along_axis(flag, chosen, True, axis=1)
    return np.take_along_axis(flag, items, axis=1)
