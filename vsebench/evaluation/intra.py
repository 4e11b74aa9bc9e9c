"""CxC image-image and text-text retrieval: the queries of one modality are searched in the same modality.

Parekh et al., Crisscrossed Captions, EACL 2021, section 5, as evaluated by Chen et al., Learning the Best Pooling
Strategy for Visual Semantic Embedding, CVPR 2021. An image is relevant to an image when their mean rating (SIS) is at
least 2.5; a caption to a caption when it is at least 3 (STS), or when both were written for the same image. Ratings
hold for both orders of a pair, and of a pair that was rated in both orders either rating suffices. The query itself
is not a candidate, and queries without a relevant item are left out.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from ..errors import BadInput, UsageError, count_of
from ..files.ids import places
from ..human.cxc import CxcRatings, read_cxc
from ..options import spell
from ..rank.count import Targets, observe
from ..rank.scorers import System, choose
from ..relevance.gains import of_pairs
from ..results.model import Measurement
from ..types import Candidates, Direction, Embeddings, Int, Modality, Ranks, Relevance, TestSet
from .assemble import Key
from .binary import measure
from .plan import Plan

VIEW = "cxc"
TASK: dict[Modality, Literal["sis", "sts"]] = {"image": "sis", "caption": "sts"}
THRESHOLD: dict[Modality, float] = {"image": 2.5, "caption": 3.0}
_INTRA_DIRECTION: dict[Modality, Direction] = {"image": "i2i", "caption": "t2t"}
_CROSS_DIRECTION: dict[Modality, Direction] = {"image": "i2t", "caption": "t2i"}  # by the modality of the queries


def results(plan: Plan, vectors: tuple[Embeddings, Embeddings]) -> tuple[dict[Key, Measurement], str]:
    """The metrics inside both modalities of COCO 5K, i2i before t2t, and the identity of the ratings.

    Args:
        plan: metrics and rules; its options name the folder of ``sis_test.csv`` and ``sts_test.csv`` (``human_data``).
        vectors: of images and captions, in the order of the split.

    Raises:
        UsageError: another split.
        MissingPackage: the ratings are missing, with the command that installs them.
        BadInput: a file is damaged, or has items that the split does not have.
    """
    if plan.split.name != "coco-5k":
        what = f"CxC rates items of COCO 5K, not of split '{plan.split.name}'"
        raise UsageError(what, fix=f"use {spell('split', 'coco-5k')}")
    ratings: dict[Modality, CxcRatings] = {m: read_cxc(TASK[m], plan.request.human_data) for m in ("image", "caption")}
    found: dict[Key, Measurement] = {}
    for embeddings in vectors:
        ranks = ranked(
            plan.split, embeddings, ratings[embeddings.modality],
            similarity=plan.request.similarity, ties=plan.request.ties, threads=plan.request.threads,
        )  # fmt: skip
        for m in plan.intra:
            result = measure(m, ranks, plan.split, _CROSS_DIRECTION[embeddings.modality], plan.request.no_positive)
            direction = _INTRA_DIRECTION[embeddings.modality]
            found[m, direction] = replace(result, direction=direction)
    return found, "+".join(identity(rating) for rating in ratings.values())


def ranked(
    split: TestSet,
    embeddings: Embeddings,
    ratings: CxcRatings,
    *,
    similarity: str = "auto",
    ties: str = "index",
    threads: int | None = None,
) -> Ranks:
    """Ranks of the relevant items when images are searched by images, or captions by captions.

    Args:
        split, ratings: as for ``positives``.
        embeddings: of one modality, in the order of the split.
        similarity, ties, threads: as for retrieval between modalities.
    """
    relevance = positives(split, embeddings.modality, ratings)
    n = len(embeddings.ids)
    scorer, _ = choose(embeddings, embeddings, similarity)
    itself = of_pairs("self", (n, n), np.arange(n), np.arange(n)).inside
    targets = [Targets(VIEW, relevance, Candidates(excluded=itself))]
    return observe(System(scorer), (targets, []), ties=ties, threads=threads)[0].ranks[VIEW]


def positives(split: TestSet, modality: Modality, judgements: CxcRatings) -> Relevance:
    """The relevant items inside one modality; captions of one image are relevant to each other.

    Raises:
        BadInput: ratings of items that the split does not have.
    """
    n, where = len(split.side(modality).ids), judgements.where
    a, b = (_rows(split, modality, side, where) for side in (judgements.first, judgements.second))
    positive = judgements.score >= THRESHOLD[modality]
    pairs = [a[positive] * n + b[positive], b[positive] * n + a[positive]]
    if modality == "caption":
        pairs.append(_siblings(split))
    query, item = np.divmod(np.unique(np.concatenate(pairs)), n)
    other = query != item
    query, item = query[other], item[other]
    return of_pairs(VIEW, (n, n), query, item, judged=np.arange(n)).positives


def identity(judgements: CxcRatings) -> str:
    """For a signature: the task and eight digits of the ratings."""
    digest = hashlib.sha256()
    for column in (judgements.first, judgements.second, judgements.score):
        digest.update(np.ascontiguousarray(column).tobytes())
    return f"{judgements.task}#{digest.hexdigest()[:8]}"


def _rows(split: TestSet, modality: Modality, rated: Int, where: Path) -> Int:
    """(pair,) item indices of rated ids."""
    rows = places(split.side(modality).ids, rated)
    if len(rows) and rows.min() < 0:
        unknown = np.unique(rated[rows < 0])
        counted = count_of(len(unknown), f"rated {modality} is", f"rated {modality}s are")
        what = f"{counted} not in split '{split.name}' (first: {unknown[0]})"
        fix = "rate the split that the ratings were made for: the test file for coco-5k"
        raise BadInput(what, where=where, fix=fix)
    return rows


def _siblings(split: TestSet) -> Int:
    """Keys ``query * captions + item`` of all pairs of captions of one image."""
    from scipy.sparse import csr_array

    n = len(split.owners)
    written = csr_array((np.ones(n, np.int64), (np.arange(n), split.owners)))
    query, item = (written @ written.T).nonzero()
    return np.asarray(query.astype(np.int64) * n + item)
