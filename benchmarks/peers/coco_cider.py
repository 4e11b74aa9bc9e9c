"""``pycocoevalcap``: CIDEr-D of one caption with every image, as its scorer computes it."""

from __future__ import annotations

import numpy as np

from ..inputs import Inputs
from ..task import Needs, Outcome, Peer, Task, Work

SIGMA = 6.0  # of the Gaussian of the difference of lengths


def one_caption(given: Inputs) -> Work:
    """The row of the middle caption, with the captions of every image as references; they are tokenised before."""
    from vsebench.text.tokenise import tokenise

    split = given.captions
    tokenised = [" ".join(words) for words in tokenise(split.captions or ()).lists()]
    n = len(tokenised)
    of = [np.flatnonzero(split.image_of == image).tolist() for image in range(len(split.image_ids))]

    def work() -> Outcome:
        from pycocoevalcap.cider.cider_scorer import CiderScorer

        scorer = CiderScorer(n=4, sigma=SIGMA)
        for captions in of:
            scorer += (tokenised[n // 2], [tokenised[c] for c in captions])
        return Outcome({f"CIDEr-D of {n // 2} t2i": np.asarray(scorer.compute_score()[1])}, n)

    return work


TASK = Task(
    "pycocoevalcap", "CIDEr-D of every caption with every image", one_caption, None, ">= 50_000 x",
    Needs(("pycocoevalcap",)),
    Peer(
        "relevance/captions t2i", 1e-6, "pycocoevalcap", "captions, for it tokens",
        "Scores are those of its scorer with the captions of each image as references; our gains are rounded to "
        "float32, and our time includes the tokens.",
    ),
)  # fmt: skip
