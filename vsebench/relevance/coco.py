"""``eccv`` and ``cxc``: judgements of the COCO 5K test set from the package ``eccv_caption``, matched by COCO id."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from itertools import chain, product
from pathlib import Path

import numpy as np

from ..errors import BadInput, UsageError, VsebenchError, count_of
from ..files.ids import places
from ..options import spell
from ..sets.catalogue import Check, declared, load_split
from ..sets.stored import ids_installed, judgement_file, read_judgements
from ..types import BOTH, DIRECTIONS, Both, TestSet, Which
from .gains import Grades, of_pairs
from .sources import load

JUDGED_SPLIT = "coco-5k"
Files = Both[str]  # names of the files in the package: query id -> ids of positives, of images and of captions
ECCV_FILES: Files = "eccv_image_to_caption.json", "eccv_caption_to_image.json"
CXC_FILES: Files = "cxc_image_to_caption.json", "cxc_caption_to_image.json"
COUNTS: dict[str, Both[tuple[int, int, int]]] = {  # queries, positives, positives not in the gallery
    # Two positives are not among the 25,000 captions: 144675 of image 575916 and 467259 of image 421999.
    "eccv": ((1_261, 22_550, 2), (1_332, 11_279, 0)),
    "cxc": ((5_000, 35_585, 0), (24_972, 35_585, 0)),
}


def judged(name: str, files: Files, test: TestSet, *, all_queries: bool = False) -> Both[Grades]:
    """The judgements over the items of COCO 5K, in any order: of images as queries, and of captions.

    Args:
        name: of the judgements.
        files: of the judgements.
        test: ``coco-5k``.
        all_queries: whether every item of the split was judged as a query, so that those without positives are
            misses of ``no_positive``; otherwise the authors chose the queries.

    Raises:
        UsageError: another split.
        MissingPackage: eccv_caption is not installed.
        BadInput: the file is damaged, or the split lacks judged queries.
    """
    if test.name != JUDGED_SPLIT:
        what = f"judgements '{name}' are of the complete gallery of COCO 5K, not of split '{test.name}'"
        raise UsageError(what, fix=f"use {spell('split', JUDGED_SPLIT)}")

    def grades(side: Which) -> Grades:
        path = judgement_file(files[side])
        return _load(name, files[side], test, side, all_queries, path, path.stat().st_mtime_ns)

    return grades(0), grades(1)


@lru_cache(maxsize=8)  # a training loop evaluates the same split again and again
def _load(name: str, file: str, test: TestSet, side: Which, all_queries: bool, path: Path, _modified: int) -> Grades:
    lists = read_judgements(file)
    try:
        query_ids = np.fromiter(map(int, lists), np.int64, len(lists))
        sizes = np.fromiter(map(len, lists.values()), np.int64, len(lists))
        positive_ids = np.fromiter(chain.from_iterable(lists.values()), np.int64, int(sizes.sum()))
    except (TypeError, ValueError) as error:
        raise BadInput(f"not a mapping of ids to lists of ids ({error})", where=path) from error
    queries, gallery = (one.ids for one in (test.sides[::-1] if side else test.sides))
    query = places(queries, query_ids)
    if (query < 0).any():
        unknown_ids = query_ids[query < 0]
        counted = count_of(len(unknown_ids), "judged query is", "judged queries are")
        what = f"{counted} not in split '{test.name}' (first: {unknown_ids[0]})"
        raise BadInput(what, where=path, fix="check the ids of the split: vsebench data verify coco-5k")
    covered = np.arange(len(queries)) if all_queries else query[sizes > 0]
    pairs = np.repeat(query, sizes), places(gallery, positive_ids)
    return of_pairs(name, (len(queries), len(gallery)), *pairs, judged=covered, where=path)


def identity(files: Files, test: TestSet) -> str | None:
    """``eccv_caption#`` and eight digits of the SHA-256 of files; None for other splits or without the package."""
    if test.name != JUDGED_SPLIT or not ids_installed():
        return None
    digest = hashlib.sha256()
    for file in files:
        digest.update(judgement_file(file).read_bytes())
    return f"eccv_caption#{digest.hexdigest()[:8]}"


def verify_judgements(name: str) -> list[Check]:
    """One check for every set of judgements and direction of a declared split, none where no judgements apply.

    Args:
        name: the split; ``coco-1k`` has the items of ``coco-5k``.

    Raises:
        UsageError: no such split.
        MissingPackage: the split is neither built nor installed.
    """
    if declared(name).built_as != JUDGED_SPLIT or not ids_installed():
        return []
    checks = []
    split = load_split(JUDGED_SPLIT)
    for judgements, side in product(COUNTS, BOTH):
        direction, published = DIRECTIONS[side], COUNTS[judgements][side]
        try:
            found = load(judgements, split, direction)
        except VsebenchError as error:
            checks.append(Check(f"{judgements} {direction}", False, error.what))
            continue
        counts = (len(found.queries), int(found.size.sum()), found.unreachable)
        detail = "{:,} queries, {:,} positives, {} not among the captions".format(*counts)
        checks.append(Check(f"{judgements} {direction}", counts == published, detail))
    return checks
