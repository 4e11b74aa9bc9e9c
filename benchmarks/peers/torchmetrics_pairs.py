"""``torchmetrics.retrieval``: metrics of flat arrays of queries, scores and targets, one entry a pair."""

from __future__ import annotations

from typing import Any

from vsebench.types import DIRECTIONS

from ..inputs import Inputs
from ..task import FLOAT32, Needs, Outcome, Peer, Task, Work

TIMED = "R@10"  # every metric groups all pairs again, so one is timed


def binary(given: Inputs) -> Work:
    """Hit rates and R-precision of the captions written for the image.

    Its recall and reciprocal rank are not ours: a relevant candidate with a score of 0 or less counts as irrelevant.
    """
    from torchmetrics import retrieval

    metrics: dict[str, Any] = {
        "R@1": lambda: retrieval.RetrievalHitRate(top_k=1),
        "R@5": lambda: retrieval.RetrievalHitRate(top_k=5),
        "R@10": lambda: retrieval.RetrievalHitRate(top_k=10),
        "R-P": retrieval.RetrievalRPrecision,
    }
    return _work(given, metrics if given.quick else {TIMED: metrics[TIMED]}, graded=False)


def graded(given: Inputs) -> Work:
    """nDCG@10 of integer gains."""
    from torchmetrics.retrieval import RetrievalNormalizedDCG

    given.judged  # noqa: B018 (in memory before the time is measured)
    return _work(given, {"nDCG@10": lambda: RetrievalNormalizedDCG(top_k=10)}, graded=True)


def _work(given: Inputs, metrics: dict[str, Any], graded: bool) -> Work:
    import torch

    def work() -> Outcome:
        values = {}
        for direction in DIRECTIONS:
            queries = given.queries(direction)
            vectors, gallery = map(torch.from_numpy, given.sides(direction))
            scores = vectors[torch.from_numpy(queries)] @ gallery.T
            if graded:
                rows = given.judged[queries] if direction == "i2t" else given.judged.T[queries]
                target = torch.from_numpy(rows).long()
            else:
                own, others = map(torch.from_numpy, given.labels(direction))
                target = own[torch.from_numpy(queries), None] == others[None]
            indexes = torch.arange(len(queries))[:, None].expand(scores.shape)
            for name, make in metrics.items():
                metric = make()
                metric.update(scores.ravel(), target.ravel(), indexes.reshape(-1))
                values[f"{name} {direction}"] = float(metric.compute())
        return Outcome(values, given.scale)

    return work


NEEDS = Needs(("torchmetrics", "torch"))
TASKS = (
    Task(
        "torchmetrics hit rate", "R@10 (a metric at a time)", binary, None, ">= 30 x", NEEDS,
        Peer(
            "ranking/ranks", FLOAT32, "torchmetrics", "vectors",
            "It reads one entry for every pair of query and candidate, in float32, and sorts by an unstable sort, so "
            "ties are not defined. Its recall and reciprocal rank take relevant candidates with a score of 0 or less "
            "for irrelevant, so they are not compared. Our time is that of all metrics of the ranks.",
            part=0.02,
        ),
    ),
    Task(
        "torchmetrics nDCG", "nDCG@10", graded, None, "", NEEDS,
        Peer(
            "metrics/judged", 1e-5, "torchmetrics", "vectors, gains",
            "Gains must be integers and sums are float32; tied candidates get the mean of their gains, where ours are "
            "ordered by index.",
            part=0.02,
        ),
    ),
)  # fmt: skip
