"""The work of the graded pass in pieces: blocks of queries, each from its scores to the values of its metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import UsageError
from ..metrics.declare import Metric
from ..rank import full_order
from ..rank.scorers import Dot, Matrix, Scorer
from ..relevance.gains import Gains
from ..types import Float, Int, TopK
from .block import Measuring, measure
from .plan import Arena, Bundle, Job
from .shared_product import Pair, ranges

TILE_BYTES = 32 << 20  # of the scores of all threads together
TILE_QUERIES = 2048
PART = 500_000  # scores that are looked at together
LISTED = 4  # parts of images that are measured from lists together
SHOWN = 5120  # captions of a tile that is shown to others

Values = Mapping[int, Mapping[Metric, Float]]
Show = Callable[[Any, int, int], None]


@dataclass(frozen=True, eq=False)
class Work:
    """Queries ``start:stop`` of the first job of a bundle, and where their order comes from."""

    bundle: Bundle
    source: Scorer | TopK | Pair
    start: int
    stop: int

    @property
    def listed(self) -> bool:
        """Whether the order comes from lists that were kept of a pair."""
        return isinstance(self.source, Pair) and self.bundle is self.source.images

    @property
    def images(self) -> Bundle:
        """The bundle in which images ask, if there is one that sees these scores."""
        return self.source.images if isinstance(self.source, Pair) else self.bundle

    @property
    def scores(self) -> int:
        """How many scores are made."""
        made = not isinstance(self.source, TopK) and not self.listed
        return (self.stop - self.start) * len(self.bundle.jobs[0].arena.gallery) if made else 0

    def do(self, gains: Mapping[str, Gains], buffer: Any, values: Values, also: Show | None) -> None:
        """Write the values; ``buffer`` holds the scores, which are shown to ``also``."""
        if isinstance(self.source, TopK):
            _from_top(self.bundle.jobs[0], self.source, self.start, self.stop, gains, values)
            return
        first = self.bundle.jobs[0]
        step = max(1, PART // len(first.arena.gallery))
        edges = [(a, min(a + step, self.stop)) for a in range(self.start, self.stop, step)]
        spans = {id(job): self.bundle.part(job, self.start, self.stop) for job in self.bundle.jobs[1:]}
        measuring = {id(first): Measuring(first, gains, self.start, self.stop, values[id(first)])}
        for job in self.bundle.jobs[1:]:
            begin, size = spans[id(job)].start, len(spans[id(job)].rows)
            measuring[id(job)] = Measuring(job, gains, begin, begin + size, values[id(job)])
        if self.listed:
            self._from_lists(edges, measuring)
        else:
            self._from_scores(edges, measuring, buffer, also)
        for own in measuring.values():
            own.close()

    def _from_lists(self, edges: list[tuple[int, int]], measuring: Mapping[int, Measuring]) -> None:
        assert isinstance(self.source, Pair)
        first, *others = self.bundle.jobs
        orders = [kept.order(self.start, self.stop) for kept in self.source.lists]
        for a, b in edges:
            own = [order.rows(a - self.start, b - self.start) for order in orders]
            blocks = measuring[id(first)].part(own[0], a)
            for job, order in zip(others, own[1:], strict=True):
                measuring[id(job)].part(order, a, (blocks, self.bundle.part(job, a, b)))

    def _from_scores(
        self, edges: list[tuple[int, int]], measuring: Mapping[int, Measuring], buffer: Any, also: Show | None
    ) -> None:
        from ..rank import shortlist_kernels

        start, stop, pair = self.start, self.stop, self.source
        direction = self.bundle.jobs[0].arena.direction
        if isinstance(pair, Pair):
            tile = full_order.columns_of(pair.source, start, stop, buffer)
            if also:
                also(tile, 0, start)
            rate = full_order.measure(pair.source, "i2t", tile, 0, start).rate
            for kept in pair.lists:
                kept.see(tile, start, rate)
            doubt = full_order.measure(pair.source, direction, tile.T, start)
            for a, b in edges:
                rows = np.empty((b - a, len(tile)), np.float32)
                shortlist_kernels.turn(tile, a - start, b - start, rows)
                _rank(self.bundle, pair.source, rows, a, doubt.take(np.arange(a, b) - start), measuring)
            return
        assert not isinstance(pair, TopK)
        tile = full_order.rows_of(pair, direction, start, stop, buffer)
        if also:
            for c in range(0, tile.shape[1], SHOWN):
                also(np.ascontiguousarray(tile[:, c : c + SHOWN]), start, c)
        doubt = full_order.measure(pair, direction, tile, start)
        for a, b in edges:
            _rank(self.bundle, pair, tile[a - start : b - start], a, doubt.take(np.arange(a, b) - start), measuring)


def _rank(
    bundle: Bundle, source: Scorer, rows: Any, start: int, doubt: full_order.Doubt, measuring: Mapping[int, Measuring]
) -> None:
    """The queries from ``start`` on, of which ``rows`` are the scores."""
    first, *others = bundle.jobs
    direction = first.arena.direction
    asked = np.arange(start, start + len(rows))
    order = full_order.order_rows(source, direction, rows, asked, first.depth, doubt)
    blocks = measuring[id(first)].part(order, start)
    for job in others:
        part_of = bundle.part(job, start, start + len(rows))
        if not len(part_of.rows):
            continue
        if part_of.columns is None and first.depth >= job.depth:
            own = full_order.Order(order.items[part_of.rows], order.tied[part_of.rows]).cut(job.depth)
        else:
            own = full_order.order_rows(
                source, direction, part_of.take(rows), asked[part_of.rows], job.depth,
                doubt.take(part_of.rows), part_of.columns,
            )  # fmt: skip
        measuring[id(job)].part(own, part_of.start, (blocks, part_of))


def _from_top(job: Job, top: TopK, start: int, stop: int, gains: Mapping[str, Gains], values: Values) -> None:
    step = max(1, PART // job.depth)
    for a in range(start, stop, step):
        part = slice(a, min(a + step, stop))
        items, scores = top.items[part, : job.depth], top.scores[part, : job.depth]
        tied = np.zeros(items.shape, np.bool_)
        tied[:, 1:] = scores[:, 1:] == scores[:, :-1]
        measure(job, gains, full_order.Order(items.astype(np.int32), tied), a, values[id(job)])


def restrict(scorer: Scorer, arena: Arena) -> Scorer:
    """The scores of an arena's images with its captions; vectors are copied only where they do not lie in a row."""
    if len(arena.images) == scorer.shape[0] and len(arena.captions) == scorer.shape[1]:
        return scorer
    if isinstance(scorer, Dot):
        return Dot(_pick(scorer.images, arena.images), _pick(scorer.captions, arena.captions), scorer.cosine)
    if isinstance(scorer, Matrix):
        images = arena.images if scorer.image_order is None else scorer.image_order[arena.images]
        captions = arena.captions if scorer.caption_order is None else scorer.caption_order[arena.captions]
        return Matrix(scorer.scores, images, captions, scorer.name)
    raise UsageError(f"a scorer of type {type(scorer).__name__} cannot be restricted to folds or first captions")


def _pick(vectors: Any, rows: Int) -> Any:
    first, last = int(rows[0]), int(rows[-1]) + 1
    return vectors[first:last] if last - first == len(rows) else vectors[rows]


def blocks(
    job: Job, threads: int, size: int | None, itemsize: int = 4, start: int = 0, stop: int | None = None
) -> list[tuple[int, int]]:
    """Ranges of the queries ``start:stop`` whose scores fit the memory of a thread, all about equally long."""
    n, gallery = len(job.arena.queries), len(job.arena.gallery)
    limit = max(1, min(TILE_BYTES // threads // (itemsize * gallery), TILE_QUERIES))
    return ranges(start, n if stop is None else stop, size or limit, threads if size is None else 1)


def lists(pair: Pair, size: int | None) -> list[tuple[int, int]]:
    """Ranges of images that are measured from what was kept."""
    gallery = len(pair.images.jobs[0].arena.gallery)
    return ranges(0, pair.listed, size or max(1, LISTED * PART // gallery))
