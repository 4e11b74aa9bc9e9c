"""``1k``: the ground truth, ranked inside each of the five folds of COCO 5K."""

from __future__ import annotations

from .declare import Judgements
from .ground_truth import ground_truth

COCO_1K = Judgements(
    name="1k",
    title="COCO 1K, five folds of COCO 5K",
    heading="COCO 1K (mean of 5 folds)",
    meaning="the captions written for the image; only the query's fold is ranked; mean over the five folds (COCO 1K)",
    rule="a caption and the image it was written for; candidates are the items of the query's fold of 1,000 images",
    judged_by="not judged: every other pair counts as wrong, even if the caption fits",
    cite="faghri2018vsepp",
    reference="Faghri et al., VSE++: Improving Visual-Semantic Embeddings with Hard Negatives, BMVC 2018",
    positives="gt",
    load=ground_truth,
    identity=lambda split: None,
    folds=True,
)
