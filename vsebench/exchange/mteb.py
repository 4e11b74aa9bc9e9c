"""Task results of MTEB (mteb 2, ``TaskResult``).

MTEB has a task for each direction, and other names: its ``hit_rate_at_k`` is the R@k of the field (any relevant item
among the first k), its ``recall_at_k`` the fraction that is Recall@k here. Its main score is nDCG@10. Its MSCOCO
is the test part of M-BEIR, with slightly different captions than COCO 5K.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from ..errors import UsageError
from ..options import either, spell
from ..results.render import json_text
from ..results.report import Report
from ..types import DIRECTIONS
from .exported import Exported, file_name


class Place(NamedTuple):
    """Where the numbers of a test set stand: the name of the task without its direction, the subset, its language."""

    stem: str
    subset: str
    language: str


XFLICKRCO = {
    "de": "deu-Latn", "en": "eng-Latn", "es": "spa-Latn", "id": "ind-Latn", "ja": "jpn-Jpan", "ru": "rus-Cyrl",
    "tr": "tur-Latn", "zh": "zho-Hans",
}  # fmt: skip
# By split; the part of the test data is "test".
TASK_PLACES = {
    "coco-5k": Place("MSCOCO", "default", "eng-Latn"),
    "f30k": Place("Flickr30k", "default", "eng-Latn"),
    **{f"xflickrco:{code}": Place("XFlickr30kCo", code, language) for code, language in XFLICKRCO.items()},
}
# The tasks by split and direction.
TASKS = {(split, d): f"{place.stem}{d.upper()}Retrieval" for split, place in TASK_PLACES.items() for d in DIRECTIONS}
MAIN_SCORE = "ndcg_at_10"
# Our names of metrics, and theirs.
NAMES = {"R@": "hit_rate_at_", "Recall@": "recall_at_", "gt:nDCG@": "ndcg_at_", "mAP@": "map_at_"}


def files(exported: Exported) -> dict[str, bytes]:
    """``ORG__NAME/no_revision_available/TASK.json``, one a direction that was measured, with a subset a report.

    ``mteb_version`` is null, and ``dataset_revision`` the signature of the report, or of the reports: MTEB did
    not evaluate, and its copy of the data was not read.

    Raises:
        UsageError: MTEB has no task for the test set, a report has no nDCG@10 of the captions' own images, or reports
            are of one subset or of several tasks.
    """
    splits = [report.split for report in exported.reports]
    for split in splits:
        if split not in TASK_PLACES:
            known = either(tuple(dict.fromkeys(known.partition(":")[0] for known in TASK_PLACES)))
            raise UsageError(f"MTEB has no task for the test set '{split}'", fix=f"export a report of {known}")
    if len({TASK_PLACES[split].stem for split in splits}) > 1 or len(set(splits)) < len(splits):
        what = f"reports are of {', '.join(splits)}, and a file of MTEB has one task and each subset once"
        raise UsageError(what, fix="export the reports of one system, on the languages of one test set")
    folder = f"{file_name(exported.model.replace('/', '__'))}/no_revision_available"
    found = {}
    for direction in DIRECTIONS:
        parts = [part for report in exported.reports if (part := _part(report, direction))]
        if not parts:
            continue
        task = TASKS[splits[0], direction]
        seconds = [s for report in exported.reports if isinstance(s := report.provenance.get("seconds"), (int, float))]
        document = {
            "dataset_revision": " ".join(report.signature for report in exported.reports), "task_name": task,
            "mteb_version": None, "scores": {"test": parts},
            "evaluation_time": math.fsum(seconds) if seconds else None,
            "kg_co2_emissions": None, "date": exported.started.timestamp(),
        }  # fmt: skip
        found[f"{folder}/{task}.json"] = f"{json_text(document)}\n".encode()
    if not found:
        raise _no_main_score("both directions")
    return found


def _part(report: Report, direction: str) -> dict[str, Any]:
    """The scores of a report in one direction, empty if it was not measured."""
    scores = _scores(report, direction)
    if scores and MAIN_SCORE not in scores:
        raise _no_main_score(direction)
    place = TASK_PLACES[report.split]
    more = {"hf_subset": place.subset, "languages": [place.language]}
    return {**scores, "main_score": scores[MAIN_SCORE], **more} if scores else {}


def _no_main_score(where: str) -> UsageError:
    what = f"MTEB's main score, nDCG@10 of the judgements gt, is not in the report ({where})"
    return UsageError(what, fix=f"evaluate with {spell('metrics', 'R@1,R@5,R@10,Recall@10,gt:nDCG@10')}")


def _scores(report: Report, direction: str) -> dict[str, float]:
    """The values of a direction under the names of MTEB; every caption has one image, so R@k is its recall as well."""
    found = {}
    for result in report.results:
        name = re.fullmatch(r"((?:gt:nDCG|R|Recall|mAP)@)(\d+)", str(result.metric))
        if name and result.direction == direction:
            found[f"{NAMES[name[1]]}{name[2]}"] = float(result.value)
            if name[1] == "R@" and direction == "t2i":
                found.setdefault(f"recall_at_{name[2]}", float(result.value))
    return found
