"""Files whose rows are in another order than they are read: a sample of captions is ranked before anything is reported.

Exchanged or misordered rows do not fail: they give recalls at chance. So when the reading at hand is at chance and
another plausible reading of the same rows is far better, the file is misread and the model is not bad.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..rank.scorers import Scorer
from ..types import Int, Split
from .inputs import Input

SAMPLE = 256
FEW = 4  # one in so many of the sample is ranked first
CLEARLY = 0.1
DEPTH = 10
SMALLEST = 50  # with fewer images chance is too high for the test to mean anything


@dataclass(frozen=True)
class Reading:
    """A way to assign caption rows to images, and its sampled recall."""

    words: str
    recall: float


def check(data: Input, trust: bool) -> list[str]:
    """A warning if the input looks misread.

    Args:
        data: scores and how they were read; retrieved lists have ids and cannot be misread.
        trust: warn instead of refusing.

    Raises:
        BadInput: the input looks misread, and is not trusted.
    """
    if data.scorer is None:
        return []
    as_read, better = suspect(data.scorer, data.split, data.rows)
    if better is None:
        return []
    what = (
        f"recall collapses: sampled text-to-image R@10 is {as_read.recall:.1%} as read and {better.recall:.1%} "
        f"{better.words}"
    )
    if not trust:
        raise BadInput(
            what, where=data.where, fix="save image_of_text (or correct ids) with the file; --trust ranks it as read"
        )
    return [what]


def suspect(scorer: Scorer, split: Split, file_rows: tuple[Int | None, Int | None]) -> tuple[Reading, Reading | None]:
    """The reading at hand, and a much better one if there is any.

    Args:
        scorer: scores in split order.
        split: the image of every caption, as read.
        file_rows: (image,) and (caption,) rows of the file, or None where the file is already in order.

    Returns:
        The sampled text-to-image R@10 as read, and the better reading, or None.
    """
    n_image, n_caption = scorer.shape
    sample = np.unique(np.linspace(0, n_caption - 1, min(SAMPLE, n_caption)).astype(np.int64))
    chance = DEPTH / n_image
    enough = min(5 * chance, chance + 0.15) + 0.02
    # Most files are read correctly, and a few captions are enough to find out.
    few = sample[::FEW]
    as_read = Reading("as read", _recall(np.asarray(scorer.columns(few), np.float64), split.image_of[few]))
    if as_read.recall > enough + CLEARLY:
        return as_read, None
    score = np.asarray(scorer.columns(sample), np.float64)
    as_read = Reading("as read", _recall(score, split.image_of[sample]))
    if n_image < SMALLEST or as_read.recall > enough:
        return as_read, None
    others = []
    if n_caption % n_image == 0 and n_caption > n_image:
        times = n_caption // n_image
        first_of_all = sample % n_image
        others.append(Reading(
            f"with the texts stored as {times} runs of {n_image:,} (first text of every image, then second, ...)",
            _recall(score, first_of_all),
        ))  # fmt: skip
        in_order = sample // times
        if (in_order != split.image_of[sample]).any():
            others.append(Reading(f"with {times} texts an image in order", _recall(score, in_order)))
    if file_rows[0] is not None or file_rows[1] is not None:
        others.append(
            Reading(
                "with the rows of the file in order and its ids ignored", _by_position(score, sample, split, file_rows)
            )
        )
    better = max(others, key=lambda r: r.recall, default=None)
    if better is not None and better.recall >= _far_better(as_read.recall, chance):
        return as_read, better
    return as_read, None


def _far_better(as_read: float, chance: float) -> float:
    """The recall from which another reading is beyond doubt.

    In a large gallery many times chance and many times the reading at hand; in a small one, where chance is high,
    more than halfway from there to 1. A reading at or below chance (a model whose sign is wrong) proves nothing.
    """
    return max(0.1, min(5 * chance, (1 + chance) / 2), min(10 * as_read, (1 + as_read) / 2))


def _recall(score: npt.NDArray[np.float64], own: Int) -> float:
    at = score[own, np.arange(score.shape[1])]
    # Ties count against, or a collapsed model would look perfect in every reading.
    return float(((score >= at).sum(0) <= DEPTH).mean())


def _by_position(
    score: npt.NDArray[np.float64], sample: Int, split: Split, file_rows: tuple[Int | None, Int | None]
) -> float:
    n_image, n_caption = len(split.image_ids), len(split.caption_ids)
    if n_caption % n_image:
        return 0.0
    image_rows = np.arange(n_image) if file_rows[0] is None else file_rows[0]
    text_rows = np.arange(n_caption) if file_rows[1] is None else file_rows[1]
    item_at_row = np.empty(n_image, np.int64)
    item_at_row[image_rows] = np.arange(n_image)
    return _recall(score, item_at_row[text_rows[sample] // (n_caption // n_image)])
