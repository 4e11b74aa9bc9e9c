"""``pycocoevalcap``: CIDEr-D of one caption with every image, as its scorer computes it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vsebench.errors import MissingPackage
from vsebench.types import Split

from .inputs import Array, Inputs, Outcome, Work

SIGMA = 6.0  # of the Gaussian of the difference of lengths


def rows(tokenised: Sequence[str], split: Split, caption: int) -> Array:
    """(image,) float64 CIDEr-D of one tokenised caption, with the captions of every image as references.

    Raises:
        MissingPackage: the package is not installed.
    """
    try:
        from pycocoevalcap.cider.cider_scorer import CiderScorer
    except ImportError as error:
        raise MissingPackage("package 'pycocoevalcap' is not installed", fix="pip install 'vsebench[text]'") from error
    scorer = CiderScorer(n=4, sigma=SIGMA)
    order = np.argsort(split.image_of, kind="stable")
    first = np.searchsorted(split.image_of[order], np.arange(len(split.image_ids) + 1))
    for image in range(len(split.image_ids)):
        scorer += (tokenised[caption], [tokenised[c] for c in order[first[image] : first[image + 1]].tolist()])
    return np.asarray(scorer.compute_score()[1])


def one_caption(given: Inputs) -> Work:
    """The row of the middle caption; the captions are tokenised before."""
    from vsebench.text import tokenise

    from .. import captions

    split, _ = captions.load(len(given.world.images))
    tokenised = [" ".join(words) for words in tokenise.tokenise(split.captions or ()).lists()]
    n = len(tokenised)

    def work() -> Outcome:
        return Outcome({f"cider caption {n // 2} t2i": rows(tokenised, split, n // 2)}, n)

    return work
