"""Hubness of the rankings: how often every item is among the first k of a query."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import BadInput, count_of
from ..log import note
from ..metrics.hubness import MOST
from ..results.model import Result
from ..results.values import SIDE
from ..types import QUERIES_OF, Direction, Int, Observation
from .inputs import System
from .intervals import Key
from .plan import Plan


def results(plan: Plan, data: System, observed: Mapping[Direction, Observation]) -> dict[Key, Result]:
    """One result a metric of hubness and direction, without per-query values; notes name the hubs.

    Raises:
        BadInput: a retrieved list is shorter than a metric needs.
    """
    found: dict[Key, Result] = {}
    for direction in plan.directions if plan.of_lists else ():
        queries, gallery = (plan.split.ids(SIDE[d]) for d in (direction, QUERIES_OF[direction]))
        for m in sorted(plan.of_lists, key=lambda m: m.k or 0):  # the note is on the largest k
            assert m.k is not None
            count = _occurrences(direction, min(m.k, len(gallery)), data, observed)
            found[m, direction] = Result(m, direction, m.of_gallery(count), len(queries))
        most = np.argsort(-count, kind="stable")[:MOST]
        listed = ", ".join(f"{gallery[i]} ({count[i]:,})" for i in most.tolist())
        side = SIDE[QUERIES_OF[direction]]
        note(f"{side}s among the first {m.k} of the most queries, of {len(queries):,}: {listed}", weight="detail")
    return found


def _occurrences(direction: Direction, k: int, data: System, observed: Mapping[Direction, Observation]) -> Int:
    """(gallery,) int64, how many queries have every item among their first k."""
    top = observed[direction].top
    assert top is not None  # retrieved lists, or plan.depth is at least k
    if short := int((top.depth < k).sum()):
        what = f"{count_of(short, 'query', 'queries')} ({direction}) have no list of {k} items, which hubness needs"
        raise BadInput(what, where=data.where, fix="give every query a list, or leave out hubness")
    return np.bincount(top.cut(k).entries, minlength=top.gallery)
