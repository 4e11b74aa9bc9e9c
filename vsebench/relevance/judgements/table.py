"""The table of relevance judgements: add a set by declaring it in another file and naming it here."""

from __future__ import annotations

from ...errors import UsageError, VsebenchError
from ...options import spell
from ...registry import unknown
from ...sets.catalogue import declared, load_split
from ...sets.packages import has_ids
from ...sets.source import Check
from ...types import DIRECTIONS, Direction, Relevance, Split
from .coco_files import CXC, ECCV
from .declare import Counts, Judgements
from .ground_truth import COCO_1K, GROUND_TRUTH
from .scenes import ENTAILS

JUDGEMENTS: dict[str, Judgements] = {judged.name: judged for judged in (GROUND_TRUTH, COCO_1K, ECCV, CXC, ENTAILS)}
COUNTS: dict[tuple[str, Direction], Counts] = {
    (name, direction): counts for name, judged in JUDGEMENTS.items() for direction, counts in judged.counts.items()
}


def sets_of(split: Split) -> dict[str, Judgements]:
    """The sets that apply to a split, installed or not, ``gt`` first."""
    has_folds = split.fold is not None and not split.in_folds
    return {
        name: judged
        for name, judged in JUDGEMENTS.items()
        if judged.covers(split.name) and (has_folds or not judged.folds)
    }


def in_folds(view: str) -> bool:
    """Whether only the items of the query's fold are candidates of a set of judgements."""
    return view in JUDGEMENTS and JUDGEMENTS[view].folds


def load(name: str, split: Split, direction: Direction) -> Relevance:
    """One set of judgements over the items of a split.

    Args:
        name: a key of ``JUDGEMENTS``.
        split: the items.
        direction: ``i2t`` or ``t2i``.

    Raises:
        UsageError: an unknown name or direction, or a split that was not judged.
        MissingPackage: the package with the judgements is not installed.
        BadInput: its files are damaged, or the split lacks judged queries.
    """
    if direction not in DIRECTIONS:
        raise UsageError(f"unknown direction '{direction}'", fix="give i2t or t2i")
    if name not in JUDGEMENTS:
        error = unknown("judgements", name, JUDGEMENTS)
        only = f"those that are given with {spell('judgements')} are known to that evaluation only"
        raise UsageError(error.what, fix=f"{error.fix}; {only}")
    return JUDGEMENTS[name].load(split, direction)


def verify_judgements(name: str) -> list[Check]:
    """One check for every set of judgements and direction of a declared split, none where no judgements apply.

    Args:
        name: the split; ``coco-1k`` has the items of ``coco-5k``.

    Raises:
        UsageError: no such split.
        MissingPackage: the split is neither built nor installed.
    """
    split_name = declared(name).built_as
    counted = {key: counts for key, counts in COUNTS.items() if split_name in JUDGEMENTS[key[0]].splits}
    if not counted or not has_ids():
        return []
    checks = []
    split = load_split(split_name)
    for (judgements, direction), published in counted.items():
        try:
            found = load(judgements, split, direction)
        except VsebenchError as error:
            checks.append(Check(f"{judgements} {direction}", False, error.what))
            continue
        counts = (len(found.queries), int(found.size.sum()), found.unreachable)
        detail = "{:,} queries, {:,} positives, {} not among the captions".format(*counts)
        checks.append(Check(f"{judgements} {direction}", counts == published, detail))
    return checks
