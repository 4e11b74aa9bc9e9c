"""The retrieval explorer of a page: single queries with the top of their rankings, as data for its script.

Numbers are base64 of little-endian integers, scores and gains rounded to as many decimals as 16 bits allow; strings
are JSON in which nothing can end the script that holds it.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import printable
from ..types import Direction, Float, Int, Side, TestSet
from .model import NOTHING, SIDE, Lists

UNDEFINED = -32768  # of 16 bits
BUDGET = 9_000_000  # bytes of base64 for the lists of all systems; lists are shortened beyond it
BYTES = 8  # of base64 for one item of a list: its index, score and gain


@dataclass(frozen=True, eq=False)
class Ranking:
    """One system in one direction.

    Attributes:
        lists: the top of its rankings.
        values: (query,) float64 of the metric of the page, NaN where it is undefined; None when it was not measured.
        ranks: (query,) int64 rank of the first ground-truth item, 0 where it is not known; None when not measured.
    """

    lists: Lists
    values: Float | None = None
    ranks: Int | None = None


@dataclass(frozen=True, eq=False)
class Way:
    """One direction.

    Attributes:
        direction: ``i2t`` or ``t2i``.
        rankings: one a system; None for a system without lists.
        judged: heading -> (indptr (query + 1,), items) of further judgements beside the ground truth.
    """

    direction: Direction
    rankings: tuple[Ranking | None, ...]
    judged: Mapping[str, tuple[Int, Int]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Explorer:
    """Single queries of all systems.

    Attributes:
        split: the items, with captions where they are known.
        systems: names.
        metric: the name of the graded metric of ``Ranking.values``, or None.
        gains: the heading of the gains, or None without any.
        ways: one a direction.
        thumbnails: index of an image -> JPEG bytes.
        notes: what is left out, and how to get it.
    """

    split: TestSet
    systems: tuple[str, ...]
    metric: str | None
    gains: str | None
    ways: tuple[Way, ...]
    thumbnails: Mapping[int, bytes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def usable(self) -> list[int]:
        """Indices of the systems with lists."""
        return [i for i in range(len(self.systems)) if any(way.rankings[i] is not None for way in self.ways)]

    @property
    def searched(self) -> str:
        """What the reader can search, in words."""
        named = zip(_names(self.split), self.split.sides, strict=True)
        return " and ".join([*(plural for (_, plural), side in named if side.texts is not None), "ids"])

    @property
    def facts(self) -> dict[str, Any]:
        """What the page has of single queries, as plain values."""
        return {
            "queries": {way.direction: self.queries(way.direction) for way in self.ways}, "items": self.k,
            "captions": self.split.columns.texts is not None, "thumbnails": len(self.thumbnails),
        }  # fmt: skip

    def queries(self, direction: Direction) -> int:
        """The number of queries; an image without a caption is none."""
        side = self.split.side(SIDE[direction])
        return len(side) if direction != "i2t" or self.split.image_of is None else len(np.unique(self.split.owners))

    @property
    def k(self) -> int:
        """Items of a list that are shown: all that are kept, or fewer where the page would become too large."""
        kept = [r.lists.items for way in self.ways for r in way.rankings if r is not None]
        longest: int = max(items.shape[1] for items in kept)
        queries = sum(len(items) for items in kept)
        return max(1, min(longest, BUDGET // (BYTES * queries)))


def to_json(explorer: Explorer) -> str:
    """The data of an explorer as JSON that may stand in a script of a page."""
    split, k = explorer.split, explorer.k
    document = {
        "systems": list(map(printable, explorer.systems)),
        "metric": explorer.metric,
        "gains": explorer.gains,
        "k": k,
        "names": [dict(zip(("name", "plural"), words, strict=True)) for words in _names(split)],
        "rows": [printable(str(i)) for i in split.rows.ids.tolist()],
        "columns": [printable(str(i)) for i in split.columns.ids.tolist()],
        "rowTexts": _texts(split.rows),
        "texts": _texts(split.columns),
        "rowOf": None if split.image_of is None else _integers(split.image_of),
        "thumbnails": {str(i): base64.b64encode(data).decode("ascii") for i, data in explorer.thumbnails.items()},
        "ways": {way.direction: _way(way, k) for way in explorer.ways},
    }
    return script_json(document)


def _names(split: TestSet) -> list[tuple[str, str]]:
    """What an item of either side is, and several."""
    return (
        [("query", "queries"), ("document", "documents")]
        if split.one_way
        else [(s.name, s.plural) for s in split.sides]
    )


def _texts(side: Side) -> list[str] | None:
    return None if side.texts is None else [printable(text.strip()) for text in side.texts]


def script_json(document: Any) -> str:
    """JSON without the characters that end a script, begin a comment or a tag, or end a line of JavaScript."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", "replace").decode("utf-8")


def _way(way: Way, k: int) -> dict[str, Any]:
    judged = [
        {"name": name, "pointers": _integers(pointers), "items": _integers(items)}
        for name, (pointers, items) in way.judged.items()
    ]
    return {"judged": judged, "rankings": [None if r is None else _ranking(r, k) for r in way.rankings]}


def _ranking(ranking: Ranking, k: int) -> dict[str, Any]:
    lists = ranking.lists
    top = slice(None), slice(None, k)
    return {
        "k": lists.items[top].shape[1],
        "items": _integers(lists.items[top] - NOTHING),
        "scores": None if lists.scores is None else _rounded(lists.scores[top]),
        "gains": None if lists.gains is None else _rounded(lists.gains[top]),
        "truth": None if lists.truth_gains is None else _rounded(lists.truth_gains),
        "values": None if ranking.values is None else _rounded(ranking.values),
        "ranks": None if ranking.ranks is None else _integers(ranking.ranks),
    }


def _integers(values: Int) -> dict[str, Any]:
    """Integers from 0 in 16 or 32 bits."""
    small = not values.size or int(values.max()) < 2**16
    return {"kind": "u2" if small else "u4", **_base64(values.astype("<u2" if small else "<u4"))}


def _rounded(values: npt.NDArray[Any]) -> dict[str, Any]:
    """Numbers times a power of ten in 16 bits, or in 32 where they are large; NaN is the least 16-bit number."""
    known = ~np.isnan(values)
    most = float(np.abs(values[known]).max(initial=0))
    digits = 4 if not most else min(6, math.floor(math.log10(32_000 / most)))
    kind = "i2" if digits >= 0 else "i4"
    digits = max(digits, 0)
    scaled = np.where(known, np.rint(np.where(known, values, 0).astype(np.float64) * 10.0**digits), UNDEFINED)
    limit = np.iinfo(np.int32)
    return {"kind": kind, "digits": digits, **_base64(scaled.clip(limit.min, limit.max).astype(f"<{kind}"))}


def _base64(values: npt.NDArray[Any]) -> dict[str, str]:
    return {"data": base64.b64encode(values.tobytes()).decode("ascii")}
