"""Crisscrossed Captions: the aggregated ratings of caption-image, caption-caption and image-image pairs.

Source: Parekh et al., Crisscrossed Captions: Extended Intramodal and Intermodal Semantic Similarity Judgments for
MS-COCO, EACL 2021. Ratings run from 0 to 5.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from ..errors import BadInput, count_of
from ..options import spell
from ..types import Bool, Float, Int, Modality
from .judgements import bad, find, number, rows

Task = Literal["sits", "sts", "sis"]
TASKS: dict[Task, tuple[Modality, Modality]] = {
    "sits": ("caption", "image"),
    "sts": ("caption", "caption"),
    "sis": ("image", "image"),
}
COLUMNS: dict[Task, list[str]] = {
    "sits": ["caption", "image", "agg_score", "sampling_method"],
    "sts": ["caption1", "caption2", "agg_score", "sampling_method"],
    "sis": ["image1", "image2", "agg_score", "sampling_method"],
}
# Sampling method of a pair -> whether both items are of one image by construction.
METHODS = {"c2i_original": True, "c2i_intrasim": False, "c2c_cocaption": True, "c2c_isim": False, "i2i_csim": False}
_CAPTION = re.compile(r"(?:.*:)?(\d{1,12})")
_IMAGE = re.compile(r"(?:.*[_/])?(\d{1,12})(?:\.\w+)?")


def fetch() -> str:
    """How to get the files."""
    return (
        "run: git clone https://github.com/google-research-datasets/Crisscrossed-Captions (the public ratings), "
        f"and add {spell('human_data', 'Crisscrossed-Captions/data')}"
    )


@dataclass(frozen=True, eq=False)
class CxcRatings:
    """One file of CxC.

    Attributes:
        task: ``sits`` (caption, image), ``sts`` (caption, caption) or ``sis`` (image, image).
        first: (pair,) int64 COCO ids of the first column.
        second: (pair,) int64 COCO ids of the second column.
        score: (pair,) float64 mean rating, 0 to 5.
        same_image: (pair,) bool, a ground-truth pair or two captions of one image.
        where: the file.
    """

    task: Task
    first: Int
    second: Int
    score: Float
    same_image: Bool
    where: Path


def read_cxc(task: Task, folder: str | os.PathLike[str] | None = None) -> CxcRatings:
    """The ratings of one task, for the test half of Karpathy's split.

    Args:
        task: ``sits``, ``sts`` or ``sis``.
        folder: where ``<task>_test.csv`` or ``.csv.gz`` is, see ``judgements.find``.

    Raises:
        MissingPackage: the file is absent; the message has the command to get it.
        BadInput: another file, or a line that cannot be read (named).
        UsageError: ``folder`` is not a folder.
    """
    (path,) = find([f"{task}_test.csv"], folder, fetch())
    lines = rows(path, ",")
    head = next(lines, (0, []))[1]
    if [cell.strip() for cell in head] != COLUMNS[task]:
        raise BadInput(
            f"the first line is '{','.join(head)[:80]}', expected '{','.join(COLUMNS[task])}'",
            where=path,
            fix=f"give the aggregated file {task}_test.csv, not the raw one or another task",
        )
    patterns = [_CAPTION if side == "caption" else _IMAGE for side in TASKS[task]]
    ids: tuple[list[int], list[int]] = ([], [])
    score: list[float] = []
    same_image: list[bool] = []
    for line, cells in lines:
        if len(cells) != 4:
            raise bad(path, line, f"{count_of(len(cells), 'column')}, expected 4")
        for cell, column, pattern, side in zip(cells, ids, patterns, TASKS[task], strict=False):
            match = pattern.fullmatch(cell)
            if match is None:
                raise bad(path, line, f"'{cell[:60]}' is not the id of a COCO {side}")
            column.append(int(match[1]))
        score.append(number(cells[2], 0, 5, "agg_score", path, line))
        method = cells[3].strip()
        if method not in METHODS:
            raise bad(path, line, f"sampling_method is '{method[:40]}', expected {', '.join(METHODS)}")
        same_image.append(METHODS[method])
    if not score:
        raise BadInput("no ratings below the first line", where=path, fix="download the file again")
    return CxcRatings(task, np.array(ids[0]), np.array(ids[1]), np.array(score), np.array(same_image), path)
