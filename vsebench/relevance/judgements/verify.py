"""Checks that the installed judgements of COCO 5K can be matched to the split, in the published numbers."""

from __future__ import annotations

from ...data.splits.catalogue import Check, declared, load_split
from ...data.splits.packages import has_ids
from ...errors import VsebenchError
from .table import COUNTS, JUDGEMENTS, load


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
