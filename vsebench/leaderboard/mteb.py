"""A published entry from the result file of an MTEB task: what it prints, nothing is computed again."""

from __future__ import annotations

import json
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


def add(found: TaskResult, path: Path, model: Model, published: Path, replace_old: bool) -> Entry:
    """Write the table of a model with the numbers of a task; those of the other direction stay.

    Args:
        found: the content of the file ``path``.
        path: for messages.
        model: whose result it is.
        published: the folder of published tables.
        replace_old: replace the numbers of this direction.

    Returns:
        The entry, with both directions where both were added; ``file_of`` names its file.

    Raises:
        UsageError: the model has numbers of this direction.
        BadInput: a number is out of its range.
        DiskError: the file cannot be written.
    """
    title = f"{found.task.replace(found.direction.upper(), '')} of {model.name} {model.setting}"[:100].strip()
    target = published / file_of(f"{KEY}-{slug(title)}-01")
    columns: dict[tuple[str, str | None], str | None] = {
        (metric, found.direction): cell for metric, cell in found.cells.items()
    }
    notes = {}
    if target.exists():
        old = PrintedTable.model_validate_json(read_bytes(target, "correct the file"))
        if any(c.direction == found.direction for c in old.columns) and not replace_old:
            what = f"has numbers of {found.direction} already"
            raise UsageError(what, where=target, fix=f"add {spell('replace', True)}, or choose another name")
        pairs = zip(old.columns, old.rows[0].cells, strict=True)
        columns |= {(c.metric, c.direction): cell for c, cell in pairs if c.direction != found.direction}
        notes = {key: said for key, said in old.rows[0].notes.items() if not key.startswith(found.direction)}
    version = f"mteb {found.version}" if found.version else "an unknown version of mteb"
    said = f"{found.task} of {version}{M_BEIR if found.split == 'coco-5k' else ''}"
    row = {
        "model": model.name, "setting": model.setting, "image_input": model.image_input, "benchmark": found.split,
        "cells": list(columns.values()), "notes": notes | {f"{found.direction} {next(iter(found.cells))}": said},
    }  # fmt: skip
    document = {
        "schema": "vsebench/published/1", "paper": KEY, "table": title, "unit": "fraction",
        "columns": [{"metric": metric, "direction": direction} for metric, direction in columns], "rows": [row],
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
    """The name of the file of an entry: a table has one row, whose number ends the id."""
    return f"{id.removesuffix('-01')}.json"
