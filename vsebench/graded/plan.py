"""Who asks whom: the metrics of graded relevance sorted by the rankings they need.

Metrics that share their candidates share one ranking. An arena is one set of candidates: the images and captions of
a split, of one fold, with all captions or the first of every image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..metrics.declare import Metric
from ..metrics.graded import needs, together
from ..types import Direction, Int, Split

TOP = 128  # how far down the top of a ranking goes


@dataclass(frozen=True, eq=False)
class Arena:
    """Queries of one side and the candidates of the other.

    Attributes:
        split: the items.
        direction: which side asks.
        images, captions: (image,) and (caption,) int64 indices of the split that take part, ascending.
        fold: the fold they are, or None.
    """

    split: Split
    direction: Direction
    images: Int
    captions: Int
    fold: int | None = None

    @property
    def queries(self) -> Int:
        """(query,) int64 indices of the split."""
        return self.images if self.direction == "i2t" else self.captions

    @property
    def gallery(self) -> Int:
        """(gallery,) int64 indices of the split."""
        return self.captions if self.direction == "i2t" else self.images

    @property
    def whole(self) -> bool:
        """Whether every image and every caption of the split takes part."""
        n, m = len(self.split.image_ids), len(self.split.caption_ids)
        return len(self.images) == n and len(self.captions) == m

    @cached_property
    def spare(self) -> int:
        """How many candidates are a query's own, at most."""
        return int(np.diff(self.own[0]).max(initial=0))

    @cached_property
    def owner(self) -> tuple[Int, Int]:
        """(query,) and (gallery,) int64: the image that an item is, or was written for."""
        written = self.split.image_of[self.captions]
        return (self.images, written) if self.direction == "i2t" else (written, self.images)

    @cached_property
    def own(self) -> tuple[Int, Int, Int]:
        """The ground truth inside the arena: (query + 1,) row pointers, and (pair,) queries and gallery positions."""
        query_owner, gallery_owner = self.owner
        by_owner = np.argsort(gallery_owner, kind="stable")
        first = np.searchsorted(gallery_owner[by_owner], query_owner)
        size = np.searchsorted(gallery_owner[by_owner], query_owner, side="right") - first
        indptr = np.concatenate([[0], np.cumsum(size)])
        query = np.repeat(np.arange(len(size)), size)
        return indptr, query, by_owner[first[query] + np.arange(len(query)) - indptr[query]]


@dataclass(frozen=True, eq=False)
class Job:
    """All metrics that one arena serves.

    Attributes:
        arena: who asks whom.
        metrics: what is measured, none of them a sum.
    """

    arena: Arena
    metrics: tuple[Metric, ...]

    @cached_property
    def depth(self) -> int:
        """How deep rankings are needed; a ground truth that is left out makes room for what follows."""
        return max(deep(m, self.arena) for m in self.metrics)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The metrics, those that differ in k alone together; views one after the other."""
        found: dict[str, dict[object, list[Metric]]] = {}
        for m in self.metrics:
            found.setdefault(m.view, {}).setdefault(together(m), []).append(m)
        return tuple(
            Group(
                view, own[0].option("gt") == "out", tuple(own), max(deep(m, self.arena) for m in own),
                ideal_depth(own), extended(own[0]), by_image(own[0]),
            )
            for view, by in found.items()
            for own in by.values()
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Group:
    """Metrics of one view that differ in k alone.

    Attributes:
        view: whose gains.
        out: whether a query's own items are no candidates.
        metrics: what is measured.
        depth: how far down the rankings they look.
        ideal: how many of the largest gains they look at.
        extended: size of their extended ground truth, 0 for none.
        by_image: whether that counts images.
    """

    view: str
    out: bool
    metrics: tuple[Metric, ...]
    depth: int
    ideal: int
    extended: int
    by_image: bool

    @property
    def shallow(self) -> bool:
        """Whether the top of rankings and ideals is enough."""
        return max(self.depth, self.ideal) <= TOP


@dataclass(frozen=True, eq=False)
class Bundle:
    """Jobs whose queries and candidates are among those of the first, so that they share its scores and gains."""

    jobs: tuple[Job, ...]

    def part(self, job: Job, start: int, stop: int) -> Part:
        """Where the queries of a job that are among ``start:stop`` of the first job's stand, and its candidates."""
        first, arena = self.jobs[0].arena, job.arena
        begin, end = np.searchsorted(arena.queries, first.queries[start]), len(arena.queries)
        if stop < len(first.queries):
            end = int(np.searchsorted(arena.queries, first.queries[stop]))
        rows = np.searchsorted(first.queries, arena.queries[begin:end]) - start
        same = len(arena.gallery) == len(first.gallery)
        return Part(int(begin), rows, None if same else np.searchsorted(first.gallery, arena.gallery))


@dataclass(frozen=True, eq=False)
class Part:
    """Some queries and candidates of a block.

    Attributes:
        start: position of the first query in its own arena.
        rows: (query,) int64 positions in the block.
        columns: (gallery,) int64 positions in the gallery of the block, None for all of them.
    """

    start: int
    rows: Int
    columns: Int | None

    def take(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(query, gallery) of a (query, gallery) array of the block."""
        if len(self.rows) < len(block):
            block = block[self.rows]
        return block if self.columns is None else np.take(block, self.columns, axis=1)


def bundles(jobs: Sequence[Job]) -> list[Bundle]:
    """Jobs that ask in the same direction among the same images, those with the most captions first."""
    found: dict[tuple[Direction, int | None], list[Job]] = {}
    for job in jobs:
        found.setdefault((job.arena.direction, job.arena.fold), []).append(job)
    return [Bundle(tuple(sorted(own, key=lambda j: -len(j.arena.captions)))) for own in found.values()]


def deep(metric: Metric, arena: Arena) -> int:
    """How far down the rankings of an arena a metric looks."""
    gallery = len(arena.gallery)
    if metric.family.depth == "all":
        return gallery
    own = arena.spare if metric.option("gt") == "out" else 0
    return min((metric.k or 1) + own, gallery)


def extended(metric: Metric) -> int:
    """Size of the extended ground truth that a metric looks at, 0 for none."""
    for key in ("m", "eq5"):
        if key in metric.family.options and metric.option(key).isdecimal():
            return int(metric.option(key))
    return 0


def ideal_depth(metrics: Sequence[Metric]) -> int:
    """How many of the largest gains some metrics of one view need, 0 for none."""
    found = 0
    for m in metrics:
        if "ideal" in needs(m):
            found = max(found, m.k or 1, extended(m))
        if extended(m) and not by_image(m):
            found = max(found, extended(m))
    return found


def by_image(metric: Metric) -> bool:
    """Whether the extended ground truth of a metric counts images."""
    return "unit" in metric.family.options and metric.option("unit") == "image"


def plan(metrics: Sequence[Metric], split: Split, directions: Sequence[Direction]) -> list[Job]:
    """The jobs that measure some metrics, sums replaced by what they add up.

    Raises:
        UsageError: a metric of binary relevance, or one that needs folds the split does not have.
    """
    single = list(dict.fromkeys(part for m in metrics for part in (m.parts() or (m,))))
    for m in single:
        if not needs(m):
            raise UsageError(f"{m} is no metric of graded relevance", fix=f"write a view in front, as in cider:{m}")
    jobs = []
    for direction in directions:
        by_arena: dict[tuple[str, str], list[Metric]] = {}
        for m in single:
            by_arena.setdefault((m.option("captions"), m.option("on")), []).append(m)
        for (captions, on), asked in by_arena.items():
            jobs += [Job(a, tuple(asked)) for a in arenas(split, direction, captions, on, str(asked[0]))]
    return jobs


def arenas(split: Split, direction: Direction, captions: str, on: str, who: str) -> list[Arena]:
    """The arenas of one choice of captions and folds; the declared split COCO 1K is its five folds.

    Raises:
        UsageError: the split has no folds and ``who`` needs them.
    """
    image = np.arange(len(split.image_ids))
    caption = np.arange(len(split.caption_ids))
    if captions == "first":
        caption = np.sort(np.unique(split.image_of, return_index=True)[1])
    if on == "split" and split.name != "coco-1k":
        return [Arena(split, direction, image, caption)]
    if split.fold is None or split.caption_fold is None:
        raise UsageError(f"{who} needs folds, and split '{split.name}' has none", fix="use --split coco-5k")
    folds = np.unique(split.fold).tolist()
    if on == "block":
        folds = folds[:1]
    return [
        Arena(split, direction, image[split.fold == f], caption[split.caption_fold[caption] == f], f) for f in folds
    ]
