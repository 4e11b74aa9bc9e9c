"""Matching retrieved lists to a split: which direction a list answers, and which item an id is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..errors import BadInput, UsageError
from ..types import DIRECTIONS, Direction, Int, Split
from .audit import shown
from .formats.raw import RawLists
from .splits import catalogue as splits

Id = int | str


@dataclass(frozen=True, eq=False)
class HeldLists:
    """Lists of a split.

    Attributes:
        split: whose.
        lists: direction -> query index -> (length,) gallery indices, best first.
        tied: the same -> places (from 0) with the score of the place before; without a direction whose scores are not
            known, without queries that have no such place.
    """

    split: Split
    lists: dict[Direction, dict[int, Int]]
    tied: dict[Direction, dict[int, Int]] = field(default_factory=dict)


def resolve(raw: RawLists, name: str | None) -> HeldLists:
    """The lists of a run in terms of a declared split.

    Args:
        raw: lists of ids.
        name: the split; None tries the declared ones that are available, by the ids of the queries.

    Raises:
        BadInput: ids that the split does not know (counts and first), two lists for one direction, or a
            direction that cannot be told.
        UsageError: ``custom`` or an unknown split.
    """
    where = raw.sources[0]
    if name == "custom":
        raise UsageError(
            "retrieved lists do not say who belongs to whom, so they need a declared split",
            fix=f"give --split {', '.join(splits.names())}, or evaluate the embeddings",
        )
    split = splits.load(name) if name else _recognise(raw)
    image, caption = _table(split.image_ids.tolist()), _table(split.caption_ids.tolist())
    found: dict[Direction, dict[int, Int]] = {}
    tied: dict[Direction, dict[int, Int]] = {}
    for key, lists in raw.lists.items():
        direction = _direction(key, lists, image, caption, where)
        if direction in found:
            raise BadInput(f"two runs answer {direction}", where=where, fix="give one run a direction")
        query, item = (image, caption) if direction == "i2t" else (caption, image)
        found[direction] = _indices(lists, query, item, direction, split.name, where)
        if key in raw.tied:
            tied[direction] = {query[q]: np.array(places, np.int64) for q, places in raw.tied[key].items()}
    return HeldLists(split, found, tied)


def _recognise(raw: RawLists) -> Split:
    queries = dict.fromkeys(q for lists in raw.lists.values() for q in list(lists)[:50])
    for name in splits.names():
        if name == "coco-1k":
            continue
        try:
            split = splits.load(name)
        except ImportError:
            continue
        # An id here and there is a coincidence; most of them are not.
        known = {*split.image_ids.tolist(), *split.caption_ids.tolist()}
        if 2 * len(queries.keys() & known) > len(queries):
            return split
    first = next(iter(queries), None)
    raise BadInput(
        f"query ids such as '{shown(first)}' belong to no declared split that is installed "
        f"({', '.join(splits.names())})",
        where=raw.sources[0],
        fix="give --split NAME, and see `vsebench data list` for what is installed",
    )


def _table(ids: list[Id]) -> dict[Id, int]:
    return {x: i for i, x in enumerate(ids)}


def _direction(
    key: str, lists: Mapping[Id, list[Id]], image: Mapping[Id, int], caption: Mapping[Id, int], where: object
) -> Direction:
    def fits(query: Mapping[Id, int], item: Mapping[Id, int]) -> float:
        good = sum(q in query for q in lists) / max(len(lists), 1)
        heads = [items[0] for items in lists.values() if items]
        return good * sum(x in item for x in heads) / max(len(heads), 1)

    as_i2t, as_t2i = fits(image, caption), fits(caption, image)
    if key in DIRECTIONS:
        stated, other = (as_i2t, as_t2i) if key == "i2t" else (as_t2i, as_i2t)
        if stated < 0.5 < other:
            raise BadInput(
                f"the lists called {key} look swapped: their queries and items are those of the other direction",
                where=str(where),
                fix="exchange i2t and t2i",
            )
        return "i2t" if key == "i2t" else "t2i"
    if max(as_i2t, as_t2i) < 0.5 or as_i2t == as_t2i:
        raise BadInput(
            "cannot tell whether the lists are image-to-text or text-to-image: "
            f"{as_i2t:.0%} of the ids fit i2t, {as_t2i:.0%} fit t2i",
            where=str(where),
            fix="write the file as i2t=FILE or t2i=FILE, and check the ids",
        )
    return "i2t" if as_i2t > as_t2i else "t2i"


def _indices(
    lists: Mapping[Id, list[Id]],
    query: Mapping[Id, int],
    item: Mapping[Id, int],
    direction: Direction,
    split: str,
    where: object,
) -> dict[int, Int]:
    strange = [q for q in lists if q not in query]
    if strange:
        raise BadInput(
            f"{direction}: {len(strange):,} of the {len(lists):,} query ids are not in split '{split}' "
            f"(first: {shown(strange[0])})",
            where=str(where),
            fix="leave them out or give the right --split",
        )
    out: dict[int, Int] = {}
    missing: list[tuple[Id, Id]] = []
    for q, items in lists.items():
        places = [item.get(x, -1) for x in items]
        if -1 in places:
            missing.append((q, items[places.index(-1)]))
        out[query[q]] = np.array(places, np.int64)
    if missing:
        raise BadInput(
            f"{direction}: {len(missing):,} of the {len(lists):,} lists hold items that are not in split '{split}' "
            f"(first: item {shown(missing[0][1])} of query {missing[0][0]})",
            where=str(where),
            fix="rank the items of the split and nothing else",
        )
    return out
