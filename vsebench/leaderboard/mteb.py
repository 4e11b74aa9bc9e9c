"""A published entry from the result file of an MTEB task: what it prints, nothing is computed again."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from ..data.atomic import write_atomically
from ..data.regular import read_bytes
from ..errors import BadInput, UsageError
from ..exchange.mteb import TaskResult
from ..options import spell
from ..report.schema import faults_of
from .benchmarks import slug
from .published import PrintedTable, entries_of
from .schema import Entry, Model, Paper

KEY = "mteb"
SOURCE = Paper(
    name="MTEB", authors="The contributors of MTEB and MIEB", title="Results of the tasks of MTEB",
    venue="the files that mteb writes", url="https://github.com/embeddings-benchmark/results",
)  # fmt: skip
M_BEIR = "; its MSCOCO is the test part of M-BEIR, whose captions are not exactly those of COCO 5K"


def add(results: Sequence[TaskResult], path: Path, model: Model, published: Path, replace_old: bool) -> Entry:
    """Write the table of a model with the numbers of a task, a row a subset; those of the other direction stay.

    Args:
        results: the content of the file ``path``, of one task.
        path: for messages.
        model: whose result it is.
        published: the folder of published tables.
        replace_old: replace the numbers of this direction.

    Returns:
        The entry of the first subset, with both directions where both were added; ``file_of`` names the file of all.

    Raises:
        UsageError: the model has numbers of this direction.
        BadInput: a number is out of its range.
        DiskError: the file cannot be written.
    """
    first = results[0]
    title = f"{first.task.replace(first.direction.upper(), '')} of {model.name} {model.setting}"[:100].strip()
    target = published / file_of(f"{KEY}-{slug(title)}-01")
    version = f"mteb {first.version}" if first.version else "an unknown version of mteb"
    cells: dict[str, dict[tuple[str, str | None], str | None]] = {}
    notes: dict[str, dict[str, str]] = {}
    for found in results:
        cells[found.split] = {(metric, found.direction): cell for metric, cell in found.cells.items()}
        said = f"{found.task} of {version}{M_BEIR if found.split == 'coco-5k' else ''}"
        notes[found.split] = {f"{found.direction} {next(iter(found.cells))}": said}
    if target.exists():
        old = PrintedTable.model_validate_json(read_bytes(target, "correct the file"))
        if any(c.direction == first.direction for c in old.columns) and not replace_old:
            what = f"has numbers of {first.direction} already"
            raise UsageError(what, where=target, fix=f"add {spell('replace', True)}, or choose another name")
        for row in old.rows:
            pairs = zip(old.columns, row.cells, strict=True)
            kept = {(c.metric, c.direction): cell for c, cell in pairs if c.direction != first.direction}
            if any(kept.values()):
                cells[row.benchmark] = cells.get(row.benchmark, {}) | kept
                said_before = {key: said for key, said in row.notes.items() if not key.startswith(first.direction)}
                notes[row.benchmark] = said_before | notes.get(row.benchmark, {})
    columns = list(dict.fromkeys(key for row in cells.values() for key in row))
    rows = [
        {
            "model": model.name, "setting": model.setting, "image_input": model.image_input, "benchmark": split,
            "cells": [own.get(key) for key in columns], "notes": notes[split],
        }
        for split, own in cells.items()
    ]  # fmt: skip
    document = {
        "schema": "vsebench/published/1", "paper": KEY, "table": title, "unit": "fraction",
        "columns": [{"metric": metric, "direction": direction} for metric, direction in columns], "rows": rows,
    }  # fmt: skip
    try:
        entry = entries_of(PrintedTable.model_validate(document))[0]
    except ValidationError as error:
        raise BadInput(
            faults_of(error)[0].removeprefix("document: "), where=path, fix="take the file that mteb wrote"
        ) from None
    with write_atomically(target, "w", parents=True) as stream:
        stream.write(f"{json.dumps(document, ensure_ascii=False, indent=1)}\n")
    return entry


def file_of(id: str) -> str:
    """The name of the file of an entry, whose id ends with the number of its row."""
    return f"{re.sub(r'-[0-9]+$', '', id)}.json"
