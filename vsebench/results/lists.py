"""The top of every ranking of a report, with scores and gains: what its page shows of single queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..types import QUERIES_OF, Direction, Int, TestSet, Vectors
from .packed import pack, unpack
from .values import SIDE

if TYPE_CHECKING:
    from .schema import ListsDocument

FIX = "write the report again with vsebench eval FILE -o A.json"
NOTHING = -1  # behind the end of a retrieved list


@dataclass(frozen=True, eq=False)
class Lists:
    """The top of the rankings of one direction, for all queries in the order of the items of the report.

    Attributes:
        direction: ``i2t`` or ``t2i``.
        items: (query, k) int64 gallery indices, best first; -1 behind the end of a list that is shorter.
        scores: (query, k) float32, rounded from the float64 scores that decide the order, and those beyond the range
            of float32 at its ends; None for retrieved lists without scores.
        kind: the gains, such as ``cider``, with which graded metrics were measured first; None without any.
        gains: (query, k) float32 gains of the items, 0 where there is no item; None without gains.
        truth_gains: (query,) float32 largest gain of a ground-truth item of the query; None without gains.
    """

    direction: Direction
    items: Int
    scores: Vectors | None = None
    kind: str | None = None
    gains: Vectors | None = None
    truth_gains: Vectors | None = None


def write(lists: Sequence[Lists]) -> list[dict[str, Any]]:
    """The section ``lists`` of a document."""
    return [
        {
            "direction": top.direction,
            "k": top.items.shape[1],
            "items": pack((top.items - NOTHING).ravel()),
            "scores": None if top.scores is None else pack(top.scores.ravel()),
            "kind": top.kind,
            "gains": None if top.gains is None else pack(top.gains.ravel()),
            "truth_gains": None if top.truth_gains is None else pack(top.truth_gains),
        }
        for top in lists
    ]


def read(documents: Sequence[ListsDocument], items: TestSet) -> tuple[Lists, ...]:
    """The lists of a document; ``items`` are those of the report.

    Raises:
        BadInput: a direction twice, or an array that is damaged or does not fit the items.
    """
    if len({d.direction for d in documents}) < len(documents):
        raise BadInput("lists: a direction occurs twice", fix=FIX)
    return tuple(_read(d, items) for d in documents)


def _read(document: ListsDocument, items: TestSet) -> Lists:
    direction, k = document.direction, document.k
    queries, gallery = len(items.side(SIDE[direction]).ids), len(items.side(SIDE[QUERIES_OF[direction]]).ids)
    name = f"lists ({direction})"
    found = _unpacked(document.items, name, (queries, k), "i") + NOTHING
    inside = found[found != NOTHING]
    if len(inside) and (inside.min() < 0 or inside.max() >= gallery):
        raise BadInput(f"{name} names an item that does not exist", fix=FIX)

    def floats(text: str | None, shape: tuple[int, ...]) -> Vectors | None:
        return None if text is None else _unpacked(text, name, shape, "if").astype(np.float32)

    if (document.gains is None) != (document.truth_gains is None):
        raise BadInput(f"{name} has gains of the items or of the ground truth, and not both", fix=FIX)
    return Lists(
        direction, found.astype(np.int64), floats(document.scores, (queries, k)), document.kind,
        floats(document.gains, (queries, k)), floats(document.truth_gains, (queries,)),
    )  # fmt: skip


def _unpacked(text: str, name: str, shape: tuple[int, ...], kinds: str) -> npt.NDArray[Any]:
    size = int(np.prod(shape))
    try:
        array = unpack(text, size)
    except BadInput as error:
        raise BadInput(f"{name}: {error.what}", fix=FIX) from None
    if array.dtype.kind not in kinds or len(array) != size or not np.isfinite(array).all():
        raise BadInput(f"{name} has {len(array)} numbers where {size:,} are needed", fix=FIX)
    return array.reshape(shape)
