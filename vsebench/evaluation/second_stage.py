"""Re-ranking: the scores of a second stage are read, and order the top of what the first stage has ranked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import numbers
from ..errors import BadInput, UsageError
from ..files import read as files
from ..files.formats import sniff
from ..files.pairs import SCORED, place
from ..files.raw import Array
from ..files.read_pairs import read_pairs
from ..log import logged, note
from ..metrics.suites import headlines
from ..options import spell
from ..rank.corrected import with_scores
from ..rank.order import top_lists
from ..rank.scorers import Matrix, Scorer
from ..rank.sums import finite
from ..rank.tops import ranks_after
from ..relevance.gains import entries_of, of_pairs
from ..results.model import printed
from ..sets import owners
from ..sets.items import GATHER_PROCESSES, align_scores, uncomputed
from ..types import QUERIES_OF, SIDES, Direction, Float, Int, Observation, TestSet, Tops
from . import binary
from .inputs import Input, SecondScores, in_memory
from .plan import Plan
from .request import Request
from .top_scored import constant, scored

FILLER_SCORE = -100.0  # what released code fills the scores with
MAX_MISSING = 0.01  # share of the scores: another precision of the first stage has other tops


def read(data: Input, request: Request) -> Input:
    """The input with the scores of a second stage.

    Raises:
        UsageError: complete scores without a depth.
        BadInput, MissingPackage: the scores cannot be read, or are not of this split.
    """
    second = {d: _of_direction(value, d, data.split, request, rows or None) for d, value, rows, _ in request.rerank}
    sources = tuple(one.value for one in request.rerank if isinstance(one.value, Path))
    return replace(data, second=second, sources=(*data.sources, *sources))


def _of_direction(value: Any, direction: Direction, split: TestSet, request: Request, rows: str | None) -> SecondScores:
    """The scores of the second stage in a direction, of a file or a matrix; raises as ``read``."""
    where = str(value) if isinstance(value, Path) else f"{spell('rerank')} {direction}"
    if rows is None and isinstance(value, Path) and not sniff(value).matrix:
        found = _entries(value, direction, split)
    else:
        found = _matrix(value, where, direction, split, request, rows)
    queried, other = SIDES[direction]
    gallery, depth = len(split.side(other).ids), request.rerank_depth
    least, most = int(found.each.min()), int(found.each.max())
    if not most:
        raise BadInput(f"has no scores of {direction}", where=where, fix="score the top of every query")
    if depth is None and least == gallery:
        fix = f"add {spell('rerank_depth', 128)}, the items of a query to re-rank"
        raise UsageError("every pair has a score", where=where, fix=fix)
    if depth is None and least < most:
        note(f"re-ranking, {direction}: {queried}s have scores for {least:,} to {most:,} items", weight="detail")
    return found._replace(depth=min(depth or most, gallery), reach=min(depth or 2 * most, gallery), where=where)


def _matrix(
    value: Any, where: str, direction: Direction, split: TestSet, request: Request, rows: str | None
) -> SecondScores:
    """Scores of a matrix, from a file or in memory; rows have the ids of the vectors in the same file."""
    with logged():  # the rows are those of the first stage
        if isinstance(value, Path):
            raw = files.read_scores(value)
            raw = replace(raw, arrays=(raw.values.T,)) if rows == "texts" else raw
        else:
            array = numbers(value, where)
            array = array if array.dtype.kind == "f" else array.astype(np.float64)
            raw = in_memory(request, array, where=Path(where))
        found, scores = align_scores(
            raw, split, finite=False, direction=direction, stated=rows is not None, typed=isinstance(value, Path)
        )
    missing = _constant(scores, direction)
    if missing is None and np.isfinite(scores).all() and (lost := uncomputed(scores)):
        raise BadInput(lost, where=where, fix=GATHER_PROCESSES)
    counts, _, _ = scored(scores, missing)
    each, (query_name, item_name), other = counts[direction], SIDES[direction], QUERIES_OF[direction]
    if len(np.unique(each)) > 1 == len(np.unique(counts[other])):
        what = f"every {item_name} has scores for {counts[other][0]:,} {query_name}s, but {query_name}s have scores"
        what = f"{what} for different numbers: these are scores of {other}"
        raise BadInput(what, where=where, fix=f"give them as {other}")
    if unscored := int((each == 0).sum()):
        what = f"{unscored:,} of {len(each):,} {query_name}s have no score"
        what += ", as if the matrix came from one of several processes"
        raise BadInput(what, where=where, fix=GATHER_PROCESSES)
    unnamed = [side for side, ids in zip(SIDES["i2t"], (raw.image_ids, raw.text_ids), strict=True) if ids is None]
    note(owners.order_note("re-ranking", unnamed, split))
    known = Matrix(scores, *found.rows) if direction == "i2t" else Matrix(scores, *found.rows).T

    def scores_of_pairs(query: Int, item: Int) -> Float:
        pairs = known.pairs(query, item, 1)
        return np.where(np.isfinite(pairs) & (pairs != missing), pairs, np.nan)

    return SecondScores(scores_of_pairs, each if known.row_order is None else each[known.row_order])


def _constant(scores: Array, direction: Direction) -> float | None:
    """The finite number that stands for no score: far below the others, or as often in every query; None without.

    A complete matrix of two numbers, such as 0 and 1, has no such number.
    """
    known = np.isfinite(scores)
    if known.all():
        one = constant(scores)
        if one is None or not (direction in one.scored or (one.lowest and (one.apart or one.value == FILLER_SCORE))):
            return None
        others = scores[scores != one.value]
        return one.value if len(others) and others.min() < others.max() else None
    return FILLER_SCORE if (scores == FILLER_SCORE).any() and scores[known].min() == FILLER_SCORE else None


def _entries(path: Path, direction: Direction, split: TestSet) -> SecondScores:
    """Scores of a file of pairs."""
    given = read_pairs(path, None, SCORED, both=direction)
    given = [pairs for pairs in given if pairs.direction in (None, direction)]
    if not given:
        raise BadInput(f"has no scores of {direction}", where=path, fix=SCORED.fix)
    found = place(replace(given[0], direction=direction), split)
    shape = len(found.queries), len(found.items)
    entries = of_pairs("scores", shape, found.query, found.item, found.grade, where=path)
    note(*(f"re-ranking, {sentence}" for sentence in found.notes))
    if lost := entries.outside.nnz:
        note(f"re-ranking, {direction}: {lost:,} scores are for items that are not in the gallery")
    known, numbers = entries.inside.copy(), np.append(entries.inside.data, np.nan)
    known.data = np.arange(1, known.nnz + 1)

    def scores_of_pairs(query: Int, item: Int) -> Float:
        return np.asarray(numbers[entries_of(known, query, item) - 1])

    return SecondScores(scores_of_pairs, np.diff(known.indptr))


def apply(
    data: Input, plan: Plan, observed: Mapping[Direction, Observation]
) -> tuple[Input, dict[Direction, Observation]]:
    """The system with its line of provenance, and the ranks and tops of the first stage in their new order.

    Raises:
        BadInput: items of the top of the first stage have no score, or sums are too large.
    """
    out, depths, digest = dict(observed), [], hashlib.sha256()
    weight = plan.request.weight
    for direction, given in data.second.items():
        before = observed[direction]
        assert before.top is not None  # plan.depth is at least the depth of the second stage
        top = before.top.cut(given.reach)
        scores = _scores_of(top, given)
        _note_missing(scores, top, given, direction, plan)
        new = _reordered(top, scores, weight)
        digest.update(new.items[:, : given.depth].astype(np.int64).tobytes())
        depths.append(f"{direction}@{given.depth}")
        after = {view: ranks_after(first, new) for view, first in before.ranks.items()}
        items = np.hstack([new.items, before.top.items[:, top.items.shape[1] :]])
        out[direction] = Observation(after, Tops.of(items, None, top.gallery))
        _note_gained(plan, direction, before, out[direction])
    rule = "replace" if weight is None else f"add {weight:g}"
    line = f"{rule},{','.join(depths)}#{digest.hexdigest()[:8]}"
    return replace(data, stages={**data.stages, "rerank": line}), out


def part(scorer: Scorer, given: SecondScores, weight: float | None, queries: tuple[int, int], threads: int) -> Tops:
    """The new order of the tops of a range of queries, from the scores of both stages, for another process."""
    block = scorer.take(slice(*queries), slice(None))
    top = with_scores(block, top_lists(block, given.reach, threads=threads))
    top = replace(top, scored=top.scores.ravel(), first=queries[0])
    return _reordered(top, _scores_of(top, given), weight)


def _scores_of(top: Tops, given: SecondScores) -> Float:
    """(query, depth) second scores of the tops, NaN for none."""
    return given.scores(top.first + top.row, top.entries).reshape(top.items.shape)


def _reordered(top: Tops, scores: Float, weight: float | None) -> Tops:
    """The first items of every query by descending score, ties to the lower gallery index.

    Items without a score, NaN, stand behind those with one, in the order of the first stage. With a weight the scores
    are added to the scores of the first stage, else they replace them.
    """
    if weight is not None:
        with finite("rerank"):
            scores = top.scores + weight * scores
    items, none = top.items, np.isnan(scores)
    among_equals = np.where(none, np.arange(items.shape[1]), items)
    order = np.lexsort((among_equals, np.where(none, 0.0, -scores), none), axis=1)
    return Tops.of(np.take_along_axis(items, order, axis=1), None, top.gallery, first=top.first)


def _note_gained(plan: Plan, direction: Direction, before: Observation, after: Observation) -> None:
    """Note what re-ranking gains and loses in one direction, in one note."""
    found = []
    for m in headlines(plan.binary):
        one, other = (
            binary.measure(m, observed.ranks[m.ranked], plan.split, direction, plan.request.no_positive)
            for observed in (before, after)
        )
        assert one.per_query is not None and other.per_query is not None
        change = (other.per_query - one.per_query) * (1 if m.higher_is_better else -1)
        values = " → ".join(printed(r.value, r.unit) for r in (one, other))
        found.append(f"{m} {values} ({int((change > 0).sum()):,} queries better, {int((change < 0).sum()):,} worse)")
    note(
        f"re-ranking, {direction}: {'; '.join(found) or 'no metric of binary judgements shows its effect'}",
        weight="result",
    )


def _note_missing(scores: Float, top: Tops, given: SecondScores, direction: Direction, plan: Plan) -> None:
    """Note scores that are missing in the top of the first stage, or of items that it does not have there.

    Raises BadInput.
    """
    none, (query_name, item_name), split = np.isnan(scores), SIDES[direction], plan.split
    if plan.request.rerank_depth is not None:
        lost, number, requested = none, int(none.sum()), scores.size
        what, behind = (
            f"{item_name}s that the first stage ranks first have no score",
            "are ranked after the items with a score",
        )
    else:
        # as many items as a query has scores for; some are below the part of the ranking that is searched
        requested = int(given.each.sum())
        lost, number = none & ((~none).sum(axis=1) < given.each)[:, None], requested - int((~none).sum())
        what = f"scores are for {item_name}s that the first stage does not rank among its first {scores.shape[1]:,}"
        behind = "keep the order of the first stage"
    if not number:
        return
    row, column = np.argwhere(lost)[0].tolist()
    item = split.side(item_name).ids[top.items[row, column]]
    first = f"{item_name} {item} of {query_name} {split.side(query_name).ids[row]}, at rank {column + 1}"
    what = f"{number:,} of {requested:,} {what} (first without a score: {first})"
    if number > MAX_MISSING * requested:
        raise BadInput(what, where=given.where, fix="score the items that this first stage ranks first")
    note(f"re-ranking, {direction}: {what}; they {behind}")
