"""Warnings and notes on results: ties, positives that cannot be found, ks beyond the gallery.

A warning is about what the user can mend; duplicate captions and judgements outside the gallery are facts of a split.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..log import note, warn
from ..metrics import Metric
from ..options import spell
from ..relevance.sources import in_folds
from ..results.format import printed
from ..results.model import Result
from ..types import Direction, Observation, Split
from .intervals import Key

TIE_SHARE = 0.001  # above this share of tied relevant items there is a line on them
TIES_MATTER = {"rank": 0.05, "fraction": 0.01}  # and a warning where they move a rank by this share, a fraction by this


def ties(observed: dict[Direction, Observation], results: dict[Key, Result]) -> None:
    """One line a direction whose printed values depend on ties: how many relevant items tie, and the range of each
    view's most affected metric.

    It is a warning where ties decide values (collapsed, rounded or identical vectors), and a note where they hardly do
    (a few captions are duplicates).
    """
    for direction, observation in observed.items():
        shares = {view: float(ranks.tied.mean()) for view, ranks in observation.ranks.items() if len(ranks.tied)}
        if max(shares.values(), default=0.0) <= TIE_SHARE:
            continue
        # COCO 1K repeats the ties of COCO 5K; they are reported once.
        shown = [v for v in shares if not in_folds(v)] or list(shares)
        ranges = {v: words for v in shown if (words := _range(v, direction, results))}
        if not ranges:
            continue
        counted: list[str] = []
        for view in ranges:
            # Ties at the end of rankings are unknown.
            least = "" if observation.ranks[view].depth is None else "at least "
            counted.append(f"{least}{shares[view]:.1%}{' of the relevant items' * (not counted)} ({view})")
        text = f"{direction}: {', '.join(counted)} tie exactly with another candidate"
        collapsed = max(shares[view] for view in ranges) > 0.99
        text += " (collapsed scores)" * collapsed
        matter = collapsed or any(_matters(m) for v in shares for m in _moved(v, direction, results))
        (warn if matter else note)(f"{text}; by tie rule ({spell('ties')}) {', '.join(ranges.values())}")


Moved = tuple[float, float, Result]  # the smallest and the largest value under any tie rule


def _moved(view: str, direction: Direction, results: dict[Key, Result]) -> list[Moved]:
    return [
        (*r.ties, r) for (_, d), r in results.items() if d == direction and r.ties is not None and r.metric.view == view
    ]


def _matters(moved: Moved) -> bool:
    low, high, result = moved
    if result.unit == "rank":
        return abs(high - low) > TIES_MATTER["rank"] * result.value
    return abs(high - low) > TIES_MATTER["fraction"]


def _range(view: str, direction: Direction, results: dict[Key, Result]) -> str:
    """The metric whose printed value depends most on ties, and its range; of ranks only where no fraction does."""
    moved = sorted(_moved(view, direction, results), key=lambda m: (m[2].unit == "rank", -abs(m[0] - m[1])))
    for low, high, result in moved:
        ends = [printed(x, result.unit) for x in sorted((low, high))]
        if ends[0] != ends[1]:
            return f"{result.metric} is {ends[0]} to {ends[1]}"
    return ""


def unreachable(observed: dict[Direction, Observation]) -> None:
    """Note judgements with positives outside the gallery."""
    for direction, observation in observed.items():
        for view, ranks in observation.ranks.items():
            if lost := ranks.relevance.unreachable:
                note(
                    f"{view} {direction}: {lost} positives are not in the gallery and count as not found",
                    weight="detail",
                )


def clipped(metrics: Sequence[Metric], split: Split) -> None:
    """Warn of binary metrics whose k is larger than a gallery."""
    smallest = min(len(split.image_ids), len(split.caption_ids))
    deep = [str(m) for m in metrics if (m.k or 0) > smallest and not m.graded]
    if deep:
        warn(f"{', '.join(deep)}: k is larger than a gallery of {smallest:,}; everything counts as retrieved")
