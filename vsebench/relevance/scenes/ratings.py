"""Simulated ratings of captions and images, as a study with people would have collected them.

Which facts hold is known for every pair of a split of scenes; a study rates few pairs, and every rater errs. Both are
simulated, so that what they do to a conclusion can be seen. Raters judge the gain ``match``: how well a caption
describes an image. The protocol follows Crisscrossed Captions (Parekh et al., EACL 2021):

1. Pairs: for every image its own captions, and some of the other captions of the split: ``STRATA`` says how many of
   those that are in the best hundredth for the image by ``match``, the best tenth, and the rest.
2. Raters: ``RATERS`` of a pool of ``POOL`` rate the pairs of an image. A rater has a bias, the same for all pairs.
3. A rating is an integer from 0 to 5: ``round(5 (min(1, STEEP match) + bias + error))``, at least 0 and at most 5.
   The factor is there because captions state few of the facts of a scene: the match of a caption and its own image is
   about a half in the middle, and only that of a caption with all facts is 1.

Bias and error are sums of four uniform numbers, with the deviations ``BIAS`` and ``ERROR``. All is drawn with the seed
of the data set, and is the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np
import numpy.typing as npt

from ...errors import BadInput
from ...scenes.draws import Draws
from ...scenes.settings import CAPTIONS
from ...types import Bool, Float, Int, Split, Vectors, frozen
from .shares import match
from .truth import scenes_of, truth_of

STRATA = ((4, 0.01), (3, 0.1), (3, 1.0))  # pairs an image; of this share of the other captions, the best
RATERS, POOL = 5, 20
BIAS, ERROR = 0.05, 0.15  # standard deviations; a step of the scale is 0.2
SCALE = 5  # the largest rating
STEEP = 1.5
PARAMETERS = (STRATA, RATERS, POOL, BIAS, ERROR, SCALE, STEEP)
BLOCK = 256  # images whose gains are computed at a time


@dataclass(frozen=True, eq=False)
class Ratings:
    """Rated pairs of a split, image after image.

    Attributes:
        image, caption: (pair,) int64 indices in the split.
        own: (pair,) bool, the caption was written for the image.
        match: (pair,) float32 gains.
        scores: (pair, rater) int8 ratings, 0 to 5.
    """

    image: Int
    caption: Int
    own: Bool
    match: Vectors
    scores: npt.NDArray[np.int8]

    @property
    def mean(self) -> Float:
        """(pair,) float64 mean rating."""
        return np.asarray(self.scores.mean(axis=1, dtype=np.float64))

    @property
    def alpha(self) -> float:
        """Agreement of the raters: Krippendorff's alpha for intervals, 1 - (variance within pairs) / (of all ratings).

        1 when all raters of every pair agree; about 0 when ratings do not depend on the pair.
        """
        scores = self.scores.astype(np.float64)
        return float(1 - scores.var(axis=1, ddof=1).mean() / scores.var(ddof=1))


@lru_cache(maxsize=2)
def ratings_of(split: Split) -> Ratings:
    """The ratings of a split of scenes.

    Raises:
        UsageError: a split of other data.
        MissingPackage: the data set is not built here.
        BadInput: it is damaged, or the split has other items than its name says, or has them in another order.
    """
    gains, (stored, part) = match(truth_of(split)), scenes_of(split)
    seed, first = stored.settings.seed, part.start
    expected = np.arange(first, part.stop), np.arange(first * CAPTIONS, part.stop * CAPTIONS)
    given = stored.image_rows(split.image_ids), stored.caption_rows(split.caption_ids)
    if not all(map(np.array_equal, expected, given)):
        what = f"split '{split.name}' has items that were not rated, or another order than was rated"
        raise BadInput(what, where=stored.folder, fix=f"load it: vsebench.load_split('{split.name}')")
    biases = BIAS * _normal(Draws(seed, "raters"), (POOL,))
    chosen: list[Int] = []
    known: list[Vectors] = []
    scores: list[npt.NDArray[np.int8]] = []
    for i in range(len(split.image_ids)):
        if i % BLOCK == 0:
            rows = gains.rows("i2t", i, min(i + BLOCK, len(split.image_ids)))
        row = rows[i % BLOCK]
        draws = Draws(seed, "ratings", first + i)
        captions = sampled(row, split.image_of == i, draws)
        raters = draws.shuffled(range(POOL))[:RATERS]
        chosen.append(captions)
        known.append(row[captions])
        scores.append(rated(known[-1], biases[raters], draws))
    image = np.repeat(np.arange(len(chosen)), [len(captions) for captions in chosen])
    caption = np.concatenate(chosen)
    own = split.image_of[caption] == image
    known_pairs, scores_of_pairs = np.concatenate(known), np.concatenate(scores)
    return Ratings(frozen(image), frozen(caption), frozen(own), frozen(known_pairs), frozen(scores_of_pairs))


def sampled(gains: Vectors, own: Bool, draws: Draws) -> Int:
    """The captions that are rated for an image: its own, then others.

    Args:
        gains: (caption,) float32 of the image.
        own: (caption,) whether the caption was written for the image.
        draws: the source of random integers.
    """
    left = ~own
    others = gains[left]
    found = [np.flatnonzero(own)]
    for count, share in STRATA:
        rank = max(count, round(share * len(others)))
        least = np.partition(others, -rank)[-rank] if rank < len(others) else 0  # and all that are as good
        candidates = np.flatnonzero(left & (gains >= least))
        found.append(candidates[sorted(_some(len(candidates), count, draws))])
        left &= gains < least
    return np.concatenate(found)


def _some(n: int, count: int, draws: Draws) -> list[int]:
    """``count`` different integers below n, or all when there are fewer."""
    if n <= count:
        return list(range(n))
    found: list[int] = []
    while len(found) < count:
        place = draws.below(n)
        if place not in found:
            found.append(place)
    return found


def rated(gains: Vectors, biases: Float, draws: Draws) -> npt.NDArray[np.int8]:
    """(pair, rater) int8 ratings of pairs, (pair,) float32 gains, by raters, (rater,) float64 biases."""
    degree = np.minimum(STEEP * gains.astype(np.float64), 1)
    error = ERROR * _normal(draws, (len(gains), len(biases)))
    return np.rint(SCALE * (degree[:, None] + biases + error)).clip(0, SCALE).astype(np.int8)


def _normal(draws: Draws, shape: tuple[int, ...]) -> Float:
    """About normal, mean 0 and standard deviation 1: sums of four uniform numbers of 16 bits."""
    uniform = np.frombuffer(draws.bytes(8 * int(np.prod(shape))), "<u2").reshape(*shape, 4)
    total = uniform.sum(axis=-1, dtype=np.int64) - 2 * 0xFFFF
    return np.asarray(total * (sqrt(3) / 0x10000), np.float64)
