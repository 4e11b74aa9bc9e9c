"""A whole study: which relevances and which model, against which judgements."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ..data import read
from ..data.align import align_embeddings
from ..data.splits import catalogue as splits
from ..errors import UsageError
from ..registry import unknown
from ..types import Embeddings, Modality
from . import sources
from .agreement import Resampling
from .cxc import TASKS, read_cxc
from .flickr8k import read_flickr8k
from .models import SAMPLES, Similarity, model_rows
from .protocols import Row, Task, compare, cxc_task, flickr8k_tasks, values

DATA: dict[str, tuple[str, ...]] = {"cxc": tuple(TASKS), "flickr8k": ("expert", "crowdflower")}
DEFAULT_GAINS: dict[str, tuple[str, ...]] = {"cxc": ("binary", "cider"), "flickr8k": ("cider",)}
SPLIT = "coco-5k"

Bar = Callable[[str], AbstractContextManager[Callable[[int, int], None] | None]]


@dataclass(frozen=True)
class Model:
    """A file of embeddings of COCO 5K (see ``data.read`` for formats and keys) and how two vectors are compared."""

    file: Path
    texts: Path | None = None
    image_key: str | None = None
    text_key: str | None = None
    similarity: Similarity = "cosine"

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return self.file.name


@dataclass(frozen=True)
class Study:
    """What came out: rows, settings of every relevance, and what the user should know."""

    data: str
    rows: tuple[Row, ...]
    settings: dict[str, dict[str, str]]
    notes: tuple[str, ...]


def run(
    data: str,
    gains: Sequence[str] | None = None,
    model: Model | None = None,
    *,
    tasks: Sequence[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    how: Resampling | None = None,
    java: str | None = None,
    bar: Bar | None = None,
) -> Study:
    """Correlate relevances, and a model, with human judgements.

    Args:
        data: ``cxc`` or ``flickr8k``.
        gains: names for ``sources.open_source``; by default ``DEFAULT_GAINS`` when there is no model either.
        model: embeddings, for ``cxc`` only.
        tasks: some of ``DATA[data]``; all by default.
        folder: where the judgements are, see ``judgements.find``.
        how: how intervals are made; None for no intervals.
        java: a Java folder or program for METEOR.
        bar: opens a progress bar under some words.

    Raises:
        UsageError: unknown names or options that do not fit together.
        MissingPackage: judgements, captions or a package are absent; the message says how to get them.
        BadInput: a damaged file.
    """
    chosen = _chosen(data, tasks)
    names = list(
        dict.fromkeys(map(sources.check, DEFAULT_GAINS[data] if gains is None and model is None else gains or ()))
    )
    if model is not None and data != "cxc":
        raise UsageError("embeddings are correlated with CxC only", fix="use: vsebench correlate cxc --embeddings FILE")
    if not names and model is None:
        raise UsageError("nothing to correlate", fix="give --gains NAMES or --embeddings FILE")
    rows: list[Row] = []
    notes: list[str] = []
    settings: dict[str, dict[str, str]] = {}
    if model is not None:
        found, told = _model(model, chosen, folder, how)
        rows += found
        notes += told
        settings[model.name] = {"similarity": model.similarity, "samples": str(SAMPLES)}
    if names:
        groups = (
            [_cxc(chosen, folder, any(sources.needs_texts(name) for name in names))]
            if data == "cxc"
            else [[t] for t in _flickr8k(chosen, folder)]
        )
        for group in groups:
            for name in names:
                found, source = _relevance(name, group, how, java, bar or (lambda _: nullcontext()))
                rows += found
                if source is not None:
                    notes += source.notes
                    settings.setdefault(name, {}).update(source.settings)
                notes += [
                    f"{name} is left out for {task.name}: it compares a caption with references"
                    for task in group
                    if not sources.fits(name, task)
                ]
    order = {name: k for k, name in enumerate(chosen)}
    rows.sort(key=lambda row: (order[row.task.lower()], row.subset != "all"))
    return Study(data, tuple(rows), settings, tuple(dict.fromkeys(notes)))


def _chosen(data: str, tasks: Sequence[str] | None) -> list[str]:
    if data not in DATA:
        raise unknown("judgements", data, DATA)
    for task in tasks or ():
        if task not in DATA[data]:
            raise unknown(f"task of {data}", task, DATA[data])
    return list(dict.fromkeys(tasks or DATA[data]))


def _cxc(chosen: Sequence[str], folder: str | os.PathLike[str] | None, texts: bool) -> list[Task]:
    ratings = [read_cxc(task, folder) for task in TASKS if task in chosen]
    split = splits.load(SPLIT, captions=texts)
    return [cxc_task(r, split) for r in ratings]


def _flickr8k(chosen: Sequence[str], folder: str | os.PathLike[str] | None) -> list[Task]:
    return [task for task in flickr8k_tasks(read_flickr8k(folder)) if task.name.lower() in chosen]


def _relevance(
    name: str, group: list[Task], how: Resampling | None, java: str | None, bar: Bar
) -> tuple[list[Row], sources.Source | None]:
    suited = [task for task in group if sources.fits(name, task)]
    if not suited:
        return [], None
    with bar(name) as progress:
        source = sources.open_source(name, suited[0], java, progress)
        found = [(task, values(task, source.gain)) for task in suited]
    return [row for task, x in found for row in compare(task, name, x, how)], source


def _model(
    model: Model, chosen: Sequence[str], folder: str | os.PathLike[str] | None, how: Resampling | None
) -> tuple[list[Row], list[str]]:
    if model.similarity not in ("cosine", "dot"):
        raise UsageError(f"similarity is '{model.similarity}'", fix="use cosine or dot")
    tasks = _cxc(chosen, folder, False)
    raw = read.read_embeddings(model.file, texts=model.texts, image_key=model.image_key, text_key=model.text_key)
    ready = align_embeddings(raw, SPLIT, None)
    vectors: dict[Modality, Embeddings] = {"image": ready.images, "caption": ready.captions}
    rows = [row for task in tasks for row in model_rows(task, model.name, vectors, model.similarity, how)]
    return rows, [*ready.notes, *ready.warnings]
