"""Unit, range, direction and heading of every metric of a leaderboard.

A metric of vsebench has its own name, such as ``eccv:R@1``. A number of a paper that vsebench cannot name exactly, as
the paper does not say what relevance it used, has the view ``paper``: ``paper:CS@100``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache

from ..errors import UsageError
from ..metrics import parse
from ..registry import unknown
from ..relevance.sources import is_gains
from ..types import Unit

PAPER = "paper"


@dataclass(frozen=True)
class Facts:
    """What a leaderboard needs of a metric.

    Attributes:
        heading: of a column.
        family: which metrics share a table, see ``FAMILIES``: the group that a metric declares; of graded metrics the
            gains.
        form: how a value is printed.
        low, high: range of a value; ``high`` None means no bound.
        higher_is_better: direction of the metric.
    """

    heading: str
    family: str
    form: Unit
    low: float
    high: float | None
    higher_is_better: bool = True


# Titles of tables, in their order on a page.
FAMILIES = {
    "recall": "Recall",
    "precision": "Precision on all relevant items",
    "rank": "Rank of the first relevant item",
    "coherent": "Coherent score, with the relevance of the paper",
    "semantic": "Normalized cumulative semantic score (N@K), with the relevance of the paper",
    "tau": "Kendall's tau, with the relevance of the paper",
    "human": "Pearson correlation with human judgements",
    "captioning": "Captioning",
}

RECALL = ("gt", "1k", "cxc")  # judgements whose recalls make a table; of others R-P and mAP@R stand beside them

_PRINTED = {
    "CS@{k}": Facts("CS@{k}", "coherent", "number", -1.0, 1.0),
    "NCS@{k}": Facts("N@{k}", "semantic", "fraction", 0.0, 1.0),
    "Nsum": Facts("Nsum", "semantic", "fraction", 0.0, 6.0),
    "Nsum(N)": Facts("Nsum(N)", "semantic", "fraction", 0.0, 6.0),
    "Kendall": Facts("Kendall τ", "tau", "number", -1.0, 1.0),
    "Pearson": Facts("Pearson r", "human", "number", -1.0, 1.0),
    "BLEU-4": Facts("BLEU-4", "captioning", "number", 0.0, 1.0),
    "CIDEr-D": Facts("CIDEr-D", "captioning", "number", 0.0, 10.0),
    "METEOR": Facts("METEOR", "captioning", "number", 0.0, 1.0),
    "ROUGE-L": Facts("ROUGE-L", "captioning", "number", 0.0, 1.0),
    "SPICE": Facts("SPICE", "captioning", "number", 0.0, 1.0),
}


@cache
def facts(name: str) -> Facts:
    """The facts of a metric by its name; raises UsageError for an unknown one."""
    view, colon, rest = name.partition(":")
    return _printed(rest) if colon and view == PAPER else _measured(name)


def _printed(rest: str) -> Facts:
    depth = re.search(r"@([1-9]\d*)$", rest)
    template = rest if depth is None else rest[: depth.start()] + "@{k}"
    if template not in _PRINTED:
        raise unknown("metric of papers", f"{PAPER}:{rest}", [f"{PAPER}:{known}" for known in _PRINTED])
    found = _PRINTED[template]
    return replace(found, heading=found.heading.format(k=depth[1] if depth else ""))


def _measured(name: str) -> Facts:
    metric = parse(name)
    if str(metric) != name:
        raise UsageError(f"the metric '{name}' has another canonical name", fix=f"write '{metric}'")
    known = metric.family
    family = metric.view
    if not is_gains(metric.view):
        family = "precision" if known.group == "recall" and metric.view not in RECALL else known.group
    return Facts(metric.name, family, metric.unit, known.low, known.high, known.higher_is_better)
