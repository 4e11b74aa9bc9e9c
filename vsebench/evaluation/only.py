"""A part of a split as queries and gallery of its own: ``--only lang=de``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import BadInput, UsageError
from ..files.columns import of_items
from ..files.records import missing, text_of
from ..files.regular import expanded
from ..log import note
from ..options import spell
from ..relevance.sources import SOURCES
from ..sets.match import with_captions
from ..sets.owners import ranks
from ..types import Embeddings, TestSet
from .inputs import Input
from .request import PART_GRAMMAR, Request


def only(data: Input, request: Request) -> Input:
    """The images and captions with a value in a column of a file.

    A column of captions keeps these captions and their images, one of images these images and all of their captions.
    Where captions have no image of their own, all items of the other side are kept.

    Args:
        data: everything that was read.
        request: with ``part``.

    Raises:
        UsageError: no file.
        BadInput: the file has no such column, or no item has the value.
    """
    assert request.part is not None
    said, named, column, wanted = request.part
    path = named or request.captions_file
    if path is None:
        fix = f"give {spell('captions', 'FILE')} with that column, or {PART_GRAMMAR}"
        raise UsageError(f"{spell('only', said)} names no file", fix=fix)
    split = data.split
    kind = "captions" if path == request.captions_file else "columns"
    name, side, values = of_items(path, column, split, kind)
    kept = np.flatnonzero([bool(wanted & _texts(value)) for value in values])
    if not len(kept):
        known = sorted(set().union(*map(_texts, values)))
        what = f"no {side} has {name}={','.join(sorted(wanted))}; values are {', '.join(known[:8]) or 'none'}"
        raise BadInput(what, where=path, fix="name one of these")
    images, captions = map(np.arange, split.shape)
    if split.image_of is None:
        images, captions = (images, kept) if side == "caption" else (kept, captions)
    elif side == "caption":
        captions, images = kept, np.unique(split.owners[kept])
    else:
        captions, images = np.flatnonzero(np.isin(split.owners, kept)), kept
    if request.captions is not None:  # which have a row for every caption of the file
        split = with_captions(split, request.captions)
    sides = split.sides if split.name == "custom" else [replace(side, places=None) for side in split.sides]
    first, second = (side.take(some) for side, some in zip(sides, (images, captions), strict=True))
    image_of = None if split.image_of is None else np.searchsorted(images, split.owners[captions])
    part = TestSet("custom", first, second, image_of, ordered=split.ordered)
    note(
        f"only {said}: {len(images):,} of {len(split.rows.ids):,} images and {len(captions):,} of "
        f"{len(split.columns.ids):,} captions are the queries and the gallery"
    )
    system, vectors = data.system and data.system.take(images, captions), data.vectors
    if vectors is not None:
        both = zip(vectors, (images, captions), strict=True)
        image, caption = (Embeddings(side.modality, side.ids[k], side.vectors[k]) for side, k in both)
        vectors = image, caption
    first_rows, second_rows = (
        None if r is None else ranks(r[k]) for r, k in zip(data.rows, (images, captions), strict=True)
    )
    return replace(
        data, split=part, system=system, vectors=vectors, rows=(first_rows, second_rows), complete=data.split
    )


def gains_of_rows(request: Request) -> str:
    """The first gains, or caption vectors, that have rows of the complete data set; empty without any."""
    for kind, spec in request.gains.items():
        file = spec.argument is not None and expanded(spec.argument).is_file()
        if spec.values is not None or SOURCES[kind].endings or (kind == "sentence" and file):
            return f"gains '{kind}' of the complete data set"
    return ""


def _texts(value: Any) -> set[str]:
    """The words of a field: one, several of a list, or none."""
    if missing(value):
        return set()
    several = value if isinstance(value, (list, tuple, np.ndarray)) else [value]
    return {text_of(v) for v in several}
