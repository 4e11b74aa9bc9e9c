"""Task results of MTEB (mteb 2, ``TaskResult``): written from a report, and read for the leaderboards.

MTEB has a task for each direction, and other names: its ``hit_rate_at_k`` is the R@k of the field (any relevant item
among the first k), its ``recall_at_k`` the fraction that is Recall@k here. Its main score is nDCG@10. Its MSCOCO
is the test part of M-BEIR, whose captions are not exactly those of COCO 5K.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple

from ..data.regular import read_bytes
from ..data.textfile import shown
from ..errors import BadInput, UsageError
from ..options import either, spell
from ..report.render import json_text
from ..report.report import Report
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
PLACES = {
    "coco-5k": Place("MSCOCO", "default", "eng-Latn"),
    "f30k": Place("Flickr30k", "default", "eng-Latn"),
    **{f"xflickrco:{code}": Place("XFlickr30kCo", code, language) for code, language in XFLICKRCO.items()},
}
# The tasks by split and direction.
TASKS = {(split, d): f"{place.stem}{d.upper()}Retrieval" for split, place in PLACES.items() for d in DIRECTIONS}
MAIN = "ndcg_at_10"
ROUNDED = Decimal("2e-5")  # that two numbers of five digits differ by when they are equal
# Their names of metrics, and ours. cv_recall: of the first release of the image tasks.
NAMES = {
    "hit_rate_at_": "R@", "cv_recall_at_": "R@", "recall_at_": "Recall@", "ndcg_at_": "gt:nDCG@", "map_at_": "mAP@",
}  # fmt: skip


def files(exported: Exported) -> dict[str, bytes]:
    """``ORG__NAME/no_revision_available/TASK.json``, one a direction that was measured, with a subset a report.

    ``mteb_version`` is null, and ``dataset_revision`` the signature of the report, or those of the reports: MTEB did
    not evaluate, and its copy of the data was not read.

    Raises:
        UsageError: MTEB has no task for the test set, a report has no nDCG@10 of the captions' own images, or reports
            are of one subset or of several tasks.
    """
    splits = [report.split for report in exported.reports]
    for split in splits:
        if split not in PLACES:
            known = either(tuple(dict.fromkeys(known.partition(":")[0] for known in PLACES)))
            raise UsageError(f"MTEB has no task for the test set '{split}'", fix=f"export a report of {known}")
    if len({PLACES[split].stem for split in splits}) > 1 or len(set(splits)) < len(splits):
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
    """The scores of a report in one direction, empty where it was not measured."""
    scores = _scores(report, direction)
    if scores and MAIN not in scores:
        raise _no_main_score(direction)
    place = PLACES[report.split]
    more = {"hf_subset": place.subset, "languages": [place.language]}
    return {**scores, "main_score": scores[MAIN], **more} if scores else {}


def _no_main_score(where: str) -> UsageError:
    what = f"MTEB's main score, nDCG@10 of the judgements gt, is not in the report ({where})"
    return UsageError(what, fix=f"evaluate with {spell('metrics', 'R@1,R@5,R@10,Recall@10,gt:nDCG@10')}")


def _scores(report: Report, direction: str) -> dict[str, float]:
    """The values of a direction under the names of MTEB; every caption has one image, so R@k is its recall as well."""
    theirs = {ours: name for name, ours in NAMES.items() if not name.startswith("cv_")}
    found = {}
    for result in report.results:
        name = re.fullmatch(r"((?:gt:nDCG|R|Recall|mAP)@)(\d+)", str(result.metric))
        if name and result.direction == direction:
            found[f"{theirs[name[1]]}{name[2]}"] = float(result.value)
            if name[1] == "R@" and direction == "t2i":
                found.setdefault(f"recall_at_{name[2]}", float(result.value))
    return found


@dataclass(frozen=True)
class TaskResult:
    """The numbers of a subset in a result file of MTEB, as a leaderboard shows them.

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


def read(path: Path) -> list[TaskResult]:
    """The result of a task in a JSON file, one a subset; none for a file that is no result of MTEB.

    Raises:
        BadInput: the task is none of ``TASKS``, or the file has no numbers of its test part, something else in place
            of a number, or numbers that contradict each other.
    """
    data = read_bytes(path, "give a report of vsebench eval, or a result of MTEB")
    try:
        document = json.loads(data, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        return []  # the reader of reports says what is wrong
    if not isinstance(document, dict) or not {"task_name", "scores"} <= document.keys():
        return []
    if str(document.get("dataset_revision")).startswith("vsebench:"):
        fix = "add the report itself: vsebench leaderboard add REPORT.json"
        raise BadInput("was written by vsebench export, and not measured by MTEB", where=path, fix=fix)
    task, version = str(document["task_name"]), document.get("mteb_version")
    places = [place for place, name in TASKS.items() if name == task]
    if not places:
        what = f"is the result of the task '{task:.80}' of MTEB, which no board shows"
        raise BadInput(what, where=path, fix=f"give one of {', '.join(dict.fromkeys(TASKS.values()))}")
    found = [(place, _cells(document["scores"], *place, path)) for place in places]
    if not any(cells for _, cells in found):
        subsets = either(tuple(PLACES[split].subset for split, _ in places))
        what = f"has no hit_rate, recall, ndcg or map of the part 'test' and the subset {subsets}"
        raise BadInput(what, where=path, fix="give the file that mteb wrote for the complete task")
    return [TaskResult(task, *place, str(version) if version else "", cells) for place, cells in found if cells]


def _cells(scores: Any, split: str, direction: str, path: Path) -> dict[str, str]:
    """The numbers at 1, 5 and 10 as printed; where captions search images R@k stands in place of the same Recall@k."""
    parts = scores.get("test") if isinstance(scores, dict) else None
    found: dict[str, str] = {}
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict) or part.get("hf_subset") != PLACES[split].subset:
            continue
        names = [f"{name}{k}" for name in NAMES for k in (1, 5, 10) if f"{name}{k}" in part]
        values = {name: _number(part[name], f"{name} of the subset {part['hf_subset']}", path) for name in names}
        _refuse_contradiction(values, direction, path)
        for name, value in values.items():
            stem, k = re.fullmatch(r"(.*_)(\d+)", name).groups()  # type: ignore[union-attr]
            ours = "R@" if direction == "t2i" and NAMES[stem] == "Recall@" else NAMES[stem]
            found.setdefault(f"{ours}{k}", f"{value:f}")
    return found


def _refuse_contradiction(values: Mapping[str, Decimal], direction: str, path: Path) -> None:
    """Refuse numbers that no ranking has: a query finds no larger part of its items than all, or than one of one."""
    for k in (1, 5, 10):
        every, some = values.get(f"recall_at_{k}"), values.get(f"hit_rate_at_{k}", values.get(f"cv_recall_at_{k}"))
        if every is None or some is None:
            continue
        name = f"{'hit_rate' if f'hit_rate_at_{k}' in values else 'cv_recall'}_at_{k}"
        what = f"recall_at_{k} is {every:f} and {name} is {some:f}"
        if direction == "t2i" and abs(every - some) > ROUNDED:
            what += ", which are equal where every caption has one image"
        elif every - some > ROUNDED:
            what += ", and no query has a larger recall than hit rate"
        else:
            continue
        raise BadInput(what, where=path, fix="take the file that mteb wrote")


def _number(text: Any, name: str, path: Path) -> Decimal:
    """A number of a file; BadInput for anything else, and for one that would take pages to print without exponent."""
    try:
        value = Decimal(text) if isinstance(text, str) else None
    except InvalidOperation:
        value = None
    if value is None or not value.is_finite() or abs(value.as_tuple().exponent) > 30:  # type: ignore[arg-type]
        raise BadInput(f"{name} is {shown(text)}, expected a number", where=path, fix="take the file that mteb wrote")
    return value
