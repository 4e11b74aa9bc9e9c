"""The official `eccv_caption` package, and the rankings that it needs.

The package measures dictionaries ``{query id: [item ids, best first]}``. COCO 1K is measured by filtering the 5K
rankings, so they must be complete: two times 125 million Python integers.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

import numpy as np

from ..inputs import Array, Inputs
from ..ranking import KS, OFFICIAL
from ..task import FLOAT32, Needs, Outcome, Peer, Task, Work

TARGETS = ("coco_1k_recalls", "coco_5k_recalls", "cxc_recalls", "eccv_r1", "eccv_rprecision", "eccv_map_at_r")
ALONE = ("eccv_recalls",)  # the package leaves them out together with mAP@R


def rankings(scores: Array, queries: Array, gallery: Array) -> dict[int, list[int]]:
    """Complete rankings of ids from (query, gallery) scores."""
    return {query: gallery[np.argsort(-row)].tolist() for query, row in zip(queries.tolist(), scores, strict=True)}


def official(given: Inputs) -> Work:
    """Every metric of the package for K = 1, 5, 10, from vectors."""
    images, captions, image_ids, caption_ids = given.world

    def work() -> Outcome:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from eccv_caption import Metrics

            metrics = Metrics()
        scores, found = images @ captions.T, dict[str, Any]()
        lists = rankings(scores, image_ids, caption_ids), rankings(scores.T, caption_ids, image_ids)
        with contextlib.redirect_stderr(io.StringIO()):  # a progress bar that cannot be turned off
            for targets in (TARGETS, ALONE):
                found |= metrics.compute_all_metrics(*lists, target_metrics=targets, Ks=KS, verbose=False)
        return Outcome({f"{OFFICIAL[name]} {d}": v for name, both in found.items() for d, v in both.items()})

    return work


TASK = Task(
    "eccv_caption", "recalls of COCO 5K, COCO 1K, CxC and ECCV Caption, eccv:R-P, eccv:mAP@R", official, None,
    ">= 50 x, >= 10 x MiB", Needs(("eccv_caption",), gb=14, full=True),
    Peer(
        "ranking/official", FLOAT32, "eccv-caption", "vectors",
        "It measures lists of ids, so the order of ties is that of the caller. It counts an item each time that a "
        "list repeats it, and COCO 1K is right only with complete lists, which it therefore gets.",
    ),
)  # fmt: skip
