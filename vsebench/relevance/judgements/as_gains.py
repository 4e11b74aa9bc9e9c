"""Judgements as gains: the grade of a judged pair, or 1 of a positive, and 0 of every other pair."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from ...types import DIRECTIONS, Bool, Direction, Float, Int, Split, Vectors
from ..gains import Gains, shape_of
from .declare import Judgements


@dataclass(frozen=True, eq=False)
class Entries:
    """Numbers of some pairs of one direction: (pair,) places in the matrix (query, gallery), ascending, and values."""

    place: Int
    value: Float
    gallery: int

    @classmethod
    def of_pairs(cls, query: Int, item: Int, value: Float, gallery: int) -> Entries:
        """Of pairs in any order, each once."""
        place = query * gallery + item
        order = np.argsort(place)
        return cls(place[order], value[order], gallery)

    def of(self, query: Int, item: Int, other: float) -> Float:
        """(pair,) float64 values, ``other`` of pairs that are not among these."""
        wanted = query * self.gallery + item
        if not len(self.place):
            return np.full(wanted.shape, other)
        at = np.searchsorted(self.place, wanted).clip(max=len(self.place) - 1)
        return np.where(self.place[at] == wanted, self.value[at], other)


@dataclass(frozen=True, eq=False)
class Sparse:
    """Gains of both directions, 0 where nothing is judged; see ``gains.Values``."""

    of: dict[Direction, Entries]

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """See ``Values.rows``."""
        pairs = self.of[direction]
        out = np.zeros((stop - start) * pairs.gallery, np.float32)
        first, last = np.searchsorted(pairs.place, [start * pairs.gallery, stop * pairs.gallery])
        out[pairs.place[first:last] - start * pairs.gallery] = pairs.value[first:last]
        return out.reshape(stop - start, pairs.gallery)

    def pairs(self, direction: Direction, images: Int, captions: Int) -> Vectors:
        """See ``Values.pairs``."""
        query, item = (images, captions) if direction == "i2t" else (captions, images)
        return self.of[direction].of(query, item, 0.0).astype(np.float32)


def gains_of(judged: Judgements, split: Split) -> Gains:
    """The gains of a set of judgements: linear in the grade, as in trec_eval, and 0 of negative grades.

    Positives that are not in the gallery have no gain: ideal gains are those of the gallery. A query without positives
    in the gallery has no value.

    Raises:
        UsageError, MissingPackage, BadInput: as ``Judgements.load``.
    """
    shape = shape_of(split)
    found: dict[Direction, Entries] = {}
    no_query: dict[Direction, Bool] = {}
    digest = hashlib.sha256()
    for direction in DIRECTIONS:
        gallery = shape[1] if direction == "i2t" else shape[0]
        if judged.grades is None:
            relevance = judged.load(split, direction)
            query, item = relevance.queries[relevance.query_of], relevance.items
            grade = np.ones(len(item))
        else:
            pairs = judged.grades(split, direction)
            query, item, grade = pairs.query, pairs.item, pairs.grade
        kept = (item >= 0) & (grade > 0)
        no_query[direction] = np.ones(shape[0] if direction == "i2t" else shape[1], np.bool_)
        no_query[direction][query[kept]] = False
        found[direction] = Entries.of_pairs(query[kept], item[kept], grade[kept], gallery)
        digest.update(found[direction].place.tobytes() + found[direction].value.tobytes())
    return Gains(judged.name, {"sha256": digest.hexdigest()[:12]}, shape, Sparse(found), lowest=0.0, no_query=no_query)
