"""The table of relevance judgements: add a set by declaring it in a file of its own and naming it here."""

from __future__ import annotations

from ...errors import UsageError
from ...registry import unknown
from ...types import DIRECTIONS, Direction, Relevance, Split
from .coco_1k import COCO_1K
from .cxc import CXC
from .declare import Counts, Judgements
from .eccv import ECCV
from .entails import ENTAILS
from .ground_truth import GROUND_TRUTH
from .judged import JUDGED

JUDGEMENTS: dict[str, Judgements] = {
    declared.name: declared for declared in (GROUND_TRUTH, COCO_1K, ECCV, CXC, ENTAILS, JUDGED)
}
COUNTS: dict[tuple[str, Direction], Counts] = {
    (name, direction): counts for name, declared in JUDGEMENTS.items() for direction, counts in declared.counts.items()
}


def names(split: Split) -> list[str]:
    """The sets with positives of their own that apply to a split, ``gt`` first, installed or not."""
    return [name for name, declared in JUDGEMENTS.items() if declared.positives == name and declared.covers(split.name)]


def load(name: str, split: Split, direction: Direction) -> Relevance:
    """One set of judgements over the items of a split.

    Args:
        name: a key of ``JUDGEMENTS``; a set with the positives of another loads these.
        split: the items.
        direction: ``i2t`` or ``t2i``.

    Raises:
        UsageError: an unknown name or direction, or a split that was not judged.
        MissingPackage: the package with the judgements is not installed.
        BadInput: its files are damaged, or the split lacks judged queries.
    """
    if name not in JUDGEMENTS:
        raise unknown("judgements", name, JUDGEMENTS)
    if direction not in DIRECTIONS:
        raise UsageError(f"unknown direction '{direction}'", fix="give i2t or t2i")
    return JUDGEMENTS[name].load(split, direction)


def identities(split: Split) -> dict[str, str]:
    """For the signature: name -> source and fingerprint, of the installed judgements of a split that have files."""
    found = {name: declared.identity(split) for name, declared in JUDGEMENTS.items()}
    return {name: identity for name, identity in found.items() if identity is not None}
