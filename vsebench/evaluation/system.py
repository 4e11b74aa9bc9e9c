"""The system that is evaluated: its scores as they are read, fused with those of others, with a second stage."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..files import read as files
from ..files.members import opened
from ..files.regular import expanded
from ..log import note, warn
from ..options import spell
from ..rank.scorers import Matrix, Scorer, System, rows_of
from ..rank.sums import weighted_sum
from ..sets import placing
from ..sets.items import last_of_all
from ..sets.published import warning_of
from ..signature import ENCODER
from ..types import DIRECTIONS, NONE, Bool, Direction, Int, Tops, is_path
from . import inputs, only, second_stage
from .chance import LEVEL, sampled_queries
from .inputs import Input
from .request import Request, runs
from .top_scored import SMALLEST


def read(request: Request) -> Input:
    """The scores or lists of all systems and stages that are given, aligned.

    Every process of an evaluation reads its input with this function.

    Raises:
        BadInput, MissingPackage, UsageError: as ``inputs.read``, ``fuse``, ``second_stage.read``, ``only.only``.
    """
    data = inputs.read(request)
    warn(warning_of(data.split.name))
    if data.orders:
        note(
            "the score matrices of the two directions order their rows differently: judgements, gains, captions and "
            f"fused systems without ids are read in the order of {next(iter(data.orders))}"
        )
    if request.fuse:
        data = fuse(data, request)
    data = _without_excluded(data, request)
    if request.rerank:
        data = second_stage.read(data, request)
    return data if request.part is None else only.only(data, request)


def _without_excluded(data: Input, request: Request) -> Input:
    """The system with finite scores: a pair with the score -inf is no candidate, and is ranked last.

    Raises:
        BadInput: such pairs beside a stage that would give them a score.
    """
    if data.system is None:
        return data
    forward, own = data.system.forward, data.system.own
    if own is None or "i2t" in request.directions:
        forward = _finite(forward, data, request)
    if own is not None and "t2i" in request.directions:
        own = _finite(own.T, data, request).T
    return replace(data, system=System(forward, own))


def _finite(scorer: Scorer, data: Input, request: Request) -> Scorer:
    """Scores of images with captions, of which those that are -inf are below all others."""
    if not isinstance(scorer, Matrix):
        return scorer
    scores = last_of_all(scorer.scores, data.where)
    stages = [name for name, given in (("normalise", request.correction), ("rerank", request.rerank)) if given]
    if scores is not scorer.scores and stages:
        image, caption = np.argwhere(np.isneginf(scorer.scores))[0].tolist()
        what = f"the score in row {image}, column {caption} is -inf (no candidate); "
        what += f"{spell(stages[0])} needs a finite score of every pair"
        fix = f"leave out {spell(stages[0])}, or give finite scores"
        raise BadInput(what, where=data.where, fix=fix)
    return scorer if scores is scorer.scores else replace(scorer, scores=scores)


SAMPLE = 256  # queries of which two systems are compared
GOOD = 0.3  # R@1 from which systems have more in common than own items
INPUTS = ("images", "texts", "scores", "run", "image_ids", "text_ids", "image_id_of_text")
CONSTANT = 60  # of reciprocal rank fusion (Cormack et al., 2009)


def fuse(data: Input, request: Request) -> Input:
    """The input fused with the other systems of ``request.fuse``, which are aligned with its split.

    Args:
        data: the first system.
        request: with ``fuse``, files of embeddings or score matrices, or arrays of scores, and of retrieved lists runs;
            and with ``weights``, one a system, the first one first.

    Raises:
        BadInput, MissingPackage: another system cannot be read or is of other items.
    """
    others, weights = request.fuse, request.weights
    directions = tuple(d for d in data.directions if d in request.directions)
    read = [_read(other, data, request) for other in others]
    for other, one in zip(others, read, strict=True):
        where = Path(other) if is_path(other) else None
        if not np.array_equal(one.split.caption_ids, data.split.caption_ids):
            raise BadInput("is of other items", where=where, fix="fuse systems of the same test set")
        if lacking := [d for d in directions if d not in one.directions]:
            other_way = f", or measure {one.directions[0]} alone: {spell('direction', one.directions[0])}"
            fix = f"give its scores of {lacking[0]} too{other_way * (one.directions[0] in directions)}"
            raise BadInput(f"a fused system has no scores of {lacking[0]}", where=where, fix=fix)
    rule, written = "sum" if data.lists is None else f"rrf{CONSTANT}", ",".join(f"{w:.12g}" for w in weights)
    for at, (other, one) in enumerate(zip(others, read, strict=True), start=2):
        name = Path(other).name if is_path(other) else f"system {at}"
        if data.lists is None:
            note(placing.order_note(name, one.without_ids, data.split))
            _warn_of_other_rows(data, one, directions[-1], name)
    encoders = [one.stages.get(ENCODER, "") for one in (data, *read)]
    stages = {ENCODER: " + ".join(x or "default" for x in encoders)} if any(encoders) else {}
    data = replace(
        data, stages={**stages, "fuse": f"{rule},{written}"},
        sources=(*data.sources, *(x for one in read for x in one.sources)),
    )  # fmt: skip
    if data.lists is not None:
        runs = [one.lists for one in (data, *read) if one.lists is not None]
        return replace(data, lists={d: _by_reciprocal_ranks([run[d] for run in runs], weights) for d in directions})
    if all(one.system is not None and one.system.own is None for one in (data, *read)):
        system = System(_sum("i2t", (data, *read), weights))
    else:
        system = System.of(*(_sum(d, (data, *read), weights) if d in directions else None for d in DIRECTIONS))
    return replace(data, system=system, scored=directions, score=system.forward.name, vectors=None)


def _sum(direction: Direction, systems: Sequence[Input], weights: Sequence[float]) -> Scorer:
    return weighted_sum([one.scorer(direction) for one in systems], weights)


def _warn_of_other_rows(data: Input, one: Input, direction: Direction, name: str) -> None:
    """Warn of a good system without ids whose best items beside the own ones are not those of the first system.

    Two systems that rank the same items agree on such items far more often than by chance.
    """
    items = len(data.split.ids("caption" if direction == "i2t" else "image"))
    known = not (data.without_ids or one.without_ids) or data.split.image_of is None
    queries, of_image = (NONE, NONE) if known else sampled_queries(data, direction, SAMPLE)
    if len(of_image) < SMALLEST or items < SMALLEST:
        return
    good, best = [], []
    for system in (data, one):
        scores = np.array(rows_of(system.scorer(direction), queries))
        own = data.split.owners[queries][:, None] == np.arange(items)
        if direction == "i2t":
            own = queries[:, None] == data.split.owners
        good.append(own[np.arange(len(queries)), scores.argmax(axis=1)].mean())
        best.append(np.where(own, -np.inf, scores).argmax(axis=1))
    alike = int((best[0] == best[1]).sum())
    from scipy.special import bdtrc

    if min(good) > GOOD and (not alike or bdtrc(alike - 1, len(queries), 1 / items) > LEVEL):
        what = f"behind own items it ranks the same item first as the first system for {alike:,} of {len(queries):,} "
        warn(f"{name}: {what}queries, as by chance: its rows, which have no ids, may be in another order")


def _read(other: Any, data: Input, request: Request) -> Input:
    """Another system, on the split of the first; rows without ids are in the order of the first.

    If the directions of the first system differ in order, scores of one direction have the order of that direction, and
    all other systems that of the first direction.
    """
    if data.orders and isinstance(other, Mapping):
        each = {d: _read({d: other[d]}, _of_one(data, d), request) for d in data.orders if d in other}
        first = next(iter(each.values()))
        sources = dict.fromkeys(path for one in each.values() for path in one.sources)
        system = System.of(*(each[d].scorer(d) if d in each else None for d in DIRECTIONS))
        return replace(first, system=system, scored=tuple(each), sources=tuple(sources))
    split = data.split_of(next(iter(data.orders))) if data.orders else data.split
    alone: dict[str, Any] = {**dict.fromkeys(INPUTS), "fuse": [], "split": split}
    if data.lists is not None:
        return inputs.read(replace(request, **alone | {"run": runs(other)}))
    if is_path(other) and files.holds_both(opened(expanded(other))):
        return inputs.read(replace(request, **alone | {"images": expanded(other)}))
    return inputs.read(replace(request, **alone | {"scores": other, "similarity": "auto"}))


def _of_one(data: Input, direction: Direction) -> Input:
    return replace(data, split=data.split_of(direction), orders={})


def _by_reciprocal_ranks(systems: Sequence[Tops], weights: Sequence[float]) -> Tops:
    """Lists by the sum of ``weight / (60 + rank)`` over the lists that have an item; ties to the lower index."""
    found = [_fused([s.of_query(query) for s in systems], weights) for query in range(len(systems[0].depth))]
    return Tops.ragged([items for items, _ in found], systems[0].gallery, [tied for _, tied in found])


def _fused(lists: Sequence[Int], weights: Sequence[float]) -> tuple[Int, Bool]:
    """The items of some lists of one query in their new order, and which have the score of the one before."""
    terms: dict[int, list[float]] = defaultdict(list)
    for listed, weight in zip(lists, weights, strict=True):
        for rank, item in enumerate(listed.tolist(), start=1):
            terms[item].append(weight / (CONSTANT + rank))
    items = np.fromiter(terms, np.int64, len(terms))
    # exact sums: items with the same ranks in another order of the systems tie
    scores = np.fromiter(map(math.fsum, terms.values()), np.float64, len(terms))
    order = np.lexsort((items, -scores))
    return items[order], np.diff(scores[order], prepend=np.inf) == 0
