"""Recall of the pseudo-positives: the m candidates of a query with the largest gains above 0 count as relevant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..types import Bool, Float, Int
from . import expected
from .declare import Option, metric
from .graded_ranking import sums_at, up_to

CITE = ("biten2022semantic",)
OPTIONS = {
    "m": Option(
        ("5",),
        "number of pseudo-positives, fewer if fewer gains are above 0",
        number=True,
    ),
    "unit": Option(
        ("item", "image"),
        "item: the m items with the largest gains; image: m images, those with the largest gains summed over "
        "the captions of the query's image, with all their captions",
    ),
}
KS = (1, 5, 10)


@metric(
    "SR@{k}",
    formula="|pseudo-positives among the first k| / m",
    cite=CITE,
    options=OPTIONS,
    ks=KS,
    expected="means",
)
def semantic_recall(pseudo_positive: Bool, pseudo_positives: Int, count: Int, ks: Sequence[int]) -> Float:
    """Semantic Recall: the share of the pseudo-positives in the top k (Biten et al., WACV 2022, eq. 3 and 4).

    A candidate of gain 0 is never a pseudo-positive.

    With ``unit=item`` these are the m items with the largest gains, ties to the lower index, as in the paper. With
    ``unit=image`` they are m images with all their captions, as in the authors' code, which adds up gains only over the
    images that are among the 30 of largest gain of a caption. With ``gt=in`` image-to-text values are nearly recall
    if a caption is compared with itself (``own=in``): its own captions are the pseudo-positives of an image.
    """
    found, size = sums_at(pseudo_positive, up_to(ks, count)), pseudo_positives[:, None]
    return np.asarray(np.divide(found, size, out=np.full(found.shape, np.nan), where=size > 0))


@metric(
    "R@{k}",
    formula="1 if any of the m pseudo-positives is among the first k, else 0",
    cite=CITE,
    options=OPTIONS,
    ks=KS,
    expected=expected.any_hit,
)
def recall_extended(pseudo_positive: Bool, count: Int, ks: Sequence[int]) -> Float:
    """Any-hit recall of the pseudo-positives (R^V of Biten et al., WACV 2022, eq. 2); it rises with m."""
    at = up_to(ks, count)
    return np.where(at > 0, (sums_at(pseudo_positive, at) > 0).astype(float), np.nan)
