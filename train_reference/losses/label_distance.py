"""Losses on continuous labels: distances of embeddings should follow distances of labels.

Kim et al., Deep Metric Learning Beyond Binary Supervision, CVPR 2019. The paper has one anchor a batch and one
modality; here every item of the batch is an anchor and its candidates are of the other modality. The label distance of
a pair is 1 - degree. The distance of embeddings comes from the score: with ``similarity`` ``cosine`` it is the squared
Euclidean distance 2 - 2 s of unit vectors; with ``euclidean`` scores are negative squared distances, and it is -s.
"""

from typing import Literal, get_args

import torch
from torch import Tensor

from . import loss
from .batch import Reduction, all_hinges, check_choice, checked, descending, graded, ordered_hinges, reduced

Similarity = Literal["cosine", "euclidean"]
FLOOR = 1e-12  # of a squared distance, below which its root has no useful gradient


@loss("log_ratio", aka=("log-ratio",), cite="Kim et al., CVPR 2019, eq. 5", degree="label")
def log_ratio(
    scores: Tensor, positive: Tensor, *, degree: Tensor, similarity: Similarity = "cosine", squared: bool = False,
    ties: Literal["drop", "keep"] = "drop", eps: float = 1e-6, reduction: Reduction = "sum",
) -> Tensor:  # fmt: skip
    """The ratio of two distances should be that of the label distances; mean over pairs of candidates of an anchor::

        (log D(a,i)/D(a,j) - log y(a,i)/y(a,j))^2

    As mean over all (i, j) of (u_i - u_j)^2 = 2 var(u), with u = log D - log y, it takes b steps an anchor, not b^2.

    Args:
        squared: squared distances of embeddings, as in eq. 5; else their roots, as in the authors' code.
        ties: pairs of candidates with the same label distance are left out (``drop``, as in the paper) or not
            (``keep``, as in the authors' code; faster).
        eps: added to both distances inside the logarithms.
    """
    scores, degree = checked(scores, positive), graded(scores, degree)
    distance = _distance(scores, similarity)
    check_choice("log_ratio: ties", ties, ("drop", "keep"))
    if not squared:
        distance = distance.clamp(min=FLOOR).sqrt()
    label = (1 - degree).clamp(min=0)
    u = (distance + eps).log() - (label + eps).log()
    slope = _slope(u.detach(), label, ties) + _slope(u.detach().T, label.T, ties).T
    # Slopes add up to 0: without their mean, large numbers lose no digits.
    cost = (slope * (u - u.detach().mean())).sum()
    # A sum of squares, but with half of its gradient, as ``slope`` has none.
    return reduced(2 * cost - cost.detach(), len(scores), reduction)


def _slope(u: Tensor, label: Tensor, ties: str) -> Tensor:
    """Half of the gradient of the sum over rows of the mean over pairs i < j of (u_i - u_j)^2."""
    n = u.shape[1]
    v = u - u.mean(dim=1, keepdim=True)  # of every row the sum is 0
    if ties == "keep":
        return v * (2 / max(n - 1, 1))
    y, column = descending(label)
    v = v.gather(1, column)
    group = torch.nn.functional.pad(y[:, 1:] != y[:, :-1], (1, 0)).cumsum(dim=1)  # of equal labels
    same = torch.zeros_like(v).scatter_add_(1, group, v).gather(1, group)
    others = n - torch.zeros_like(v).scatter_add_(1, group, torch.ones_like(v)).gather(1, group)
    pairs = others.sum(dim=1, keepdim=True)  # counted twice; a row where all labels are the same costs nothing
    # The sum over j with another label of v_i - v_j.
    slope = same.addcmul_(others, v).mul_(2 / pairs.masked_fill(pairs == 0, torch.inf))
    return torch.empty_like(slope).scatter_(1, column, slope)


@loss("dense_triplet", cite="Kim et al., CVPR 2019, eq. 10-11", degree="label")
def dense_triplet(
    scores: Tensor, positive: Tensor, *, degree: Tensor, similarity: Similarity = "cosine", margin: float = 0.03,
    reduction: Reduction = "sum",
) -> Tensor:  # fmt: skip
    """Every two candidates should be in the order of their label distances; mean over the pairs of an anchor::

        [D(a,i) - D(a,j) + margin]+   for y(a,i) < y(a,j), D the squared Euclidean distance

    ``margin``: 0.03 in the paper.
    """
    scores, degree = checked(scores, positive), graded(scores, degree)
    near = -_distance(scores, similarity)
    total = sum(ordered_hinges(s, r, 0.0, margin, True) for s, r in ((near, degree), (near.T, degree.T)))
    return reduced(torch.as_tensor(total), len(scores), reduction)


@loss("nearest_triplet", cite="Kim et al., CVPR 2019, section 4.1 (Triplet with binary supervision)", degree="label")
def nearest_triplet(
    scores: Tensor, positive: Tensor, *, degree: Tensor, similarity: Similarity = "cosine", neighbours: int = 5,
    margin: float = 0.2, reduction: Reduction = "sum",
) -> Tensor:  # fmt: skip
    """The binary baseline of continuous labels: the nearest candidates by label are positives, all others negatives.

    The paper takes the 30 nearest neighbours in the training set for positives, of which the authors' code draws five
    for a batch; here they are the nearest of the batch.

    Args:
        degree: where it ties, all of the tied are positives.
        neighbours: number of positives: 5 in the authors' code.
        margin: of squared distances, 0.2 in the paper.
        reduction: "sum" over anchors of both directions, each the mean over its triplets, or "mean" over pairs.
    """
    scores, degree = checked(scores, positive), graded(scores, degree)
    near = -_distance(scores, similarity)
    total = scores.new_zeros(())
    for s, r, no_negative in ((near, degree, positive), (near.T, degree.T, positive.T)):
        limit = r.topk(min(neighbours, len(r)), dim=1).values[:, -1:]
        upper = r >= limit
        lower = ~upper & ~no_negative
        triplets = (upper.sum(dim=1) * lower.sum(dim=1)).clamp(min=1)
        total = total + all_hinges(s, upper, lower, margin, weight=1 / triplets.to(s))
    return reduced(total, len(scores), reduction)


def _distance(scores: Tensor, similarity: str) -> Tensor:
    """(b, b) squared Euclidean distances of the embeddings."""
    check_choice("similarity", similarity, get_args(Similarity))
    return 2 - 2 * scores if similarity == "cosine" else -scores
