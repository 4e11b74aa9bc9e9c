"""``gt``: a caption is relevant to the image it was written for, and to no other; ``1k``: the same inside folds."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...types import Direction, Relevance, Split
from .declare import Judgements, from_pairs


@lru_cache(maxsize=4)  # a training loop evaluates the same split again and again
def ground_truth(split: Split, direction: Direction) -> Relevance:
    """The pairs of a split: every caption with the image it was written for.

    Images without a caption are candidates and no queries: ``no_positive="miss"`` does not count them either.
    """
    caption, image = np.arange(len(split.owners)), split.owners
    pairs = (caption, image) if direction == "t2i" else (image, caption)
    return from_pairs("gt", direction, *pairs)


GROUND_TRUTH = Judgements(
    name="gt",
    title="Ground truth of the data set",
    heading="ground truth",
    meaning="the captions written for the image; the complete gallery is ranked",
    rule="a caption and the image it was written for",
    judged_by="not judged: every other pair counts as wrong, even if the caption fits",
    cite="chen2015coco",
    reference="Chen et al., Microsoft COCO Captions, arXiv 1504.00325, 2015",
    load=ground_truth,
    identity=lambda split: None,
)

COCO_1K = Judgements(
    name="1k",
    title="COCO 1K, five folds of COCO 5K",
    heading="COCO 1K (mean of 5 folds)",
    meaning="the captions written for the image; only the query's fold is ranked; mean over the five folds (COCO 1K)",
    rule="a caption and the image it was written for; candidates are the items of the query's fold of 1,000 images",
    judged_by="not judged: every other pair counts as wrong, even if the caption fits",
    cite="faghri2018vsepp",
    reference="Faghri et al., VSE++: Improving Visual-Semantic Embeddings with Hard Negatives, BMVC 2018",
    load=ground_truth,
    identity=lambda split: None,
    folds=True,
)
