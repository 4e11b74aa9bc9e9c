"""``entails``: the captions that are true of an image of scenes; ``judged``: those that simulated raters accepted."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np

from ...numeric.parallel import each
from ...scenes.encode import FACTS_COUNT
from ...scenes.settings import of_split
from ...types import Direction, Int, Relevance, Split
from ..scenes.ratings import PARAMETERS, RATERS, ratings_of
from ..scenes.truth import PATTERN, Truth, fingerprint, truth_of
from .declare import Judgements, from_pairs

BLOCK = 1 << 22  # pairs compared at a time
LEAST = 3.0  # mean rating of a positive of ``judged``, as of CxC


@lru_cache(maxsize=4)  # a training loop evaluates the same split again and again
def entailed(split: Split, direction: Direction) -> Relevance:
    """The captions that state at least one fact and of whose facts all hold in the scene of an image.

    Captions that are true of no image, and images of which no caption is true, are no queries; they are in
    ``without``.

    Raises:
        UsageError, MissingPackage, BadInput: as ``vsebench.relevance.scenes.truth.truth_of``.
    """
    truth = truth_of(split)
    n, m = len(truth.scenes), len(truth.facts)
    queries, gallery = (n, m) if direction == "i2t" else (m, n)
    height = max(1, BLOCK // gallery)
    blocks = each(lambda start: _true(truth, direction, start, min(start + height, queries)), range(0, queries, height))
    found = np.concatenate([count for count, _ in blocks])
    items = np.concatenate([item for _, item in blocks])
    judged = np.flatnonzero(found)
    indptr = np.concatenate([[0], np.cumsum(found[judged])])
    return Relevance(
        "entails", direction, judged, indptr, items, np.zeros(len(judged), np.int64), np.flatnonzero(found == 0)
    )


def _true(truth: Truth, direction: Direction, start: int, stop: int) -> tuple[Int, Int]:
    """(query,) how many items of the gallery are positives of queries ``start:stop``, and which, row after row."""
    stated = truth.facts[:, FACTS_COUNT]
    stated = np.where(stated > 0, stated, -1)  # a caption that states nothing is true of nothing
    all_hold = truth.matched_rows(direction, start, stop) == (
        stated if direction == "i2t" else stated[start:stop, None]
    )
    return np.count_nonzero(all_hold, axis=1), np.nonzero(all_hold)[1]


def judged(split: Split, direction: Direction) -> Relevance:
    """The rated pairs with a mean rating of at least ``LEAST``; rated items without any are in ``without``.

    Raises:
        UsageError, MissingPackage, BadInput: as ``vsebench.relevance.scenes.ratings.ratings_of``.
    """
    ratings = ratings_of(split)
    positive = ratings.mean >= LEAST
    image, caption = ratings.image[positive], ratings.caption[positive]
    query, item = (image, caption) if direction == "i2t" else (caption, image)
    rated = ratings.image if direction == "i2t" else ratings.caption
    return from_pairs("judged", direction, query, item, rated)


def _identity(split: Split, name: str, *more: object) -> str | None:
    """``name#`` and eight digits of the SHA-256 of scenes, facts and ``more``; None for splits of other data."""
    if of_split(split.name) is None:
        return None
    digits = fingerprint(truth_of(split))
    if more:
        digits = hashlib.sha256(" ".join(map(str, (digits, *more))).encode()).hexdigest()[:8]
    return f"{name}#{digits}"


ENTAILS = Judgements(
    name="entails",
    title="Captions that are true of an image",
    heading="Entailment",
    meaning="every caption that is true of the image, of whichever image it was written; the complete gallery is "
    "ranked; scenes only",
    rule="the caption states at least one fact, and all of its facts hold in the scene of the image",
    judged_by="nobody: it follows from the scene and the facts, so that judgements are complete and without errors",
    cite="young2014denotations",
    reference="the denotation of a caption: Young et al., From Image Descriptions to Visual Denotations, TACL 2014",
    load=entailed,
    identity=lambda split: _identity(split, "scenes"),
    splits=(PATTERN,),
)

JUDGED = Judgements(
    name="judged",
    title="Simulated judgements",
    heading="Simulated judgements",
    meaning=f"rated pairs with a mean rating of at least {LEAST:g}; few pairs are rated, others count as wrong; the "
    "complete gallery is ranked; scenes only",
    rule=f"the mean of {RATERS} simulated ratings on the scale 0 to 5 is at least {LEAST:g}",
    judged_by=f"{RATERS} simulated raters a pair, who err, over pairs sampled by match",
    cite="parekh2021cxc",
    reference="the protocol follows Parekh et al., Crisscrossed Captions, EACL 2021",
    load=judged,
    identity=lambda split: _identity(split, "ratings", PARAMETERS, LEAST),
    splits=(PATTERN,),
)
