"""The top of every ranking in the report, with scores and gains (``evaluate(lists=10)``)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..relevance.gains import Gains, shape_of
from ..relevance.sources import load
from ..results.lists import NOTHING, Lists
from ..types import DIRECTIONS, SIDES, Bool, Direction, Int, Observation, Split, Tops, Vectors
from .plan import Plan

BLOCK = 2048  # queries whose gains are computed at once


def make(plan: Plan, observed: Mapping[Direction, Observation]) -> tuple[Lists, ...]:
    """The first ``plan.request.lists`` items of every ranking, none where this is 0.

    Images without a caption are no queries, and their lists are empty, unless judgements have positives of them. Gains
    are those of the first kind that a metric reads.
    """
    if not plan.request.lists:
        return ()
    # Without an own image of a caption there is no gain of the ground truth to compare with.
    view = None if plan.split.image_of is None else next(iter(plan.gains), None)
    found = []
    for direction in (d for d in DIRECTIONS if d in plan.directions):
        items, scores = _top(observed[direction].top, plan.request.lists)
        if (absent := _no_queries(plan, direction)).any():
            items = np.where(absent[:, None], NOTHING, items)
            scores = None if scores is None else np.where(absent[:, None], np.float32(0), scores)
        gains = truth = None
        if view is not None:
            gains = _gains(plan.gains[view], direction, items)
            truth = _truth(plan.gains[view], direction, plan.split)
        found.append(Lists(direction, items, scores, view, gains, truth))
    return tuple(found)


def _no_queries(plan: Plan, direction: Direction) -> Bool:
    """(query,) the images without a caption that no judgements have positives of."""
    own, n = plan.split.image_of, len(plan.split.ids(SIDES[direction][0]))
    absent = np.ones(n, np.bool_)
    with_text = np.arange(n) if direction == "t2i" or own is None else own
    for queries in (with_text, *(r.relevance.queries for r in plan.targets if r.relevance.direction == direction)):
        absent[queries] = False
    return absent


def _top(top: Tops | None, depth: int) -> tuple[Int, Vectors | None]:
    """(query, k) items and scores of the first ``depth`` items of rankings or retrieved lists."""
    assert top is not None  # plan.depth is at least plan.request.lists
    top, most = top.cut(depth), np.finfo(np.float32).max
    items = np.full((len(top.depth), min(depth, top.gallery)), NOTHING, np.int64)
    items[top.row, np.arange(len(top.entries)) - np.repeat(top.start[:-1], top.depth)] = top.entries
    # a re-ranked top and retrieved lists have an order alone
    return items, None if top.scored is None else top.scores.clip(-most, most).astype(np.float32)


def _gains(gains: Gains, direction: Direction, items: Int) -> Vectors:
    """(query, k) gains of the items, 0 where there is none."""
    out = np.zeros(items.shape, np.float32)
    for start in range(0, len(items), BLOCK):
        part = items[start : start + BLOCK]
        out[start : start + BLOCK] = gains.at(direction, np.arange(start, start + len(part)), part.clip(min=0))
    out[items == NOTHING] = 0
    return out


def _truth(gains: Gains, direction: Direction, split: Split) -> Vectors:
    """(query,) largest gain of a ground-truth item, 0 for a query without one."""
    judged = load("gt", split, direction)
    out = np.zeros(shape_of(split, direction)[0], np.float32)
    for place in range(int(judged.found.max(initial=0))):  # the first ground-truth item of all queries, the second, ...
        has = np.flatnonzero(judged.found > place)
        query, item = judged.queries[has], judged.items[judged.indptr[has] + place]
        found = gains.at(direction, query, item[:, None])[:, 0]
        out[query] = found if not place else np.maximum(out[query], found)
    return out
