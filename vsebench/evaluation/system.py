"""The evaluated system: its scores as read, and the requested steps (fusion, candidates, corrections, re-ranking).

Steps take what is ranked and give it with other scores, or lists, and one line of provenance, a field of the signature
(``Input.stages``). Fusion and ``only`` are here. ``indexed`` has the lists of a saved index, and ``second_stage`` puts
the top of the rankings in another order. ``corrections`` follow the plan, after ``misread`` has seen the scores.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import descending, is_path, to_float32
from ..errors import BadInput, UsageError
from ..files import read as files
from ..files.columns import of_items
from ..files.ids import places
from ..files.members import opened
from ..files.records import missing, text_of
from ..files.regular import expanded
from ..log import note, warn
from ..metrics.suites import INTRA
from ..options import spell
from ..rank.count import Targets
from ..rank.scorers import Dot, Matrix, Scorer, System, rows_of
from ..rank.sums import finite, weighted_sum
from ..rank.ties import DOCID
from ..relevance.sources import SOURCES
from ..sets import catalogue, owners
from ..sets.items import equal_rows, last_of_all
from ..sets.match import with_captions
from ..sets.owners import ranks
from ..sets.published import warning_of
from ..signature import ENCODER
from ..types import BOTH, DIRECTIONS, NO_INDICES, Direction, Embeddings, Ids, Int, TestSet, Tops, Which, sides_of
from . import candidates, indexed, inputs, second_stage, top_scored
from .inputs import Input
from .misread import CHANCE_P_VALUE, positives_by_image, sampled_queries
from .request import SELF_ID, Given, Request

# Scores, lists and options that a step cannot be combined with.
REFUSED_INPUTS = {
    **dict.fromkeys(("candidates", "exclude"), ("folds", "normalise", "rerank", "only", "index", "intra")),
    "normalise": ("lists", "folds", "docid"),
    "rerank": ("lists", "folds", "only", "ties"),
    "only": ("lists", "folds", "gains"),
    "index": ("lists", "no vectors", "fuse", "normalise", "rerank", "only", "ties", "save_run"),
    "docid": ("folds", "gains", "named"),
}


def read(request: Request) -> Input:
    """The scores or lists of all systems and stages, aligned.

    Every process of an evaluation reads its input with this function.

    Raises:
        BadInput, MissingPackage: as ``inputs.read``, ``fuse``, ``second_stage.read``, ``only``.
        UsageError: as these, or a step that does not apply to the input.
    """
    data = inputs.read(request)
    _check(data, request)
    warn(warning_of(data.split.name))
    if request.fuse:
        data = fuse(data, request)
    if request.ties == DOCID and data.lists is None:
        data = by_id(data, request)
    if request.candidates or request.exclude:
        data = candidates.read(data, request)
    data = _without_excluded(data, request)
    if request.index:
        return indexed.read(data, request)
    if request.rerank:
        data = second_stage.read(data, request)
    return data if request.part is None else only(data, request)


def _check(data: Input, request: Request) -> None:
    """Raise UsageError for a step that does not apply to the input."""
    for name in ("scores", "run", "rerank", "index", "candidates", "exclude") if data.split.one_way else ():
        if any(one.direction == "t2i" for one in getattr(request, name) or ()):
            what = f"{spell(name)} of t2i does not apply to queries and a corpus: queries are the rows"
            raise UsageError(what, fix="give only i2t")
    given = {
        "normalise": request.correction, "rerank": request.rerank, "only": request.part, "index": request.index,
        "candidates": request.candidates, "exclude": request.exclude,
        "docid": request.ties == DOCID and data.lists is None,
    }  # fmt: skip
    steps = {**{name: spell(name) for name in given}, "docid": spell("ties", DOCID)}
    one, other = "leave out one of them", f"give a set without folds ({spell('split', 'coco-5k')} instead of coco-1k)"
    gains = gains_of_rows(request) if request.part or given["docid"] else ""
    found = {
        "lists": ("retrieved lists" * (data.lists is not None), "leave it out, or give embeddings or scores"),
        "folds": (f"the folds of {data.split.name}" * data.split.in_folds, f"leave it out, or {other}"),
        "no vectors": ("a score matrix" * (data.lists is None and not data.of_vectors), "give embeddings"),
        **{
            name: (steps.get(name, spell(name)) * bool(requested), one)
            for name, requested in (("fuse", request.fuse), *given.items())
        },
        "intra": (INTRA * request.intra, one),
        "save_run": (spell("save_run") * bool(request.save_run), one),
        "ties": (spell("ties", request.ties) * (request.ties != "index"), one),
        "gains": (gains, "give gains that are made from captions, such as cider, or leave out {step}"),
        "named": (
            f"the published order of {data.split.name}"
            if given["docid"] and data.split.name in catalogue.names()
            else "",
            f"leave it out, or give {spell('split', 'custom')} and your judgements",
        ),
    }
    for step, kind in ((step, kind) for step, kinds in REFUSED_INPUTS.items() if given[step] for kind in kinds):
        what, fix = found[kind]
        if what:
            raise UsageError(f"{steps[step]} cannot be combined with {what}", fix=fix.format(step=steps[step]))


def _without_excluded(data: Input, request: Request) -> Input:
    """The system with finite scores: a pair with the score -inf is ranked last, and other numbers for it are noted.

    Raises BadInput.
    """
    if data.system is None:
        return data
    needs = [step for step, given in (("normalise", request.correction), ("rerank", request.rerank)) if given]

    def ranked_last(scorer: Scorer, sides: Sequence[Which]) -> Scorer:
        scores = last_of_all(scorer.scores, data.where) if isinstance(scorer, Matrix) else None
        if not isinstance(scorer, Matrix) or scores is None:
            return scorer
        if scores is scorer.scores:
            candidates.note_sentinels(scorer, data, sides)
            return scorer
        if needs:
            image, caption = np.argwhere(np.isneginf(scorer.scores))[0].tolist()
            what = f"the score in row {image}, column {caption} is -inf (no candidate); "
            what += f"{spell(needs[0])} needs a finite score of every pair"
            raise BadInput(what, where=data.where, fix=f"leave out {spell(needs[0])}, or give finite scores")
        return replace(scorer, scores=scores)

    forward, separate = data.system.forward, data.system.separate
    if separate is None or "i2t" in request.directions:
        directions = [d for d in data.directions if d in request.directions]
        forward = ranked_last(forward, sides_of(directions if separate is None else DIRECTIONS[:1]))
    if separate is not None and "t2i" in request.directions:
        separate = ranked_last(separate.T, BOTH[1:]).T
    return replace(data, system=System(forward, separate))


def audit(data: Input, targets: Sequence[Targets] = ()) -> None:
    """Note oddities of queries and a corpus: queries that are items too, equal items, equal queries.

    Args:
        data: the input.
        targets: the relevant items of the queries; with these also whether the own items of most queries come first.
    """
    split = data.split
    if not split.one_way:
        return
    queries, corpus = split.sides
    if data.vectors is not None:
        vectors = data.vectors[1].vectors
        _, first, count = np.unique(vectors[:, 0], return_inverse=True, return_counts=True)
        some = np.flatnonzero(count[first] > 1)
        if len(some) and (equal := int((np.bincount(group := equal_rows(vectors[some]))[group] > 1).sum())):
            note(f"{equal:,} of {len(corpus):,} {corpus.plural} have the same vector as another one and tie with it")
    if queries.texts and (again := len(queries) - len(set(queries.texts))):
        note(f"{again:,} of {len(queries):,} queries repeat the text of another query")
    without = any(one.candidates.excluded is not None for one in targets)
    if without or queries.numbered or corpus.numbered or queries.ids.dtype.kind != corpus.ids.dtype.kind:
        return
    same_ids = places(corpus.ids, queries.ids)
    for relevance in (one.relevance for one in targets):
        query = relevance.queries[relevance.query_of]
        same_ids[query[relevance.items == same_ids[query]]] = -1  # the item of its id is the right one
    if not (same_ids >= 0).any():
        return
    top = 0.0
    if targets and 2 * (same_ids >= 0).sum() > len(same_ids):
        some = np.unique(np.linspace(0, len(same_ids) - 1, SAMPLED_QUERIES).astype(np.int64))
        if data.lists is None:
            best = rows_of(data.scorer(DIRECTIONS[0]), some).argmax(axis=1)
        else:
            best = np.array([next(iter(data.lists[DIRECTIONS[0]].of_query(query)), -2) for query in some.tolist()])
        top = float((best == same_ids[some]).mean())
    if top > 0.5:
        what = f"the item with the id of the query is first for {top:.0%} of the queries but is not relevant"
        warn(f"{what}: if it is the query itself, exclude it as MTEB and BEIR do ({spell('exclude', SELF_ID)})")
    elif queries.ids.dtype.kind == "U" and any(":" not in name for name in queries.ids[same_ids >= 0].tolist()):
        # Integers, and SET:NUMBER of M-BEIR, count both sides.
        note(f"{int((same_ids >= 0).sum()):,} of {len(same_ids):,} queries have the id of an item")


SAMPLED_QUERIES = 256  # queries on which two systems are compared
MIN_R1_TO_COMPARE = 0.3  # R@1 from which systems have more in common than own items
RRF_CONSTANT = 60  # of reciprocal rank fusion (Cormack et al., 2009)


def fuse(data: Input, request: Request) -> Input:
    """The input fused with the other systems of ``request.fuse``, which are aligned with its split.

    Args:
        data: the first system.
        request: with ``fuse``, files of embeddings, scores or retrieved lists; and with ``weights``, one a system, the
            first one first.

    Raises:
        BadInput, MissingPackage: another system cannot be read or is of other items, or the sums are too large.
    """
    systems, weights = [data], request.weights
    scored = directions = tuple(d for d in data.directions if d in request.directions)
    for other in request.fuse:
        one = _read(other, data, request)
        where = None if one.where == inputs.ARRAYS else one.where
        if not np.array_equal(one.split.columns.ids, data.split.columns.ids):
            raise BadInput("has other items", where=where, fix="fuse systems of the same test set")
        if lacking := [d for d in directions if d not in one.directions]:
            other_way = f", or measure only {one.directions[0]}: {spell('direction', one.directions[0])}"
            fix = f"give its scores for {lacking[0]} too{other_way * (one.directions[0] in directions)}"
            raise BadInput(f"a fused system has no scores for {lacking[0]}", where=where, fix=fix)
        systems.append(one)
        if data.lists is None:
            name = f"system {len(systems)}" if where is None else where.name
            note(owners.order_note(name, one.without_ids, data.split))
            _warn_of_other_rows(data, one, directions[-1], name)
    rule, written = "sum" if data.lists is None else f"rrf{RRF_CONSTANT}", ",".join(f"{w:.12g}" for w in weights)
    encoders = [one.stages.get(ENCODER, "") for one in systems]
    stages = {ENCODER: " + ".join(x or "default" for x in encoders)} if any(encoders) else {}
    sources = tuple(path for one in systems for path in one.sources)
    data = replace(data, stages={**stages, "fuse": f"{rule},{written}"}, sources=sources)
    if data.lists is not None:
        runs = [one.lists for one in systems if one.lists is not None]
        by_ids = {d: data.split.sides[d == DIRECTIONS[0]].ids if request.ties == DOCID else None for d in directions}
        fused = {d: _by_reciprocal_ranks([run[d] for run in runs], weights, by_ids[d]) for d in directions}
        return replace(data, lists=fused)
    if all(one.system is not None and one.system.separate is None for one in systems):
        directions = DIRECTIONS[:1]  # its scores serve both
    with finite("fuse"):
        sums = {d: weighted_sum([one.scorer(d) for one in systems], weights) for d in directions}
    system = System.of(*map(sums.get, DIRECTIONS))
    return replace(data, system=system, scored=scored, score=system.forward.name, vectors=None)


def _warn_of_other_rows(data: Input, one: Input, direction: Direction, name: str) -> None:
    """Warn if two good systems, one without ids, agree on positives but on no other best items: rows may be mixed up.

    Two systems that rank the same items agree on such items far more often than by chance.
    """
    items = len(data.split.side("caption" if direction == "i2t" else "image").ids)
    known = not (data.without_ids or one.without_ids) or data.split.image_of is None
    queries, of_image = (
        (NO_INDICES, NO_INDICES)
        if known
        else sampled_queries(data, positives_by_image(data.split, direction), SAMPLED_QUERIES)
    )
    if len(of_image) < top_scored.MIN_IMAGES or items < top_scored.MIN_IMAGES:
        return
    good, best = [], []
    for system in (data, one):
        scores = np.array(rows_of(system.scorer(direction), queries))
        positive = data.split.owners[queries][:, None] == np.arange(items)
        if direction == "i2t":
            positive = queries[:, None] == data.split.owners
        good.append(positive[np.arange(len(queries)), scores.argmax(axis=1)].mean())
        best.append(np.where(positive, -np.inf, scores).argmax(axis=1))
    same_best = int((best[0] == best[1]).sum())
    from scipy.special import bdtrc

    if min(good) > MIN_R1_TO_COMPARE and (
        not same_best or bdtrc(same_best - 1, len(queries), 1 / items) > CHANCE_P_VALUE
    ):
        what = (
            f"apart from relevant items, it ranks the same item first as the first system for {same_best:,} of "
            f"{len(queries):,} "
        )
        warn(f"{name}: {what}queries, no more than by chance: its rows have no ids and may be in another order")


def _read(other: Sequence[Given], data: Input, request: Request) -> Input:
    """Another system, on the split of the first; rows without ids are in the order of the first."""
    if data.lists is not None:
        return inputs.lists(other, request, data.split)
    direction, file, how, _ = other[0]
    if is_path(file) and direction is None and not how and files.holds_both(opened(Path(file))):
        raw = files.read_embeddings(Path(file), image_key=request.image_key, text_key=request.text_key)
        return inputs.of_vectors(raw, request, data.split)
    return inputs.scores(other, request, data.split, fused=True)


def _by_reciprocal_ranks(systems: Sequence[Tops], weights: Sequence[float], ids: Ids | None) -> Tops:
    """Lists by the sum of ``weight / (60 + rank)`` over the lists that have an item.

    Ties go to the lower index; with ``ids`` of the gallery sums are rounded to float32, and ties go to the larger id.
    """
    lists, tied = [], []
    place = None if ids is None else np.argsort(descending(ids.tolist()))
    for query in range(len(systems[0].depth)):
        terms: dict[int, list[float]] = defaultdict(list)
        for system, weight in zip(systems, weights, strict=True):
            for rank, item in enumerate(system.of_query(query).tolist(), start=1):
                terms[item].append(weight / (RRF_CONSTANT + rank))
        items = np.fromiter(terms, np.int64, len(terms))
        # exact sums: items with the same ranks in another order of the systems tie
        scores = np.fromiter(map(math.fsum, terms.values()), np.float64, len(terms))
        scores = scores if place is None else to_float32(scores).astype(np.float64)
        order = np.lexsort((items if place is None else place[items], -scores))
        lists.append(items[order])
        tied.append(np.diff(scores[order], prepend=np.inf) == 0)
    return Tops.ragged(lists, systems[0].gallery, tied)


def only(data: Input, request: Request) -> Input:
    """The images and captions with a value in a column of a file.

    A column of captions keeps these captions and their images, one of images these images and all of their captions.
    If captions have no image, all items of the other side are kept.

    Args:
        data: everything that was read.
        request: with ``part``.

    Raises:
        UsageError: no file.
        BadInput: the file has no such column, or no item has the value.
    """
    assert request.part is not None
    text, named, column, wanted = request.part
    path = named or request.captions_file
    if path is None:
        fix = f"give {spell('captions', 'FILE')} with a column '{column}', or {spell('only', f'FILE:{text}')}"
        raise UsageError(f"{spell('only', text)} needs a file", fix=fix)
    split = data.split
    kind = "captions" if path == request.captions_file else "columns"
    name, side, values = of_items(path, column, split, kind)
    kept = np.flatnonzero([bool(wanted & _texts(value)) for value in values])
    if not len(kept):
        known = sorted(set().union(*map(_texts, values)))
        what = f"no {side} has {name}={','.join(sorted(wanted))}; values are {', '.join(known[:8]) or 'none'}"
        raise BadInput(what, where=path, fix="use one of these")
    images, captions = map(np.arange, split.shape)
    if split.image_of is None:
        images, captions = (images, kept) if side == "caption" else (kept, captions)
    elif side == "caption":
        captions, images = kept, np.unique(split.owners[kept])
    else:
        captions, images = np.flatnonzero(np.isin(split.owners, kept)), kept
    note(
        f"only {text}: {len(images):,} of {len(split.rows.ids):,} {split.rows.plural} and {len(captions):,} of "
        f"{len(split.columns.ids):,} {split.columns.plural} are the queries and the gallery"
    )
    return _take_items(data, request, images, captions)


def by_id(data: Input, request: Request) -> Input:
    """Rows and columns in the descending order of the bytes of their ids, and scores rounded to float32.

    Retrieved lists are in this order when they are read.
    """
    taken = _take_items(data, request, *(descending(side.ids.tolist()) for side in data.split.sides))
    assert taken.system is not None
    separate = taken.system.separate
    return replace(taken, system=System(_rounded(taken.system.forward), separate and _rounded(separate)))


def _rounded(scorer: Scorer) -> Scorer:
    """The same scores rounded to float32."""
    if isinstance(scorer, Matrix):
        return scorer if scorer.dtype == np.float32 else replace(scorer, scores=to_float32(scorer.scores))
    assert isinstance(scorer, Dot)
    return replace(scorer, rounded=True, known=scorer.lengths)


def _take_items(data: Input, request: Request, images: Int, captions: Int) -> Input:
    """The input limited to some rows and columns, in this order, as a separate test set."""
    split = data.split
    if request.captions is not None:  # which have a row for every caption of the file
        split = with_captions(split, request.captions)
    sides = split.sides if split.name == "custom" else [replace(side, places=None) for side in split.sides]
    first, second = (side.take(some) for side, some in zip(sides, (images, captions), strict=True))
    row = np.argsort(images)  # of each image, which may be in any order
    image_of = None if split.image_of is None else row[np.searchsorted(images[row], split.owners[captions])]
    part = TestSet("custom", first, second, image_of, ordered=split.ordered)
    system, vectors = data.system and data.system.take(images, captions), data.vectors
    if vectors is not None:
        both = zip(vectors, (images, captions), strict=True)
        image, caption = (Embeddings(side.modality, side.ids[k], side.vectors[k]) for side, k in both)
        vectors = image, caption
    first_rows, second_rows = (
        None if r is None else ranks(r[k]) for r, k in zip(data.rows, (images, captions), strict=True)
    )
    return replace(
        data,
        split=part,
        system=system,
        vectors=vectors,
        rows=(first_rows, second_rows),
        complete=data.complete or data.split,
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
