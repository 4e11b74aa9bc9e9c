"""What an evaluation reads of scores: ranks of the relevant items (``count``), and tops of rankings (``order``)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..numeric.parallel import Progress, default_threads
from ..types import DIRECTIONS, Direction, Observation, Ranks, Tops
from .count import Key, Scan, Targets, check_targets, count, scan_tiles, tiles
from .order import REFERENCE, Lists, Order, size_of, top_lists
from .scorers import Dot, Scorer
from .ties import check_ties
from .tops import ranks as ranks_of_lists

Depths = Mapping[Direction, int]


def observe(
    scorer: Scorer,
    targets: Sequence[Targets],
    *,
    ties: str = "index",
    depth: Depths | None = None,
    threads: int | None = None,
    tile_shape: tuple[int, int] | None = None,
    progress: Progress | None = None,
    scan: Scan | None = None,
    order: Order | None = None,
    needed: Depths | None = None,
) -> dict[Direction, Observation]:
    """Rank every relevant pair, and list the top of every query.

    Ranks are counted, or read from lists up to a depth: a relevant item that scores at least as high as the last item
    of a list has the same rank, and the same ties, as in the complete ranking. All others have none: their rank is
    beyond that depth under every tie rule.

    Args:
        scorer, targets, ties, threads, tile_shape, progress, scan: as for ``count``.
        depth: per direction, how many items to list for every query; clipped to the gallery. Lists are always in
            canonical order.
        order: of another back-end.
        needed: per direction, up to which rank relevant items have one, in lists of ``order`` (``Order.deepest``)
            among all items and not under the tie rule ``expected``; None where ranks are counted.

    Returns:
        One observation per direction of the targets and of ``depth``.

    Raises:
        UsageError, BadInput: as ``count`` and ``order.top_lists``.
    """
    threads = threads or default_threads()
    if needed is not None:
        return _listed(scorer, targets, ties, depth or {}, needed, order or REFERENCE, threads, progress)
    passed: dict[Direction, Lists] = {}
    if isinstance(scorer, Dot) and targets and scan in (None, scan_tiles) and order is None:
        # lists from the tiles that are counted
        size = dict(zip(DIRECTIONS, tile_shape or tiles(scorer.shape, 4, threads), strict=True))
        passed = {d: Lists(scorer, d, k, size[d]) for d, k in (depth or {}).items() if Lists.fit(scorer, d, k)}
        scan = functools.partial(scan_tiles, lists=passed.values())
    ranks = count(
        scorer, targets, ties=ties, threads=threads, tile_shape=tile_shape, progress=progress, scan=scan,
        dense=order or REFERENCE,
    )  # fmt: skip
    lists = {d: one.finish(threads) for d, one in passed.items() if one.complete}
    for d, k in (depth or {}).items():
        if d not in lists:
            lists[d] = top_lists(scorer, d, k, threads=threads, by=order, progress=None if targets else progress)
    return observations(ranks, lists)


def _listed(
    scorer: Scorer, targets: Sequence[Targets], ties: str, depth: Depths, needed: Depths, order: Order, threads: int,
    progress: Progress | None,
) -> dict[Direction, Observation]:  # fmt: skip
    """Ranks in lists, as ``observe``."""
    check_ties(ties)
    check_targets(targets, scorer.shape)
    found, lists = dict[Key, Ranks](), dict[Direction, Tops]()
    for d in DIRECTIONS:
        listed, k = depth.get(d, 0), min(max(needed.get(d, 0), depth.get(d, 0)), size_of(scorer, d))
        if not k:
            continue
        top = top_lists(scorer, d, k, threads=threads, by=order, progress=progress)
        for t in (t for t in targets if t.relevance.direction == d):
            known = np.full(len(t.relevance.queries), k)
            found[t.key] = replace(ranks_of_lists(top, t.relevance, t.candidates, ties), depth=known)
        if listed:
            lists[d] = top.cut(listed)
    return observations(found, lists)


def observations(ranks: Mapping[Key, Ranks], lists: Mapping[Direction, Tops]) -> dict[Direction, Observation]:
    """Ranks and lists by direction."""
    asked = {*lists, *(direction for _, direction in ranks)}
    return {
        d: Observation(d, {view: r for (view, side), r in ranks.items() if side == d}, lists.get(d))
        for d in DIRECTIONS
        if d in asked
    }
