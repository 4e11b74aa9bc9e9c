"""Re-ranking: the scores of a second stage are read, and order the top of what the first stage has ranked."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, UsageError
from ..files import read as files
from ..files.pairs import SCORED, place
from ..files.raw import Array
from ..files.read_pairs import read_pairs
from ..files.sniff import sniff
from ..log import logged, note
from ..metrics.suites import headlines
from ..options import spell
from ..rank.corrected import shown
from ..rank.order import top_lists
from ..rank.scorers import Matrix, Scorer
from ..rank.sums import refuse_overflow
from ..rank.tops import ranks_of, reordered
from ..relevance.gains import shape_of
from ..relevance.grades import Entries, of_pairs
from ..results.format import printed
from ..sets import placing
from ..sets.align import align_scores
from ..types import DIRECTIONS, QUERIES_OF, SIDES, Direction, Float, Observation, Split, Tops, numbers
from . import binary
from .inputs import Input, SecondScores, in_memory
from .plan import Plan
from .request import Request
from .top_scored import TOGETHER, constant, scored, uncomputed

MARK = -100.0  # what released code fills the scores with
FEW = 0.01  # share of the scores that may be missing: another precision of the first stage has other tops


def _load(value: Any, direction: Direction, split: Split, request: Request) -> SecondScores:
    """The scores of the second stage in a direction, of a file or a matrix; raises as ``read``."""
    pairs, depth = isinstance(value, Path) and not sniff(value).matrix, request.rerank_depth
    one = _entries(value, direction, split) if pairs else _matrix(value, direction, split, request)
    gallery, most = one.gallery, int(one.each.max(initial=0))
    if not most:
        raise BadInput(f"has no scores of {direction}", where=one.where, fix="score the top of every query")
    if depth is None and one.each.min() == gallery:
        fix = f"add {spell('rerank_depth', 128)}, the items of a query to re-rank"
        raise UsageError("every pair has a score", where=one.where, fix=fix)
    if depth is None and one.each.min() < most:
        own = SIDES[direction][0]
        note(f"re-ranking, {direction}: {own}s have scores for {one.each.min():,} to {most:,} items", weight="detail")
    return replace(one, depth=min(depth or most, gallery), complete=depth is not None, weight=request.weight)


def _matrix(value: Any, direction: Direction, split: Split, request: Request) -> SecondScores:
    """Scores of a matrix: of a file, or in memory, whose rows have the ids of the vectors beside it."""
    where = str(value) if isinstance(value, Path) else f"{spell('rerank')} {direction}"
    with logged():  # the rows are those of the first stage
        if isinstance(value, Path):
            raw = files.read_scores(value)
        else:
            array = numbers(value, where)
            array = array if array.dtype.kind == "f" else array.astype(np.float64)
            raw = in_memory(request, array, where=Path(where))
        found, scores = align_scores(raw, split, finite=False, direction=direction)
    missing = _constant(scores, direction)
    if missing is None and np.isfinite(scores).all() and (lost := uncomputed(scores)):
        raise BadInput(lost, where=where, fix=TOGETHER)
    counts, _, _ = scored(scores, missing)
    other = QUERIES_OF[direction]
    if len(np.unique(counts[direction])) > 1 == len(np.unique(counts[other])):
        what = (
            f"every {SIDES[other][0]} has scores for {counts[other][0]:,} {SIDES[other][1]}s, and "
            f"{SIDES[direction][0]}s have them for different numbers: these are scores of {other}"
        )
        raise BadInput(what, where=where, fix=f"give them as {other}")
    if unscored := int((counts[direction] == 0).sum()):
        what = f"{unscored:,} of {len(counts[direction]):,} {SIDES[direction][0]}s have no score"
        raise BadInput(f"{what}, as in the matrix of one of several processes", where=where, fix=TOGETHER)
    rows = found.rows[direction == "t2i"]  # the file's order of the queries
    each, gallery = counts[direction] if rows is None else counts[direction][rows], len(split.ids(SIDES[direction][1]))
    unnamed = [side for side, ids in zip(placing.SIDES, (raw.image_ids, raw.text_ids), strict=True) if ids is None]
    note(placing.order_note("re-ranking", unnamed, split))
    known = Matrix(scores, *found.rows)
    return SecondScores(direction, known if direction == "i2t" else known.T, missing, each, 0, False, gallery, where)


def _constant(scores: Array, direction: Direction) -> float | None:
    """The finite number that stands for no score: far below the others, or as often in every query; None without.

    A complete matrix of two numbers, such as 0 and 1, has no such number.
    """
    finite = np.isfinite(scores)
    if finite.all():
        known = constant(scores)
        if known is None or not (direction in known.scored or (known.lowest and (known.apart or known.value == MARK))):
            return None
        others = scores[scores != known.value]
        return known.value if len(others) and others.min() < others.max() else None
    return MARK if (scores == MARK).any() and scores[finite].min() == MARK else None


def _entries(path: Path, direction: Direction, split: Split) -> SecondScores:
    """Scores of a file of pairs."""
    given = read_pairs(path, None, SCORED, both=direction)
    given = [pairs for pairs in given if pairs.direction in (None, direction)]
    if not given:
        raise BadInput(f"has no scores of {direction}", where=path, fix=SCORED.fix)
    found = place(replace(given[0], direction=direction), split)
    shape = shape_of(split, DIRECTIONS.index(direction))
    entries = of_pairs("scores", shape, found.query, found.item, found.grade, where=path)
    each = np.diff(entries.inside.indptr)
    note(*(f"re-ranking, {sentence}" for sentence in found.notes))
    if lost := entries.outside.nnz:
        note(f"re-ranking, {direction}: {lost:,} scores are of items that are not in the gallery")
    return SecondScores(direction, Entries(entries.inside), None, each, 0, False, shape[1], str(path))


def read(data: Input, request: Request) -> Input:
    """The input with the scores of a second stage.

    Raises:
        UsageError: options or input that cannot be re-ranked; complete scores without a depth.
        BadInput, MissingPackage: the scores cannot be read, or are not of this split.
    """
    refused = {
        "retrieved lists": data.lists is not None,
        spell("only"): request.part is not None,
        spell("ties", request.ties): request.ties != "index",
        f"the folds of {data.split.name}": data.split.in_folds,
    }
    if strange := [name for name, found in refused.items() if found]:
        raise UsageError(f"{spell('rerank')} has no meaning with {strange[0]}", fix="leave out one of them")
    second = {d: _load(value, d, data.split_of(d), request) for d, value in request.rerank.items()}
    sources = tuple(path for path in request.rerank.values() if isinstance(path, Path))
    return replace(data, second=second, sources=(*data.sources, *sources))


def apply(
    plan: Plan, data: Input, observed: dict[Direction, Observation]
) -> tuple[Input, dict[Direction, Observation]]:
    """The system with the stage, and what is observed after re-ranking.

    Args:
        plan: what is measured.
        data: with the scores of the second stage.
        observed: the ranks and the tops of the first stage.

    Raises:
        BadInput: an item of the top of the first stage has no score.
    """
    out, depths, digest = dict(observed), [], hashlib.sha256()
    for direction, given in data.second.items():
        before = observed[direction]
        assert before.top is not None  # plan.depth is at least that of the second stage
        top = before.top.cut(given.reach)
        depth, scores = top.items.shape[1], _scores_of(top, given, 0)
        _note_missing(scores, top, given, data.split)
        new = _reordered(top, scores, given)
        digest.update(new.items[:, : given.depth].astype(np.int64).tobytes())
        depths.append(f"{direction}@{given.depth}")
        ranks = {view: ranks_of(r, new) for view, r in before.ranks.items()}
        items = np.hstack([new.items, before.top.items[:, depth:]])
        out[direction] = Observation(ranks, Tops.of(items, None, top.gallery))
        _note_gained(plan, direction, before, out[direction])
    weight = next(iter(data.second.values())).weight
    rule = "replace" if weight is None else f"add {weight:g}"
    second = f"{rule},{','.join(depths)}#{digest.hexdigest()[:8]}"
    return replace(data, stages={**data.stages, "rerank": second}), out


def part(scorer: Scorer, given: SecondScores, queries: tuple[int, int], threads: int) -> Tops:
    """The new order of the tops of some queries, from their scores alone: what another process needs of re-ranking.

    Args:
        scorer: the first stage, in the direction of the second.
        given: the scores of the second stage.
        queries: the range, as indices.
        threads: number of threads.
    """
    own = scorer.take(slice(*queries), slice(None))
    top = shown(own, top_lists(own, given.reach, threads=threads))
    top = replace(top, scored=top.scores.ravel(), first=queries[0])
    return _reordered(top, _scores_of(top, given, queries[0]), given)


def _scores_of(top: Tops, given: SecondScores, first: int) -> Float:
    """(query, depth) second scores of the tops of queries from ``first`` on, NaN for none."""
    queries, depth = top.items.shape
    return given.of(first + np.repeat(np.arange(queries), depth), top.items.ravel()).reshape(queries, depth)


def _reordered(top: Tops, scores: Float, given: SecondScores) -> Tops:
    if given.weight is not None:
        with np.errstate(over="ignore"):
            scores = top.scores + given.weight * scores
        refuse_overflow(scores[~np.isnan(scores)])
    return reordered(top, scores)


def _note_gained(plan: Plan, direction: Direction, before: Observation, after: Observation) -> None:
    """Note what re-ranking gains and loses in one direction, in one note."""
    found = []
    for m in headlines(plan.binary):
        one, other = (
            binary.measure(m, observed.ranks[m.view], plan.split, direction, plan.request.no_positive)
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


def _note_missing(scores: Float, top: Tops, given: SecondScores, split: Split) -> None:
    """Note scores that are missing in the top of the first stage, or of items that it does not have there.

    Raises:
        BadInput: they are more than ``FEW`` of all.
    """
    none, (own, other) = np.isnan(scores), SIDES[given.direction]
    if given.complete:
        lost, asked = none, scores.size
        what, behind = f"{other}s that the first stage ranks first have no score", "stand behind those with one"
    else:
        # as many as a query has scores for, of which some are behind the top that is searched
        asked = int(given.each.sum())
        lost = none & ((~none).sum(axis=1) < given.each)[:, None]
        what = f"scores are of {other}s that the first stage does not rank among its first {scores.shape[1]:,}"
        behind = "keep the order of the first stage"
    number = int(none.sum()) if given.complete else asked - int((~none).sum())
    if not number:
        return
    row, column = np.argwhere(lost)[0].tolist()
    first = f"{other} {split.ids(other)[top.items[row, column]]} of {own} {split.ids(own)[row]}, at rank {column + 1}"
    what = f"{number:,} of {asked:,} {what} (first without a score: {first})"
    if number > FEW * asked:
        raise BadInput(what, where=given.where, fix="score the items that this first stage ranks first")
    note(f"re-ranking, {given.direction}: {what}; they {behind}")
