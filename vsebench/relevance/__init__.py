"""Who is relevant to whom: ``gt`` for every split, ``eccv`` and ``cxc`` for COCO 5K."""

from __future__ import annotations

from ..errors import UsageError
from ..registry import unknown
from ..types import DIRECTIONS, Direction, Relevance, Split
from .judgements.describe import DESCRIPTIONS, Description
from .judgements.eccv_caption import COUNTS, identities, judged
from .judgements.pairs import from_lists, from_pairs, ground_truth

__all__ = ["COUNTS", "DESCRIPTIONS", "Description", "from_lists", "from_pairs", "identities", "load", "names"]


def names(split: Split) -> list[str]:
    """The relevances that apply to a split, ``gt`` first; whether they are installed is another matter."""
    return [d.name for d in DESCRIPTIONS.values() if not d.splits or split.name in d.splits]


def load(name: str, split: Split, direction: Direction) -> Relevance:
    """One relevance over the items of a split.

    Args:
        name: ``gt``, ``eccv`` or ``cxc``.
        split: the items.
        direction: ``i2t`` or ``t2i``.

    Raises:
        UsageError: no such relevance or direction, or one that does not judge this split.
        MissingPackage: the package with the judgements is not installed.
        BadInput: its files are damaged.
    """
    if name not in DESCRIPTIONS:
        raise unknown("relevance", name, DESCRIPTIONS)
    if direction not in DIRECTIONS:
        raise UsageError(f"unknown direction '{direction}'", fix="give i2t or t2i")
    return ground_truth(split, direction) if name == "gt" else judged(name, split, direction)
