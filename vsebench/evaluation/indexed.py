"""Evaluate a saved FAISS index: its lists in exact order, and their recall.

Items it does not list count as not retrieved, as with retrieved lists (``short_lists``).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import BadInput, MissingPackage, count_of, install
from ..files.ids import match
from ..files.regular import check_file
from ..log import note, warn
from ..memory import require
from ..metrics.suites import expand
from ..numeric.parallel import default_threads
from ..options import spell
from ..rank import backends
from ..rank.order import exact_scores, top_lists
from ..rank.saved_index import METRICS, Found, search
from ..rank.scorers import Dot
from ..relevance.sources import SOURCES, is_gains
from ..types import DIRECTIONS, SIDES, Float, Int, Side, Tops
from .inputs import Indexed, Input
from .plan import Plan
from .request import Index, Request

MIN_DEPTH = 100  # items a query
MAX_QUERIES_TO_CHECK = 1000
MIN_QUERIES_TO_CHECK = 20  # for the first items of quantised vectors
RANDOM_ITEMS = 16  # that the first item of a query is compared with
MAX_NEARER = 0.25  # share of random items that are nearer than the first of a list, by the median query
MAX_RELATIVE_DISTANCE = 0.01  # of vectors rounded to 16 bits
PAIR_BYTES = 48  # memory for a listed item
REBUILD = "build the index from these vectors, in their order, or evaluate the vectors that it was built from"


def read(data: Input, request: Request) -> Input:
    """The input with the lists of saved indexes in the place of scores.

    Raises:
        BadInput: an index cannot be read, is of other items, or was built from other vectors.
        MissingPackage: FAISS is not installed.
    """
    if not backends.BACKENDS["faiss"].installed:
        fix = install("cpu")
        raise MissingPackage(f"{spell('index')} needs faiss", fix=fix)
    known = [*(view for view in SOURCES if not is_gains(view)), *request.judgements]
    metrics = expand(request.names or (), known, tuple(request.gains)) if request.names else ()
    depth = max(MIN_DEPTH, request.lists or 0, *(m.k or 0 for m in metrics))
    given = {one.direction: one for one in request.index}
    found = {d: _lists(given[d], data, request, given[d].k or depth) for d in DIRECTIONS if d in given}
    for d, one in found.items():
        how = f"lists up to {one.depth:,} items per query, re-ranked by exact scores; no other item is retrieved"
        note(f"{d}: {one.file.name} ({one.kind}) {how}")
    line = "; ".join(f"{d}={one.kind}@{one.depth}#{_digest(one.lists)}" for d, one in found.items())
    lists, sources = {d: one.lists for d, one in found.items()}, (*data.sources, *(one.file for one in request.index))
    return replace(data, system=None, lists=lists, index=found, sources=sources, stages={**data.stages, "index": line})


def _digest(lists: Tops) -> str:
    digest = hashlib.sha256(lists.start.astype(np.int64).tobytes())
    digest.update(lists.entries.astype(np.int64).tobytes())
    return digest.hexdigest()[:8]


def _lists(given: Index, data: Input, request: Request, k: int) -> Indexed:
    """The lists of an index, in exact order; raises as ``read``."""
    check_file(given.file, "give the file that faiss.write_index wrote")
    scorer, sides = data.scorer(given.direction), SIDES[given.direction]
    assert isinstance(scorer, Dot)
    side, rows = data.split.side(sides[1]), data.rows[SIDES["i2t"].index(sides[1])]
    depth, threads = min(k, len(side)), request.threads or default_threads()
    require(len(scorer.x) * depth * PAIR_BYTES)
    queries = (scorer.x * scorer.scales[0][:, None].astype(np.float32)) if scorer.cosine else scorer.x
    found = search(given.file, given.parameters, queries, depth, threads)
    if found.dim != scorer.x.shape[1]:
        what = f"has dimension {found.dim}; the vectors have {scorer.x.shape[1]}"
        raise BadInput(what, where=given.file, fix=REBUILD)
    ids, items = _items(found, side, rows, given)
    at = np.searchsorted(ids, found.items).clip(max=len(ids) - 1)
    at = np.where(ids[at] == found.items, items[at], -1)
    sampled = items[np.searchsorted(ids, found.sampled)]
    _check(found, at[:, 0], sampled, scorer, side, given, request.trust)
    row, place = np.nonzero(at >= 0)
    pairs, first = np.unique(row * len(side) + at[row, place], return_index=True)
    (row, item), place = np.divmod(pairs, len(side)), place[first]
    score = exact_scores(scorer, row, item)
    by = np.lexsort((item, -score, row))
    row, item, score, place = row[by], item[by], score[by], place[by]
    ties = (np.diff(row, prepend=-1) == 0) & (np.diff(score, prepend=0) == 0)
    lists = Tops(np.searchsorted(row, np.arange(len(queries) + 1)), item, ties, len(side))
    more = [f"{name}={4 * int(n)}" for name, n in re.findall(r" (\w+)=(\d+)", found.kind)] + [f"k={10 * depth}"]
    return Indexed(
        lists, score, place, scorer, found.kind, depth, given.file, f"{given.direction}={given.file}:{','.join(more)}"
    )


def _items(found: Found, side: Side, rows: Int | None, given: Index) -> tuple[Int, Int]:
    """The ids of an index, ascending, and the item of each: its id, else its row in the file of vectors.

    Raises BadInput.
    """
    n = len(side)
    if found.size != n:
        what = f"holds {count_of(found.size, 'vector')}, but there are {n:,} {side.plural}"
        fix = f"build it from these {side.plural}, one vector each ({spell('index', 't2i=FILE')} has images)"
        raise BadInput(what, where=given.file, fix=fix)
    ids = np.arange(n) if found.ids is None else np.sort(found.ids)
    if (again := ids[1:][np.diff(ids) == 0]).size:
        raise BadInput(f"has the id {again[0]} twice", where=given.file, fix="add every vector once, with its own id")
    items, how = match(ids, np.arange(n) if rows is None else rows)
    possible = [items]
    if found.ids is not None:
        items, how = match(ids, side.ids)
        possible.append(items)
    possible = [one for one in possible if np.array_equal(np.sort(one), np.arange(n))]
    if not possible:
        ours = f"first: {ids[items < 0][0]}; {side.name} ids look like {side.ids[0]}"
        what = f"ids are neither row numbers nor {side.name} ids ({ours})"
        fix = "add the vectors in the order of their file and without ids, or with the ids of the items"
        raise BadInput(what, where=given.file, fix=fix)
    if not np.array_equal(possible[0], possible[-1]):
        what = f"ids 0 to {n - 1:,} may be row numbers or {side.name} ids"
        raise BadInput(
            what, where=given.file, fix="sort the vectors by id, so that both are the same, and rebuild the index"
        )
    note(f"{side.name} ids of {given.file.name} are matched {how}" if how else "", weight="detail")
    return ids, possible[-1]


def _check(found: Found, first: Int, sampled: Int, scorer: Dot, side: Side, given: Index, trust: bool) -> None:
    """Compare the first item of every query, -1 for none, and the sampled items with the vectors of the evaluation.

    Raises BadInput.
    """
    query = np.flatnonzero(first >= 0)
    query = query[:: max(1, len(query) // MAX_QUERIES_TO_CHECK)]
    item, lengths = first[query], scorer.lengths[1]
    if not len(query):
        return
    listed, score = found.scores[query, 0].astype(np.float64), exact_scores(scorer, query, item)
    query_length, dot = (1.0, score * lengths[item]) if scorer.cosine else (scorer.lengths[0][query], score)
    # The index holds the vectors as they are, or of unit length.
    errors = [_error(found, listed, dot / scale, query_length, lengths[item] / scale) for scale in (1.0, lengths[item])]
    other = np.median(errors[not scorer.cosine]) < np.median(errors[scorer.cosine])
    unit = scorer.cosine != bool(other)
    uniform, wrong = np.ptp(lengths) <= MAX_RELATIVE_DISTANCE * lengths.max(), ""
    same = uniform or (unit if scorer.cosine else not (unit or found.distances))
    if len(sampled):
        ours = scorer.y[sampled].astype(np.float64) / (lengths[sampled, None] if unit else 1.0)
        off = np.linalg.norm(found.vectors - ours, axis=1) / np.linalg.norm(ours, axis=1)
        compared = sampled
    else:
        off, compared = errors[unit] * found.exact, item
    differ = compared[~(off <= MAX_RELATIVE_DISTANCE)]  # NaN too
    if len(differ):
        wrong = f"was built from other vectors: the vector of {side.name} {side.ids[differ[0]]} differs "
        wrong += f"({len(differ):,} of {len(compared):,} compared vectors differ)"
    elif same and (uniform or not found.distances) and not found.exact and len(query) >= MIN_QUERIES_TO_CHECK:
        random = np.random.default_rng(0).integers(0, len(lengths), (RANDOM_ITEMS, len(query)))
        nearer = np.median(np.mean([exact_scores(scorer, query, some) > score for some in random], axis=0))
        if nearer > MAX_NEARER:
            wrong = f"lists distant items: {nearer:.0%} of random items are nearer than the first listed item (median)"
    if wrong and not trust:
        raise BadInput(wrong, where=given.file, fix=f"{REBUILD}; {spell('trust', True)} evaluates it anyway")
    ranks = "cosine" if unit and not found.distances else METRICS[found.distances]
    how = f"ranks by {ranks}; the evaluation ranks by {'cosine' if scorer.cosine else METRICS[0]}"
    warn(*(f"{given.file.name} {one}" for one in (wrong, how * (not same)) if one))


def _error(found: Found, listed: Float, dot: Float, query: Float | float, item: Float) -> Float:
    """(pair,) relative difference between the scores of an index and of vectors with these products and lengths."""
    if found.distances:
        return np.abs(listed - (query**2 + item**2 - 2 * dot)) / (query**2 + item**2)
    return np.abs(listed - dot) / (query * item)


def recall(data: Input, plan: Plan, backend: str) -> dict[str, Any]:
    """For the provenance: the kind of every index, and its recall by depth k, as ann-benchmarks defines it.

    The share of the exact first k that are among the first k as listed by the index. An item counts if its exact score
    is at least the k-th exact score, so that ties do not matter.
    """
    facts: dict[str, Any] = {}
    order, request = backends.ranker(backend).order, plan.request
    for direction in plan.directions:
        one = data.index[direction]
        scorer, lists = one.scorer, one.lists
        depths = sorted({*(m.k for m in plan.single if m.k and m.k < one.depth), one.depth})
        exact = top_lists(scorer, one.depth, threads=request.threads or default_threads(), by=order)
        query = np.arange(len(lists.depth))
        shares: dict[str, float] = {}
        for k in depths:
            least = exact_scores(scorer, query, exact.items[:, k - 1].astype(np.int64))
            found = int(((one.places < k) & (one.scores >= least[lists.row])).sum())
            shares[str(k)] = found / (k * len(query))
        facts[direction] = {"file": one.file.name, "kind": one.kind, "depth": one.depth, "recall": shares}
    return facts
