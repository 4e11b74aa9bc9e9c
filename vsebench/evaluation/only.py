"""A part of a split as queries and gallery of its own: ``--only lang=de``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data import columns
from ..data.captions import with_captions
from ..errors import BadInput, UsageError
from ..rank.scorers import Dot, Matrix
from ..types import Embeddings, Int, Split
from .inputs import Input, captions_file
from .options import Options

GRAMMAR = "write COLUMN=VALUE, such as lang=de, or FILE:COLUMN=VALUE"


def only(data: Input, options: Options) -> tuple[Input, Options]:
    """The images and captions with a value in a column of a file, and the options for these.

    A column of captions keeps these captions and their images, one of images these images and all of their captions.

    Args:
        data: everything that was read.
        options: with ``only``: ``COLUMN=VALUE[,VALUE...]`` of the file of captions, or ``FILE:COLUMN=VALUE``.

    Raises:
        UsageError: another form of ``only``, no file, or retrieved lists, which rank the complete gallery.
        BadInput: the file has no such column, or no item has the value.
    """
    if options.only is None:
        return data, options
    path, column, wanted = _parsed(options)
    if data.lists is not None or options.engine != "local":
        what = "--only has no meaning for retrieved lists" if data.lists is not None else "--only needs --engine local"
        raise UsageError(what, fix="leave it out, or give embeddings or scores")
    split = data.split
    name, side, values = columns.of_items(path, column, split)
    kept = np.flatnonzero([bool(wanted & _texts(value)) for value in values])
    if not len(kept):
        known = sorted(set().union(*map(_texts, values)))
        what = f"no {side} has {name}={','.join(sorted(wanted))}; values are {', '.join(known[:8]) or 'none'}"
        raise BadInput(what, where=path, fix="name one of these")
    if side == "caption":
        captions, images = kept, np.unique(split.image_of[kept])
    else:
        captions, images = np.flatnonzero(np.isin(split.image_of, kept)), kept
    if options.captions is not None:  # which have a row for every caption of the file
        split = with_captions(split, options.captions, data.rows[1])
    part = Split(
        "custom", split.image_ids[images], split.caption_ids[captions],
        np.searchsorted(images, split.image_of[captions]),
        None if split.captions is None else tuple(split.captions[i] for i in captions.tolist()),
    )  # fmt: skip
    note = (
        f"only {options.only}: {len(images):,} of {len(split.image_ids):,} images and {len(captions):,} of "
        f"{len(split.caption_ids):,} captions are the queries and the gallery"
    )
    rows = tuple(_rows(row, kept) for row, kept in zip(data.rows, (images, captions), strict=True))
    found = replace(
        data, split=part, scorer=_scorer(data.scorer, images, captions), vectors=_vectors(data, images, captions),
        rows=rows, notes=(*data.notes, note),
    )  # fmt: skip
    return found, replace(options, captions=None)


def _parsed(options: Options) -> tuple[Path, str, set[str]]:
    """The file, the column and the values."""
    head, equals, tail = str(options.only).partition("=")
    wanted = {value.strip() for value in tail.split(",") if value.strip()}
    file, _, column = head.rpartition(":")
    if not equals or not wanted or not column.strip():
        raise UsageError(f"--only is '{options.only}'", fix=GRAMMAR)
    path = Path(file).expanduser() if file else captions_file(options)
    if path is None:
        raise UsageError(
            f"--only {options.only} names no file", fix=f"give --captions FILE with that column, or {GRAMMAR}"
        )
    return path, column.strip(), wanted


def _texts(value: Any) -> set[str]:
    """The words of a field: one, several of a list, or none."""
    if columns.missing(value):
        return set()
    several = value if isinstance(value, (list, tuple, np.ndarray)) else [value]
    return {f"{v:g}" if isinstance(v, float) else str(v).strip() for v in several}


def _rows(rows: Int | None, kept: Int) -> Int:
    return kept if rows is None else rows[kept]


def _scorer(scorer: Any, images: Int, captions: Int) -> Dot | Matrix:
    if isinstance(scorer, Dot):
        return Dot(scorer.images[images], scorer.captions[captions], scorer.cosine)
    rows, cols = _rows(scorer.image_order, images), _rows(scorer.caption_order, captions)
    return Matrix(scorer.scores, rows, cols, scorer.name)


def _vectors(data: Input, *kept: Int) -> tuple[Embeddings, Embeddings] | None:
    if data.vectors is None:
        return None
    of: Sequence[Embeddings] = data.vectors
    image, caption = (Embeddings(e.modality, e.ids[k], e.vectors[k]) for e, k in zip(of, kept, strict=True))
    return image, caption
