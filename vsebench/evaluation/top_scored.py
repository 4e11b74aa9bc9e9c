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
from ..results.model import fixed
from ..types import QUERIES_OF, Direction, Int

Scores = npt.NDArray[Any]
MIN_IMAGES = 50  # images: with fewer, chance is too high and patterns are too short for a test to mean anything
MIN_SHARE = 0.1  # of the scores that are equal, from which a constant is suspected
WARN_SHARE = 0.5  # and from which it is warned of if nothing else shows what it stands for
COMPARED_ROWS = 4096  # rows whose scored texts are compared
SAMPLE_ROWS = 64  # rows in which the constant is searched
MIN_SAME_SHARE = 0.99  # share of the queries with equally many scores: a few scores may equal the constant
CHUNK_SCORES = 1 << 22  # scores compared at a time
MIN_GAP_IN_RANGES = 10  # ranges of all other scores below these, from which a score stands for none
NOUNS: dict[Direction, tuple[str, str]] = {"i2t": ("image", "texts"), "t2i": ("text", "images")}


@dataclass(frozen=True)
class Constant:
    """What stands for the scores that are missing.

    Attributes:
        value: the number.
        share: of the scores that it is.
        scored: direction -> how many other scores its queries have, if it is the same number for all of them.
        lowest: no other score is below it.
        apart: it is farther below the other scores than twice their range.
    """

    value: float
    share: float
    scored: dict[Direction, int]
    lowest: bool
    apart: bool


def check(scores: Scores, directions: Sequence[Direction], where: Path, trust: bool) -> None:
    """Refuse, or warn of, a score matrix in which candidates were not scored, unless it is small.

    Args:
        scores: (image, text), in any order of its rows.
        directions: what is measured with it.
        where: its file, for the error.
        trust: warn instead of refusing.

    Raises:
        BadInput: candidates of a measured direction have no scores, and the matrix is not trusted.
    """
    found = constant(scores) if len(scores) >= MIN_IMAGES else None
    if found is None:
        return
    fix, blocks = "", _blocks(scores, found.value)
    what = f"{fixed(found.share, 1, times=100)} % of the scores are {found.value:g}"
    if blocks:
        what += f", all outside {blocks:,} blocks: each process has scored its own images with its own texts"
        fix = "score every image with every text"
    elif found.lowest and set(directions) <= set(found.scored):
        return
    elif found.scored:
        (direction, depth), *_ = found.scored.items()
        other = QUERIES_OF[direction]
        what += (
            f", and every {NOUNS[direction][0]} has scores for {depth:,} {NOUNS[direction][1]}: the others have none"
        )
        fix = "" if found.lowest else f"save a number below every score instead of {found.value:g}; then "
        fix += f"{spell('direction', direction)} reads it correctly, or {spell('rerank', f'{direction}=FILE')} after "
        fix += f"embeddings; {other} needs scores for the {NOUNS[other][1]} of every {NOUNS[other][0]}"
    elif found.apart:
        lists = spell("run", ["i2t=FILE", "t2i=FILE"])
        what += ", far below all others: pairs that were never scored"
        fix = (
            f"give complete scores, the pairs that were scored ({spell('candidates', 'FILE')}), or the retrieved lists "
        )
        fix += f"of each direction ({lists})"
    elif found.share >= WARN_SHARE:
        what += ": if these pairs were never scored, values are wrong in at least one direction"
    else:
        return
    if fix and not trust:
        raise BadInput(what, where=where, fix=fix if blocks else f"{fix}; {spell('trust', True)} evaluates it anyway")
    warn(what)


def _blocks(scores: Scores, value: float) -> int:
    """The number of groups of images that have scores for the same texts, and no other group has; 0 for others."""
    masks = scores[: min(len(scores), COMPARED_ROWS)] != value
    distinct, count = np.unique(np.packbits(masks, axis=1), axis=0, return_counts=True)
    if not 1 < len(distinct) <= len(masks) / 4 or count.min() < 2:
        return 0
    scored = np.unpackbits(distinct, axis=1, count=masks.shape[1]).sum(axis=0)  # by how many groups, of every text
    return len(distinct) if scored.max() == 1 else 0


def constant(scores: Scores) -> Constant | None:
    """The constant that at least a tenth of (image, text) scores are; None without one."""
    rows = np.unique(np.linspace(0, len(scores) - 1, min(SAMPLE_ROWS, len(scores))).astype(np.int64))
    values, count = np.unique(scores[rows], return_counts=True)
    value = values[count.argmax()]
    if count.max() < MIN_SHARE * count.sum() or len(values) == 1:
        return None
    counts, low, high = scored(scores, value)
    share = 1 - int(counts["i2t"].sum()) / scores.size
    depths = {direction: depth for direction, each in counts.items() if (depth := _same(each))}
    apart = share >= WARN_SHARE and high > low and low - float(value) > 2 * (high - low)
    return Constant(float(value), float(share), depths, float(value) < low, apart)


def scored(scores: Scores, missing: Any) -> tuple[dict[Direction, Int], float, float]:
    """How many scores the queries of each direction have, finite and not ``missing``, and the range of these scores."""
    of_images, of_texts = np.zeros(len(scores), np.int64), np.zeros(scores.shape[1], np.int64)
    low, high = np.inf, -np.inf
    step = max(1, CHUNK_SCORES // scores.shape[1])
    for start in range(0, len(scores), step):
        block = scores[start : start + step]
        block = block if block.dtype.kind == "f" else block.astype(np.float64)  # integers have no infinite bounds
        there = np.isfinite(block) & (block != missing)
        of_images[start : start + step] = there.sum(axis=1)
        of_texts += there.sum(axis=0)
        low = min(low, float(block.min(initial=np.inf, where=there)))
        high = max(high, float(block.max(initial=-np.inf, where=there)))
    return {"i2t": of_images, "t2i": of_texts}, low, high


def sentinel(scores: Scores) -> Any | None:
    """The negative number far below all other scores that several pairs have in place of one; None without one."""
    low, high = scores.min(), scores.max()
    some = scores[:: max(1, len(scores) // SAMPLE_ROWS)]
    for others in (some, scores):  # a few rows mostly tell
        least = others.min(initial=high, where=others > low)
        if not (
            low < 0 and float(least) - float(low) > MIN_GAP_IN_RANGES * (float(high) - float(least)) and high > least
        ):
            return None
    return low if np.count_nonzero(scores == low) > 1 else None


def _same(count: Int) -> int:
    """The number that nearly all of ``count``, (query,), are; 0 for none."""
    values, times = np.unique(count, return_counts=True)
    return int(values[times.argmax()]) if times.max() >= MIN_SAME_SHARE * len(count) else 0
