"""The work in shards.

A shard of the scan is a block of images and captions (``rank.count.Block``), a shard of lists a range of queries, and a
shard of graded metrics a range of queries of rankings that share their gains (``graded.engine.part``). Shards
depend on the sizes of the input alone, so that a run can be continued on other machines.
"""

from __future__ import annotations

import itertools
import math
from typing import Literal, NamedTuple

from ..graded.engine import checked
from ..graded.rankings import Together, together
from ..rank.count import Block
from ..rank.scorers import Range
from ..rank.ties import EXPECTED
from ..types import Direction
from .inputs import System
from .plan import Plan

SCORES = 1 << 24  # scores of a shard at least; COCO 5K has 8 a pass
MOST = {"scan": 256, "lists": 4096, "graded": 4096}  # shards; what a scan returns grows with their square root


class Shard(NamedTuple):
    """A piece of the work.

    Attributes:
        kind: ``scan``, of a block of images and captions, or ``lists`` and ``graded``, of a range of queries.
        direction: of the queries; of a scan that serves both, the first.
        number: of the rankings of the direction that share their gains; 0 for others.
        rows: the images of a scan, or the queries.
        columns: the captions of a scan; of other shards all candidates.
    """

    kind: Literal["scan", "lists", "graded"]
    direction: Direction
    number: int
    rows: Range
    columns: Range

    @property
    def name(self) -> str:
        """Of its file."""
        return "-".join(map(str, (self.kind, self.direction, self.number, *self.rows, *self.columns)))

    @property
    def block(self) -> Block:
        """The images and captions of a scan."""
        return Block(self.rows, self.columns)

    @property
    def scores(self) -> int:
        """How many scores it has."""
        return (self.rows[1] - self.rows[0]) * (self.columns[1] - self.columns[0])


def shards_of(plan: Plan, data: System) -> list[Shard]:
    """The shards of an evaluation."""
    found: list[Shard] = []
    images, captions = (0, len(plan.split.image_ids)), (0, len(plan.split.caption_ids))
    if plan.targets:
        for _, (direction, *_) in data.passes(plan.directions):
            found += _shards(Shard("scan", direction, 0, images, captions))
    for direction in plan.directions if plan.depth else ():
        found += _shards(Shard("lists", direction, 0, *Block(images, captions).sides(direction)))
    for direction, rankings in rankings_of(plan).items():
        for number, shared in enumerate(rankings):
            queries, gallery = (0, len(shared[0].queries)), (0, len(shared[0].gallery))
            found += _shards(Shard("graded", direction, number, queries, gallery))
    return found


def rankings_of(plan: Plan) -> dict[Direction, list[Together]]:
    """The rankings of graded metrics that share their gains, by direction, always in the same order."""
    if not plan.graded:
        return {}
    expected, influence = plan.request.ties == EXPECTED, plan.request.resampling is not None
    return {
        d: together(checked(plan.split, plan.graded, plan.gains, [d], expected, influence)) for d in plan.directions
    }


def _shards(whole: Shard) -> list[Shard]:
    """All of a pass in shards; blocks of a scan are near-squares, where fewest counts are repeated."""
    parts = max(1, min(MOST[whole.kind], -(-whole.scores // SCORES)))
    if whole.kind != "scan":
        return [whole._replace(rows=rows) for rows in _cut(whole.rows, parts)]
    n = whole.rows[1] - whole.rows[0]
    height = min(n, parts, max(1, round(n / math.sqrt(max(1, whole.scores) / parts))))
    sides = _cut(whole.rows, height), _cut(whole.columns, -(-parts // height))
    return [whole._replace(rows=rows, columns=columns) for rows, columns in itertools.product(*sides)]


def _cut(whole: Range, parts: int) -> list[Range]:
    first, n = whole[0], whole[1] - whole[0]
    parts = max(1, min(n, parts))
    return [(first + n * i // parts, first + n * (i + 1) // parts) for i in range(parts)]
