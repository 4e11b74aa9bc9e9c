"""The judgements ``judged``: simulated ratings of captions and images, as if a study with people had collected them.

Which facts hold is known for every pair of a split of scenes; a study rates few pairs, and every rater errs. Both are
simulated, so that what they do to a conclusion can be seen. Raters judge the gain ``match``: how well a caption
describes an image. The protocol follows Crisscrossed Captions (Parekh et al., EACL 2021):

1. Pairs: for every image its own captions, and some of the other captions of the split: ``STRATA`` says how many of
   those that are in the best hundredth for the image by ``match``, the best tenth, and the rest.
2. Raters: ``RATERS`` of a pool of ``POOL`` rate the pairs of an image. A rater has a bias, the same for all pairs.
3. A rating is an integer from 0 to 5: ``round(5 (min(1, STEEP match) + bias + error))``, at least 0 and at most 5.
   The factor is there because captions state few of the facts of a scene: the match of a caption and its own image is
   about a half in the middle, and only that of a caption with all facts is 1.
4. Positives are the rated pairs with a mean rating of at least ``LEAST``.

Bias and error are sums of four uniform numbers, with the deviations ``BIAS`` and ``ERROR``. All is drawn with the seed
of the data set, and is the same on every machine.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import numpy.typing as npt

from vsebench.scenes.draws import Draws
from vsebench.scenes.shares import match
from vsebench.scenes.truth import scenes_of, truth_of
from vsebench.types import Bool, Float, Int, Split, Vectors

STRATA = ((4, 0.01), (3, 0.1), (3, 1.0))  # pairs an image; of this share of the other captions, the best
RATERS, POOL = 5, 20
BIAS, ERROR = 0.05, 0.15  # standard deviations; a step of the scale is 0.2
SCALE = 5  # the largest rating
STEEP = 1.5
LEAST = 3.0  # mean rating of a positive, as of CxC
Scores = npt.NDArray[np.int8]


def ratings_of(split: Split) -> tuple[Int, Int, Scores]:
    """(pair,) images and captions of the rated pairs of a split of scenes, and (pair, rater) ratings, 0 to 5."""
    n = len(split.image_ids)
    stored, part = scenes_of(split)
    seed = stored.settings.seed
    biases = BIAS * _normal(Draws(seed, "raters"), (POOL,))
    chosen: list[Int] = []
    scores: list[Scores] = []
    for i, gains in enumerate(match(truth_of(split)).rows("i2t", 0, n)):
        draws = Draws(seed, "ratings", part.start + i)
        captions = sampled(gains, split.image_of == i, draws)
        raters = draws.shuffled(range(POOL))[:RATERS]
        chosen.append(captions)
        scores.append(rated(gains[captions], biases[raters], draws))
    image = np.repeat(np.arange(n), [len(captions) for captions in chosen])
    return image, np.concatenate(chosen), np.concatenate(scores)


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


def rated(gains: Vectors, biases: Float, draws: Draws) -> Scores:
    """(pair, rater) ratings of pairs, (pair,) float32 gains, by raters, (rater,) float64 biases."""
    degree = np.minimum(STEEP * gains.astype(np.float64), 1)
    error = ERROR * _normal(draws, (len(gains), len(biases)))
    return np.rint(SCALE * (degree[:, None] + biases + error)).clip(0, SCALE).astype(np.int8)


def _normal(draws: Draws, shape: tuple[int, ...]) -> Float:
    """About normal, mean 0 and standard deviation 1: sums of four uniform numbers of 16 bits."""
    uniform = np.frombuffer(draws.bytes(8 * int(np.prod(shape))), "<u2").reshape(*shape, 4)
    total = uniform.sum(axis=-1, dtype=np.int64) - 2 * 0xFFFF
    return np.asarray(total * (sqrt(3) / 0x10000), np.float64)


def judged(split: Split) -> Bool:
    """(image, caption), the rated pairs of a split of scenes with a mean rating of at least ``LEAST``."""
    images, captions, scores = ratings_of(split)
    found = np.zeros((len(split.image_ids), len(split.caption_ids)), bool)
    found[images, captions] = scores.mean(axis=1, dtype=np.float64) >= LEAST
    return found
