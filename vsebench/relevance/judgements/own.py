"""Judgements of one's own: pairs, a matrix or class labels, placed among the items of a split."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...data import placing
from ...data.formats.ids import places, respelled
from ...data.pair_files import Labels, Pairs
from ...errors import BadInput, count_of
from ...options import spell
from ...types import DIRECTIONS, QUERIES_OF, SIDES, Bool, Direction, Float, Ids, Int, Modality, Relevance, Split
from ..gains import Gains
from .declare import Judgements, Placed, from_pairs

BLOCK = 1 << 22  # entries of a matrix read at a time


@dataclass(frozen=True, eq=False)
class Own:
    """Judgements by direction, with notes on reading them; ``complete`` gives both directions."""

    placed: Mapping[Direction, Placed]
    notes: tuple[str, ...] = ()


def place(pairs: Pairs, split: Split, words: str = "judged") -> Own:
    """Pairs by the items of a split, in their direction.

    Queries that the split does not have are left out, with a note. Items that it does not have stay, with index -1.

    Raises:
        BadInput: most ids are unknown, or the direction is wrong or cannot be determined.
    """
    direction = _direction(pairs, split)
    sides = zip((pairs.queries, pairs.item), SIDES[direction], strict=True)
    query, item = (_indices(ids, side, split, pairs.where) for ids, side in sides)
    notes = list(pairs.notes)
    if lost := int((query < 0).sum()):
        of = f"of {len(query):,} {words} queries"
        counted = count_of(lost, f"{of} is", f"{of} are")
        notes.append(f"{direction}: {counted} not in the split, and left out (first: {pairs.queries[query < 0][0]})")
    own = query[pairs.query]
    inside = own >= 0
    _refuse_repeats(own[inside], item[inside], pairs.where)
    placed = Placed(own[inside], item[inside], pairs.number[inside], np.unique(query[query >= 0]))
    return Own({direction: placed}, tuple(notes))


def of_matrix(gains: Gains, directions: Sequence[Direction] = DIRECTIONS) -> Own:
    """The entries other than 0 of a matrix; images and captions without any are no judged queries."""
    images, captions = gains.shape
    found: list[tuple[Int, Int, Float]] = []
    step = max(1, BLOCK // captions)
    for start in range(0, images, step):
        rows = gains.rows("i2t", start, min(start + step, images))
        image, caption = np.nonzero(rows)
        found.append((image + start, caption, rows[image, caption].astype(np.float64)))
    image, caption, grade = (np.concatenate(column) for column in zip(*found, strict=True))
    both = _both(image, caption, grade)
    notes = [note for note in gains.notes if "float64" not in note]
    notes += _unjudged(both, gains.shape, "entry")
    return Own({direction: both[direction] for direction in directions}, tuple(notes))


def of_labels(labels: Labels, split: Split) -> Own:
    """A caption is a positive of an image if they share a class, and the other way round.

    Items without a label are no queries, and no positives.

    Raises:
        BadInput: labels for another number of items, or for none of the split.
    """
    from scipy.sparse import csr_array

    classes: dict[str, int] = {}
    sides = []
    for side in placing.SIDES:
        known, ids, own = split.ids(side), labels.ids[side], labels.labels[side]
        at = np.arange(len(known)) if ids is None else _places(ids, known)
        if ids is None and len(own) != len(known):
            what = f"labels of {count_of(len(own), side)} for {len(known):,} {side}s of split '{split.name}'"
            raise BadInput(what, where=labels.where, fix=f"give one label a {side}, in the order of the rows")
        row = placing.order(split, side) if ids is None else None
        own = own if row is None else [own[i] for i in row.tolist()]
        if not (at >= 0).any():
            what = f"none of its {side} ids is in split '{split.name}' (first: {ids[0] if ids is not None else ''})"
            raise BadInput(what, where=labels.where, fix=f"use ids such as {known[0]}")
        pairs = [
            (i, classes.setdefault(word, len(classes)))
            for i, words in zip(at.tolist(), own, strict=True)
            for word in words
            if i >= 0
        ]
        sides.append((np.array(pairs, np.int64).reshape(-1, 2), len(known)))
    image, caption = (
        csr_array((np.ones(len(p), np.int32), (p[:, 0], p[:, 1])), shape=(n, max(len(classes), 1))) for p, n in sides
    )
    shared = (image @ caption.T).tocoo()
    rows, columns = (x.astype(np.int64) for x in shared.coords)
    both = _both(rows, columns, np.ones(len(rows)))
    labelled = {d: np.unique(p[:, 0]) for d, (p, _) in zip(DIRECTIONS, sides, strict=True)}
    both = {d: one._replace(judged=labelled[d]) for d, one in both.items()}
    unnamed: list[Modality] = [side for side in placing.SIDES if labels.ids[side] is None]
    return Own(both, (*placing.notes("labels", unnamed, split), *_unjudged(both, shared.shape, "label")))


def complete(found: Sequence[Own], where: str) -> Own:
    """The judgements of several sources; a direction that none of them has is the transpose of the other.

    Raises:
        BadInput: two sources have one direction.
    """
    placed: dict[Direction, Placed] = {}
    notes = [note for own in found for note in own.notes]
    for own in found:
        for direction, one in own.placed.items():
            if direction in placed:
                raise BadInput(f"judgements of {direction} are given twice", where=where, fix="give each once")
            placed[direction] = one
    if len(placed) == 1:
        (direction, one), (other,) = next(iter(placed.items())), set(DIRECTIONS) - set(placed)
        inside = one.item >= 0
        judged = np.unique(one.item[inside])
        placed[other] = Placed(one.item[inside], one.query[inside], one.grade[inside], judged, transposed=True)
        notes.append(f"{other} is the transpose of {direction}")
    return Own(placed, tuple(dict.fromkeys(notes)))


def within(own: Own, complete: Split, part: Split) -> Own:
    """The judgements of a split among the items of a part of it."""
    index = {}
    for side in ("image", "caption"):
        at = np.full(len(complete.ids(side)) + 1, -2)  # -2: in the split, but not in the part; the last: in neither
        at[-1] = -1
        at[places(complete.ids(side), part.ids(side))] = np.arange(len(part.ids(side)))
        index[side] = at
    placed: dict[Direction, Placed] = {}
    for direction, one in own.placed.items():
        query, item = (index[side][x] for side, x in zip(SIDES[direction], (one.query, one.item), strict=True))
        judged = index[SIDES[direction][0]][one.judged]
        kept = (query >= 0) & (item > -2)
        placed[direction] = Placed(query[kept], item[kept], one.grade[kept], judged[judged >= 0], one.transposed)
    return Own(placed, own.notes)


def check_level(name: str, own: Own, level: float, where: str) -> None:
    """Refuse a level that leaves most judged queries of a direction without a positive; not of a transpose.

    Raises:
        BadInput: as above, or no candidate is a positive.
    """
    for direction, one in own.placed.items():
        positive = _reaches(one, level)
        queries = len(np.unique(one.query[positive]))
        if queries and (one.transposed or 2 * queries >= len(one.judged)):
            continue
        grades = f"grades are {one.grade.min():g} to {one.grade.max():g}" if len(one.grade) else "no pair is judged"
        what = (
            f"'{name}' ({direction}): {queries:,} of {len(one.judged):,} judged queries have a positive, "
            f"a candidate with a grade of at least {level:g}; {grades}"
        )
        raise BadInput(what, where=where, fix=f"give another {spell('level')}, or leave out what was not judged")


def judgements(name: str, own: Own, level: float) -> Judgements:
    """A set of judgements: candidates with a grade of at least ``level`` are positives.

    Args:
        name: as in metric names.
        own: of both directions, placed among the items of a split.
        level: the smallest grade of a positive.
    """
    found: dict[Direction, Relevance] = {}
    without: dict[Direction, tuple[int, int]] = {}
    digest = hashlib.sha256(f"{level:g}".encode())
    for direction in DIRECTIONS:
        one = own.placed[direction]
        positive = _reaches(one, level)
        found[direction] = from_pairs(name, direction, one.query[positive], one.item[positive], one.judged)
        without[direction] = (found[direction].skipped, len(one.judged))
        order = np.lexsort((one.grade, one.item, one.query))
        for array in (one.query[order], one.item[order], one.grade[order].astype(np.float32), one.judged):
            digest.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes())
    identity = f"own#{digest.hexdigest()[:8]}"
    meaning = f"have no positive: they count in no metric, or as a miss with {spell('no_positive', 'miss')}"
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
        grades=lambda split, direction: own.placed[direction],
        notes=(*own.notes, *_counted(without, "judged ", meaning)),
    )


def _reaches(one: Placed, level: float) -> Bool:
    """(pair,) whether a grade is at least the level; in float32, as matrices are read."""
    return np.asarray(one.grade.astype(np.float32) >= np.float32(level))


def _both(image: Int, caption: Int, grade: Float) -> dict[Direction, Placed]:
    return {
        "i2t": Placed(image, caption, grade, np.unique(image)),
        "t2i": Placed(caption, image, grade, np.unique(caption)),
    }


def _unjudged(both: Mapping[Direction, Placed], shape: tuple[int, ...], what: str) -> list[str]:
    """A note on items that are no judged queries, since they have no entry or no label."""
    meaning = (
        f"have no {what}: they are no queries, and count in no metric, with {spell('no_positive', 'miss')} as well"
    )
    sides = zip(DIRECTIONS, shape, strict=True)
    return _counted({d: (n - len(both[d].judged), n) for d, n in sides}, "", meaning)


def _counted(counts: Mapping[Direction, tuple[int, int]], word: str, meaning: str) -> list[str]:
    """One note on queries of both directions, of each (how many, of how many); none where there are none."""
    parts = [f"{k:,} of {n:,} {word}{SIDES[d][0]}s" for d, (k, n) in counts.items() if k]
    return [f"{' and '.join(parts)} {meaning}"] if parts else []


def _direction(given: Pairs, split: Split) -> Direction:
    """The direction that the pairs state, or whose ids fit."""

    def fits(direction: Direction) -> float:
        sides = zip((given.queries, np.unique(given.item)), SIDES[direction], strict=True)
        shares = [float((_places(ids, split.ids(side)) >= 0).mean()) if len(ids) else 0.0 for ids, side in sides]
        return shares[0] * shares[1]

    found = {direction: fits(direction) for direction in DIRECTIONS}
    if given.direction is not None:
        other = QUERIES_OF[given.direction]
        if found[given.direction] < 0.5 < found[other]:
            what = f"the pairs of {given.direction} look swapped: their queries and items are those of {other}"
            raise BadInput(what, where=given.where, fix=f"give them as {other}")
        return given.direction
    if max(found.values()) < 0.5 or found["i2t"] == found["t2i"]:
        what = (
            f"it is not clear whether the queries are images or captions of split '{split.name}': "
            f"{found['i2t']:.0%} of the ids fit i2t, {found['t2i']:.0%} fit t2i"
        )
        raise BadInput(what, where=given.where, fix="write i2t:FILE or t2i:FILE behind the name, and check the ids")
    return "i2t" if found["i2t"] > found["t2i"] else "t2i"


def _places(ids: Ids, known: Ids) -> Int:
    """(item,) int64 index among ``known`` of every id, in any spelling; -1 for unknown ones."""
    return places(known, respelled(ids, known))


def _indices(ids: Ids, side: Modality, split: Split, where: str) -> Int:
    """(item,) int64 index in the split of every id, -1 for unknown ones; BadInput where most are unknown."""
    known = split.ids(side)
    at = _places(ids, known) if len(ids) else np.zeros(0, np.int64)
    lost = int((at < 0).sum())
    if 2 * lost > len(at):
        what = f"{lost:,} of {len(at):,} {side} ids are not in split '{split.name}' (first: {ids[at < 0][0]})"
        fix = f"use ids such as {known[0]}, or give the right {spell('split')}"
        raise BadInput(what, where=where, fix=fix)
    return at


def _refuse_repeats(query: Int, item: Int, where: str) -> None:
    """Refuse a pair that occurs twice in other spellings of its ids."""
    pairs = np.stack([query, item])[:, item >= 0]
    if np.unique(pairs, axis=1).shape[1] < pairs.shape[1]:
        raise BadInput("has a pair twice, in two spellings of an id", where=where, fix="give every pair once")
