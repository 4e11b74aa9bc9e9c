"""``AccuracyCalculator`` of pytorch-metric-learning: nearest neighbours by faiss, labels compared with torch."""

from __future__ import annotations

from vsebench.types import DIRECTIONS

from .inputs import Inputs, Outcome, Work

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
