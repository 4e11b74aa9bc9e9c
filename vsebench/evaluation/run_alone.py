"""Retrieved lists with judgements and without a data set: the two name its queries and its gallery, as in trec_eval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import BadInput, UsageError, count_of
from ..files.ids import as_ids, match
from ..files.pairs import Pairs
from ..log import note
from ..options import spell
from ..relevance.gains import Spec
from ..relevance.own import pairs_of
from ..types import DIRECTIONS, NONE, QUERIES_OF, SIDES, Direction, Ids, Modality, TestSet

Judged = dict[str, list[Pairs]]


@dataclass(frozen=True, eq=False)
class Alone:
    """Retrieved lists and judgements in stated directions, and the split of their items."""

    split: TestSet
    runs: list[Pairs]
    judged: Judged


def items_of(runs: Sequence[Pairs], chosen: Mapping[str, Sequence[Spec]], fused: Sequence[Pairs] = ()) -> Alone:
    """The queries and the gallery of retrieved lists and of judgements of them; captions have no image of their own.

    Lists of which nothing states the direction have queries that are texts. Those that are ``fused`` with them are of
    the same gallery.

    Raises:
        UsageError: a matrix or labels, which do not have the ids of queries.
        BadInput: judgements of other queries, or several runs without a direction.
    """
    judged = {name: [p for spec in found for p in _pairs(spec)] for name, found in chosen.items()}
    every = [pairs for found in judged.values() for pairs in found]
    runs = _stated(runs, every)
    judged = {name: [_like(pairs, runs) for pairs in found] for name, found in judged.items()}
    every = [*runs, *(pairs for found in judged.values() for pairs in found)]
    others = [replace(pairs, direction=pairs.direction or runs[0].direction) for pairs in fused]
    ids, every = _together([*every, *others])
    one = iter(every)
    runs = [next(one) for _ in runs]
    judged = {name: [next(one) for _ in found] for name, found in judged.items()}
    split = TestSet.captioned("custom", ids["image"], ids["caption"], None)
    sizes = f"{count_of(len(ids['image']), 'image')} and {count_of(len(ids['caption']), 'caption')}"
    note(f"no data set is given: queries and gallery are those of the lists and the judgements, {sizes}")
    for run in runs:
        for name, found in judged.items():
            _note_absent(run, name, [pairs for pairs in found if pairs.direction == run.direction])
    return Alone(split, runs, judged)


def _pairs(spec: Spec) -> list[Pairs]:
    pairs = pairs_of(spec)
    if pairs is None:
        what = f"{spec.what} are a matrix or labels, and lists without a data set have no order of items"
        raise UsageError(what, fix=f"give {spell('split', 'NAME')}, or judgements as pairs of ids")
    return pairs


def _stated(runs: Sequence[Pairs], judged: Sequence[Pairs]) -> list[Pairs]:
    """Lists with their directions: stated, the other one of two, that of judgements, or text queries."""
    unknown = [pairs for pairs in runs if pairs.direction is None]
    if not unknown:
        return list(runs)
    known = [pairs.direction for pairs in runs if pairs.direction is not None]
    if len(unknown) > 1:
        fix = f"give {spell('run', ['i2t=FILE', 't2i=FILE'])}"
        raise BadInput("nothing says which of the runs has images as queries", where=unknown[0].where, fix=fix)
    direction: Direction = "t2i"
    stated = [pairs for pairs in judged if pairs.direction is not None]
    if known:
        direction = QUERIES_OF[known[0]]
    elif stated:
        first = max(stated, key=lambda pairs: max(_shared(pairs, unknown[0])))
        same, other = _shared(first, unknown[0])
        assert first.direction is not None
        direction = first.direction if same >= other else QUERIES_OF[first.direction]
    else:
        otherwise = f"{spell('run', 'i2t=FILE')} has images as queries"
        note(f"queries are taken to be texts (t2i), since nothing says what they are; {otherwise}")
    return [replace(pairs, direction=pairs.direction or direction) for pairs in runs]


def _like(pairs: Pairs, runs: Sequence[Pairs]) -> Pairs:
    """Judgements in the direction in which they have the queries and items of a run.

    Raises:
        BadInput: they have no query of any run.
    """
    found: dict[Direction | None, float] = dict.fromkeys(DIRECTIONS, 0.0)
    for run in runs:
        same, other = _shared(pairs, run)
        found[run.direction] += same
        found[QUERIES_OF[run.direction or "t2i"]] += other
    direction = pairs.direction or max(DIRECTIONS, key=lambda d: (found[d], d == runs[0].direction))
    if not found[direction]:
        first = f"first: {pairs.queries[0]} in the judgements, {runs[0].queries[0]} in the run"
        what = f"has no query and no item of the run ({first})"
        raise BadInput(what, where=pairs.where, fix="give the judgements of this run, with the same ids")
    return replace(pairs, direction=direction)


def _shared(pairs: Pairs, run: Pairs) -> tuple[float, float]:
    """How much of the queries and items of pairs a run has as such, and how much of them the other way round."""

    def share(ids: Ids, known: Ids) -> float:
        return float((match(ids, known)[0] >= 0).mean()) if len(ids) and len(known) else 0.0

    same = share(pairs.queries, run.queries) + share(pairs.items, run.items)
    return same, share(pairs.queries, run.items) + share(pairs.items, run.queries)


def _together(every: Sequence[Pairs]) -> tuple[dict[Modality, Ids], list[Pairs]]:
    """The ids of each side of all pairs, ascending, and the pairs with every id in the spelling that occurs first."""
    known: dict[Modality, Ids] = {}
    out = []
    for pairs in every:
        assert pairs.direction is not None  # they are stated
        spelled: dict[str, Any] = {}
        for name, side in zip(("queries", "items"), SIDES[pairs.direction], strict=True):
            ids, before = getattr(pairs, name), known.get(side, NONE)
            at, how = match(ids, before)
            note(f"{side} ids of {pairs.where} are matched {how}" if how else "", weight="detail")
            if len(before) and before.dtype.kind != ids.dtype.kind:
                ids, before = ids.astype(np.str_), before.astype(np.str_)
            spelled[name] = np.where(at >= 0, before[at], ids) if len(before) else ids
            known[side] = np.concatenate([before, ids[at < 0]]) if len(before) else ids
        out.append(replace(pairs, **spelled))
    return {side: np.unique(as_ids(ids, f"{side} ids", every[0].where)) for side, ids in known.items()}, out


def _note_absent(run: Pairs, name: str, judged: Sequence[Pairs]) -> None:
    """Note judged queries without a list, and lists of queries that are not judged."""
    for pairs in judged:
        queries = pairs.queries[pairs.given]
        lost = queries[match(queries, run.queries)[0] < 0]
        if len(lost):
            what = f"{len(lost):,} of {len(queries):,} judged queries have no list (first: {lost[0]})"
            note(f"{name}, {run.direction}: {what}")
        idle = run.queries[match(run.queries, queries)[0] < 0]
        if len(idle):
            what = f"{len(idle):,} of {count_of(len(run.queries), 'list')} are of queries that are not judged"
            note(f"{name}, {run.direction}: {what}, and count in no metric (first: {idle[0]})")
