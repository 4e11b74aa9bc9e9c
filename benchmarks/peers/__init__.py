"""Other implementations of the same metrics, to compare values and time with: one file a peer, with its task.

``dictionaries`` is shared by those that read dictionaries; ``loss_loops`` are naive losses, timed in
``benchmarks.losses``.
"""

from . import (
    coco_cider,
    eccv,
    faiss_flat,
    metric_learning,
    ranx_dicts,
    scan_style,
    scipy_tau,
    torchmetrics_pairs,
    trec_eval,
    vsepp_style,
)

TASKS = (
    vsepp_style.TASK,
    scan_style.TASK,
    eccv.TASK,
    *torchmetrics_pairs.TASKS,
    metric_learning.TASK,
    ranx_dicts.TASK,
    trec_eval.TASK,
    *faiss_flat.TASKS,
    scipy_tau.TASK,
    coco_cider.TASK,
)
