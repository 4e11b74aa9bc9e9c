"""Input that is read in another way than it was written: a sample of queries is ranked before anything is reported.

Rows in another order and negated scores do not fail; recall is too low then. Three questions are asked, of at most 512
queries (2,048 lists), and an input that fails one is refused:

- Are own items ranked better than by chance? (``chance``)
- Is the first item clearly more often an own item under another reading of the rows? (``readings``) Asked where recall
  is low, and of rows without ids always.
- Do captions of like wording find each other's images, where rows are those of a known set? (``wording``)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from ..log import warn
from ..numeric.parallel import one_blas_thread
from ..options import spell
from ..results.format import fixed
from ..types import Direction
from . import wording
from .chance import Sample, sample
from .inputs import System
from .readings import Reading, readings
from .top_scored import SMALLEST

FEW, SAMPLE = 64, 512  # queries that are ranked first, and when these do not settle it
LISTED = 2048  # queries whose lists are read then
CLEARLY = 0.1
CONSTANT = 1e-3  # scores of a query that differ by less, relative to their size, are called collapsed
SURE = 1e-2  # p-value, corrected for all that is tried; in the right order another one finds next to nothing
WORDS: dict[Direction, tuple[str, str]] = {"i2t": ("image-to-text", "images"), "t2i": ("text-to-image", "captions")}
NO_CAUSE = (
    "check that images and texts are rows of the same items, that the ids are those of the rows, and that larger "
    "scores mean more similar; an untrained model is at chance too"
)
COLLAPSED = "find out why the model gives every image or every text the same vector"
ROWS = "give image_ids and text_ids (or image_of_text) with the rows, so that they are matched by id"
LISTS = "write the ids of the items into the lists, instead of row numbers or the ids of other rows"
NEGATED = "give similarities, where larger means more similar: negate the scores, or sort the lists the other way"


class Suspicion(NamedTuple):
    """Why input looks misread, what to do about it, and whether its cause is known."""

    what: str
    fix: str
    explained: bool


def check(data: System, directions: Sequence[Direction], trust: bool) -> None:
    """Refuse, or warn of, input that looks misread, and rows without ids in another order or of other items.

    Nothing is tested where captions have no image of their own.

    Args:
        data: scores or retrieved lists, and how they were read.
        directions: what is measured.
        trust: warn instead of refusing.

    Raises:
        BadInput: so it is, and the input is not trusted.
    """
    if data.split.image_of is None or len(data.split.image_ids) < SMALLEST:
        return
    # Captions are more queries than images, and have fewer candidates.
    without_ids = directions[-1] if data.lists is None and data.without_ids else None
    with one_blas_thread():  # products are made in threads of their own
        found = [one for d in directions if (one := suspect(data, d, d == without_ids)) is not None]
        if without_ids and not found and (others := wording.of_others(data)):
            found = [Suspicion(others, ROWS, True)]
    if found and not trust:
        first = next((one for one in found if one.explained), found[0])
        raise BadInput(first.what, where=data.where, fix=f"{first.fix}; {spell('trust', True)} ranks it as read")
    warn(*(one.what for one in found))


def suspect(data: System, direction: Direction, order: bool = False) -> Suspicion | None:
    """Why the input looks misread in a direction; None when it does not, or is too small to tell.

    Args:
        data, direction: of the queries.
        order: try other readings although recall is good.
    """
    listed, owners = data.lists is not None, data.split.owners
    # Most files are read correctly, and a few queries are enough to find out; a weak model takes some more, and
    # near-constant vectors have scores that float32 cannot tell apart.
    few = (SAMPLE, 0.0) if order else (FEW, CLEARLY)
    for (most, margin), wide in ((few, False), ((LISTED if listed else SAMPLE, 0.0), True)):
        found = sample(data, direction, most, wide)
        if len(found.units if not order else found.best) < SMALLEST:
            return None
        hits, at_end = (int((owners[texts] == images).sum()) for images, texts in (found.first, found.last))
        # Short lists that are reversed have a high recall at their length.
        doubtful = found.at_chance or (at_end > hits if listed else _is_poor(found, margin))
        if not doubtful:
            break
    better = _better(data, direction, found) if doubtful or order else None
    return _suspicion(found, direction, better, listed) if found.at_chance or better else None


def _is_poor(found: Sample, margin: float) -> bool:
    """Whether R@10 is so low that other readings are tried, although it may be above chance."""
    chance = found.chance(10)
    return found.recall(10) <= min(5 * chance, chance + 0.15) + 0.02 + margin


def _better(data: System, direction: Direction, found: Sample) -> Reading | None:
    """The reading under which clearly more queries find an own item first, by a sign test; None without one."""
    from scipy.special import bdtrc

    images, texts = found.first
    as_read, tried = data.split.owners[texts] == images, list(readings(data, direction, found.first, found.last))
    best = max(tried, key=lambda one: int(one.hits.sum()), default=None)
    if best is None:
        return None
    gained, lost = int((best.hits & ~as_read).sum()), int((as_read & ~best.hits).sum())
    sure = gained > lost and bdtrc(gained - 1, gained + lost, 0.5) * sum(one.cases for one in tried) < SURE
    return best if sure else None


def _suspicion(found: Sample, direction: Direction, better: Reading | None, listed: bool) -> Suspicion:
    """What is wrong with a sample that is at chance, or has a better reading, in words."""
    words, queries = WORDS[direction]
    what = f"{words} R@1 of {len(found.best)} sampled {queries} is {_percent(found.recall(1))} as read"
    # Scores that are all but equal are neither better nor worse; their median tells.
    collapsed = found.at_chance and float(np.median(found.spread)) < CONSTANT
    below = found.below_chance and not collapsed
    if found.at_chance:
        chance = f"(R@10 {_percent(found.recall(10))}, where chance is {_percent(found.chance(10), 2)})"
        what = f"recall is {'below' if below else 'at'} chance: {what} {chance}"
    if better is not None:
        what += f"; {better.words} it would be {_percent(float(better.hits.mean()))}"
        return Suspicion(what, NEGATED if better.negated else LISTS if listed else ROWS, True)
    if collapsed:
        return Suspicion(
            f"{what}; the scores of a query are all but equal: the vectors have collapsed to a point", COLLAPSED, True
        )
    fix = f"{NEGATED}, best item first" if below else NO_CAUSE
    return Suspicion(f"{what}; no other order of the rows and no other sign explains it", fix, False)


def _percent(fraction: float, digits: int = 1) -> str:
    return f"{fixed(fraction, digits, times=100)}%"
