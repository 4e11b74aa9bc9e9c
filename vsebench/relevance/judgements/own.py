"""Judgements of one's own, placed among the items of a split: those of a matrix, and what a level makes of grades."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...errors import BadInput
from ...files.ids import places
from ...files.pairs import JUDGED, Pairs
from ...options import spell
from ...types import DIRECTIONS, QUERIES_OF, SIDES, Bool, Direction, Float, Int, Relevance, Split
from ..gains import Gains
from .declare import Judgements, from_pairs

BLOCK = 1 << 22  # entries of a matrix read at a time
Both = dict[Direction, Pairs]


def of_matrix(gains: Gains, split: Split, directions: Sequence[Direction] = DIRECTIONS) -> Both:
    """The entries other than 0 of a matrix; images and captions without any are no judged queries."""
    images, captions = gains.shape
    found: list[tuple[Int, Int, Float]] = []
    step = max(1, BLOCK // captions)
    for start in range(0, images, step):
        rows = gains.rows("i2t", start, min(start + step, images))
        image, caption = np.nonzero(rows)
        found.append((image + start, caption, rows[image, caption].astype(np.float64)))
    image, caption, grade = (np.concatenate(column) for column in zip(*found, strict=True))
    both = both_ways(image, caption, grade, split)
    both = noted(both, [note for note in gains.notes if "float64" not in note], "entry")
    return {direction: both[direction] for direction in directions}


def both_ways(image: Int, caption: Int, grade: Float, split: Split, where: str = "memory") -> Both:
    """Judged pairs in both directions, and their items as judged queries."""
    images, captions = split.image_ids, split.caption_ids
    one = Pairs(JUDGED, "i2t", images, captions, image, caption, np.unique(image), grade, where=where)
    other = Pairs(JUDGED, "t2i", captions, images, caption, image, np.unique(caption), grade, where=where)
    return {"i2t": one, "t2i": other}


def noted(both: Both, notes: Sequence[str], what: str) -> Both:
    """Pairs with some notes, and one on items that are no judged queries, since they have no entry or no label."""
    meaning = (
        f"have no {what}: they are no queries, and count in no metric, with {spell('no_positive', 'miss')} as well"
    )
    counts = {d: (len(one.queries) - len(one.given), len(one.queries)) for d, one in both.items()}
    notes = (*notes, *_counted(counts, "", meaning))
    return {d: replace(one, notes=(*one.notes, *notes)) for d, one in both.items()}


def complete(found: Sequence[Pairs], where: str) -> Both:
    """The placed pairs of several sources by direction; a direction that none has is the transpose of the other.

    Raises:
        BadInput: two sources have one direction.
    """
    both: Both = {}
    for one in found:
        assert one.direction is not None  # they are placed
        if one.direction in both:
            raise BadInput(f"judgements of {one.direction} are given twice", where=where, fix="give each once")
        both[one.direction] = one
    if len(both) == 1:
        (one,) = both.values()
        inside, direction = one.item >= 0, next(iter(both))
        other = QUERIES_OF[direction]
        both[other] = replace(
            one, direction=other, queries=one.items, items=one.queries, query=one.item[inside], item=one.query[inside],
            number=one.grade[inside], rank=None, given=np.unique(one.item[inside]), transposed=True,
            notes=(f"{other} is the transpose of {direction}",),
        )  # fmt: skip
    return both


def within(both: Both, complete: Split, part: Split) -> Both:
    """The judgements of a split among the items of a part of it."""
    index = {}
    for side in ("image", "caption"):
        at = np.full(len(complete.ids(side)) + 1, -2)  # -2: in the split, but not in the part; the last: in neither
        at[-1] = -1
        at[places(complete.ids(side), part.ids(side))] = np.arange(len(part.ids(side)))
        index[side] = at
    out: Both = {}
    for direction, one in both.items():
        queries, items = SIDES[direction]
        query, item, given = index[queries][one.query], index[items][one.item], index[queries][one.given]
        kept = (query >= 0) & (item > -2)
        out[direction] = replace(
            one, queries=part.ids(queries), items=part.ids(items), query=query[kept], item=item[kept],
            number=one.grade[kept], rank=None, given=given[given >= 0],
        )  # fmt: skip
    return out


def check_level(name: str, both: Both, level: float, where: str) -> None:
    """Refuse a level that leaves most judged queries of a direction without a positive; not of a transpose.

    Raises:
        BadInput: as above, or no candidate is a positive.
    """
    for direction, one in both.items():
        positive, grade = _reaches(one, level), one.grade
        queries = len(np.unique(one.query[positive]))
        if queries and (one.transposed or 2 * queries >= len(one.given)):
            continue
        grades = f"grades are {grade.min():g} to {grade.max():g}" if len(grade) else "no pair is judged"
        what = (
            f"'{name}' ({direction}): {queries:,} of {len(one.given):,} judged queries have a positive, "
            f"a candidate with a grade of at least {level:g}; {grades}"
        )
        raise BadInput(what, where=where, fix=f"give another {spell('level')}, or leave out what was not judged")


def judgements(name: str, both: Both, level: float) -> Judgements:
    """A set of judgements: candidates with a grade of at least ``level`` are positives.

    Args:
        name: as in metric names.
        both: of both directions, placed among the items of a split.
        level: the smallest grade of a positive.
    """
    found: dict[Direction, Relevance] = {}
    without: dict[Direction, tuple[int, int]] = {}
    digest = hashlib.sha256(f"{level:g}".encode())
    for direction in DIRECTIONS:
        one, grade = both[direction], both[direction].grade
        positive = _reaches(one, level)
        found[direction] = from_pairs(name, direction, one.query[positive], one.item[positive], one.given)
        without[direction] = (found[direction].skipped, len(one.given))
        order = np.lexsort((grade, one.item, one.query))
        for array in (one.query[order], one.item[order], grade[order].astype(np.float32), one.given):
            digest.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes())
    identity = f"own#{digest.hexdigest()[:8]}"
    meaning = f"have no positive: they count in no metric, or as a miss with {spell('no_positive', 'miss')}"
    notes = dict.fromkeys(note for one in both.values() for note in one.notes)
    return Judgements(
        name=name,
        title=name,
        heading=name,
        meaning=f"judgements of one's own, of grade {level:g} or more; the complete gallery is ranked",
        rule=f"a grade of at least {level:g}",
        judged_by="the user",
        cite="",
        reference="",
        load=lambda split, direction: found[direction],
        identity=lambda split: identity,
        grades=lambda split, direction: both[direction],
        notes=(*notes, *_counted(without, "judged ", meaning)),
    )


def _reaches(one: Pairs, level: float) -> Bool:
    """(pair,) whether a grade is at least the level; in float32, as matrices are read."""
    return np.asarray(one.grade.astype(np.float32) >= np.float32(level))


def _counted(counts: Mapping[Direction, tuple[int, int]], word: str, meaning: str) -> list[str]:
    """One note on queries of both directions, of each (how many, of how many); none where there are none."""
    parts = [f"{k:,} of {n:,} {word}{SIDES[d][0]}s" for d, (k, n) in counts.items() if k]
    return [f"{' and '.join(parts)} {meaning}"] if parts else []
