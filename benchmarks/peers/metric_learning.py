"""``AccuracyCalculator`` of pytorch-metric-learning: nearest neighbours by faiss, labels compared with torch."""

from __future__ import annotations

from vsebench.types import DIRECTIONS

from ..inputs import Inputs
from ..task import FLOAT32, Needs, Outcome, Peer, Task, Work

NAMES = {"precision_at_1": "R@1", "r_precision": "R-P", "mean_average_precision_at_r": "mAP@R"}


def accuracy(given: Inputs) -> Work:
    """The metrics that need as many neighbours as a query has positives."""
    import torch

    from vsebench.rank.faiss_index import package

    faiss = package()  # with the kernels of numpy's BLAS, before the next module imports it
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
    from pytorch_metric_learning.utils.inference import FaissKNN

    calculator = AccuracyCalculator(
        include=tuple(NAMES),
        k="max_bin_count",
        device=torch.device("cpu"),
        knn_func=FaissKNN(index_init_fn=faiss.IndexFlatIP),
    )

    def work() -> Outcome:
        values = {}
        for direction in DIRECTIONS:
            (queries, gallery), (own, others) = given.sides(direction), given.labels(direction)
            found = calculator.get_accuracy(queries, own, gallery, others, ref_includes_query=False)
            values |= {f"{ours} {direction}": float(found[theirs]) for theirs, ours in NAMES.items()}
        return Outcome(values)

    return work


TASK = Task(
    "pytorch-metric-learning", "R@1, R-P, mAP@R", accuracy, None, ">= 3 x",
    Needs(("pytorch_metric_learning", "faiss", "torch")),
    Peer(
        "ranking/ranks", FLOAT32, "pytorch-metric-learning", "vectors",
        "k is the largest number of positives of a query (`max_bin_count`), beyond which its reciprocal rank is 0, "
        "so that is not compared. An item is left out of its own list only where queries and gallery are one set. "
        "Products are float32, with the inner product instead of its default, Euclidean distance.",
    ),
)  # fmt: skip
