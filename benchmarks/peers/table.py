"""The table of the peers: what each computes, from which package, and how its definitions differ from ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from . import (
    coco_cider,
    eccv,
    faiss_flat,
    metric_learning,
    ours,
    ranx_dicts,
    scan_style,
    scipy_tau,
    torchmetrics_pairs,
    trec_eval,
    vsepp_style,
)
from .inputs import Inputs, Outcome, Work


@dataclass(frozen=True)
class Peer:
    """One row.

    Attributes:
        name: of the row.
        package: distribution to install, empty for loops that are part of the benchmarks.
        computes: in words, with the metrics by our names.
        start: what is in memory when the time starts.
        work: makes the function that is timed; imports and conversions that users do once are outside of it.
        ours: the same of the library.
        tolerance: largest difference of two values; of retrieved items, of their scores.
        difference: how its definitions differ from ours, one sentence.
        goal: how many times slower than the library it should be at least, None without a goal.
        fraction: of the queries that are measured at the full size; the cost of the others is the same.
        memory_goal: how many times more memory it should need at least, None without a goal.
        needed_gb: memory that must be available at the full size, in units of 10**9 bytes.
        modules: top-level modules that must be there.
    """

    name: str
    package: str
    computes: str
    start: str
    work: Callable[[Inputs], Work]
    ours: Callable[[Inputs], Work]
    tolerance: float
    difference: str
    goal: float | None = None
    fraction: float = 1.0
    memory_goal: float | None = None
    needed_gb: float = 0.0
    modules: tuple[str, ...] = ()


def _vsepp(given: Inputs) -> Work:
    def work() -> Outcome:
        found = vsepp_style.run(given.world.images, given.world.captions, given.fraction)
        prepare, scale = found.pop("prepare"), found.pop("scale")
        del found["query"]
        return Outcome(found, scale, prepare)

    return work


def _scan(given: Inputs) -> Work:
    return lambda: Outcome(scan_style.run(given.world.images, given.world.captions))


def _eccv(given: Inputs) -> Work:
    world = given.world

    def work() -> Outcome:
        found = eccv.run(world.images, world.captions, world.image_ids, world.caption_ids)
        return Outcome({f"{metric} {direction}": value for metric, direction, value in found["values"]})

    return work


RECALLS = "R@1, R@5, R@10, MedR, MeanR"
OF_LISTS = "R@1, R@5, R@10, Recall@100, R-P, nDCG@10"
FLOAT32 = 5e-4  # two of 5,000 queries: near-ties that float32 orders differently; less than one query of a check
PEERS: dict[str, Peer] = {
    p.name: p
    for p in (
        Peer(
            "vsepp loops", "", RECALLS, "vectors", _vsepp, ours.ranks, 1e-12,
            "One query at a time in float64; the order of exact ties is that of an unstable sort, so it is not "
            "defined, and every image must have five captions in order.",
            goal=30, fraction=0.05,
        ),
        Peer(
            "scan loops", "", RECALLS, "vectors", _scan, ours.ranks, FLOAT32,
            "Scores are rounded to float32, so near-ties depend on the matrix product of the machine; the order of "
            "ties is not defined.",
            goal=4,
        ),
        Peer(
            "eccv_caption", "eccv-caption", "recalls of COCO 5K, COCO 1K, CxC and ECCV Caption, eccv:R-P, eccv:mAP@R",
            "vectors", _eccv, ours.official, FLOAT32,
            "It measures lists of ids, so the order of ties is that of the caller. It counts an item each time that a "
            "list repeats it, and COCO 1K is right only with complete lists, which it therefore gets.",
            goal=50, memory_goal=10, needed_gb=eccv.NEEDED_GB, modules=("eccv_caption",),
        ),
        Peer(
            "torchmetrics hit rate", "torchmetrics", "R@10 (a metric at a time)", "vectors", torchmetrics_pairs.binary,
            ours.ranks, FLOAT32,
            "It reads one entry for every pair of query and candidate, in float32, and sorts by an unstable sort, so "
            "ties are not defined. Its recall and reciprocal rank take relevant candidates with a score of 0 or less "
            "for irrelevant, so they are not compared. Our time is that of all metrics of the ranks.",
            goal=30, fraction=0.02, modules=("torchmetrics", "torch"),
        ),
        Peer(
            "torchmetrics nDCG", "torchmetrics", "nDCG@10", "vectors, gains", torchmetrics_pairs.graded, ours.graded,
            1e-5,
            "Gains must be integers and sums are float32; tied candidates get the mean of their gains, where ours are "
            "ordered by index.",
            fraction=0.02, modules=("torchmetrics", "torch"),
        ),
        Peer(
            "pytorch-metric-learning", "pytorch-metric-learning", "R@1, R-P, mAP@R", "vectors",
            metric_learning.accuracy, ours.ranks, FLOAT32,
            "k is the largest number of positives of a query (`max_bin_count`), beyond which its reciprocal rank is 0, "
            "so that is not compared. An item is left out of its own list only where queries and gallery are one set. "
            "Products are float32, with the inner product instead of its default, Euclidean distance.",
            goal=3, modules=("pytorch_metric_learning", "faiss", "torch"),
        ),
        Peer(
            "ranx", "ranx", OF_LISTS, "lists of 100", ranx_dicts.from_lists, ours.lists, 1e-9,
            "Equal scores keep the order in which they were inserted. Items that are not in a list count as not found, "
            "so reciprocal ranks are not compared. The first call compiles, which takes up to half a minute and is "
            "not counted.",
            modules=("ranx",),
        ),
        Peer(
            "pytrec_eval", "pytrec-eval-terrier", OF_LISTS, "lists of 100", trec_eval.from_lists, ours.lists, FLOAT32,
            "Scores are rounded to float32 and equal ones are ordered by the id, from last to first; gains must be "
            "integers.",
            modules=("pytrec_eval",),
        ),
        Peer(
            "faiss k=10", "faiss-cpu", "the first 10 of every query", "vectors", partial(faiss_flat.top, k=10),
            partial(ours.top, k=10), 1e-6,
            "It returns items and no rank of a positive beyond k, which our time includes; products are float32, so "
            "near-ties are ordered differently.",
            goal=1.5, modules=("faiss",),
        ),
        Peer(
            "faiss k=1000", "faiss-cpu", "the first 1,000 of every query", "vectors", partial(faiss_flat.top, k=1000),
            partial(ours.top, k=1000), 1e-6,
            "As with k=10.",
            goal=1, modules=("faiss",),
        ),
        Peer(
            "scipy kendalltau", "scipy", "CS@100, CS@500, CS@1000, CS@5000", "scores, gains", scipy_tau.coherent,
            ours.coherent, 1e-12,
            "tau-b of one list of scores and gains; which of equal scores are among the first k is decided by the loop "
            "that calls it (here by the index, as in vsebench).",
            goal=35, fraction=0.03, modules=("scipy",),
        ),
        Peer(
            "pycocoevalcap", "pycocoevalcap", "CIDEr-D of every caption with every image", "captions, for it tokens",
            coco_cider.one_caption, ours.cider, 1e-6,
            "Scores are those of its scorer with the captions of each image as references; our gains are rounded to "
            "float32, and our time includes the tokens.",
            goal=50_000, modules=("pycocoevalcap",),
        ),
    )
}  # fmt: skip
