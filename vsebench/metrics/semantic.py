"""Recall of an extended ground truth: the m most relevant candidates of a query stand for all that is relevant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..types import Bool, Float, Int
from .declare import Option
from .graded import graded, sums_at, up_to

CITE = ("biten2022semantic",)
EXTENDED = {
    "m": Option(("5",), "size of the extended ground truth", number=True),
    "unit": Option(
        ("item", "image"),
        "item: the m items with the largest gains; image: m images, those with the largest gains summed over "
        "the captions of the query's image, with all their captions",
    ),
}
KS = (1, 5, 10)


@graded(
    "SR@{k}",
    formula="|m most relevant items among the first k| / m",
    cite=CITE,
    options=EXTENDED,
    ks=KS,
)
def semantic_recall(members: Bool, size: Int, count: Int, ks: Sequence[int]) -> Float:
    """Semantic Recall: the share of the extended ground truth in the top k (Biten et al., WACV 2022, eq. 3 and 4).

    With ``unit=item`` it is the m items with the largest gains, ties to the lower index, as in the paper; with
    ``unit=image`` the m images of the authors' code, and all their captions. A query without any candidate has no
    value.
    """
    found = sums_at(members, up_to(ks, count))
    return np.asarray(np.divide(found, size[:, None], out=np.full(found.shape, np.nan), where=size[:, None] > 0))


@graded(
    "R@{k}",
    formula="1 if any of the m most relevant items is among the first k, else 0",
    cite=CITE,
    options=EXTENDED,
    ks=KS,
)
def recall_extended(members: Bool, count: Int, ks: Sequence[int]) -> Float:
    """Any-hit recall on the extended ground truth (R^V of Biten et al., WACV 2022, eq. 2); it rises with m."""
    at = up_to(ks, count)
    return np.where(at > 0, (sums_at(members, at) > 0).astype(float), np.nan)
