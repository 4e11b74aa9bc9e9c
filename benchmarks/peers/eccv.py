"""The official `eccv_caption` package, and the rankings that it needs.

The package measures dictionaries ``{query id: [item ids, best first]}``. COCO 1K is measured by filtering the 5K
rankings, so they must be complete: two times 125 million Python integers.
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from vsebench.errors import MissingPackage

Array = npt.NDArray[Any]
Rankings = dict[int, list[int]]
Judgements = dict[str, dict[int, list[int]]]
KS = (1, 5, 10)
NEEDED_GB = 14  # the full run peaks at about 11 GiB

# Name of a metric in the package -> name in vsebench.
NAMES: dict[str, str] = {
    **{f"coco_5k_r{k}": f"R@{k}" for k in KS},
    **{f"coco_1k_r{k}": f"1k:R@{k}" for k in KS},
    **{f"cxc_r{k}": f"cxc:R@{k}" for k in KS},
    **{f"eccv_r{k}": f"eccv:R@{k}" for k in KS},
    "eccv_rprecision": "eccv:R-P",
    "eccv_map_at_r": "eccv:mAP@R",
}

OUR_NAMES = ",".join(NAMES.values())


def rankings(scores: Array, image_ids: Array, caption_ids: Array, stable: bool = False) -> dict[str, Rankings]:
    """Complete rankings of both directions from (image, caption) scores."""
    kind: Literal["stable", "quicksort"] = "stable" if stable else "quicksort"

    def listed(rows: Array, queries: Array, gallery: Array) -> Rankings:
        return {
            query: gallery[np.argsort(-row, kind=kind)].tolist()
            for query, row in zip(queries.tolist(), rows, strict=True)
        }

    return {"i2t": listed(scores, image_ids, caption_ids), "t2i": listed(scores.T, caption_ids, image_ids)}


def official() -> Any:
    """A ``Metrics`` object of the package.

    Raises:
        MissingPackage: the package is not installed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from eccv_caption import Metrics
        except ImportError:
            raise MissingPackage("eccv_caption is not installed", fix="pip install 'vsebench[text]'") from None
        return Metrics()


def restrict(metrics: Any, image_ids: Array, caption_ids: Array) -> Any:
    """Keep only the judgements of some images and captions as queries.

    Other items remain positives, which cannot be retrieved.
    """
    queries = {"i2t": set(image_ids.tolist()), "t2i": set(caption_ids.tolist())}
    for name in ("coco_gts", "cxc_gts", "eccv_gts"):
        judged: Mapping[str, Mapping[int, Sequence[int]]] = getattr(metrics, name)
        kept = {d: {q: list(p) for q, p in judged[d].items() if q in queries[d]} for d in queries}
        setattr(metrics, name, kept)
    metrics.coco_ids = caption_ids
    return metrics


def judgements(metrics: Any) -> dict[str, Judgements]:
    """The judgements of a ``Metrics`` object by the names of vsebench's views."""
    return {"gt": metrics.coco_gts, "cxc": metrics.cxc_gts, "eccv": metrics.eccv_gts}


def values(metrics: Any, retrieved: dict[str, Rankings]) -> dict[tuple[str, str], float]:
    """Every metric of the package for K = 1, 5, 10: ``{(vsebench name, direction): fraction}``."""
    names = ("coco_1k_recalls", "coco_5k_recalls", "cxc_recalls", "eccv_r1", "eccv_rprecision", "eccv_map_at_r")
    with contextlib.redirect_stderr(io.StringIO()):  # a progress bar that cannot be turned off
        found = metrics.compute_all_metrics(
            retrieved["i2t"], retrieved["t2i"], target_metrics=names, Ks=KS, verbose=False
        )
        # The package leaves out ECCV recalls together with mAP@R, so they are computed separately.
        found |= metrics.compute_all_metrics(
            retrieved["i2t"], retrieved["t2i"], target_metrics=("eccv_recalls",), Ks=KS, verbose=False
        )
    return {(NAMES[name], d): float(v) for name, both in found.items() for d, v in both.items()}


def run(images: Array, captions: Array, image_ids: Array, caption_ids: Array) -> dict[str, Any]:
    """Values from embeddings, with the seconds of the two steps."""
    start = time.perf_counter()
    retrieved = rankings(images @ captions.T, image_ids, caption_ids)
    listed = time.perf_counter()
    metrics = official()
    if len(metrics.coco_ids) != len(caption_ids):
        restrict(metrics, image_ids, caption_ids)
    found = values(metrics, retrieved)
    done = time.perf_counter()
    return {
        "lists": listed - start,
        "measure": done - listed,
        "values": [[*key, value] for key, value in found.items()],
    }
