"""Score matrices of a re-ranker: scores for the best candidates of every query, and one constant for all others.

Read by its own queries such a matrix is right, as far as its scores reach. In the other direction most candidates of a
query were never scored, and the constant decides their ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..log import warn
from ..options import spell
from ..results.format import fixed
from ..sets.items import constant_lines
from ..types import QUERIES_OF, Direction, Int

Scores = npt.NDArray[Any]
SMALLEST = 50  # images: with fewer, chance is too high and patterns are too short for a test to mean anything
LEAST = 0.1  # share of the scores that are equal, from which a constant is suspected
MOST = 0.5  # and from which a warning says so where nothing else shows what it stands for
MANY = 4096  # rows whose scored texts are compared
SAMPLE = 64  # rows in which it is searched
SAME = 0.99  # share of the queries with equally many scores: a few scores may equal the constant
CHUNK = 1 << 22  # scores compared at a time
TOGETHER = "put the shares of all processes together before the matrix is saved; one share gives no direction"
WORDS: dict[Direction, tuple[str, str]] = {"i2t": ("image", "texts"), "t2i": ("text", "images")}


@dataclass(frozen=True)
class Constant:
    """What stands for the scores that are missing.

    Attributes:
        value: the number.
        share: of the scores that it is.
        scored: direction -> how many other scores its queries have, where it is the same number for all of them.
        lowest: no other score is below it.
        apart: it is farther below the other scores than twice their range.
    """

    value: float
    share: float
    scored: dict[Direction, int]
    lowest: bool
    apart: bool


def check(scores: Scores, directions: Sequence[Direction], where: Path, trust: bool) -> None:
    """Refuse, or warn of, a score matrix that is not complete; a small one only for lines without scores.

    Args:
        scores: (image, text), in any order of its rows.
        directions: what is measured with it.
        where: its file, for the error.
        trust: warn instead of refusing.

    Raises:
        BadInput: a direction is measured whose candidates were not scored, and the matrix is not trusted.
    """
    what, fix = uncomputed(scores), TOGETHER
    if not what and len(scores) >= SMALLEST:
        what, fix = _top_scored(scores, directions)
    if what and fix and not trust:
        raise BadInput(what, where=where, fix=fix)
    warn(what)


def _top_scored(scores: Scores, directions: Sequence[Direction]) -> tuple[str, str]:
    """What one constant in a tenth of the scores stands for, and the fix; no fix where nothing tells it."""
    found = constant(scores)
    if found is not None and (blocks := _blocks(scores, found.value)):
        what = f"the scores are {found.value:g} outside of {blocks:,} blocks of images and texts"
        what += ", as where each process has scored its own images with its own texts"
        return what, "score every image with every text"
    if found is None or (found.lowest and set(directions) <= set(found.scored)):
        return "", ""
    equal = f"{fixed(found.share, 1, times=100)} % of the scores are {found.value:g}"
    if not found.scored:
        if not found.apart:
            doubt = "where these pairs were never scored, values are wrong in at least one direction"
            return f"{equal}: {doubt}" if found.share >= MOST else "", ""
        what = f"{equal}, far below all others: pairs that were never scored"
        lists = spell("run", ["i2t=FILE", "t2i=FILE"])
        fix = f"give complete scores, or the retrieved lists of each direction ({lists})"
    else:
        (direction, depth), *_ = found.scored.items()
        query, items = WORDS[direction]
        what = f"{equal}, and every {query} has scores for {depth:,} {items}: the others were never scored"
        if not found.lowest:
            what += f", and {found.value:g} is above some that were"
            fix = (
                f"save a number below every score in their place; then {spell('direction', direction)} reads it rightly"
            )
        else:
            other = QUERIES_OF[direction]
            needed = f"scores for the {WORDS[other][1]} of every {WORDS[other][0]}"
            stage = f"behind embeddings of the first stage {spell('rerank', f'{direction}=FILE')} does as well"
            fix = f"{spell('direction', direction)} reads it rightly, {stage}; {other} needs {needed}"
    return what, f"{fix}; {spell('trust', True)} ranks it as read"


def _blocks(scores: Scores, value: float) -> int:
    """The number of groups of images that have scores for the same texts, and no other group has; 0 for others."""
    masks = scores[: min(len(scores), MANY)] != value
    distinct, count = np.unique(np.packbits(masks, axis=1), axis=0, return_counts=True)
    if not 1 < len(distinct) <= len(masks) / 4 or count.min() < 2:
        return 0
    scored = np.unpackbits(distinct, axis=1, count=masks.shape[1]).sum(axis=0)  # by how many groups, of every text
    return len(distinct) if scored.max() == 1 else 0


def uncomputed(scores: Scores) -> str:
    """Which rows or columns of a matrix hold no scores; empty where all do."""
    for side, lines in (("row", scores), ("column", scores.T)):
        empty = np.flatnonzero(constant_lines(lines))
        if len(empty):
            runs = np.split(empty, np.flatnonzero(np.diff(empty) > 1) + 1)
            which = f"{side} {runs[0][0]}" if len(runs[0]) == 1 else f"{side}s {runs[0][0]} to {runs[0][-1]}"
            more = f" and {len(empty) - len(runs[0]):,} more" if len(runs) > 1 else ""
            share = f"{len(empty):,} of {len(lines):,} {side}s hold no scores ({which}{more}: {lines[empty[0], 0]:g}"
            return f"{share} throughout), as in the matrix of one of several processes"
    return ""


def constant(scores: Scores) -> Constant | None:
    """The constant that at least a tenth of (image, text) scores are; None without one."""
    rows = np.unique(np.linspace(0, len(scores) - 1, min(SAMPLE, len(scores))).astype(np.int64))
    values, count = np.unique(scores[rows], return_counts=True)
    value = values[count.argmax()]
    if count.max() < LEAST * count.sum() or len(values) == 1:
        return None
    counts, low, high = scored(scores, value)
    share = 1 - int(counts["i2t"].sum()) / scores.size
    of = {direction: depth for direction, each in counts.items() if (depth := _same(each))}
    apart = share >= MOST and high > low and low - float(value) > 2 * (high - low)
    return Constant(float(value), float(share), of, float(value) < low, apart)


def scored(scores: Scores, missing: Any) -> tuple[dict[Direction, Int], float, float]:
    """How many scores the queries of each direction have, finite and not ``missing``, and the range of these scores."""
    of_images, of_texts = np.zeros(len(scores), np.int64), np.zeros(scores.shape[1], np.int64)
    low, high = np.inf, -np.inf
    step = max(1, CHUNK // scores.shape[1])
    for start in range(0, len(scores), step):
        block = scores[start : start + step]
        block = block if block.dtype.kind == "f" else block.astype(np.float64)  # integers have no infinite bounds
        there = np.isfinite(block) & (block != missing)
        of_images[start : start + step] = there.sum(axis=1)
        of_texts += there.sum(axis=0)
        low = min(low, float(block.min(initial=np.inf, where=there)))
        high = max(high, float(block.max(initial=-np.inf, where=there)))
    return {"i2t": of_images, "t2i": of_texts}, low, high


def _same(count: Int) -> int:
    """The number that nearly all of ``count``, (query,), are; 0 for none."""
    values, times = np.unique(count, return_counts=True)
    return int(values[times.argmax()]) if times.max() >= SAME * len(count) else 0
