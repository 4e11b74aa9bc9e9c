"""Folders that the reference trainer wrote: which of their files is evaluated, and how.

The names of files that both sides must know are declared here; the trainer imports them.
"""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from ..errors import BadInput
from ..options import spell
from .regular import read_bytes

ABOUT = "run.json"
LAST = "last.safetensors"  # the checkpoint of the last epoch
RESULT = "result.json"  # the report of the test part
SCHEMA = "vsebench/run/1"


@dataclass(frozen=True)
class RunFolder:
    """What ``run.json`` says.

    Attributes:
        file: embeddings, or scores, of the test part.
        scores: whether they are scores.
        similarity: of the embeddings, ``cosine`` or ``dot``; None for scores.
        split: the name of the test part.
    """

    file: Path
    scores: bool
    similarity: str | None
    split: str


def find(path: Path) -> RunFolder | None:
    """The run in a folder; None for a path that is none.

    Raises:
        BadInput: ``run.json`` is damaged, the file that it names is missing, or the run is not finished.
    """
    if not os.path.isdir(path):  # noqa: PTH112 (False for a name that is too long)
        return None
    about = path / ABOUT
    if not about.is_file():
        if (path / LAST).is_file():
            encode = f"vsebench encode {shlex.quote(str(path / LAST))}"
            fix = f"continue it with the same command and {spell('resume', True)}, or: {encode}"
            raise BadInput("holds a training run that is not finished", where=path, fix=fix)
        return None
    try:
        found = json.loads(read_bytes(about, "train again"))
        if found["schema"] != SCHEMA or found["kind"] not in ("embeddings", "scores", "labels"):
            raise ValueError(found["schema"])
        name, similarity, split = str(found["file"]), found["similarity"], str(found["split"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput("does not describe a run of this version", where=about, fix="train again") from error
    file = path / Path(name).name
    if found["kind"] == "labels":
        again = f"vsebench unimodal {shlex.quote(str(file))} --labels {shlex.quote(str(file))}"
        raise BadInput("has embeddings of images alone", where=path, fix=again)
    if not os.path.isfile(file):  # noqa: PTH113 (False for a name that is too long)
        raise BadInput(
            f"names {file.name[:100]}, which is missing", where=about, fix="resume the run, or encode it again"
        )
    return RunFolder(file, found["kind"] == "scores", None if similarity is None else str(similarity), split)
