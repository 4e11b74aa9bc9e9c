"""Reading judgements of the COCO 5K test set from the files of the package ``eccv_caption``, matched by COCO id."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path

import numpy as np

from ...data.splits.packages import has_ids, judgement_file, read_judgements
from ...errors import BadInput, UsageError, count_of
from ...options import spell
from ...types import Direction, Ids, Int, Relevance, Split, frozen
from .pairs import from_pairs

JUDGED_SPLIT = "coco-5k"


Files = Mapping[Direction, str]  # the name of the file in the package for each direction: query id -> ids of positives


def load(name: str, files: Files, split: Split, direction: Direction, *, all_queries: bool = False) -> Relevance:
    """The judgements of one direction over the items of COCO 5K, in any order.

    Args:
        name: of the judgements.
        files: of the judgements.
        split: ``coco-5k``.
        direction: ``i2t`` or ``t2i``.
        all_queries: whether every item of the split was judged as a query, so that those without positives are
            counted in ``skipped``; otherwise the authors chose the queries.

    Raises:
        UsageError: another split.
        MissingPackage: eccv_caption is not installed.
        BadInput: the file is damaged, or the split lacks judged queries.
    """
    if split.name != JUDGED_SPLIT:
        what = f"judgements '{name}' are of the complete gallery of COCO 5K, not of split '{split.name}'"
        raise UsageError(what, fix=f"use {spell('split', JUDGED_SPLIT)}")
    path = judgement_file(files[direction])
    return _load(name, files[direction], split, direction, all_queries, path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)  # a training loop evaluates the same split again and again
def _load(
    name: str, file: str, split: Split, direction: Direction, all_queries: bool, path: Path, modified: int
) -> Relevance:
    query_ids, sizes, positive_ids = _columns(file, path, modified)
    queries, gallery = split.image_ids, split.caption_ids
    if direction == "t2i":
        queries, gallery = gallery, queries
    query = _index(queries, query_ids)
    if (query < 0).any():
        unknown_ids = query_ids[query < 0]
        counted = count_of(len(unknown_ids), "judged query is", "judged queries are")
        what = f"{counted} not in split '{split.name}' (first: {unknown_ids[0]})"
        raise BadInput(what, where=path, fix="check the ids of the split: vsebench data verify coco-5k")
    skipped = len(queries) - len(query_ids) if all_queries else 0
    return from_pairs(name, direction, np.repeat(query, sizes), _index(gallery, positive_ids), skipped=skipped)


@lru_cache(maxsize=4)  # independent of the order of the split, and half the time of loading
def _columns(file: str, path: Path, _modified: int) -> tuple[Int, Int, Int]:
    """(judged,) query ids, (judged,) numbers of positives, (pair,) ids of the positives."""
    lists = read_judgements(file)
    try:
        query_ids = np.fromiter(map(int, lists), np.int64, len(lists))
        sizes = np.fromiter(map(len, lists.values()), np.int64, len(lists))
        positive_ids = np.fromiter(chain.from_iterable(lists.values()), np.int64, int(sizes.sum()))
    except (TypeError, ValueError) as error:
        raise BadInput(f"not a mapping of ids to lists of ids ({error})", where=path) from error
    return frozen(query_ids), frozen(sizes), frozen(positive_ids)


def identity(files: Files, split: Split) -> str | None:
    """``eccv_caption#`` and eight digits of the SHA-256 of files; None for other splits or without the package."""
    if split.name != JUDGED_SPLIT or not has_ids():
        return None
    digest = hashlib.sha256()
    for file in files.values():
        digest.update(judgement_file(file).read_bytes())
    return f"eccv_caption#{digest.hexdigest()[:8]}"


def _index(ids: Ids, wanted: Int) -> Int:
    """(wanted,) index of every wanted id in ``ids``, -1 where it is missing."""
    if ids.dtype.kind != "i":
        raise BadInput(f"ids such as {ids[0]!r} are not COCO ids", fix="give integers")
    order = np.argsort(ids, kind="stable")
    place = order[np.searchsorted(ids[order], wanted).clip(max=len(ids) - 1)]
    return np.where(ids[place] == wanted, place, -1)
