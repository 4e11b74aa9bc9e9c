"""A part of a split as queries and gallery of its own: ``--only lang=de``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import BadInput, UsageError
from ..files import columns
from ..files.regular import expanded
from ..log import note
from ..options import spell
from ..relevance.sources import SOURCES
from ..sets import placing
from ..sets.captions import with_captions
from ..types import Embeddings, Int
from .inputs import Input
from .request import PART_GRAMMAR, Request


def only(data: Input, request: Request) -> Input:
    """The images and captions with a value in a column of a file.

    A column of captions keeps these captions and their images, one of images these images and all of their captions.

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
    name, side, values = columns.of_items(path, column, split)
    kept = np.flatnonzero([bool(wanted & _texts(value)) for value in values])
    if not len(kept):
        known = sorted(set().union(*map(_texts, values)))
        what = f"no {side} has {name}={','.join(sorted(wanted))}; values are {', '.join(known[:8]) or 'none'}"
        raise BadInput(what, where=path, fix="name one of these")
    if side == "caption":
        captions, images = kept, np.unique(split.owners[kept])
    else:
        captions, images = np.flatnonzero(np.isin(split.owners, kept)), kept
    if request.captions is not None:  # which have a row for every caption of the file
        split = with_captions(split, request.captions)
    own = split.places if split.name == "custom" else (None, None)
    part = replace(
        split, name="custom", image_ids=split.image_ids[images], caption_ids=split.caption_ids[captions],
        image_of=np.searchsorted(images, split.owners[captions]),
        captions=None if split.captions is None else tuple(split.captions[i] for i in captions.tolist()),
        fold=None, in_folds=False, places=_of_part(own, images, captions),
    )  # fmt: skip
    note(
        f"only {said}: {len(images):,} of {len(split.image_ids):,} images and {len(captions):,} of "
        f"{len(split.caption_ids):,} captions are the queries and the gallery"
    )
    system, vectors = data.system and data.system.take(images, captions), data.vectors
    if vectors is not None:
        both = zip(vectors, (images, captions), strict=True)
        image, caption = (Embeddings(side.modality, side.ids[k], side.vectors[k]) for side, k in both)
        vectors = image, caption
    return replace(
        data, split=part, system=system, vectors=vectors,
        rows=_of_part(data.rows, images, captions), complete=data.split,
    )  # fmt: skip


def gains_of_rows(request: Request) -> str:
    """The first gains, or caption vectors, that have rows of the complete data set; empty without any."""
    for kind, spec in request.gains.items():
        file = spec.argument is not None and expanded(spec.argument).is_file()
        if spec.values is not None or SOURCES[kind].endings or (kind == "sentence" and file):
            return f"gains '{kind}' of the complete data set"
    return ""


def _texts(value: Any) -> set[str]:
    """The words of a field: one, several of a list, or none."""
    if columns.missing(value):
        return set()
    several = value if isinstance(value, (list, tuple, np.ndarray)) else [value]
    return {columns.text_of(v) for v in several}


def _of_part(rows: placing.Rows, *kept: Int) -> placing.Rows:
    """The places of some rows of a file among each other: other files have rows for the part alone."""
    image, caption = (None if r is None else placing.ranks(r[k]) for r, k in zip(rows, kept, strict=True))
    return image, caption
