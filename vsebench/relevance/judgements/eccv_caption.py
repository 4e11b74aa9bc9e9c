"""Human judgements of the COCO 5K test set: ECCV Caption and CxC, matched by id."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from itertools import chain
from pathlib import Path

import numpy as np

from ...data.splits.packages import has_ids, judgement_file, read_judgements
from ...errors import BadInput, UsageError
from ...types import Direction, Ids, Int, Relevance, Split, frozen
from .pairs import from_pairs

JUDGED_SPLIT = "coco-5k"
FILES: dict[tuple[str, Direction], str] = {
    ("eccv", "i2t"): "eccv_image_to_caption.json",
    ("eccv", "t2i"): "eccv_caption_to_image.json",
    ("cxc", "i2t"): "cxc_image_to_caption.json",
    ("cxc", "t2i"): "cxc_caption_to_image.json",
}
# Queries, positives, positives that are not among the 25,000 captions (ECCV Caption has 575916 -> 144675
# and 421999 -> 467259).
COUNTS: dict[tuple[str, Direction], tuple[int, int, int]] = {
    ("eccv", "i2t"): (1_261, 22_550, 2),
    ("eccv", "t2i"): (1_332, 11_279, 0),
    ("cxc", "i2t"): (5_000, 35_585, 0),
    ("cxc", "t2i"): (24_972, 35_585, 0),
}


def judged(name: str, split: Split, direction: Direction) -> Relevance:
    """``eccv`` or ``cxc`` over the items of COCO 5K.

    CxC covers every caption and image, so its queries without positives are counted in ``skipped``; ECCV
    Caption chose its queries and skips none. Source: the files of package eccv_caption.

    Args:
        name: ``eccv`` or ``cxc``.
        split: ``coco-5k``, its items in any order.
        direction: ``i2t`` or ``t2i``.

    Raises:
        UsageError: another split.
        MissingPackage: eccv_caption is not installed.
        BadInput: the file is damaged, or judges queries that the split does not have.
    """
    if split.name != JUDGED_SPLIT:
        raise UsageError(
            f"relevance '{name}' judges the whole gallery of COCO 5K, not split '{split.name}'",
            fix=f"use --split {JUDGED_SPLIT}",
        )
    path = judgement_file(FILES[name, direction])
    return _judged(name, split, direction, path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)  # a training loop evaluates the same split again and again
def _judged(name: str, split: Split, direction: Direction, path: Path, changed: int) -> Relevance:
    asked, sizes, liked = _columns(FILES[name, direction], path, changed)
    queries, gallery = split.image_ids, split.caption_ids
    if direction == "t2i":
        queries, gallery = gallery, queries
    query = _index(queries, asked)
    if (query < 0).any():
        stranger = asked[query < 0]
        raise BadInput(
            f"{len(stranger):,} judged queries are not in split '{split.name}' (first: {stranger[0]})",
            where=path,
            fix="check the ids of the split: vsebench data verify coco-5k",
        )
    skipped = len(queries) - len(asked) if name == "cxc" else 0
    return from_pairs(name, direction, np.repeat(query, sizes), _index(gallery, liked), skipped=skipped)


@lru_cache(maxsize=4)  # the same whatever the order of the split, and half the time of loading a relevance
def _columns(file: str, path: Path, _changed: int) -> tuple[Int, Int, Int]:
    """(judged,) query ids, (judged,) numbers of positives, (pair,) ids of the positives."""
    lists = read_judgements(file)
    try:
        asked = np.fromiter(map(int, lists), np.int64, len(lists))
        sizes = np.fromiter(map(len, lists.values()), np.int64, len(lists))
        liked = np.fromiter(chain.from_iterable(lists.values()), np.int64, int(sizes.sum()))
    except (TypeError, ValueError) as error:
        raise BadInput(f"not a mapping of ids to lists of ids ({error})", where=path) from error
    return frozen(asked), frozen(sizes), frozen(liked)


def identities(split: Split) -> dict[str, str]:
    """For a signature: relevance name -> which judgements exactly (source and eight digits of their sha256).

    Holds only judgements that apply to the split and are installed.
    """
    if split.name != JUDGED_SPLIT or not has_ids():
        return {}
    return {name: f"eccv_caption#{_fingerprint(name)}" for name in ("eccv", "cxc")}


def _fingerprint(name: str) -> str:
    digest = hashlib.sha256()
    for (relevance, _), file in FILES.items():
        if relevance == name:
            digest.update(judgement_file(file).read_bytes())
    return digest.hexdigest()[:8]


def _index(ids: Ids, wanted: Int) -> Int:
    """Where each of ``wanted`` stands in ``ids``, -1 for those that do not."""
    if ids.dtype.kind != "i":
        raise BadInput(f"ids such as {ids[0]!r} are not COCO ids", fix="give whole numbers")
    order = np.argsort(ids, kind="stable")
    place = order[np.searchsorted(ids[order], wanted).clip(max=len(ids) - 1)]
    return np.where(ids[place] == wanted, place, -1)
