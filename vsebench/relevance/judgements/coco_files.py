"""``eccv`` and ``cxc``: judgements of the COCO 5K test set from the package ``eccv_caption``, matched by COCO id."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path

import numpy as np

from ...errors import BadInput, UsageError, count_of
from ...files.ids import places
from ...options import spell
from ...sets.packages import has_ids, judgement_file, read_judgements
from ...types import Direction, Relevance, Split
from .declare import Judgements, from_pairs

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
            misses of ``no_positive``; otherwise the authors chose the queries.

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
    name: str, file: str, split: Split, direction: Direction, all_queries: bool, path: Path, _modified: int
) -> Relevance:
    lists = read_judgements(file)
    try:
        query_ids = np.fromiter(map(int, lists), np.int64, len(lists))
        sizes = np.fromiter(map(len, lists.values()), np.int64, len(lists))
        positive_ids = np.fromiter(chain.from_iterable(lists.values()), np.int64, int(sizes.sum()))
    except (TypeError, ValueError) as error:
        raise BadInput(f"not a mapping of ids to lists of ids ({error})", where=path) from error
    queries, gallery = split.image_ids, split.caption_ids
    if direction == "t2i":
        queries, gallery = gallery, queries
    query = places(queries, query_ids)
    if (query < 0).any():
        unknown_ids = query_ids[query < 0]
        counted = count_of(len(unknown_ids), "judged query is", "judged queries are")
        what = f"{counted} not in split '{split.name}' (first: {unknown_ids[0]})"
        raise BadInput(what, where=path, fix="check the ids of the split: vsebench data verify coco-5k")
    judged = np.arange(len(queries)) if all_queries else query[sizes > 0]
    return from_pairs(name, direction, np.repeat(query, sizes), places(gallery, positive_ids), judged)


def identity(files: Files, split: Split) -> str | None:
    """``eccv_caption#`` and eight digits of the SHA-256 of files; None for other splits or without the package."""
    if split.name != JUDGED_SPLIT or not has_ids():
        return None
    digest = hashlib.sha256()
    for file in files.values():
        digest.update(judgement_file(file).read_bytes())
    return f"eccv_caption#{digest.hexdigest()[:8]}"


ECCV_FILES: Files = {"i2t": "eccv_image_to_caption.json", "t2i": "eccv_caption_to_image.json"}
CXC_FILES: Files = {"i2t": "cxc_image_to_caption.json", "t2i": "cxc_caption_to_image.json"}

ECCV = Judgements(
    name="eccv",
    title="ECCV Caption",
    heading="ECCV Caption",
    meaning="ECCV Caption judgements over COCO 5K; the complete gallery is ranked",
    rule=(
        "the original pairs (6,296 of 6,305 image-to-text), those among the top candidates of five models that people "
        "accepted, and all positives of CxC"
    ),
    judged_by="crowd workers, over candidates proposed by five retrieval models; the raters of CxC count as one more",
    cite="chun2022eccv",
    reference="Chun et al., ECCV Caption: Correcting False Negatives, ECCV 2022",
    load=partial(load, "eccv", ECCV_FILES),
    identity=partial(identity, ECCV_FILES),
    splits=(JUDGED_SPLIT,),
    # Two positives are not among the 25,000 captions: 144675 of image 575916 and 467259 of image 421999.
    counts={"i2t": (1_261, 22_550, 2), "t2i": (1_332, 11_279, 0)},
)

CXC = Judgements(
    name="cxc",
    title="Crisscrossed Captions",
    heading="CxC",
    meaning="Crisscrossed Captions judgements (similarity of at least 3) over COCO 5K; the complete gallery is ranked",
    rule="image-text similarity (SITS) with agg_score >= 3 on the scale 0 to 5",
    judged_by="the mean of several raters a pair, over pairs sampled by similarity",
    cite="parekh2021cxc",
    reference="Parekh et al., Crisscrossed Captions, EACL 2021",
    load=partial(load, "cxc", CXC_FILES, all_queries=True),
    identity=partial(identity, CXC_FILES),
    splits=(JUDGED_SPLIT,),
    counts={"i2t": (5_000, 35_585, 0), "t2i": (24_972, 35_585, 0)},
)
