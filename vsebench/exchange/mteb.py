"""Task results of MTEB (mteb 2, ``TaskResult``): written from a report, and read for the leaderboards.

MTEB has a task for each direction, and other names: its ``hit_rate_at_k`` is the R@k of the field (any relevant item
among the first k), its ``recall_at_k`` the fraction that is Recall@k here. Its main score is nDCG@10. Its MSCOCO
is the test part of M-BEIR, whose captions are not exactly those of COCO 5K.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from ..data.regular import read_bytes
from ..errors import BadInput, UsageError
from ..options import either, spell
from ..report.render import json_text
from ..types import DIRECTIONS
from .exported import Exported, file_name

# The tasks by split and direction; the part of the test data is "test", its subset "default".
TASKS = {
    (split, direction): f"{stem}{direction.upper()}Retrieval"
    for split, stem in (("coco-5k", "MSCOCO"), ("f30k", "Flickr30k"))
    for direction in DIRECTIONS
}
MAIN = "ndcg_at_10"
# Their names of metrics, and ours. cv_recall: of the first release of the image tasks.
NAMES = {
    "hit_rate_at_": "R@", "cv_recall_at_": "R@", "recall_at_": "Recall@", "ndcg_at_": "gt:nDCG@", "map_at_": "mAP@",
}  # fmt: skip


def files(exported: Exported) -> dict[str, bytes]:
    """``ORG__NAME/no_revision_available/TASK.json``, one a direction that was measured.

    ``mteb_version`` is null, and ``dataset_revision`` the signature of the report: MTEB did not evaluate, and its copy
    of the data was not read.

    Raises:
        UsageError: MTEB has no task for the test set, or the report has no nDCG@10 of the captions' own images.
    """
    report = exported.report
    if report.split not in {split for split, _ in TASKS}:
        known = either(tuple(dict.fromkeys(split for split, _ in TASKS)))
        raise UsageError(f"MTEB has no task for the test set '{report.split}'", fix=f"export a report of {known}")
    folder = f"{file_name(exported.model.replace('/', '__'))}/no_revision_available"
    found = {}
    for direction in DIRECTIONS:
        scores = _scores(exported, direction)
        if not scores:
            continue
        if MAIN not in scores:
            names = "R@1,R@5,R@10,Recall@10,gt:nDCG@10"
            what = f"MTEB's main score, nDCG@10 of the judgements gt, is not in the report ({direction})"
            raise UsageError(what, fix=f"evaluate with {spell('metrics', names)}")
        task = TASKS[report.split, direction]
        score = {**scores, "main_score": scores[MAIN], "hf_subset": "default", "languages": ["eng-Latn"]}
        document = {
            "dataset_revision": report.signature, "task_name": task, "mteb_version": None,
            "scores": {"test": [score]}, "evaluation_time": report.provenance.get("seconds"),
            "kg_co2_emissions": None, "date": exported.started.timestamp(),
        }  # fmt: skip
        found[f"{folder}/{task}.json"] = f"{json_text(document)}\n".encode()
    return found


def _scores(exported: Exported, direction: str) -> dict[str, float]:
    """The values of a direction under the names of MTEB; every caption has one image, so R@k is its recall as well."""
    theirs = {ours: name for name, ours in NAMES.items() if not name.startswith("cv_")}
    found = {}
    for result in exported.report.results:
        name = re.fullmatch(r"((?:gt:nDCG|R|Recall|mAP)@)(\d+)", str(result.metric))
        if name and result.direction == direction:
            found[f"{theirs[name[1]]}{name[2]}"] = float(result.value)
            if name[1] == "R@" and direction == "t2i":
                found.setdefault(f"recall_at_{name[2]}", float(result.value))
    return found


@dataclass(frozen=True)
class TaskResult:
    """The numbers of a result file of MTEB that a leaderboard shows.

    Attributes:
        task: its name.
        split, direction: what it measures.
        version: of mteb, or the empty text.
        cells: metric -> the number as it is written in the file.
    """

    task: str
    split: str
    direction: str
    version: str
    cells: dict[str, str]


def read(path: Path) -> TaskResult | None:
    """The result of a task in a JSON file, None for a file that is no result of MTEB.

    Raises:
        BadInput: the task is none of ``TASKS``, or the file has no numbers of its test part.
    """
    data = read_bytes(path, "give a report of vsebench eval, or a result of MTEB")
    try:
        document = json.loads(data, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        return None  # the reader of reports says what is wrong
    if not isinstance(document, dict) or not {"task_name", "scores"} <= document.keys():
        return None
    if str(document.get("dataset_revision")).startswith("vsebench:"):
        fix = "add the report itself: vsebench leaderboard add REPORT.json"
        raise BadInput("was written by vsebench export, and not measured by MTEB", where=path, fix=fix)
    task = str(document["task_name"])
    place = next((place for place, name in TASKS.items() if name == task), None)
    if place is None:
        what = f"is the result of the task '{task:.80}' of MTEB, which no board shows"
        raise BadInput(what, where=path, fix=f"give one of {', '.join(TASKS.values())}")
    cells = _cells(document["scores"], place[1])
    if not cells:
        what = "has no hit_rate, recall, ndcg or map of the part 'test' and the subset 'default'"
        raise BadInput(what, where=path, fix="give the file that mteb wrote for the complete task")
    version = document.get("mteb_version")
    return TaskResult(task, *place, str(version) if version else "", cells)


def _cells(scores: Any, direction: str) -> dict[str, str]:
    """The numbers at 1, 5 and 10 as printed; where captions search images R@k stands in place of the same Recall@k."""
    parts = scores.get("test") if isinstance(scores, dict) else None
    found: dict[str, str] = {}
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict) or part.get("hf_subset") != "default":
            continue
        for theirs, ours in NAMES.items():
            for k in (1, 5, 10):
                name = f"{'R@' if direction == 't2i' and ours == 'Recall@' else ours}{k}"
                text = _number(part.get(f"{theirs}{k}"))
                if text is not None:
                    found.setdefault(name, text)
    return found


def _number(text: Any) -> str | None:
    """A number of a file without an exponent, None for anything else: also for one that would take pages to print."""
    try:
        value = Decimal(text) if isinstance(text, str) else None
    except InvalidOperation:
        return None
    return None if value is None or not value.is_finite() or abs(value.as_tuple().exponent) > 30 else f"{value:f}"  # type: ignore[arg-type]
