"""Warnings of a report: ties that move numbers, positives that cannot be found, ks beyond the gallery."""

from __future__ import annotations

from collections.abc import Sequence

from ..metrics import Metric
from ..relevance.judgements.table import JUDGEMENTS
from ..report.model import Result
from ..types import Direction, Observation, Split
from .intervals import Key

TIE_SHARE = 0.001  # above this share of tied relevant items a report warns


def ties(observed: dict[Direction, Observation], results: dict[Key, Result]) -> list[str]:
    """One line a direction: how many relevant items tie, and the range of each view's most affected metric."""
    out = []
    for direction, observation in observed.items():
        shares = {view: float(ranks.tied.mean()) for view, ranks in observation.ranks.items() if len(ranks.tied)}
        view = max(shares, key=lambda v: shares[v], default=None)
        if view is None or shares[view] <= TIE_SHARE:
            continue
        text = f"{direction}: {shares[view]:.1%} of the relevant items ({view}) tie exactly with another candidate"
        if shares[view] > 0.99:
            text += " (collapsed scores)"
        # COCO 1K repeats the ties of COCO 5K; they are reported once.
        shown = [v for v in shares if not JUDGEMENTS[v].folds] or list(shares)
        ranges = [s for s in (_range(v, direction, results) for v in shown) if s]
        out.append(f"{text}; by tie rule (--ties) {', '.join(ranges) or 'no metric moves'}")
    return out


def _range(view: str, direction: Direction, results: dict[Key, Result]) -> str:
    moved = [
        (*r.ties, r)
        for (_, d), r in results.items()
        if d == direction and r.ties is not None and r.ties[0] != r.ties[1] and r.metric.view == view
    ]
    if not moved:
        return ""
    low, high, result = max(moved, key=lambda m: abs(m[0] - m[1]) / (abs(m[2].value) + 1e-9))
    scale = 1 if result.unit == "rank" else 100
    ends = [f"{scale * x:.2f}" for x in sorted((low, high))]
    return f"{result.metric} is {ends[0]} to {ends[1]}" if ends[0] != ends[1] else ""


def unreachable(observed: dict[Direction, Observation]) -> list[str]:
    """One line for all judgements with positives outside the gallery."""
    return [
        f"{view} {direction}: {ranks.relevance.unreachable} positives are not in the gallery and count as not found"
        for direction, observation in observed.items()
        for view, ranks in observation.ranks.items()
        if ranks.relevance.unreachable
    ]


def clipped(metrics: Sequence[Metric], split: Split) -> list[str]:
    """One line about binary metrics whose k is larger than a gallery."""
    smallest = min(len(split.image_ids), len(split.caption_ids))
    deep = [str(m) for m in metrics if (m.k or 0) > smallest and not m.graded]
    return (
        [f"{', '.join(deep)}: k is larger than a gallery of {smallest:,}; everything counts as retrieved"]
        if deep
        else []
    )
