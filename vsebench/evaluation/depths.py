"""Which metrics a back-end can measure that lists only the top of every ranking, and what it says about the others.

Metrics of binary judgements are measured together, and so are those that read gains: where one of them reads deeper,
all scores have to be computed anyhow, and the others are taken from the same pass.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..graded.rankings import plan as rankings_of
from ..log import note
from ..metrics import Metric
from ..rank import backends
from ..rank.ties import EXPECTED
from ..types import BOTH, Both, sides_of
from .assemble import some_names
from .inputs import Input
from .plan import Plan

Reasons = dict[str, list[str]]  # what a list does not have -> names of the metrics, or options, that read it
Deepest = Callable[[int], int]  # of ``Order``
COMPLETE, INSIDE = "complete rankings", "the items of a fold"


def route(plan: Plan, data: Input) -> tuple[backends.Ranker, Both[int] | None]:
    """The functions of the back-end to rank with, and how deep its lists for binary judgements have to be.

    Args:
        plan: what is measured.
        data: what is ranked.

    Returns:
        The ranker is without ``lists`` where metrics of binary judgements are ranked by the reference, and without
        ``order`` where graded ones are. No depths where ranks are not read from lists.
    """
    ranker = backends.ranker(plan.backend)
    lists = ranker.lists
    if lists is None or lists.deepest is None:
        return ranker, None
    if not data.of_vectors:
        what = "scores are given" if data.lists is None else "retrieved lists are given"
        note(f"{what}, and {lists.name} searches vectors: it was not used")
        return replace(ranker, order=None, lists=None), None
    needed, binary = _binary(plan, lists.deepest)
    graded = _graded(plan, lists.deepest)
    if plan.intra:
        note(
            f"images among images and captions among captions were ranked by numpy, not by {lists.name}",
            weight="detail",
        )
    if binary:
        note(_not_listed(binary, lists.name, plan.binary, "metrics of binary judgements"), weight="detail")
        ranker = replace(ranker, lists=None)
    if graded:
        note(_not_listed(graded, lists.name, plan.graded, "graded metrics"), weight="detail")
        ranker = replace(ranker, order=None)
    return ranker, None if binary else needed


def _binary(plan: Plan, deepest: Deepest) -> tuple[Both[int], Reasons]:
    """Up to which rank metrics of binary judgements read, of images and of captions, and what else they read."""
    needed = [0, 0]
    reasons: Reasons = defaultdict(list)
    for side, target in [(d, target) for d in BOTH for target in plan.targets[d]]:
        gallery = plan.split.shape[1 - side]
        most = deepest(gallery)
        for m in (m for m in plan.binary if m.view == target.view):
            size = int(target.relevance.size.max(initial=1)) if m.family.depth == "R" else m.k or 1
            deep = min(size, gallery)
            if not target.candidates.everything:
                reasons[INSIDE].append(str(m))
            elif m.family.depth not in ("k", "R") or plan.request.ties == EXPECTED:
                reasons[COMPLETE].append(str(m))
            elif deep > most:
                reasons[f"more than the first {most:,} items"].append(str(m))
            else:
                needed[side] = max(needed[side], deep)
    for side in sides_of(plan.directions):
        gallery = plan.split.shape[1 - side]
        most = deepest(gallery)
        if min(plan.depth or 0, gallery) > most:
            reasons[f"more than the first {most:,} items"].append(f"lists of {plan.depth:,}")
    return (needed[0], needed[1]), reasons


def _graded(plan: Plan, deepest: Deepest) -> Reasons:
    """What metrics of gains read beyond lists."""
    reasons: Reasons = defaultdict(list)
    expected = plan.request.ties == EXPECTED
    rankings = rankings_of(
        plan.graded, plan.split, sides_of(plan.directions), expected, plan.request.resampling is not None
    )
    for ranking in rankings:
        most = deepest(len(ranking.gallery))
        for m in ranking.metrics:
            if m.family.depth == "all" or expected:
                reasons[COMPLETE].append(str(m))
            elif replace(ranking, metrics=(m,)).depth > most:
                reasons[f"more than the first {most:,} items"].append(str(m))
    return reasons


def _not_listed(reasons: Reasons, lists: str, metrics: Sequence[Metric], kind: str) -> str:
    """Which metrics read what lists do not have, and what ranked them."""
    read = "; ".join(f"{some_names(names)}: {what}" for what, names in reasons.items())
    lost = {name for names in reasons.values() for name in names}
    others = "" if all(str(m) in lost for m in metrics) else f", and in the same pass the other {kind}"
    return f"numpy ranked what {lists} does not list, or not as fast ({read}){others}"
