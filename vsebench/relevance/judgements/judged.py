"""``judged``: pairs of scenes and captions that simulated raters found similar, of few pairs that were rated."""

from __future__ import annotations

import hashlib

from ...scenes.settings import of_split
from ...types import Direction, Relevance, Split
from ..scenes.ratings import PARAMETERS, RATERS, ratings_of
from ..scenes.source import PATTERN, fingerprint, truth_of
from .declare import Judgements
from .pairs import from_pairs

LEAST = 3.0  # mean rating of a positive, as of CxC


def judged(split: Split, direction: Direction) -> Relevance:
    """The rated pairs with a mean rating of at least ``LEAST``; rated items without any are counted in ``skipped``.

    Raises:
        UsageError, MissingPackage, BadInput: as ``vsebench.relevance.scenes.ratings.ratings_of``.
    """
    ratings = ratings_of(split)
    positive = ratings.mean >= LEAST
    image, caption = ratings.image[positive], ratings.caption[positive]
    query, item = (image, caption) if direction == "i2t" else (caption, image)
    rated = ratings.image if direction == "i2t" else ratings.caption
    return from_pairs("judged", direction, query, item, skipped=len(set(rated.tolist())) - len(set(query.tolist())))


def identity(split: Split) -> str | None:
    """``ratings#`` and eight digits of a SHA-256 of scenes, facts and protocol; None for splits of other data."""
    if of_split(split.name) is None:
        return None
    text = f"{fingerprint(truth_of(split))} {PARAMETERS} {LEAST}"
    return f"ratings#{hashlib.sha256(text.encode()).hexdigest()[:8]}"


JUDGED = Judgements(
    name="judged",
    title="Simulated judgements",
    heading="Simulated judgements",
    meaning=f"rated pairs with a mean rating of at least {LEAST:g}; few pairs are rated, others count as wrong; the "
    "complete gallery is ranked; scenes only",
    rule=f"the mean of {RATERS} simulated ratings on the scale 0 to 5 is at least {LEAST:g}",
    judged_by=f"{RATERS} simulated raters a pair, who err, over pairs sampled by truth",
    cite="parekh2021cxc",
    reference="the protocol follows Parekh et al., Crisscrossed Captions, EACL 2021",
    positives="judged",
    load=judged,
    identity=identity,
    splits=(PATTERN,),
)
