"""Whether caption rows are a declared split: counts and fingerprints of ids, and the canonical order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadInput, count_of
from ..files.caption_rows import CaptionRows, rows_sha256, set_sha256
from ..files.ids import places
from ..types import Ids, Int
from . import packages
from .declared import DECLARED, DeclaredSplit
from .stored import rebuild


def matches_ids(image_ids: Ids | None, caption_ids: Ids | None) -> str | None:
    """The declared split that has exactly these ids, in any order; None when there is none.

    Fingerprints are compared, which takes some milliseconds and needs no package. COCO 1K has the ids of COCO 5K and
    is never returned. For data sets that are built here see ``own.matching``.

    Args:
        image_ids: (image,) int64 or unicode; repeated ids count once. None when unknown.
        caption_ids: (caption,) likewise. When one of the two is None, only the other is compared.
    """
    if image_ids is None and caption_ids is None:
        return None
    for split in DECLARED.values():
        if split.built_as == split.name and all(
            _same(ids, split, size, sha256)
            for ids, size, sha256 in (
                (image_ids, split.images, split.images_sha256),
                (caption_ids, split.captions, split.captions_sha256),
            )
            if ids is not None
        ):
            return split.name
    return None


def _same(ids: Ids, split: DeclaredSplit, size: int, sha256: str) -> bool:
    kind = "iu" if split.id_kind == "int" else "U"
    return len(ids) >= size and ids.dtype.kind in kind and set_sha256(ids) == sha256


def settle(rows: CaptionRows, split: DeclaredSplit) -> CaptionRows:
    """The rows in canonical order, proven to be the declared split.

    Rows in another order are sorted: COCO by the ids of the installed package, Flickr30K by name.

    Raises:
        BadInput: other numbers of images or captions, other ids, captions of other images, or another order, which
            cannot be corrected without the package.
    """
    if rows_sha256(rows) == split.rows_sha256:
        return rows
    if split.order == "file":
        what = f"the ids of '{split.name}' are not those that were declared"
        raise BadInput(what, where=rows.origin, fix=f"build it again: {rebuild(split.name)}")
    fix = f"give one of: {'; '.join(split.sources)}"
    n_image, n_caption = len(rows.images()[0]), len(rows.caption_id)
    if (n_image, n_caption) != (split.images, split.captions):
        raise BadInput(
            f"{count_of(n_caption, 'caption')} of {count_of(n_image, 'image')}; "
            f"'{split.name}' has {split.captions:,} of {split.images:,}",
            where=rows.origin,
            fix=fix,
        )
    if matches_ids(rows.image_id, rows.caption_id) != split.built_as:
        raise BadInput(f"{_differing_ids(rows, split)} (the numbers are right)", where=rows.origin, fix=fix)
    order = _canonical(rows, split)
    if order is None:
        raise BadInput(
            f"the ids of '{split.name}' in another order",
            where=rows.origin,
            fix=f"{packages.INSTALL} (it holds the order), or give a file in Karpathy's order",
        )
    sorted_rows = rows.take(order)
    if rows_sha256(sorted_rows) != split.rows_sha256:
        raise BadInput(f"captions belong to other images than in '{split.name}'", where=rows.origin, fix=fix)
    return sorted_rows


def _differing_ids(rows: CaptionRows, split: DeclaredSplit) -> str:
    what = f"these are not the ids of '{split.name}'"
    if split.order == "package" and packages.has_ids() and rows.caption_id.dtype.kind == "i":
        unknown = np.setdiff1d(rows.caption_id, packages.coco_id_rows().caption_id)
        if len(unknown):
            return f"{what}: {count_of(len(unknown), 'caption is', 'captions are')} unknown, first {unknown[0]}"
    first: Any = rows.caption_id[0].item()
    return f"{what}: the first caption id is {first!r}"


def _canonical(rows: CaptionRows, split: DeclaredSplit) -> Int | None:
    """Row of every caption of the canonical order, (caption,); None when the order is not known here."""
    if split.order == "sorted":
        return np.argsort(rows.caption_id, kind="stable")
    return places(rows.caption_id, packages.coco_id_rows().caption_id) if packages.has_ids() else None
