"""What an evaluation reads of scores: ranks of the relevant items (``count``), and tops of rankings (``order``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..numeric.parallel import Progress, default_threads
from ..types import EVERYTHING, Both, Candidates, Observation, Ranks
from .count import Scan, Targets, check_candidates, check_targets, count, scan_tiles, tiles
from .order import REFERENCE, Lists, Order, top_lists
from .scorers import Scorer, System
from .ties import check_ties
from .tops import ranks as ranks_of_lists


def observe(
    system: System,
    targets: Both[Sequence[Targets]],
    *,
    ties: str = "index",
    depth: Both[int] = (0, 0),
    threads: int | None = None,
    tile_shape: tuple[int, int] | None = None,
    progress: Progress | None = None,
    scan: Scan | None = None,
    order: Order | None = None,
    needed: Both[int] | None = None,
    among: Both[Candidates] = (EVERYTHING, EVERYTHING),
) -> Both[Observation]:
    """Rank every relevant pair, and list the top of every query, of the rows and of the columns.

    Ranks are counted, or read from lists up to a depth: a relevant item that scores at least as high as the last item
    of a list has the same rank, and the same ties, as in the complete ranking. All others have none: their rank is
    beyond that depth under every tie rule.

    Args:
        system, targets, ties, threads, tile_shape, progress, scan: as for ``count``.
        depth: how many items to list for every row and for every column, 0 for none; clipped to the gallery. Lists are
            always in canonical order.
        order: of another back-end.
        needed: up to which rank relevant items have one, in lists of ``order`` (``Order.deepest``) among all items and
            not under the tie rule ``expected``; None where ranks are counted.
        among: the candidates of the lists, which are shorter where a query has fewer; targets have their own.

    Raises:
        UsageError, BadInput: as ``count`` and ``order.top_lists``.
    """
    threads = threads or default_threads()
    sides = system.both
    for own, scorer, side in zip(among, sides, ("rows", "columns"), strict=True):
        check_candidates(own, f"the {side}", *scorer.shape)
    if needed is not None and all(own.everything for own in among):
        check_ties(ties)
        check_targets(system, targets)
        each = zip(sides, targets, depth, needed, strict=True)
        rows, columns = (_listed(*one, ties, order or REFERENCE, threads, progress) for one in each)
        return rows, columns
    passed: list[Lists | None] = [None, None]
    if any(targets) and scan in (None, scan_tiles) and order is None:  # lists from the tiles that are counted
        shapes = [tile_shape or tiles(scorer.shape, 4, threads) for scorer in sides]
        queries = shapes[0][0], shapes[0][1] if system.own is None else shapes[1][0]  # of a tile
        passed = [
            Lists(scorer, k, size) if own.everything and Lists.fit(scorer, k) else None
            for scorer, k, size, own in zip(sides, depth, queries, among, strict=True)
        ]
    beside_rows, beside_columns = ([] if one is None else [one] for one in passed)
    ranks = count(
        system, targets, ties=ties, threads=threads, tile_shape=tile_shape, progress=progress, scan=scan,
        dense=order or REFERENCE, beside=(beside_rows, beside_columns),
    )  # fmt: skip
    found = []
    for scorer, known, k, one, own in zip(sides, ranks, depth, passed, among, strict=True):
        top = one.finish(threads) if one is not None and one.complete else None
        if top is None and k:
            told = None if any(targets) else progress
            top = top_lists(scorer, k, threads=threads, by=order, progress=told, among=own)
        found.append(Observation(known, top))
    return found[0], found[1]


def _listed(
    scorer: Scorer, targets: Sequence[Targets], depth: int, needed: int, ties: str, order: Order, threads: int,
    progress: Progress | None,
) -> Observation:  # fmt: skip
    """Ranks in lists, as ``observe``."""
    k = min(max(needed, depth), scorer.shape[1])
    if not k:
        return Observation({})
    top = top_lists(scorer, k, threads=threads, by=order, progress=progress)
    found: dict[str, Ranks] = {}
    for t in targets:
        known = np.full(len(t.relevance.queries), k)
        found[t.view] = replace(ranks_of_lists(top, t.relevance, t.candidates, ties), depth=known)
    return Observation(found, top.cut(depth) if depth else None)
